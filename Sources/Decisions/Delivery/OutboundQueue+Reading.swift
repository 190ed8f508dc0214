// What others may know of a queue. Nothing here changes it.

package import TandemBase

extension OutboundQueue {
    /// The epoch in which the queue numbers its items.
    package var epoch: UInt64 { header.epoch }

    /// The highest sequence that is durable at the peer in this epoch; 0 if none.
    package var lastStored: UInt64 { header.storedThrough }

    /// The highest sequence ever given to the peer in this epoch; 0 if none.
    package var lastSent: UInt64 { header.nextSequence - 1 }

    /// The item's record; nil if it is unknown or forgotten.
    package func record(of id: UniqueIdentifier) -> OutboundRecord? { ordinalByID[id].flatMap { records[$0] } }

    /// Whether the item is known and has not ended.
    package func isUnfinished(_ id: UniqueIdentifier) -> Bool { record(of: id)?.isUnfinished ?? false }

    /// The unfinished items in order of acceptance, from behind `ordinal`.
    package func outstanding(after ordinal: UInt64 = 0, limit: Int = .max) -> [OutboundRecord] {
        var found: [OutboundRecord] = []
        for next in acceptance.all where next > ordinal {
            guard found.count < limit else { break }
            if let record = records[next], record.isUnfinished { found.append(record) }
        }
        return found
    }

    /// Items that have ended and whose submitters have not been told, in the order of their ends.
    package var unheard: [OutboundRecord] { unheard(limit: .max) }

    /// The first of them.
    package func unheard(limit: Int) -> [OutboundRecord] {
        Array(ended.all.lazy.compactMap { records[$0] }.filter { !$0.isUnfinished && !$0.isHeard }.prefix(limit))
    }

    /// Whether there are any.
    package var hasUnheard: Bool { endedCount > 0 }

    /// The items that the peer refused too often, in order of acceptance.
    package var deadLetters: [OutboundRecord] { letters.all.compactMap { records[$0] }.filter(\.isDeadLetter) }

    /// The items for whose end others wait here.
    package var awaited: [UniqueIdentifier] { Array(awaiting.keys) }

    /// Whether something here waits for the end of this item.
    package func isAwaiting(_ id: UniqueIdentifier) -> Bool { awaiting[id] != nil }

    /// Why the peer does not take the item that is its turn, as far as it has said.
    package var headRefusal: ItemRefusal? {
        let head = ordinalBySequence[header.storedThrough + 1].flatMap { records[$0] }
        return head?.withdrawal == nil ? head?.refusal : nil
    }

    /// Age of the oldest unfinished item in milliseconds; nil if there is none.
    package func oldestAge(at reading: Reading) -> Int64? {
        acceptance.first.flatMap { records[$0] }.map { clock.milliseconds(at: reading.monotonic) - $0.acceptedAt }
    }

    /// What is left of the day's urgent items.
    package func urgentBudget(at reading: Reading) -> UrgentBudgetReading {
        let now = clock.milliseconds(at: reading.monotonic)
        return UrgentBudgetReading(
            remaining: budget.remaining(at: now, limit: limits.urgentPerDay), limit: limits.urgentPerDay,
            reset: .milliseconds(budget.reset(at: now)))
    }

    /// Whether the context is neither under way nor known to have reached the peer in this epoch, without having ended there.
    package var needsContextAgain: Bool {
        guard context != nil, let epoch = header.contextEpoch else { return false }
        return epoch != header.epoch
    }
}
