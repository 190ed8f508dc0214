// What a sender may say about a durable item besides its content. Everything has a default: the item is delivered in
// its turn, for up to 30 days.

public import TandemBase
public import TandemWire

/// How a user info is to be delivered.
public struct TransferOptions: Sendable {
    /// Which handler is meant: 1 to 128 bytes without NUL; nil: those that name no topic.
    public var topic: String?
    /// A newer item with the same key takes the place of one that no handler has seen: 1 to 128 bytes without NUL.
    public var supersedeKey: String?
    /// How long the item may wait until a handler has it; nil: 30 days. What has expired never reaches a handler.
    public var timeToLive: Duration?
    /// An item of this app for the same device, on any channel, that must have ended before this one is sent.
    public var after: UniqueIdentifier?

    /// Options; each has the default that its property names.
    public init(
        topic: String? = nil, supersedeKey: String? = nil, timeToLive: Duration? = nil, after: UniqueIdentifier? = nil
    ) {
        self.topic = topic
        self.supersedeKey = supersedeKey
        self.timeToLive = timeToLive
        self.after = after
    }
}

/// What a sender waits for.
public enum AcknowledgementLevel: Int, Sendable, Comparable, CaseIterable {
    /// Durable in this device's daemon: it will arrive even if this process, the daemon or the machine is killed now.
    case accepted = 1
    /// Durable in the other device's daemon. WCSession's `didFinish` means this.
    case stored = 2
    /// The counterpart's handler has returned.
    case handled = 3

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// How a durable item ended; each item ends exactly once (DEL-5).
public enum TransferOutcome: Sendable, Equatable {
    /// The counterpart's handler returned.
    case handled
    /// Taken back by its sender before a handler had it.
    case cancelled
    /// Its time to live ran out before a handler had it.
    case expired
    /// A newer item with the same key took its place.
    case superseded
    /// It will never be handled: refused for good, failed too often, or lost with a restored store.
    case failed(SessionError)

    /// What an error handler is told; nil for an item that was handled.
    public var error: SessionError? {
        switch self {
        case .handled: nil
        case .failed(let error): error
        case .cancelled:
            SessionError(.deliveryFailed, name: "cancelled", reason: "the item was cancelled", isRetryable: false)
        case .expired:
            SessionError(.transferTimedOut, name: "expired", reason: "the item's time to live is over")
        case .superseded:
            SessionError(
                .deliveryFailed, name: "superseded", reason: "a newer item took its place", isRetryable: false)
        }
    }
}

/// What came of taking an item back.
public enum TransferCancellation: Sendable, Equatable {
    /// No handler will ever have it.
    case cancelled
    /// It had ended before.
    case tooLate(TransferOutcome)
    /// It was sent, and the other device's word is not here yet; the outcome tells.
    case unknown
}
