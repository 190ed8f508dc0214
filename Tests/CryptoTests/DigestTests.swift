// Digests, HMACs, constant-time equality and random bytes against published vectors.

import TandemCrypto
import TandemTestSupport
import Testing

@Suite struct DigestTests {
    @Test func sha256MatchesThePublishedVectors() {
        #expect(
            SHA256.digest([]) == bytes("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
        let abc = bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(SHA256.digest(Array("abc".utf8)) == abc)
    }

    @Test func hmacMatchesRFC4231() {
        let key = SecretBytes(copying: "Jefe".utf8)
        let message = Array("what do ya want for nothing?".utf8)
        let code = bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(HMACSHA256.code(for: message, key: key) == code)
        #expect(HMACSHA256.isValid(code, for: message, key: key))
    }

    @Test func anHMACOfAnotherMessageKeyOrLengthIsInvalid() {
        let key = SecretBytes(copying: "Jefe".utf8)
        let code = HMACSHA256.code(for: [1, 2, 3], key: key)
        #expect(!HMACSHA256.isValid(code, for: [1, 2, 4], key: key))
        #expect(!HMACSHA256.isValid(code, for: [1, 2, 3], key: SecretBytes(copying: "jefe".utf8)))
        #expect(!HMACSHA256.isValid(Array(code.dropLast()), for: [1, 2, 3], key: key))
        #expect(!HMACSHA256.isValid([], for: [1, 2, 3], key: key))
    }

    @Test func anEmptyKeyOrMessageStillHasItsCode() {
        #expect(
            HMACSHA256.code(for: [], key: SecretBytes(copying: []))
                == bytes("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"))
    }

    @Test func constantTimeEqualityIsEquality() {
        #expect(isEqualInConstantTime([], []))
        #expect(isEqualInConstantTime([1, 2], [1, 2]))
        #expect(!isEqualInConstantTime([1, 2], [1, 3]))
        #expect(!isEqualInConstantTime([1, 2], [1]))
    }

    @Test func randomBytesAreNeverTheSame() {
        #expect(SecureRandom.bytes(0).isEmpty)
        #expect(SecureRandom.bytes(33).count == 33)
        #expect(Set((0..<100).map { _ in SecureRandom.bytes(16) }).count == 100)
    }

    @Test func takingASecretEmptiesTheCallersArray() {
        var source = Array("secret".utf8)
        let secret = SecretBytes(taking: &source)
        #expect(source.isEmpty)
        #expect(secret.exposed == Array("secret".utf8))
        #expect(secret == SecretBytes(copying: "secret".utf8))
        #expect(secret != SecretBytes(copying: "secreT".utf8))
    }

    @Test func theEncodingBeforeSigningIsThatOfDSSE() {
        let encoded = PreAuthenticationEncoding.bytes(
            type: "http://example.com/HelloWorld", body: Array("hello world".utf8))
        #expect(encoded == Array("DSSEv1 29 http://example.com/HelloWorld 11 hello world".utf8))
    }

    @Test func theEncodingCountsBytesNotCharacters() {
        let encoded = PreAuthenticationEncoding.bytes(type: "\u{e9}", body: [])
        #expect(encoded == Array("DSSEv1 2 \u{e9} 0 ".utf8))
    }
}
