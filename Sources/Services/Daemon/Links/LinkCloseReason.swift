// Why a device connection is over, by a stable name: status shows it, logs and tests compare it, and the dialler
// decides by it whether it is worth dialling again at once.

package import TandemCrypto
package import TandemTransport
package import TandemWire

/// The end of a device connection.
package enum LinkCloseReason: Error, Sendable, Equatable {
    /// This side ended it with `bye` and this name.
    case ended(ByeName)
    /// The peer said `bye`, with this name if it gave one we know.
    case endedByPeer(ByeName?)
    /// This side refused the peer; the text is for logs.
    case refused(RefusalName, String)
    /// The peer refused this side, by this name if we know it.
    case refusedByPeer(RefusalName?)
    /// It was there for a join, which is done.
    case joined
    /// TLS ended it.
    case notSecured(TLSError)
    /// It gave way to newer connections of unknown peers.
    case crowdedOut
    /// The peer did not answer three heartbeats.
    case noHeartbeat
    /// The stream below ended.
    case stream(CloseReason)

    /// The stable name.
    package var name: String {
        switch self {
        case .ended(let name): name.rawValue
        case .endedByPeer(let name): "peer-" + (name?.rawValue ?? "bye")
        case .refused(let name, _): name.rawValue
        case .refusedByPeer(let name): "peer-refused-" + (name?.rawValue ?? "unknown")
        case .joined: "joined"
        case .notSecured(let error): error.name
        case .crowdedOut: "crowded-out"
        case .noHeartbeat: "no-heartbeat"
        case .stream(let reason): reason.name
        }
    }
}

extension LinkCloseReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let name, let text): "\(name.rawValue): \(text)"
        case .notSecured(let error): "\(error.name): \(error)"
        case .stream(let reason): "\(reason)"
        default: name
        }
    }
}

/// The names of `bye` (SES-18, SES-19, PAR-13).
package enum ByeName: String, Sendable, Hashable, CaseIterable {
    case stopping
    case replaced
    case unpaired
}
