// Signing and verifying, one way for each kind of key: Ed25519 over the message itself, ECDSA and RSA-PSS over its
// SHA-256. A signature is valid only if it has the one form of CFG-96 and OpenSSL answers exactly 1: zero and negative
// answers are both "no".

import CTandemOpenSSL

extension PrivateKey {
    /// The signature of the message: 64 bytes for Ed25519, up to 72 for P-256 (DER), the modulus's length for RSA; none
    /// if the key is on a token that does not answer any more.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        let signature = reference.withPointer { key in
            openSSL { unsafe Signing.signature(of: message, key: key, algorithm: algorithm) }.value
        }
        guard let signature else {
            precondition(isStored, "a loaded key can sign")
            return []
        }
        guard algorithm == .ecdsaP256 else { return signature }
        guard let numbers = ECDSASignature(signature) else {
            precondition(isStored, "OpenSSL writes DER")
            return []
        }
        return numbers.normalized
    }
}

extension PublicKey {
    /// Whether the signature is this key's for exactly this message, in the one form that CFG-96 allows.
    package func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        guard hasForm(signature) else { return false }
        guard let digestVerification else { return isValid(ed25519: signature, for: message) }
        return digestVerification.isValid(signature, forDigest: SHA256.digest(message))
    }

    /// The same for a message whose digest is known.
    package func isValid(_ signature: [UInt8], for message: SignedMessage) -> Bool {
        guard hasForm(signature) else { return false }
        guard let digestVerification else { return isValid(ed25519: signature, for: message.bytes) }
        return digestVerification.isValid(signature, forDigest: message.digest)
    }

    private func isValid(ed25519 signature: [UInt8], for message: [UInt8]) -> Bool {
        reference.withPointer { key in
            openSSL { unsafe Signing.isValid(ed25519: signature, for: message, key: key) }.value
        }
    }

    private func hasForm(_ signature: [UInt8]) -> Bool {
        switch algorithm {
        case .ed25519:
            // OpenSSL requires S < L, and compares R as bytes: only a canonical one can be equal.
            signature.count == 64 && !Ed25519Point.isOfSmallOrder(signature[..<32])
        case .ecdsaP256: ECDSASignature(signature)?.isLow == true
        case .rsaPSS: signature.count == digestVerification?.signatureCount
        }
    }
}

enum Signing {
    /// The salt of RSA-PSS in bytes: as long as the digest, and no other length verifies.
    static let saltCount: Int32 = 32

    static func signature(of message: [UInt8], key: OpaquePointer, algorithm: KeyAlgorithm) -> [UInt8]? {
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        var count = 0
        guard unsafe EVP_DigestSignInit(context, &parameters, digest(for: algorithm), nil, key) == 1,
            unsafe setPadding(parameters, for: algorithm),
            unsafe EVP_DigestSign(context, nil, &count, message, message.count) == 1
        else { return nil }
        var signature = [UInt8](repeating: 0, count: count)
        guard unsafe EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return nil }
        signature.removeLast(signature.count - count)
        return signature
    }

    static func isValid(ed25519 signature: [UInt8], for message: [UInt8], key: OpaquePointer) -> Bool {
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        return unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    private static func digest(for algorithm: KeyAlgorithm) -> OpaquePointer? {
        algorithm == .ed25519 ? nil : unsafe EVP_sha256()
    }

    /// MGF1's digest is the signature's by default; setting it again costs as much as hashing a kilobyte.
    static func setPadding(_ parameters: OpaquePointer?, for algorithm: KeyAlgorithm) -> Bool {
        guard algorithm == .rsaPSS else { return true }
        return unsafe EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1
            && EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, saltCount) == 1
    }
}

/// A message and its digest, for several signatures over it, each of which takes what its kind needs. The digest
/// names the message, too.
package struct SignedMessage: Sendable {
    package let bytes: [UInt8]
    /// SHA-256 of ``bytes``.
    package let digest: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        digest = SHA256.digest(bytes)
    }
}

/// DSSE's pre-authentication encoding (PAE), version 1: the bytes that a signature covers. Type and body have their
/// lengths, so that a signature for one type can never pass for another.
package enum PreAuthenticationEncoding {
    /// `DSSEv1 LEN(type) type LEN(body) body`, each LEN the decimal count of bytes.
    package static func bytes(type: String, body: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(body.count + type.utf8.count + 32)
        encoded += "DSSEv1 ".utf8
        encoded += String(type.utf8.count).utf8
        encoded.append(UInt8(ascii: " "))
        encoded += type.utf8
        encoded.append(UInt8(ascii: " "))
        encoded += String(body.count).utf8
        encoded.append(UInt8(ascii: " "))
        encoded += body
        return encoded
    }
}
