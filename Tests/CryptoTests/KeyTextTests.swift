// Key files as people break them: cut, doubled, with something before or after, of the wrong kind, or no keys at all.

import TandemCrypto
import TandemTestSupport
import Testing

@Suite struct KeyTextTests {
    private func error(_ text: String) -> String? {
        keyError { () throws(KeyError) in try PublicKey(pem: text) }?.caseName
    }

    private func privateError(_ bytes: [UInt8]) -> String? {
        keyError { () throws(KeyError) in try PrivateKey(pem: SecretBytes(copying: bytes)) }?.caseName
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func aKeySurvivesBeingWrittenAndRead(algorithm: KeyAlgorithm) throws {
        let key = TestKeys.key(algorithm)
        let read = try PrivateKey(pem: key.pem)
        #expect(read.publicKey == key.publicKey)
        #expect(read.algorithm == algorithm)
        #expect(try PublicKey(pem: key.publicKey.pem) == key.publicKey)
        #expect(try PublicKey(subjectPublicKeyInfo: key.publicKey.subjectPublicKeyInfo) == key.publicKey)
    }

    @Test func aPublicKeyThatAnAppfigurateAppDeclaresIsReadAsItIs() throws {
        // RSA of 2,048 bits, exponent 65,537, lines of 64 characters: the text of Appfigurate's published example.
        let text = """
            -----BEGIN PUBLIC KEY-----
            MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA5s2YXfKStHzgUEkY+KDm
            yQUMO617+xo2tv5DF4M38emK7XpLR/ILLFiAiIHyRAdw9+wB80OEzek+bihwHWCs
            WU0inAJ7gBLRqv7MHhPP4+XBbeizpLblPdBVVL1az5I3oDptpemIikAZrA37ZAH/
            shk9C/wGogiQC4p60LmxbzI/+eYvI2x0M/Xxxpedcq6yRyHb+u+0ziNHoji5M6Qh
            kcsailsMqANaN7VcO5NLPT3PzIc6WPG3iVJ0I8iCzXY/QNxOAtWc5t4CyB8+Z+fU
            IEk9qAYiidZhpPb1gdJl4LN14qjBqYAmmJAo9oAabujlGmvxKQfR3Mj1FDd1GYab
            6QIDAQAB
            -----END PUBLIC KEY-----

            """
        let key = try PublicKey(pem: text)
        #expect(key.algorithm == .rsaPSS && key.pem == text)
        #expect(!key.isValid(Array(repeating: 0, count: 256), for: [1, 2, 3]))
    }

    @Test func whatOnlyLooksLikeAnEd25519KeyIsRefused() {
        let der = TestKeys.key(.ed25519).publicKey.subjectPublicKeyInfo
        for index in 0..<12 {
            var changed = der
            changed[index] ^= 1
            #expect(throws: KeyError.self) { try PublicKey(subjectPublicKeyInfo: changed) }
        }
        #expect(throws: KeyError.self) { try PublicKey(subjectPublicKeyInfo: der + [0]) }
    }

    @Test func spaceAroundABlockAndWindowsLineEndsAreAccepted() {
        let pem = TestKeys.key(.ed25519).publicKey.pem
        #expect(error("\n \n" + pem + "\n\n") == nil)
        #expect(error(pem.replacing("\n", with: "\r\n")) == nil)
        #expect(error(String(pem.dropLast())) == nil)
    }

    @Test func anythingElseAroundABlockIsRefused() {
        let pem = TestKeys.key(.ed25519).publicKey.pem
        #expect(error(pem + pem) == "trailingData")
        #expect(error(pem + "x") == "trailingData")
        #expect(error("# my key\n" + pem) == "malformed")
        #expect(error("") == "malformed")
        #expect(error("not a key") == "malformed")
        #expect(error("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n") == "malformed")
        #expect(error(String(repeating: " ", count: 20000) + pem) == "malformed")
    }

    @Test("CFG-90: text that OpenSSL skips inside a block is refused, in key sets and in public keys")
    func textInsideABlockIsRefused() throws {
        let end = "-----END PUBLIC KEY-----"
        let pem = TestKeys.key(.ed25519).publicKey.pem
        let set = PEMText.write(Array(repeating: 7, count: 90), label: "TANDEM KEY SET")
        #expect(try PEMText.read(set, label: "TANDEM KEY SET", limit: 1000).count == 90)
        let setEnd = "-----END TANDEM KEY SET-----"
        for inside in [
            "-\\(evil())\n", "-\n\"\"\"\nimport Glibc\n", "-\u{1B}[2J\n", " \n", "-----END x-----\nfatalError()\n",
        ] {
            #expect(error(pem.replacing(end, with: inside + end)) == "malformed", "\(inside)")
            #expect(throws: KeyError.self, "\(inside)") {
                try PEMText.read(set.replacing(setEnd, with: inside + setEnd), label: "TANDEM KEY SET", limit: 1000)
            }
        }
        #expect(error(pem.replacing("\n" + end, with: "-----END x\nabc\n" + end)) == "malformed")
    }

    @Test func aPrivateKeyIsNotAPublicOneAndTheOtherWayRound() {
        let key = TestKeys.key(.ed25519)
        #expect(error(String(decoding: key.pem.exposed, as: UTF8.self)) == "unexpectedBlock")
        #expect(privateError(Array(key.publicKey.pem.utf8)) == "unexpectedBlock")
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func anEncryptedKeyIsReadWithItsPassphraseOnly(algorithm: KeyAlgorithm) throws {
        let key = TestKeys.key(algorithm)
        let text = key.encryptedPEM(passphrase: SecretBytes(copying: "öpen sesame".utf8))
        #expect(PrivateKey.isEncrypted(pem: SecretBytes(copying: text)))
        #expect(!PrivateKey.isEncrypted(pem: key.pem))
        #expect(privateError(text) == "passphraseProtected")
        let read = try PrivateKey(
            pem: SecretBytes(copying: text), passphrase: SecretBytes(copying: "öpen sesame".utf8))
        #expect(read.publicKey == key.publicKey)
        for wrong in ["", "open sesame", "öpen sesame\n"] {
            #expect(throws: KeyError.wrongPassphrase) {
                try PrivateKey(pem: SecretBytes(copying: text), passphrase: SecretBytes(copying: wrong.utf8))
            }
        }
        let damaged = Array(String(decoding: text, as: UTF8.self).replacing("A", with: "B").utf8)
        #expect(throws: KeyError.self) {
            try PrivateKey(pem: SecretBytes(copying: damaged), passphrase: SecretBytes(copying: "öpen sesame".utf8))
        }
    }

    @Test func encryptedKeysAreThoseOfOpenssl() throws {
        let openssl = OpenSSLCommand()
        let key = TestKeys.key(.ed25519)
        openssl.write(key.encryptedPEM(passphrase: SecretBytes(copying: "secret".utf8)), to: "ours.pem")
        #expect(openssl.run("pkey -in ours.pem -passin pass:secret -pubout -out ours.pub"))
        #expect(openssl.readText("ours.pub") == key.publicKey.pem)
        #expect(openssl.run("genpkey -algorithm ed25519 -aes256 -pass pass:secret -out theirs.pem"))
        #expect(openssl.run("pkey -in theirs.pem -passin pass:secret -pubout -out theirs.pub"))
        let read = try PrivateKey(
            pem: SecretBytes(copying: openssl.read("theirs.pem")), passphrase: SecretBytes(copying: "secret".utf8))
        #expect(read.publicKey.pem == openssl.readText("theirs.pub"))
    }

    @Test func anEncryptionThatNobodyReadsIsNoWrongPassphrase() throws {
        let openssl = OpenSSLCommand()
        openssl.write(TestKeys.key(.ed25519).pem.exposed, to: "key.pem")
        #expect(openssl.run("pkcs8 -topk8 -in key.pem -v2 aes-256-cbc -passout pass:x -outform DER -out aes.der"))
        #expect(
            openssl.run(
                "pkcs8 -topk8 -in key.pem -v1 PBE-MD5-DES -provider legacy -provider default "
                    + "-passout pass:x -outform DER -out des.der"))
        let aes = openssl.read("aes.der")
        // The identifiers of AES-256-CBC, and of HMAC-SHA256 for the derivation, become ones that nothing has.
        let cipher: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2A]
        let derivation: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x09]
        let unknown = [cipher, derivation].map { name in aes.replacing(name, with: name.dropLast(2) + [0x7F, 0x2A]) }
        let passphrase = SecretBytes(copying: "x".utf8)
        func error(_ bytes: [UInt8]) -> String? {
            let pem = SecretBytes(copying: DER.pem("ENCRYPTED PRIVATE KEY", bytes))
            return keyError { () throws(KeyError) in try PrivateKey(pem: pem, passphrase: passphrase) }?.caseName
        }
        #expect(error(aes) == nil)
        for bytes in unknown + [openssl.read("des.der")] { #expect(error(bytes) == "unsupportedEncryption") }
    }

    @Test("CFG-97: 32 bytes that are no point of the curve are no Ed25519 key")
    func whatIsNoPointIsNoKey() throws {
        let prefix = TestKeys.key(.ed25519).publicKey.subjectPublicKeyInfo.prefix(12)
        var refused = 0
        // Of all numbers about one half are the y of a point.
        for y in UInt8(2)..<66 {
            let bytes = Array(prefix) + [y] + [UInt8](repeating: 0, count: 31)
            guard let error = keyError({ () throws(KeyError) in try PublicKey(subjectPublicKeyInfo: bytes) }) else {
                continue
            }
            #expect(error.caseName == "malformed")
            refused += 1
        }
        #expect((16..<48).contains(refused), "\(refused)")
        for _ in 0..<64 {
            let key = PrivateKey.generate(.ed25519).publicKey
            #expect(try PublicKey(subjectPublicKeyInfo: key.subjectPublicKeyInfo) == key)
        }
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func aTruncatedKeyIsRefused(algorithm: KeyAlgorithm) {
        let key = TestKeys.key(algorithm)
        let der = key.publicKey.subjectPublicKeyInfo
        for count in 0..<der.count {
            #expect(throws: KeyError.self) { try PublicKey(subjectPublicKeyInfo: Array(der.prefix(count))) }
        }
        let pem = key.pem.exposed
        for count in stride(from: 0, to: pem.count - 1, by: 5) {
            #expect(privateError(Array(pem.prefix(count))) != nil)
        }
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func bytesAfterTheKeyAreRefused(algorithm: KeyAlgorithm) throws {
        let key = TestKeys.key(algorithm)
        let der = key.publicKey.subjectPublicKeyInfo
        #expect(throws: KeyError.trailingData) { try PublicKey(subjectPublicKeyInfo: der + [0]) }
        let openssl = OpenSSLCommand()
        openssl.write(key.pem.exposed, to: "key.pem")
        #expect(openssl.run("pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out key.der"))
        #expect(privateError(DER.pem("PRIVATE KEY", openssl.read("key.der"))) == nil)
        #expect(privateError(DER.pem("PRIVATE KEY", openssl.read("key.der") + [0])) == "trailingData")
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func aKeyTamperedAtAnyByteIsRefusedOrAnotherKey(algorithm: KeyAlgorithm) {
        let key = TestKeys.key(algorithm).publicKey
        for index in key.subjectPublicKeyInfo.indices {
            var bytes = key.subjectPublicKeyInfo
            bytes[index] ^= 1
            if let other = try? PublicKey(subjectPublicKeyInfo: bytes) { #expect(other.identifier != key.identifier) }
        }
    }

    @Test func randomBytesAreNoKey() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let noise = (0..<Int.random(in: 0..<200, using: &generator)).map { _ in UInt8.random(in: 0...255) }
            #expect(throws: KeyError.self) { try PublicKey(subjectPublicKeyInfo: noise) }
            #expect(privateError(DER.pem("PRIVATE KEY", noise)) != nil)
        }
    }

    @Test func aFingerprintIsBase32InThirteenGroupsAndReadsBack() {
        let identifier = TestKeys.key(.ed25519).publicKey.identifier
        #expect(identifier.fingerprint.split(separator: "-").count == 13)
        #expect(KeyIdentifier(text: identifier.fingerprint) == identifier)
        #expect(KeyIdentifier(text: identifier.fingerprint.lowercased()) == identifier)
        #expect(KeyIdentifier(text: identifier.hexadecimal) == identifier)
        let blanks = String(repeating: " ", count: 192)
        #expect(KeyIdentifier(text: identifier.hexadecimal + blanks) == identifier)
        #expect(KeyIdentifier(text: identifier.hexadecimal + blanks + " ") == nil, "over 256 bytes")
        for wrong in ["", "ABCD", identifier.fingerprint + "A", "1" + identifier.fingerprint.dropFirst()] {
            #expect(KeyIdentifier(text: wrong) == nil)
        }
    }

    @Test func theFingerprintOfKnownBytesIsThatOfRFC4648() {
        let identifier = KeyIdentifier(bytes: Array("foobarfoobarfoobarfoobarfoobarfo".utf8))
        #expect(
            identifier?.fingerprint == "MZXW-6YTB-OJTG-633C-MFZG-M33P-MJQX-EZTP-N5RG-C4TG-N5XW-EYLS-MZXQ")
    }
}

extension KeyError {
    /// The name of the case, without its values, for the faults of a text; the description of any other.
    fileprivate var caseName: String {
        switch self {
        case .malformed: "malformed"
        case .unexpectedBlock: "unexpectedBlock"
        case .trailingData: "trailingData"
        case .passphraseProtected: "passphraseProtected"
        case .unsupportedEncryption: "unsupportedEncryption"
        default: description
        }
    }
}
