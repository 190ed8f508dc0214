// Encryption at rest against published vectors, and that nothing changed, cut or sealed by another key is opened.

import TandemCrypto
import TandemTestSupport
import Testing

@Suite struct SealingTests {
    private let key = SecretBytes(copying: [UInt8](repeating: 7, count: 32))

    @Test func sealedBytesAreOpenedAsTheyWere() {
        for bytes in [[], [1], [UInt8](repeating: 9, count: 100_000)] {
            let sealed = SealedBytes.seal(bytes, key: key, with: [1, 2])
            #expect(sealed.count == bytes.count + 28)
            #expect(SealedBytes.open(sealed, key: key, with: [1, 2]) == bytes)
        }
        // A nonce each time.
        #expect(SealedBytes.seal([1], key: key, with: []) != SealedBytes.seal([1], key: key, with: []))
    }

    @Test func nothingElseIsOpened() {
        let sealed = SealedBytes.seal([1, 2, 3], key: key, with: [4])
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(SealedBytes.open(changed, key: key, with: [4]) == nil)
        }
        #expect(SealedBytes.open(sealed, key: key, with: [5]) == nil)
        #expect(SealedBytes.open(sealed, key: key, with: []) == nil)
        #expect(SealedBytes.open(Array(sealed.dropLast()), key: key, with: [4]) == nil)
        #expect(SealedBytes.open([], key: key, with: [4]) == nil)
        let other = SecretBytes(copying: [UInt8](repeating: 8, count: 32))
        #expect(SealedBytes.open(sealed, key: other, with: [4]) == nil)
    }

    /// Test case 16 of the submission of GCM to NIST.
    @Test func itIsThePublishedCipher() {
        let key = SecretBytes(copying: bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let sealed =
            bytes("cafebabefacedbaddecaf888")
            + bytes(
                "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
                    + "c5f61e6393ba7a0abcc9f662")
            + bytes("76fc6ece0f4e1768cddf8853bb2d551b")
        let facts = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let opened = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
                + "b16aedf5aa0de657ba637b39")
        #expect(SealedBytes.open(sealed, key: key, with: facts) == opened)
    }

    @Test func aPassphraseAndASaltMakeOneKey() {
        let salt = [UInt8](0..<16)
        let first = PassphraseKey.key(passphrase: SecretBytes(copying: "swordfish".utf8), salt: salt)
        #expect(first == PassphraseKey.key(passphrase: SecretBytes(copying: "swordfish".utf8), salt: salt))
        #expect(first != PassphraseKey.key(passphrase: SecretBytes(copying: "Swordfish".utf8), salt: salt))
        #expect(first != PassphraseKey.key(passphrase: SecretBytes(copying: "swordfish".utf8), salt: salt.reversed()))
        // hashlib.scrypt(b"swordfish", salt=bytes(range(16)), n=32768, r=8, p=1, maxmem=64 << 20, dklen=32)
        #expect(first?.exposed == bytes("04f07f55d3104d3096e7aedb00c2b2df9f6a7ef11abbd0b0c39b01f78c06650e"))
    }
}
