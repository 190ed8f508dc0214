// The three kinds of keys, and with each the one way of signing with it. The algorithm is a property of the key: no
// message ever chooses it, so that there is nothing to downgrade.

/// What a key is, and so how it signs.
package enum KeyAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// Ed25519 (RFC 8032), the default.
    case ed25519
    /// ECDSA over P-256 with SHA-256; signatures in DER.
    case ecdsaP256 = "ecdsa-p256-sha256"
    /// RSA-PSS with SHA-256, MGF1 with SHA-256 and a salt of 32 bytes.
    case rsaPSS = "rsa-pss-sha256"
}
