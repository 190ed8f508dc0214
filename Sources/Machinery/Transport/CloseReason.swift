// Why a stream or channel ended: a closed list with stable names, because logs, status and tests compare them.

package import TandemReactor
package import TandemWire

/// Why a connection is over. The first reason stays.
package indirect enum CloseReason: Error, Equatable, Sendable {
    /// This side closed it.
    case closedHere
    /// The peer closed it, between two frames.
    case closedByPeer
    /// The peer closed it in the middle of a frame.
    case truncatedFrame
    /// The peer sent what is no frame.
    case invalidFrame(WireError)
    /// A frame did not come in time or came too slowly.
    case frameTooSlow
    /// The peer did not read what was queued for it.
    case slowConsumer
    /// The filter (TLS) refused the peer's bytes; the text is for logs.
    case filterFailed(String)
    /// The system reported an error of the connection.
    case failed(SystemError)

    /// The stable name.
    package var name: String {
        switch self {
        case .closedHere: "closed-here"
        case .closedByPeer: "closed-by-peer"
        case .truncatedFrame: "truncated-frame"
        case .invalidFrame: "invalid-frame"
        case .frameTooSlow: "too-slow"
        case .slowConsumer: "slow-consumer"
        case .filterFailed: "tls-failed"
        case .failed: "connection-failed"
        }
    }
}

extension CloseReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidFrame(let error): "\(name): \(error)"
        case .filterFailed(let text): "\(name): \(text)"
        case .failed(let error): "\(name): \(error)"
        default: name
        }
    }
}
