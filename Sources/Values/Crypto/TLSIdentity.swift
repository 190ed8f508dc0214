// What one device brings to all its TLS connections: its key, the certificate made from it, and the settings that no
// connection may change: TLS 1.3 only, a certificate from both ends, no tickets, no early data, no session cache.
// Made once for each device; connections share it.

import CTandemOpenSSL

/// A device's side of TLS; any thread.
@safe package final class TLSIdentity: @unchecked Sendable {
    // @unchecked: the context is set up in init and only read afterwards; OpenSSL counts its references atomically.
    private let context: OpaquePointer

    /// The key that peers pin.
    package let publicKey: DevicePublicKey

    /// - Throws: ``TLSError/failed(_:)`` if OpenSSL refuses the settings.
    package init(key: DevicePrivateKey) throws(TLSError) {
        let made = unsafe openSSL { unsafe Self.makeContext(key.key) }
        guard let context = unsafe made.value else { throw unsafe .failed(made.faults.text) }
        unsafe self.context = unsafe context
        publicKey = key.publicKey
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// A new connection object; the caller owns it. Call inside `openSSL`.
    func makeConnection() -> OpaquePointer? { unsafe SSL_new(context) }

    private static func makeContext(_ key: PrivateKey) -> OpaquePointer? {
        guard let context = unsafe SSL_CTX_new(TLS_method()) else { return nil }
        guard unsafe restrict(context), unsafe install(key, in: context) else {
            unsafe SSL_CTX_free(context)
            return nil
        }
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        unsafe SSL_CTX_set_cert_verify_callback(context, verifyPeerCertificate, nil)
        return unsafe context
    }

    /// A stranger's certificate chain may take this many bytes: one self-signed certificate of an 8192-bit key.
    private static let longestCertificateList = 8192
    /// OpenSSL's own floor of strength, whatever the machine's openssl.cnf says: 112 bits.
    private static let securityLevel: Int32 = 2

    private static func restrict(_ context: OpaquePointer) -> Bool {
        unsafe SSL_CTX_set_security_level(context, securityLevel)
        unsafe CTandemOpenSSL_CTX_no_session_cache(context)
        unsafe CTandemOpenSSL_CTX_release_buffers(context)
        unsafe CTandemOpenSSL_CTX_set_max_cert_list(context, longestCertificateList)
        let options =
            CTandemOpenSSL_OP_NO_TICKET | CTandemOpenSSL_OP_NO_COMPRESSION | CTandemOpenSSL_OP_NO_RENEGOTIATION
        _ = unsafe SSL_CTX_set_options(context, options)
        return unsafe CTandemOpenSSL_CTX_set_tls13_only(context) == 1
            && SSL_CTX_set_num_tickets(context, 0) == 1
            && SSL_CTX_set_max_early_data(context, 0) == 1
            && CTandemOpenSSL_CTX_set_groups(context, "X25519:P-256") == 1
            && CTandemOpenSSL_CTX_set_sigalgs(context, "ed25519:ecdsa_secp256r1_sha256:rsa_pss_rsae_sha256") == 1
    }

    private static func install(_ key: PrivateKey, in context: OpaquePointer) -> Bool {
        key.reference.withPointer { pointer in
            let certificate = unsafe TLSCertificate.make(for: pointer, algorithm: key.algorithm)
            defer { unsafe X509_free(certificate) }
            return unsafe SSL_CTX_use_certificate(context, certificate) == 1
                && SSL_CTX_use_PrivateKey(context, pointer) == 1
        }
    }
}
