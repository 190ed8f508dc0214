// What the peer does not take. An item that it cannot take has its attempts; one for which it has no room now only waits, in
// its place, because nothing is wrong with it. An answer counts once for each sending: what a peer says again within a pause,
// in whatever words, makes no pause longer and writes nothing.

package import TandemBase
import TandemWire

extension OutboundQueue {
    /// The peer cannot take this item now. The head blocks for a few attempts and then becomes a dead letter.
    package mutating func refused(
        _ id: UniqueIdentifier, _ refusal: ItemRefusal? = nil, at reading: Reading
    ) -> OutboundTransition {
        guard var record = refusable(id), case .sent(let sequence) = record.phase else { return OutboundTransition() }
        let ordinal = record.ordinal
        record.attempts += 1
        record.refusal = refusal
        let isDead = record.attempts >= limits.attempts
        if !isDead { link?.pausedUntil = reading.monotonic + limits.pause(afterAttempts: record.attempts) }
        return transition(at: reading) { queue, transition in
            queue.put(record, &transition)
            guard isDead else { return }
            queue.withdraw(ordinal, .dead, &transition)
            queue.sendAgain(at: reading, after: sequence, &transition)
        }
    }

    /// The peer has no room for this item now, and may have later: that is no attempt, and only its time to live ends it.
    package mutating func foundNoRoom(
        _ id: UniqueIdentifier, _ refusal: ItemRefusal?, at reading: Reading
    ) -> OutboundTransition {
        guard var record = refusable(id) else { return OutboundTransition() }
        let before = roomless?.ordinal == record.ordinal ? roomless?.times ?? 0 : 0
        roomless = (record.ordinal, before + 1)
        link?.pausedUntil = reading.monotonic + limits.pause(withoutRoom: before + 1)
        // What is known already is not written once more.
        guard record.refusal != refusal else { return OutboundTransition() }
        record.refusal = refusal
        return transition(at: reading) { queue, transition in queue.put(record, &transition) }
    }

    /// A sent item that the peer has not stored and that is not being taken back; nil while a pause lasts.
    private func refusable(_ id: UniqueIdentifier) -> OutboundRecord? {
        guard let link, link.pausedUntil == nil, let record = record(of: id), case .sent = record.phase,
            record.withdrawal == nil
        else { return nil }
        return record
    }
}
