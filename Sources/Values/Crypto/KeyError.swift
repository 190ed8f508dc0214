// Why a key was refused when it was loaded. OpenSSL itself verifies with RSA-512 at its default settings: strength is
// this room's to enforce, and once, at load, so that no later code has to ask.

/// A key that this software does not use, with the reason.
package enum KeyError: Error, Sendable, Equatable {
    /// Not a PEM block, not DER, or of a kind that is no key.
    case malformed(String)
    /// The PEM block has another label than the one expected.
    case unexpectedBlock(label: String, expected: String)
    /// Bytes after the key.
    case trailingData
    /// A second spelling of a key (compressed point, BER, missing parameters): its identifier would not be its own.
    case notCanonical
    /// The private key is encrypted; nothing here asks for passphrases.
    case passphraseProtected
    /// Neither Ed25519 nor ECDSA P-256 nor RSA.
    case unsupportedAlgorithm(String)
    /// An RSA modulus under 2048 bits.
    case rsaTooShort(bits: Int)
    /// An RSA modulus over 8192 bits: checking one signature would take too long.
    case rsaTooLong(bits: Int)
    /// An RSA public exponent under 65537, even, or over 64 bits.
    case rsaExponent
    /// An elliptic curve other than P-256.
    case unsupportedCurve(String)
    /// A curve given by its numbers instead of its name.
    case explicitCurveParameters
    /// The private half does not belong to the public half.
    case inconsistentHalves
}

extension KeyError {
    /// The stable name of the reason, for logs and reports.
    package var name: String {
        switch self {
        case .malformed: "key-malformed"
        case .unexpectedBlock: "key-unexpected-block"
        case .trailingData: "key-trailing-data"
        case .notCanonical: "key-not-canonical"
        case .passphraseProtected: "key-passphrase-protected"
        case .unsupportedAlgorithm: "key-unsupported-algorithm"
        case .rsaTooShort: "key-rsa-too-short"
        case .rsaTooLong: "key-rsa-too-long"
        case .rsaExponent: "key-rsa-exponent"
        case .unsupportedCurve: "key-unsupported-curve"
        case .explicitCurveParameters: "key-explicit-curve"
        case .inconsistentHalves: "key-inconsistent-halves"
        }
    }
}

extension KeyError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let detail): "this is not a key in PEM or DER form: \(detail)"
        case .unexpectedBlock(let label, let expected):
            "expected a PEM block '\(expected)', found '\(label)'; convert a private key with 'openssl pkcs8 -topk8 "
                + "-nocrypt', a public one with 'openssl pkey -pubin'"
        case .trailingData: "there are bytes after the key; give exactly one key"
        case .notCanonical: "the key is not in its canonical DER form; rewrite it with 'openssl pkey'"
        case .passphraseProtected:
            "the private key is protected by a passphrase; decrypt it into a file with mode 0600 ('openssl pkey')"
        case .unsupportedAlgorithm(let name): "a key of kind '\(name)' is not used; use Ed25519, P-256 or RSA"
        case .rsaTooShort(let bits): "an RSA key of \(bits) bits is too short; use at least 2048"
        case .rsaTooLong(let bits): "an RSA key of \(bits) bits is too long; use at most 8192"
        case .rsaExponent: "the RSA public exponent must be odd, at least 65537 and at most 64 bits long"
        case .unsupportedCurve(let name): "the curve '\(name)' is not used; use P-256 (prime256v1)"
        case .explicitCurveParameters: "the curve is given by its parameters; write the key with a named curve"
        case .inconsistentHalves: "the private key does not belong to its public key"
        }
    }
}
