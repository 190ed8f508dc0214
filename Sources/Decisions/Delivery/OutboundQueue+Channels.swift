// What single channels add to a queue: the latest context, the day's urgent items, and an item's wait for another one's end.

package import TandemBase

/// What came of setting a context.
package enum ContextUpdate: Sendable, Equatable {
    /// It is a new revision.
    case set(revision: UInt64)
    /// Its bytes are those of this revision, which stands.
    case unchanged(revision: UInt64)
}

extension OutboundQueue {
    // MARK: contexts

    /// Sets the context: what waits of an older one is superseded. An item known by its identifier is the same update again.
    /// - Parameters:
    ///   - digest: tells equal bodies from others.
    ///   - refusal: what a wider budget has against any new item.
    /// - Throws: ``DeliveryError/queueFull(items:bytes:itemLimit:byteLimit:)``; nothing has changed then.
    package mutating func setContext(
        _ item: OutboundItem, digest: [UInt8], policy: ContextPolicy, at reading: Reading,
        unless refusal: DeliveryError? = nil
    ) throws(DeliveryError) -> (ContextUpdate, OutboundTransition) {
        if let known = record(of: item.id) {
            return (.set(revision: known.revision ?? 0), OutboundTransition())
        }
        if policy == .ifChanged, let context, context.digest == digest, header.contextEpoch == header.epoch {
            return (.unchanged(revision: context.revision), OutboundTransition())
        }
        let revision = (context?.revision ?? 0) + 1
        let transition = try set(item, SentContext(revision: revision, digest: digest), at: reading, unless: refusal)
        return (.set(revision: revision), transition)
    }

    /// Gives the last context to the queue again, with the revision that it has; nothing if that is not needed any more.
    package mutating func setContextAgain(
        _ id: UniqueIdentifier, body: [UInt8], at reading: Reading
    ) throws(DeliveryError) -> OutboundTransition {
        guard needsContextAgain, let context else { return OutboundTransition() }
        var transition = try set(OutboundItem(id: id, payload: body), context, at: reading, unless: nil)
        // Nobody submitted it, so nobody has to hear.
        guard var record = record(of: id) else { return transition }
        record.isHeard = true
        put(record, &transition)
        return transition
    }

    private mutating func set(
        _ item: OutboundItem, _ next: SentContext, at reading: Reading, unless refusal: DeliveryError?
    ) throws(DeliveryError) -> OutboundTransition {
        var item = item
        item.supersedeKey = []
        item.revision = next.revision
        try checkRoom(for: item, unless: refusal)
        return transition(at: reading) { queue, transition in
            queue.context = next
            queue.header.contextEpoch = queue.header.epoch
            let place = DeliveryRowKey(.sentContext, queue.key)
            transition.changes.append(.put(place, .sentContext(next, body: item.payload)))
            queue.add(item, at: reading, &transition)
        }
    }

    // MARK: urgent items

    /// Accepts an urgent item, if one is left of the day.
    /// - Parameter refusal: what a wider budget has against any new item.
    /// - Returns: nil if none is left, and nothing has changed.
    package mutating func enqueueUrgent(
        _ item: OutboundItem, at reading: Reading, unless refusal: DeliveryError? = nil
    ) throws(DeliveryError) -> OutboundTransition? {
        if ordinalByID[item.id] != nil { return try enqueue(item, at: reading) }
        var next = budget
        guard next.take(at: clock.milliseconds(at: reading.monotonic), limit: limits.urgentPerDay) else { return nil }
        try checkRoom(for: item, unless: refusal)
        return transition(at: reading) { queue, transition in
            queue.budget = next
            transition.changes.append(.put(DeliveryRowKey(.urgentBudget, queue.key), .urgentBudget(next)))
            queue.add(item, at: reading, &transition)
        }
    }

    /// A newer item of this kind went elsewhere: none here is the current one any more.
    package mutating func untag(_ kind: String, at reading: Reading) -> OutboundTransition {
        transition(at: reading) { queue, transition in queue.untag(kind, &transition) }
    }

    mutating func untag(_ kind: String, _ transition: inout OutboundTransition) {
        guard let older = currentByKind.removeValue(forKey: kind), var record = records[older] else { return }
        record.isCurrent = false
        put(record, &transition)
    }

    // MARK: waiting for another item

    /// The item has ended, or is not known: what waited for it goes on.
    package mutating func released(_ id: UniqueIdentifier, at reading: Reading) -> OutboundTransition {
        guard let ordinals = awaiting.removeValue(forKey: id) else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in
            for ordinal in ordinals {
                guard var record = queue.records[ordinal] else { continue }
                record.after = nil
                queue.put(record, &transition)
            }
            queue.sendWaiting(at: reading, &transition)
        }
    }
}
