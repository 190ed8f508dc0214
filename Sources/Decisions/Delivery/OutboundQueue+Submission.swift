// What submitters do: give an item, take it back, hear how it ended.

package import TandemIdentity

/// An item as its submitter gives it.
package struct OutboundItem: Sendable, Equatable {
    package let id: UniqueIdentifier
    package let payload: [UInt8]
    package var precedence: Precedence
    package var supersedeKey: [UInt8]?
    /// Nil for the usual time to live.
    package var lifetime: Duration?

    package init(
        id: UniqueIdentifier, payload: [UInt8], precedence: Precedence = .ordinary, supersedeKey: [UInt8]? = nil,
        lifetime: Duration? = nil
    ) {
        self.id = id
        self.payload = payload
        self.precedence = precedence
        self.supersedeKey = supersedeKey
        self.lifetime = lifetime
    }
}

/// What came of taking an item back.
package enum Cancellation: Sendable, Equatable {
    /// It will never be handled.
    case cancelled
    /// It was sent; the peer decides, and `finished` will tell.
    case asked
    /// It had ended before.
    case tooLate(Outcome)
    /// No such item.
    case unknown
}

extension OutboundQueue {
    /// Accepts an item. One with the identifier of a known item is the same item, submitted again.
    /// - Throws: ``DeliveryError/queueFull(items:bytes:itemLimit:byteLimit:)``; nothing has changed then.
    package mutating func enqueue(
        _ item: OutboundItem, at reading: Reading
    ) throws(DeliveryError) -> OutboundTransition {
        if ordinalByID[item.id] != nil { return OutboundTransition(effects: [.accepted(item.id)]) }
        try checkRoom(for: item)
        return transition(at: reading) { queue, transition in
            if let older = item.supersedeKey.flatMap({ queue.newestBySupersedeKey[$0] }) {
                queue.withdraw(older, .superseded, &transition)
            }
            queue.accept(item, at: reading, &transition)
            queue.sendWaiting(at: reading, payload: item.payload, of: item.id, &transition)
        }
    }

    private func checkRoom(for item: OutboundItem) throws(DeliveryError) {
        let replaced = item.supersedeKey.flatMap { newestBySupersedeKey[$0] }.flatMap { records[$0] }
        let freed = replaced?.phase == .waiting ? replaced : nil
        let items = count - (freed == nil ? 0 : 1)
        let held = bytes - (freed?.size ?? 0)
        guard items < limits.items, item.payload.count <= limits.bytes - held else {
            throw .queueFull(items: items, bytes: held, itemLimit: limits.items, byteLimit: limits.bytes)
        }
    }

    private mutating func accept(_ item: OutboundItem, at reading: Reading, _ transition: inout OutboundTransition) {
        let now = clock.milliseconds(at: reading.monotonic)
        let lifetime = max(.zero, item.lifetime ?? limits.lifetime).saturatingMilliseconds
        let record = OutboundRecord(
            ordinal: header.nextOrdinal, id: item.id, precedence: item.precedence, supersedeKey: item.supersedeKey,
            size: item.payload.count, acceptedAt: now, expiresAt: QueueClock.sum(now, lifetime))
        header.nextOrdinal += 1
        count += 1
        bytes += record.size
        ordinalByID[item.id] = record.ordinal
        if let supersedeKey = item.supersedeKey { newestBySupersedeKey[supersedeKey] = record.ordinal }
        lanes[Int(item.precedence.rawValue)].append(record.ordinal)
        put(record, &transition)
        let place = DeliveryRowKey(.outboundPayload, key, record.ordinal)
        transition.changes.append(.put(place, .payload(item.payload)))
        transition.effects.append(.accepted(item.id))
    }

    /// Takes an item back: at once if it was never sent, else by asking the peer.
    package mutating func cancel(_ id: UniqueIdentifier, at reading: Reading) -> (Cancellation, OutboundTransition) {
        guard let record = record(of: id) else { return (.unknown, OutboundTransition()) }
        if case .finished(let outcome) = record.phase { return (.tooLate(outcome), OutboundTransition()) }
        let transition = transition(at: reading) { queue, transition in
            queue.withdraw(record.ordinal, .cancelled, &transition)
            queue.sendWaiting(at: reading, &transition)
        }
        return (record.phase == .waiting ? .cancelled : .asked, transition)
    }

    /// Takes an item back for a reason; its peer is told if it may have it.
    mutating func withdraw(_ ordinal: UInt64, _ reason: GapReason, _ transition: inout OutboundTransition) {
        guard var record = records[ordinal], record.withdrawal == nil else { return }
        guard let sequence = record.phase.sequence else {
            if record.phase == .waiting { finish(record, .withdrawn(reason), &transition) }
            return
        }
        record.withdrawal = reason
        releaseSupersedeKey(of: record)
        if reason != .dead { removePayload(of: record, &transition) }
        put(record, &transition)
        if link != nil { transition.effects.append(.sendGap(sequence: sequence, reason)) }
    }

    /// Drops what is left of an ended item, once its submitter has heard; nothing for one that has not ended.
    package mutating func forget(_ id: UniqueIdentifier, at reading: Reading) -> OutboundTransition {
        guard let record = record(of: id), case .finished(let outcome) = record.phase else {
            return OutboundTransition()
        }
        return transition(at: reading) { queue, transition in
            queue.records[record.ordinal] = nil
            queue.ordinalByID[id] = nil
            transition.changes.append(.remove(DeliveryRowKey(.outboundRecord, queue.key, record.ordinal)))
            if outcome == .withdrawn(.dead) { queue.removePayload(of: record, &transition) }
        }
    }
}
