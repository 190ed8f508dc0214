// Why a TLS connection was refused or failed. Each cause has a stable name: an operator must be able to distinguish a
// wrong pin (an attack, or a device set up again) from a stranger who does not speak TLS at all.

import CTandemTLS
package import TandemCrypto

/// The end of a TLS connection that was not a clean one.
package enum TLSError: Error, Sendable, Equatable {
    /// The peer's key is not the pinned one.
    case wrongPin(expected: KeyIdentifier, found: KeyIdentifier)
    /// The peer showed no certificate, or one that cannot be read.
    case noCertificate
    /// The peer's key is one that this software does not use.
    case unusableKey(KeyError)
    /// The peer does not speak TLS 1.3.
    case protocolVersion
    /// The received bytes are not TLS, or were altered on their way.
    case garbage(String)
    /// The peer ended the connection with this TLS alert.
    case refusedByPeer(alert: UInt8)
    /// The connection ended without the peer's close notification: the last bytes may be missing.
    case truncated
    /// Plaintext was offered before the handshake had finished, or after the end.
    case notEstablished
    /// OpenSSL failed in another way.
    case failed(String)
}

extension TLSError {
    /// The stable name of the cause, for logs, status and tests.
    package var name: String {
        switch self {
        case .wrongPin: "wrong-pin"
        case .noCertificate: "no-certificate"
        case .unusableKey: "unusable-key"
        case .protocolVersion: "tls-version"
        case .garbage: "not-tls"
        case .refusedByPeer: "refused-by-peer"
        case .truncated: "truncated"
        case .notEstablished: "not-established"
        case .failed: "tls-failed"
        }
    }
}

extension TLSError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .wrongPin(let expected, let found):
            "the pinned key is \(expected.fingerprint), the peer's is \(found.fingerprint)"
        case .noCertificate: "the peer showed no certificate"
        case .unusableKey(let error): "the peer's key is not used: \(error)"
        case .protocolVersion: "the peer does not speak TLS 1.3"
        case .garbage(let detail): "what the peer sent is not TLS, or was altered on its way (\(detail))"
        case .refusedByPeer(let alert): "the peer refused the connection with TLS alert \(alert)"
        case .truncated: "the connection was cut without the peer's close notification"
        case .notEstablished: "the TLS connection is not established"
        case .failed(let detail): "TLS failed: \(detail)"
        }
    }
}

// MARK: - From OpenSSL's reason numbers; one that is not listed is the peer's fault, too, and must never trap

extension TLSError {
    /// Alerts of TLS 1.3 that have a cause of their own.
    private static let protocolVersionAlert: Int32 = 70
    private static let certificateRequiredAlert: Int32 = 116

    /// The cause that OpenSSL's queue names; the oldest entry of its TLS part decides.
    init(_ faults: OpenSSLFaults) {
        guard let reason = faults.reasons(in: ERR_LIB_SSL).first else {
            self = .failed(faults.tlsText.isEmpty ? "without a reason" : faults.tlsText)
            return
        }
        self = Self.alert(reason) ?? Self.ownFinding(reason) ?? .garbage(faults.tlsText)
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

extension OpenSSLFaults {
    /// The texts of all entries, with those of libssl, which are loaded for the first.
    var tlsText: String {
        _ = Self.hasTexts
        return text
    }

    private static let hasTexts: Void = CTandemTLS_load_error_texts()
}
