// An item of a receiver: as it arrives and is delivered, and as the record that the ledger keeps of it without its
// body. The record stays until the handler has returned, and then until the sender has written how the item ended.

package import TandemBase
package import TandemWire

/// An item from the peer, from its frame through the ledger to its handler. The handler answers with `handled`,
/// `rejected` or `failed` and the ordinal.
package struct ReceivedItem: Sendable, Equatable {
    package let queue: QueueKey
    package let id: UniqueIdentifier
    /// Names the item in its ledger; 0 before it is stored.
    package let ordinal: UInt64
    /// 1 for the first delivery; above it the handler may have seen the item before. 0 before it is stored.
    package let attempt: Int
    /// Names this delivery among all of its ledger; 0 before the item is stored.
    let delivery: UInt64
    /// Which handler is meant; nil for the usual one.
    package let topic: String?
    /// The revision of a context.
    package let revision: UInt64?
    /// Time since its sender accepted it, and until it expires; nil if the sender named none.
    package let age: Duration?
    package let remaining: Duration?
    package var payload: [UInt8]

    package init(
        queue: QueueKey, id: UniqueIdentifier, ordinal: UInt64 = 0, attempt: Int = 0, delivery: UInt64 = 0,
        payload: [UInt8], remaining: Duration? = nil, age: Duration? = nil, topic: String? = nil,
        revision: UInt64? = nil
    ) {
        self.queue = queue
        self.id = id
        self.ordinal = ordinal
        self.attempt = attempt
        self.delivery = delivery
        self.topic = topic
        self.revision = revision
        self.age = age
        self.remaining = remaining
        self.payload = payload
    }

    package var isRedelivery: Bool { attempt > 1 }
}

/// The state of a received item.
package enum InboundPhase: Sendable, Equatable {
    /// Durable here, waiting for its turn.
    case waiting
    /// With the handler, which has not returned.
    case handing
    /// Ended; the sender may not know yet.
    case finished(Outcome)
}

/// An item of an inbound ledger without its body.
package struct InboundRecord: Sendable, Equatable {
    /// The order of arrival; local to this ledger and never used again.
    package let ordinal: UInt64
    /// Nil for a gap: its item never came.
    package let id: UniqueIdentifier?
    /// The sender's number in the current epoch; nil once an epoch has passed over it or the sender has acknowledged
    /// its outcome.
    package internal(set) var sequence: UInt64?
    /// Bytes of the body.
    package let size: Int
    /// In the ledger's time; nil if its sender named none.
    package internal(set) var expiresAt: Int64?
    /// Which handler is meant; nil for the usual one.
    package let topic: String?
    /// The revision of a context.
    package let revision: UInt64?
    /// The epoch in which a context came, once another epoch has begun; nil in the present epoch. Also nil for one of
    /// an earlier epoch from a store before version 6, which counts as one of the latest context's epoch. So a dead
    /// letter with the revision of the latest context is taken for that context, although it may be an older one.
    private var pastEpoch: UInt64?
    /// When its sender accepted it, in the ledger's time, which may be before the ledger began; nil if it named no age.
    package let acceptedAt: Int64?
    /// Bytes of the file that its body describes; nil for an item of another channel.
    private let fileSize: Int64?
    /// Times it was delivered to the handler.
    package internal(set) var attempts = 0
    package internal(set) var phase = InboundPhase.waiting
    /// Whether its short body is in the item's row. Not stored: the body in that row shows it.
    package var sharesRow = false

    /// An item that arrived now, in the ledger's time.
    init(_ ordinal: UInt64, _ item: ReceivedItem, sequence: UInt64, at now: Int64) {
        self.ordinal = ordinal
        id = item.id
        self.sequence = sequence
        size = item.payload.count
        expiresAt = Self.expiry(of: item.remaining, from: now)
        topic = item.topic
        revision = item.revision
        acceptedAt = item.age.map { QueueClock.sum(now, -max(.zero, $0).saturatingMilliseconds) }
        fileSize = FileManifest.fileSize(in: item.payload, on: item.queue.channel)
        placeBody(on: item.queue.channel)
    }

    package mutating func placeBody(on channel: Channel) { sharesRow = Self.isShort(size) }

    /// A number whose item will not come.
    init(_ ordinal: UInt64, gap reason: GapReason, sequence: UInt64) {
        self.ordinal = ordinal
        id = nil
        self.sequence = sequence
        size = 0
        topic = nil
        revision = nil
        acceptedAt = nil
        fileSize = nil
        phase = .finished(.withdrawn(reason))
    }

    /// - Parameter delivery: the number of this delivery in the ledger.
    func item(
        _ id: UniqueIdentifier, in queue: QueueKey, delivery: UInt64, at now: Int64, payload: [UInt8]
    ) -> ReceivedItem {
        ReceivedItem(
            queue: queue, id: id, ordinal: ordinal, attempt: attempts, delivery: delivery, payload: payload,
            remaining: remaining(at: now),
            age: acceptedAt.map { .milliseconds(QueueClock.passed(since: $0, at: now)) }, topic: topic,
            revision: revision)
    }

    /// The version of a context in a ledger whose latest context came in this epoch.
    func context(in epoch: UInt64) -> ContextVersion? {
        revision.map { ContextVersion(epoch: pastEpoch ?? epoch, revision: $0) }
    }

    /// The epoch in which the record came is over.
    /// - Returns: false if that changes nothing.
    @discardableResult
    mutating func leave(_ epoch: UInt64) -> Bool {
        guard revision != nil, pastEpoch == nil else { return false }
        pastEpoch = epoch
        return true
    }

    /// Bytes of the item's content, for people (SES-87): a file's own, although its body is only the manifest.
    package var contentSize: Int { fileSize.map { Int(clamping: $0) } ?? size }

    package var isUnfinished: Bool { if case .finished = phase { false } else { true } }

    /// Whether it failed here and waits, with its body, for an operator. A gap that its sender calls dead was never
    /// delivered.
    package var isDeadLetter: Bool { phase == .finished(.withdrawn(.dead)) && attempts > 0 }
}

extension InboundRecord: QueueRecord {
    static var recordTable: DeliveryTable { .inboundRecord }
    static var itemTable: DeliveryTable { .inboundItem }
    static var payloadTable: DeliveryTable { .inboundPayload }

    var itemID: UniqueIdentifier? { id }
    var bodyTable: DeliveryTable { sharesRow ? .inboundItem : .inboundPayload }
    var value: DeliveryValue { .inboundRecord(self) }
    func value(with body: [UInt8]?) -> DeliveryValue { .inboundItem(self, body: body) }
}

// MARK: stored form

extension InboundRecord {
    /// The record's stored form, perhaps with its body; its ordinal is in the row's key.
    func stored(with body: [UInt8]? = nil) -> [UInt8] {
        var record = RecordWriter(capacity: 96 + (body?.count ?? 0))
        record.add(.id, id)
        record.add(.sequence, sequence)
        record.add(.size, Int64(size))
        record.add(.accepted, acceptedAt)
        record.add(.expires, expiresAt)
        record.add(.attempts, attempts, unless: 0)
        record.add(.topic, topic)
        record.add(.revision, revision)
        switch phase {
        case .waiting: break
        case .handing: record.add(.handing, if: true)
        case .finished(let outcome): record.add(outcome)
        }
        record.add(.fileSize, fileSize)
        record.add(epoch: pastEpoch, as: .pastEpoch)
        record.add(.body, body)
        return record.bytes
    }

    init(_ fields: inout RecordReader, ordinal: UInt64) throws(DeliveryRecordError) {
        self.ordinal = ordinal
        id = try fields.identifier(.id)
        sequence = try fields.optionalCounter(.sequence)
        size = try fields.count(.size)
        acceptedAt = try fields.integer(.accepted)
        expiresAt = try fields.integer(.expires)
        attempts = try fields.count(.attempts, usually: 0)
        topic = try fields.text(.topic)
        revision = try fields.optionalNumber(.revision)
        if fields.flag(.handing) {
            phase = .handing
        } else if let outcome = try fields.outcome() {
            phase = .finished(outcome)
        }
        fileSize = try fields.fileSize()
        pastEpoch = try fields.optionalEpoch(.pastEpoch)
        guard id != nil || phase != .waiting && phase != .handing else { throw .missing(fields.table, .id) }
    }
}
