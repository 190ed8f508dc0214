// How far a durable item gets and how it ends: the outcomes of DEL-5, and how the daemon's frames name them (SES-50).

import TandemBase
import TandemPropertyList
public import TandemWire

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

extension TransferOutcome {
    /// Reads a `finished` frame. A word of a newer daemon is a failure that names it.
    init(finished envelope: Envelope, peer: UniqueIdentifier?) {
        switch envelope.name {
        case "handled": self = .handled
        case "cancelled": self = .cancelled
        case "expired": self = .expired
        case "superseded": self = .superseded
        default:
            var error = (try? SessionError(ended: envelope)) ?? SessionError(ending: envelope.name, envelope.code)
            error.messageID = envelope.id
            error.peer = peer
            self = .failed(error)
        }
    }
}

extension SessionError {
    /// With the facts that the frame carries.
    fileprivate init(ended envelope: Envelope) throws(WireError) {
        let plain = SessionError(ending: envelope.name, envelope.code)
        guard envelope.body != nil else {
            self = plain
            return
        }
        let fields = BodyFields(try envelope.dictionaryBody())
        self = plain
        if let refusal = try fields.optionalString("refusal") {
            name = refusal
            reason = "\(plain.reason); the other device said '\(refusal)' at last"
        }
        reason = try fields.optionalString("text") ?? reason
        actual = try fields.optionalInteger("actual").map { Int($0) }
        limit = try fields.optionalInteger("limit").map { Int($0) }
    }

    fileprivate init(ending name: String?, _ code: Int?) {
        let code = code.flatMap { Code(rawValue: $0) } ?? .deliveryFailed
        let reason =
            switch name {
            case "rejected": "the counterpart refused the item for good"
            case "dead": "the item failed too often and is kept as a dead letter"
            case "lost": "one of the two devices was restored from a backup; whether it was handled is not known"
            default: "the item ended as '\(name ?? "-")'"
            }
        // Nor what ended for want of room: a file for which there may be room later waits (FIL-13).
        self.init(code, name: name, reason: reason, isRetryable: false)
    }
}

extension TransferCancellation {
    /// Reads the answer to `cancel`.
    init(_ answer: Envelope) {
        switch answer.name {
        case "cancelled": self = .cancelled
        case "too-late":
            let outcome = (try? answer.dictionaryBody())?["outcome"]?.stringValue
            let code = (try? answer.dictionaryBody())?["code"]?.integerValue.flatMap { Int(exactly: $0) }
            self = .tooLate(TransferOutcome(finished: Envelope(.finished, code: code, name: outcome), peer: nil))
        default: self = .unknown
        }
    }
}
