// What a ready link does with a frame. Messages and their answers, nearly all that a link carries, are passed on by
// their head alone when they have the shape that every writer makes; whatever is not that plain, faulty or merely
// unusual, is read in full, so that each refusal has one place.

import TandemSession
package import TandemWire

/// Takes what a ready link passes on without a look at the rest of the envelope; on the loop's thread.
package protocol LinkForwarder: AnyObject {
    /// Takes a `message` of the link's own pairing, or an answer to one.
    /// - Returns: the refusal that the peer has earned, which ends the link; nil if all is well.
    func receive(_ frame: Frame, _ head: EnvelopeHead) -> RefusalName?
}

extension Link {
    /// Whether the frame goes to the forwarder. A failure about an item has no head. Another pairing's frame does not:
    /// the full reading refuses it (FRM-13).
    func isForwarded(_ head: EnvelopeHead) -> Bool {
        switch head.kind {
        case .message, .messageData, .reply, .failure: head.pairing == pairing
        default: false
        }
    }

    func read(_ frame: Frame) {
        do throws(WireError) {
            let envelope = try Envelope(reading: frame)
            received(envelope, in: frame)
        } catch {
            refuse(error.refusalName, "\(error)")
        }
    }

    private func received(_ envelope: Envelope, in frame: Frame) {
        switch envelope.kind {
        case .ping: send(Envelope(.pong, id: envelope.id))
        case .pong: break
        case .bye, .refusal:
            farewell(SecuredChannel.farewell(envelope))
        case .message, .messageData, .reply, .failure, .item, .gap, .stored, .outcome, .settled, .chunk,
            .want:
            guard envelope.pairing == pairing else {
                return refuse(.notYours, "a frame names another pairing than the link's")
            }
            delegate?.link(self, didReceive: envelope, in: frame)
        case .application: delegate?.link(self, didReceive: envelope, in: frame)
        case .hello, .join, .joined, .register, .registered, .state, .configuration, .control, .result, .submit,
            .accepted,
            .progress, .delivery, .verdict, .finished, .heard, .context, .query, .answer:
            refuse(.unexpected, "a frame of kind '\(envelope.kind.rawValue)' has no place on a ready link")
        }
    }
}
