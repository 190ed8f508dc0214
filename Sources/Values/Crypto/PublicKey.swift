// A public key that passed the key policy: holding one is the proof. Its bytes are kept in the one canonical form, so
// that one key has one identifier, and a threshold of distinct keys cannot be met by one key written twice.

import CTandemOpenSSL

/// A public key that is strong enough to be used; any thread.
package struct PublicKey: Sendable {
    /// What the key is and how it signs.
    package let algorithm: KeyAlgorithm
    /// The SubjectPublicKeyInfo in DER form.
    package let subjectPublicKeyInfo: [UInt8]
    /// SHA-256 of ``subjectPublicKeyInfo``.
    package let identifier: KeyIdentifier
    let reference: KeyReference
    /// Nil for the other algorithms.
    let rsa: RSAVerification?

    /// Reads a SubjectPublicKeyInfo in DER form.
    package init(subjectPublicKeyInfo bytes: [UInt8]) throws(KeyError) {
        guard bytes.count <= PEMBlock.longestText else { throw .malformed("over \(PEMBlock.longestText) bytes") }
        let read = Self.read(bytes)
        guard let reference = read.reference else { throw .malformed("no SubjectPublicKeyInfo") }
        guard read.consumed == bytes.count else { throw .trailingData }
        try self.init(reference)
        guard subjectPublicKeyInfo == bytes else { throw .notCanonical }
    }

    /// Reads one PEM block `PUBLIC KEY`.
    package init(pem text: String) throws(KeyError) {
        let block = try PEMBlock(SecretBytes(copying: text.utf8))
        guard block.label == "PUBLIC KEY", !block.hasHeaders else {
            throw .unexpectedBlock(label: block.label, expected: "PUBLIC KEY")
        }
        try self.init(subjectPublicKeyInfo: block.contents.exposed)
    }

    /// The public half of a key that OpenSSL holds.
    init(_ reference: KeyReference) throws(KeyError) {
        algorithm = try KeyPolicy.algorithm(of: reference)
        subjectPublicKeyInfo = reference.subjectPublicKeyInfo()
        identifier = KeyIdentifier(subjectPublicKeyInfo: subjectPublicKeyInfo)
        self.reference = reference
        rsa = algorithm == .rsaPSS ? RSAVerification(reference) : nil
        guard algorithm != .ecdsaP256 || Self.hasUncompressedPoint(subjectPublicKeyInfo) else { throw .notCanonical }
    }

    /// The size of an RSA key's modulus, or of another key's field, in bits.
    package var bits: Int { Int(reference.withPointer { unsafe EVP_PKEY_get_bits($0) }) }

    /// A P-256 point has three spellings (compressed, hybrid, uncompressed); only the last is in use.
    private static func hasUncompressedPoint(_ subjectPublicKeyInfo: [UInt8]) -> Bool {
        subjectPublicKeyInfo.count == 91 && subjectPublicKeyInfo[26] == 4
    }

    private static func read(_ bytes: [UInt8]) -> (reference: KeyReference?, consumed: Int) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let known = unsafe openSSL { unsafe Ed25519Encoding.publicKey(UnsafeRawBufferPointer(buffer)) }.value
            if let known = unsafe known { return (unsafe KeyReference(takingOwnership: known), bytes.count) }
            var cursor = buffer.baseAddress
            let key = unsafe openSSL { unsafe d2i_PUBKEY(nil, &cursor, buffer.count) }.value
            let consumed = unsafe cursor.map { unsafe $0 - (buffer.baseAddress ?? $0) } ?? 0
            return unsafe (key.map { unsafe KeyReference(takingOwnership: $0) }, consumed)
        }
    }
}

extension PublicKey: Equatable, Hashable {
    package static func == (left: PublicKey, right: PublicKey) -> Bool { left.identifier == right.identifier }

    package func hash(into hasher: inout Hasher) { hasher.combine(identifier) }
}
