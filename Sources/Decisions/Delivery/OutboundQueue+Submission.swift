// What submitters do: give an item, take it back, hear how it ended.

package import TandemBase
package import TandemWire

/// An item as its submitter gives it.
package struct OutboundItem: Sendable, Equatable {
    package let id: UniqueIdentifier
    package let payload: [UInt8]
    package var precedence: Precedence
    package var supersedeKey: [UInt8]?
    /// Nil for the usual time to live.
    package var lifetime: Duration?
    /// Which handler of the peer's application is meant; nil for the usual one.
    package var topic: String?
    /// What an urgent item is about: the newest of each kind is the current one.
    package var kind: String?
    /// The item whose end this one waits for; only one that is known and has not ended.
    package var after: UniqueIdentifier?
    /// For a context: what to do if its bytes are those of the last one.
    package var policy = ContextPolicy.ifChanged
    /// Given by the queue to a context.
    var revision: UInt64?

    package init(
        id: UniqueIdentifier, payload: [UInt8], precedence: Precedence = .ordinary, supersedeKey: [UInt8]? = nil,
        lifetime: Duration? = nil, topic: String? = nil, kind: String? = nil, after: UniqueIdentifier? = nil
    ) {
        self.id = id
        self.payload = payload
        self.precedence = precedence
        self.supersedeKey = supersedeKey
        self.lifetime = lifetime
        self.topic = topic
        self.kind = kind
        self.after = after
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
    /// The store could not write it down; the item is as it was.
    case notStored
}

extension OutboundQueue {
    /// Accepts an item. One with the identifier of a known item is the same item, submitted again.
    /// - Parameter refusal: what a wider budget has against any new item.
    /// - Throws: ``DeliveryError/queueFull(items:bytes:itemLimit:byteLimit:)``; nothing has changed then.
    package mutating func enqueue(
        _ item: OutboundItem, at reading: Reading, unless refusal: DeliveryError? = nil
    ) throws(DeliveryError) -> OutboundTransition {
        if ordinalByID[item.id] != nil { return OutboundTransition() }
        try checkRoom(for: item, unless: refusal)
        return transition(at: reading) { queue, transition in queue.add(item, at: reading, &transition) }
    }

    /// Accepts an item that there is room for.
    mutating func add(_ item: OutboundItem, at reading: Reading, _ transition: inout OutboundTransition) {
        if let older = item.supersedeKey.flatMap({ newestBySupersedeKey[$0] }) {
            withdraw(older, .superseded, &transition)
        }
        accept(item, at: reading, &transition)
        sendWaiting(at: reading, payload: item.payload, of: item.id, &transition)
    }

    func checkRoom(for item: OutboundItem, unless refusal: DeliveryError?) throws(DeliveryError) {
        let replaced = item.supersedeKey.flatMap { newestBySupersedeKey[$0] }.flatMap { records[$0] }
        let freed = replaced?.phase == .waiting ? replaced : nil
        let items = count - (freed == nil ? 0 : 1)
        let held = bytes - (freed?.size ?? 0)
        guard items < limits.items, item.payload.count <= limits.bytes - held else {
            throw .queueFull(items: items, bytes: held, itemLimit: limits.items, byteLimit: limits.bytes)
        }
        if let refusal { throw refusal }
    }

    private mutating func accept(_ item: OutboundItem, at reading: Reading, _ transition: inout OutboundTransition) {
        var record = OutboundRecord(
            ordinal: header.nextOrdinal, item, acceptedAt: clock.milliseconds(at: reading.monotonic),
            expiresAt: expiry(of: item.lifetime, at: reading))
        if let kind = item.kind {
            untag(kind, &transition)
            record.isCurrent = true
        }
        header.nextOrdinal += 1
        count += 1
        bytes += record.size
        index(record)
        // Its row, its body's and perhaps the header.
        transition.changes.reserveCapacity(transition.changes.count + 3)
        put(record, &transition)
        let place = DeliveryRowKey(.outboundPayload, key, record.ordinal)
        transition.changes.append(.put(place, .payload(item.payload)))
    }

    private mutating func index(_ record: OutboundRecord) {
        ordinalByID[record.id] = record.ordinal
        if let supersedeKey = record.supersedeKey { newestBySupersedeKey[supersedeKey] = record.ordinal }
        if let kind = record.kind { currentByKind[kind] = record.ordinal }
        if let item = record.after { awaiting[item, default: []].append(record.ordinal) }
        lanes[Int(record.precedence.rawValue)].append(record.ordinal)
        acceptance.append(record.ordinal)
        expiry.add(record.ordinal, at: record.expiresAt)
    }

    /// When an item expires that is accepted now; nil is the usual time to live.
    func expiry(of lifetime: Duration?, at reading: Reading) -> Int64 {
        let lifetime = max(.zero, lifetime ?? limits.lifetime).saturatingMilliseconds
        return QueueClock.sum(clock.milliseconds(at: reading.monotonic), lifetime)
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
        withdrawing += 1
        releaseKeys(of: record)
        if reason != .dead { removePayload(of: record, &transition) }
        put(record, &transition)
        if link != nil { transition.effects.append(.sendGap(sequence: sequence, reason)) }
    }
}
