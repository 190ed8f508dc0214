// Verifying with one RSA key, set up once: padding, salt and digest belong to the key, and setting them anew for each
// signature costs a third of what the verification itself does. The other algorithms have nothing to set up.

import CTandemOpenSSL
import Synchronization

/// A context for RSA-PSS with SHA-256, MGF1 with SHA-256 and a salt of 32 bytes; any thread.
@safe final class RSAVerification: Sendable {
    /// A context may be used again and again, but not by two threads at once.
    private let context: Mutex<OpaquePointer?>

    init(_ key: KeyReference) {
        unsafe context = unsafe Mutex(openSSL { key.withPointer { unsafe Self.context(for: $0) } }.value)
    }

    deinit { unsafe context.withLock { unsafe EVP_PKEY_CTX_free($0) } }

    /// Whether the signature is the key's for the message with this digest.
    func isValid(_ signature: [UInt8], forDigest digest: [UInt8]) -> Bool {
        openSSL {
            unsafe context.withLock { context in
                guard let context = unsafe context else { return false }
                return unsafe EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
            }
        }.value
    }

    private static func context(for key: OpaquePointer) -> OpaquePointer? {
        let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        guard unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_pss_saltlen(context, Signing.saltCount) == 1,
            unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        else {
            unsafe EVP_PKEY_CTX_free(context)
            return nil
        }
        return unsafe context
    }
}
