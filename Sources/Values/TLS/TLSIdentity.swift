// One device's part in all its TLS connections: its key, the certificate made from it, and the settings that no
// connection may change: TLS 1.3 only, a certificate from both ends, no tickets, no early data, no session cache. Made
// once for each device; connections share it.

import CTandemTLS
package import TandemCrypto

/// A device's side of TLS; any thread.
///
/// `@unchecked`: immutable. The context is set up before the initialiser returns and then only read; OpenSSL counts its
/// references atomically.
@safe package final class TLSIdentity: @unchecked Sendable {
    private let context: OpaquePointer

    /// The key that peers pin.
    package let publicKey: DevicePublicKey

    /// - Throws: ``TLSError/failed(_:)`` if OpenSSL refuses the settings.
    package init(key: DevicePrivateKey) throws(TLSError) {
        precondition(Self.isPrepared, "OpenSSL starts as long as there is memory")
        let made = unsafe openSSL { unsafe Self.makeContext(key.key) }
        guard let context = unsafe made.value else { throw unsafe .failed(made.faults.tlsText) }
        unsafe self.context = unsafe context
        publicKey = key.publicKey
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// As quietly as `openSSL` prepares the rest of OpenSSL: without the machine's openssl.cnf, and without texts.
    private static let isPrepared = OPENSSL_init_ssl(CTandemTLS_INIT_QUIETLY, nil) == 1

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
        unsafe CTandemTLS_CTX_no_session_cache(context)
        unsafe CTandemTLS_CTX_release_buffers(context)
        unsafe CTandemTLS_CTX_set_max_cert_list(context, longestCertificateList)
        let options =
            CTandemTLS_OP_NO_TICKET | CTandemTLS_OP_NO_COMPRESSION | CTandemTLS_OP_NO_RENEGOTIATION
        _ = unsafe SSL_CTX_set_options(context, options)
        return unsafe CTandemTLS_CTX_set_tls13_only(context) == 1
            && SSL_CTX_set_num_tickets(context, 0) == 1
            && SSL_CTX_set_max_early_data(context, 0) == 1
            && CTandemTLS_CTX_set_groups(context, "X25519:P-256") == 1
            && CTandemTLS_CTX_set_sigalgs(context, "ed25519:ecdsa_secp256r1_sha256:rsa_pss_rsae_sha256") == 1
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

/// The self-signed certificate that carries a device's key, because TLS 1.3 in OpenSSL 3.0 knows no raw public keys.
/// Peers believe only its key: its dates span all time, its name says nothing, and no clock is read to make it.
enum TLSCertificate {
    /// An owned X509 object for the key, signed by itself; nil only if OpenSSL is out of memory. Call inside `openSSL`.
    static func make(for key: OpaquePointer, algorithm: KeyAlgorithm) -> OpaquePointer? {
        guard let certificate = unsafe X509_new() else { return nil }
        let digest = algorithm == .ed25519 ? nil : unsafe EVP_sha256()
        guard unsafe describe(certificate), unsafe X509_set_pubkey(certificate, key) == 1,
            unsafe X509_sign(certificate, key, digest) > 0
        else {
            unsafe X509_free(certificate)
            return nil
        }
        return unsafe certificate
    }

    private static func describe(_ certificate: OpaquePointer) -> Bool {
        let version3 = 2
        guard unsafe X509_set_version(certificate, version3) == 1,
            unsafe ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1,
            unsafe ASN1_TIME_set_string(X509_getm_notBefore(certificate), "19700101000000Z") == 1,
            unsafe ASN1_TIME_set_string(X509_getm_notAfter(certificate), "99991231235959Z") == 1
        else { return false }
        let name = unsafe X509_get_subject_name(certificate)
        return unsafe X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, "tandem", -1, -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1
    }

    /// The SubjectPublicKeyInfo of a peer's certificate, exactly as it was sent. Call inside `openSSL`.
    static func subjectPublicKeyInfo(of certificate: OpaquePointer) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes)
        defer { unsafe CTandemTLS_free(bytes) }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: max(0, Int(count))))
    }
}

/// The peer that a connection accepts.
package enum TLSPeerRule: Sendable, Equatable {
    /// Only the holder of this key.
    case pinned(KeyIdentifier)
    /// Any peer with a usable key: the acceptor decides afterwards what that key may do.
    case any
}

/// Verification of one connection's peer: its key must pass the key policy and fit the rule. OpenSSL's own chain
/// building never runs, because there is no authority; TLS itself proves that the peer holds the private half.
final class TLSPeerVerification {
    private let rule: TLSPeerRule
    /// Of the accepted key, and not the key itself: it would keep its OpenSSL object for as long as the connection.
    private(set) var peerPin: KeyIdentifier?
    private(set) var refusal: TLSError?

    init(rule: TLSPeerRule) { self.rule = rule }

    func accepts(_ subjectPublicKeyInfo: [UInt8]) -> Bool {
        do throws(KeyError) {
            let key = try PublicKey(subjectPublicKeyInfo: subjectPublicKeyInfo)
            if case .pinned(let pin) = rule, pin != key.identifier {
                refusal = .wrongPin(expected: pin, found: key.identifier)
            } else {
                peerPin = key.identifier
            }
        } catch {
            refusal = .unusableKey(error)
        }
        return refusal == nil
    }
}

/// OpenSSL's certificate callback. It runs inside the handshake call, on the caller's thread; the connection's extra
/// data names the verification object, which the connection's owner keeps alive for longer than the connection.
func verifyPeerCertificate(_ store: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    let connection = unsafe X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx())
    guard let connection = unsafe connection, let certificate = unsafe X509_STORE_CTX_get0_cert(store),
        let owner = unsafe SSL_get_ex_data(OpaquePointer(connection), 0)
    else { return 0 }
    let verification = unsafe Unmanaged<TLSPeerVerification>.fromOpaque(owner).takeUnretainedValue()
    let isAccepted = unsafe verification.accepts(TLSCertificate.subjectPublicKeyInfo(of: certificate))
    unsafe X509_STORE_CTX_set_error(store, isAccepted ? X509_V_OK : X509_V_ERR_CERT_REJECTED)
    return isAccepted ? 1 : 0
}
