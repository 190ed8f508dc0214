// Whether a peer's certificate is accepted: its key must pass the key policy, and be the pinned one unless any will do
// (the caller then decides what the key may do). OpenSSL's own chain building never runs: there is no authority here.
// That the peer holds the private half is proved by TLS itself.

import CTandemOpenSSL

/// Which peer a connection is for.
package enum TLSPeerRule: Sendable, Equatable {
    /// Only the holder of this key.
    case pinned(KeyIdentifier)
    /// Whoever has a usable key: the acceptor's side, where the key decides afterwards what its holder may do.
    case any
}

/// The rule of one connection and what became of it.
final class TLSPeerVerification {
    private let rule: TLSPeerRule
    private(set) var peerKey: PublicKey?
    private(set) var refusal: TLSError?

    init(rule: TLSPeerRule) { self.rule = rule }

    func accepts(_ subjectPublicKeyInfo: [UInt8]) -> Bool {
        do throws(KeyError) {
            let key = try PublicKey(subjectPublicKeyInfo: subjectPublicKeyInfo)
            if case .pinned(let pin) = rule, pin != key.identifier {
                refusal = .wrongPin(expected: pin, found: key.identifier)
            } else {
                peerKey = key
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
