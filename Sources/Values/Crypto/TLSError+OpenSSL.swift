// From OpenSSL's reason numbers to our named causes. What is not listed is the peer's fault all the same: whatever a
// peer can make OpenSSL say must end in a name, never in a trap.

import CTandemOpenSSL

extension TLSError {
    /// Alerts of TLS 1.3 that have a cause of their own.
    private static let protocolVersionAlert: Int32 = 70
    private static let certificateRequiredAlert: Int32 = 116

    /// The cause that OpenSSL's queue names; the oldest entry of its TLS part decides.
    init(_ faults: OpenSSLFaults) {
        guard let reason = faults.reasons(in: ERR_LIB_SSL).first else {
            self = .failed(faults.text.isEmpty ? "without a reason" : faults.text)
            return
        }
        self = Self.alert(reason) ?? Self.ownFinding(reason) ?? .garbage(faults.text)
    }

    private static func alert(_ reason: Int32) -> TLSError? {
        let alert = reason - SSL_AD_REASON_OFFSET
        guard let number = UInt8(exactly: alert) else { return nil }
        switch alert {
        case protocolVersionAlert: return .protocolVersion
        case certificateRequiredAlert: return .noCertificate
        default: return .refusedByPeer(alert: number)
        }
    }

    private static func ownFinding(_ reason: Int32) -> TLSError? {
        switch reason {
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_NO_PROTOCOLS_AVAILABLE: .protocolVersion
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: .noCertificate
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: .truncated
        default: nil
        }
    }
}
