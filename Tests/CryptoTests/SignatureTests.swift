// Signatures of all three kinds of keys: what was signed verifies, and nothing else does.

import TandemCrypto
import TandemTestSupport
import Testing

@Suite struct SignatureTests {
    static let message = Array("switch to night colours".utf8)

    @Test(arguments: KeyAlgorithm.allCases)
    func aSignatureVerifiesWithItsPublicHalfOnly(algorithm: KeyAlgorithm) {
        let key = TestKeys.key(algorithm)
        let signature = key.sign(Self.message)
        #expect(key.publicKey.isValid(signature, for: Self.message))
        #expect(!TestKeys.other(algorithm).publicKey.isValid(signature, for: Self.message))
        #expect(!key.publicKey.isValid(signature, for: Self.message + [0]))
        #expect(!key.publicKey.isValid(signature, for: []))
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func aSignatureTamperedAtAnyByteIsInvalid(algorithm: KeyAlgorithm) {
        let key = TestKeys.key(algorithm)
        let signature = key.sign(Self.message)
        for index in signature.indices {
            for bit in [UInt8(1), 0x80] {
                var tampered = signature
                tampered[index] ^= bit
                #expect(!key.publicKey.isValid(tampered, for: Self.message), "byte \(index)")
            }
        }
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func aTruncatedExtendedOrEmptySignatureIsInvalid(algorithm: KeyAlgorithm) {
        let key = TestKeys.key(algorithm)
        let signature = key.sign(Self.message)
        for count in 0..<signature.count {
            #expect(!key.publicKey.isValid(Array(signature.prefix(count)), for: Self.message))
        }
        #expect(!key.publicKey.isValid(signature + [0], for: Self.message))
        #expect(!key.publicKey.isValid([UInt8](repeating: 0, count: signature.count), for: Self.message))
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func aMessageOfKnownDigestIsVerifiedAsTheMessageAlsoAfterBadSignatures(algorithm: KeyAlgorithm) {
        let key = TestKeys.key(algorithm)
        let signature = key.sign(Self.message)
        let (message, other) = (SignedMessage(Self.message), SignedMessage([1, 2, 3]))
        #expect(message.digest == SHA256.digest(Self.message))
        for _ in 0..<3 {
            #expect(!key.publicKey.isValid(signature, for: other))
            #expect(!key.publicKey.isValid(signature.reversed(), for: message))
            #expect(key.publicKey.isValid(signature, for: message))
            #expect(key.publicKey.isValid(signature, for: Self.message))
        }
    }

    @Test("CFG-96: of the two signatures of P-256 the signer writes the one with the low s")
    func p256SignaturesHaveTheLowS() {
        let key = TestKeys.key(.ecdsaP256)
        // OpenSSL alone writes the high one as often: 64 times the low one is no accident.
        for round in UInt8(0)..<64 {
            #expect(key.publicKey.isValid(key.sign([round]), for: [round]))
        }
    }

    @Test func aSignatureOfOneKindIsInvalidForAnother() {
        for signer in KeyAlgorithm.allCases {
            let signature = TestKeys.key(signer).sign(Self.message)
            for verifier in KeyAlgorithm.allCases where verifier != signer {
                #expect(!TestKeys.key(verifier).publicKey.isValid(signature, for: Self.message))
            }
        }
    }

    @Test func ed25519MatchesTheVectorsOfRFC8032() throws {
        // RFC 8032 section 7.1, tests 1 and 3, with the SPKI and PKCS#8 wrapping of RFC 8410.
        let prefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
        for vector in Self.vectors {
            let key = try PublicKey(subjectPublicKeyInfo: prefix + bytes(vector.key))
            #expect(key.isValid(bytes(vector.signature), for: bytes(vector.message)))
        }
    }

    private static let vectors = [
        (
            key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
            signature:
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b"
        ),
        (
            key: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", message: "af82",
            signature:
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                + "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]
}
