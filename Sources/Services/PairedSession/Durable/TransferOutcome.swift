// How far a durable item gets and how it ends: the outcomes of DEL-5, and how the daemon's frames name them (SES-50).

import TandemBase
public import TandemWire

/// A level that a sender can wait for.
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

    /// The error for an error handler; nil for an item that was handled.
    public var error: SessionError? {
        switch self {
        case .handled: nil
        case .failed(let error): error
        case .cancelled:
            SessionError(.deliveryFailed, .cancelled, reason: "the item was cancelled", isRetryable: false)
        case .expired:
            SessionError(.transferTimedOut, .expired, reason: "the item's time to live is over")
        case .superseded:
            SessionError(
                .deliveryFailed, .superseded, reason: "a newer item took its place", isRetryable: false)
        }
    }
}

/// The result of taking an item back.
public enum TransferCancellation: Sendable, Equatable {
    /// No handler will ever have it; also if it was taken back before.
    case cancelled
    /// It had ended otherwise before; never with ``TransferOutcome/cancelled``.
    case tooLate(TransferOutcome)
    /// Not known yet: the other device's answer is not here, or this device's daemon's. The item is taken back if that
    /// is still possible; ``Transfer/outcome()``, or of a former process's item
    /// ``PairedSession/observeTransfers(_:)``, tells the end.
    case unknown
}

extension TransferOutcome {
    /// Reads a `finished` frame. A newer daemon's word is a failure that names it.
    init(_ frame: FinishedFrame, peer: UniqueIdentifier?) {
        var error = SessionError(ending: frame.name, frame.code)
        if let refusal = frame.refusal {
            error.name = refusal
            error.reason += "; the other device said '\(refusal)' at last"
        }
        (error.messageID, error.peer) = (frame.item.id, peer)
        self.init(frame.outcome, else: error)
    }

    fileprivate init(_ outcome: Outcome?, else error: SessionError) {
        switch outcome {
        case .handled: self = .handled
        case .withdrawn(.cancelled): self = .cancelled
        case .withdrawn(.expired): self = .expired
        case .withdrawn(.superseded): self = .superseded
        case .withdrawn(.dead), .withdrawn(.lost), .rejected, nil: self = .failed(error)
        }
    }
}

extension TransferCancellation {
    /// Reads the answer to `cancel`.
    init(_ answer: AnswerFrame) {
        switch answer.word {
        case .cancelled: self = .cancelled
        case .tooLate:
            let late = LateOutcome(answer.body)
            self = TransferCancellation(
                TransferOutcome(
                    late.flatMap { Outcome(name: $0.name, code: $0.code.map(Int64.init)) },
                    else: SessionError(ending: late?.name, late?.code)))
        default: self = .unknown
        }
    }

    /// The result for an item that has ended.
    init(_ outcome: TransferOutcome) { self = outcome == .cancelled ? .cancelled : .tooLate(outcome) }
}

extension SessionError {
    fileprivate init(ending name: String?, _ code: Int?) {
        let code = code.flatMap { Code(rawValue: $0) } ?? .deliveryFailed
        let reason =
            switch name.flatMap({ Outcome(name: $0, code: nil) }) {
            case .withdrawn(.dead): "the item failed too often and is kept as a dead letter"
            case .withdrawn(.lost):
                "one of the two devices was restored from a backup; whether it was handled is not known"
            case _ where name == ErrorName.rejected.rawValue: "the counterpart refused the item for good"
            default: "the item ended as '\(name ?? "-")'"
            }
        // Not retryable for lack of room either: a file for which there may be room later waits (FIL-13).
        self.init(code, name: name, reason: reason, isRetryable: false)
    }
}
