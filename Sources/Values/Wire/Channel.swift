// The durable channels (FRM-8): each is a queue of its own for an application of a pairing.

/// A durable channel; its raw value is the word on the wire.
package enum Channel: String, Sendable, Hashable, CaseIterable {
    case configuration
    case context
    case userInfo
    case urgent
    case file
}

extension Capability {
    /// The durable channel that the capability opens to apps; nil for another one.
    package var channel: Channel? {
        switch self {
        case .context: .context
        case .userInfo: .userInfo
        case .urgent: .urgent
        case .file: .file
        case .message, .messageData, .configuration, .topic: nil
        }
    }
}
