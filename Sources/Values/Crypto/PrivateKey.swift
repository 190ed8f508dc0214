// A private key that passed the key policy, with its public half. It is read from and written to PKCS#8 in clear; the
// file's mode protects it. A protected key is refused by name instead of asking for a passphrase in a daemon.

import CTandemOpenSSL

/// A private key; any thread. It has no description and compares by its public half only.
package struct PrivateKey: Sendable {
    /// The public half.
    package let publicKey: PublicKey
    let reference: KeyReference

    /// What the key is and how it signs.
    package var algorithm: KeyAlgorithm { publicKey.algorithm }

    /// A fresh key; RSA gets 3072 bits. RSA takes seconds: not on a loop's thread.
    package static func generate(_ algorithm: KeyAlgorithm) -> PrivateKey {
        guard let reference = KeyGeneration.key(algorithm), let key = try? PrivateKey(reference) else {
            preconditionFailure("OpenSSL makes keys of the kinds in KeyAlgorithm")
        }
        return key
    }

    /// Reads one PEM block `PRIVATE KEY` (PKCS#8, not encrypted).
    package init(pem text: SecretBytes) throws(KeyError) {
        let block = try PEMBlock(text)
        guard block.label != "ENCRYPTED PRIVATE KEY", !block.hasHeaders else { throw .passphraseProtected }
        guard block.label == "PRIVATE KEY" else {
            throw .unexpectedBlock(label: block.label, expected: "PRIVATE KEY")
        }
        let read = block.contents.withBytes { unsafe Self.read($0) }
        guard read.isComplete else { throw .trailingData }
        guard let reference = read.reference else { throw .malformed("no PKCS#8 private key of a known kind") }
        try self.init(reference)
        guard isConsistent else { throw .inconsistentHalves }
    }

    private init(_ reference: KeyReference) throws(KeyError) {
        self.reference = reference
        let ownHalf = try PublicKey(reference)
        // A second object without the secret, so that handing out the public half never carries the private one.
        publicKey = try PublicKey(subjectPublicKeyInfo: ownHalf.subjectPublicKeyInfo)
    }

    /// Whether what one half signs, the other verifies.
    private var isConsistent: Bool {
        let probe = Array("tandem key consistency".utf8)
        return publicKey.isValid(sign(probe), for: probe)
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) -> (reference: KeyReference?, isComplete: Bool) {
        openSSL {
            if let known = unsafe Ed25519Encoding.privateKey(bytes) {
                return (unsafe KeyReference(takingOwnership: known), true)
            }
            let start = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            var cursor = unsafe start
            let information = unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &cursor, bytes.count)
            defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
            guard let information = unsafe information, let start = unsafe start, let cursor = unsafe cursor else {
                return (nil, true)
            }
            guard unsafe cursor - start == bytes.count else { return (nil, false) }
            return unsafe (EVP_PKCS82PKEY(information).map { unsafe KeyReference(takingOwnership: $0) }, true)
        }.value
    }
}
