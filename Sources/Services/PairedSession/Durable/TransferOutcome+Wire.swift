// How an item ended, as the daemon tells it (SES-50): the words of DEL-5, and for those that were refused the code and
// the facts of the refusal.

import TandemBase
import TandemWire

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
