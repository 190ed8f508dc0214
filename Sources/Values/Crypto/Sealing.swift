// Encryption at rest: bytes sealed under one key, and keys from passphrases. A sealed text cannot be changed unnoticed,
// and neither can the facts that it was sealed with.

import CTandemOpenSSL

/// AES-256-GCM (NIST SP 800-38D) with random nonces: one key seals at most 2^32 texts.
package enum SealedBytes {
    /// Length of a key in bytes.
    package static var keyCount: Int { 32 }
    private static var nonceCount: Int { 12 }
    private static var tagCount: Int { 16 }

    /// Nonce, encrypted bytes and tag.
    /// - Parameter facts: bytes that are not in the result and must be the same when it is opened.
    package static func seal(_ bytes: [UInt8], key: SecretBytes, with facts: [UInt8]) -> [UInt8] {
        let nonce = SecureRandom.bytes(nonceCount)
        guard let (sealed, tag) = Sealing(key, nonce, facts).run(bytes, tag: nil) else {
            preconditionFailure("AES-256-GCM is part of every OpenSSL")
        }
        return nonce + sealed + tag
    }

    /// The bytes; nil if the key or the facts are others, or a bit was changed.
    package static func open(_ sealed: [UInt8], key: SecretBytes, with facts: [UInt8]) -> [UInt8]? {
        guard sealed.count >= nonceCount + tagCount else { return nil }
        let nonce = Array(sealed.prefix(nonceCount))
        let content = Array(sealed.dropFirst(nonceCount).dropLast(tagCount))
        return Sealing(key, nonce, facts).run(content, tag: Array(sealed.suffix(tagCount)))?.bytes
    }
}

/// A key that seals rows of a device's own store. The usual one is derived from the device's private key when
/// it is used: a start without sealed rows does not wait for it.
package enum SealingKey: Sendable {
    /// Only the holder of the private key can derive it; another one for each purpose.
    case derived(PrivateKey, purpose: String)
    /// For tests.
    case random(SecretBytes)

    /// The key's 32 bytes.
    package var secret: SecretBytes {
        switch self {
        case .random(let secret): return secret
        case .derived(let key, let purpose):
            var code = HMACSHA256.code(for: Array("tandem-seal-1 \(purpose)".utf8), key: key.pem)
            return SecretBytes(taking: &code)
        }
    }
}

/// One operation of the cipher.
private struct Sealing {
    private let key: SecretBytes
    private let nonce: [UInt8]
    private let facts: [UInt8]

    init(_ key: SecretBytes, _ nonce: [UInt8], _ facts: [UInt8]) {
        precondition(key.count == SealedBytes.keyCount, "the cipher's keys have 32 bytes")
        self.key = key
        self.nonce = nonce
        self.facts = facts
    }

    /// - Parameter tag: the tag to check; nil to encrypt and make one.
    func run(_ bytes: [UInt8], tag: [UInt8]?) -> (bytes: [UInt8], tag: [UInt8])? {
        openSSL {
            let context = unsafe EVP_CIPHER_CTX_new()
            defer { unsafe EVP_CIPHER_CTX_free(context) }
            guard let context = unsafe context, unsafe begin(context, encrypts: tag == nil) else { return nil }
            var count: Int32 = 0
            guard unsafe EVP_CipherUpdate(context, nil, &count, facts, Int32(facts.count)) == 1 else { return nil }
            var output = [UInt8](repeating: 0, count: bytes.count + 16)
            guard unsafe EVP_CipherUpdate(context, &output, &count, bytes, Int32(bytes.count)) == 1 else { return nil }
            output.removeLast(output.count - Int(count))
            var found = tag ?? [UInt8](repeating: 0, count: 16)
            if tag != nil, unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, 16, &found) != 1 { return nil }
            var rest = [UInt8](repeating: 0, count: 16)
            guard unsafe EVP_CipherFinal_ex(context, &rest, &count) == 1 else { return nil }
            if tag == nil, unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, &found) != 1 { return nil }
            return (output, found)
        }.value
    }

    private func begin(_ context: OpaquePointer, encrypts: Bool) -> Bool {
        key.withBytes { key in
            let bytes = unsafe key.bindMemory(to: UInt8.self).baseAddress
            return unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, bytes, nonce, encrypts ? 1 : 0) == 1
        }
    }
}

/// scrypt (RFC 7914): a guess at the passphrase costs a thief 32 MiB and a tenth of a second.
package enum PassphraseKey {
    /// A key of 32 bytes; nil if this OpenSSL has no scrypt (FIPS mode), or there is no memory for it.
    /// - Parameter salt: 16 random bytes, which are stored beside what the key seals.
    package static func key(passphrase: SecretBytes, salt: [UInt8]) -> SecretBytes? {
        var done = false
        let key = unsafe SecretBytes(count: SealedBytes.keyCount) { output in
            done = passphrase.withBytes { bytes in
                openSSL {
                    unsafe EVP_PBE_scrypt(
                        bytes.bindMemory(to: CChar.self).baseAddress, bytes.count, salt, salt.count, 32_768, 8, 1,
                        64 << 20, output.bindMemory(to: UInt8.self).baseAddress, output.count) == 1
                }.value
            }
        }
        return done ? key : nil
    }
}
