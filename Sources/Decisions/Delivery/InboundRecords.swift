// The records of an inbound ledger, and every index over them. Each index follows from a record's change alone. An
// entry of an order whose item has moved on is stale: it is skipped, and dropped in time.

import TandemBase
import TandemWire

/// An inbound ledger's records by ordinal.
struct InboundRecords: Sendable {
    private var records: [UInt64: InboundRecord] = [:]
    private var ordinalBySequence: [UInt64: UInt64] = [:]
    /// Unfinished items in the order in which they go to the handler.
    private var inbox = OrdinalQueue()
    private var expiry = ExpiryIndex()
    private var letters = DeadLetters()
    /// Items whose handler has not returned, and their bytes.
    private(set) var count = 0
    private(set) var bytes = 0

    init(_ stored: [InboundRecord]) {
        records.reserveCapacity(stored.count)
        for var record in stored.sorted(by: { $0.ordinal < $1.ordinal }) {
            // The handler that had it is gone. It may or may not have done its work, so it sees the item again, as a redelivery.
            if record.phase == .handing { record.phase = .waiting }
            add(record)
        }
        prune()
    }

    // MARK: records

    /// Rows and bytes of all records, ended ones and dead letters included.
    var kept: KeptAmount { KeptAmount(records: records.count, bytes: bytes + letters.bytes) }

    subscript(ordinal: UInt64) -> InboundRecord? { records[ordinal] }

    func record(sequence: UInt64) -> InboundRecord? { ordinalBySequence[sequence].flatMap { records[$0] } }

    /// The records that have a sequence, in order.
    var sequenced: [InboundRecord] {
        ordinalBySequence.sorted { $0.key < $1.key }.compactMap { records[$0.value] }
    }

    mutating func add(_ record: InboundRecord) {
        set(record)
        guard record.isUnfinished else { return }
        inbox.append(record.ordinal)
        addExpiry(of: record)
    }

    /// Replaces a record.
    /// - Returns: the record before.
    @discardableResult
    mutating func set(_ record: InboundRecord) -> InboundRecord? {
        let before = records.updateValue(record, forKey: record.ordinal)
        index(record.ordinal, record.size, from: before, to: record)
        return before
    }

    mutating func remove(_ record: InboundRecord) {
        let before = records.removeValue(forKey: record.ordinal)
        index(record.ordinal, record.size, from: before, to: nil)
    }

    /// Puts an ended item back into its place in the order of arrival; the caller sets its record.
    mutating func reopen(_ record: InboundRecord) {
        // A stale entry would come alive again beside the new one.
        inbox.remove(record.ordinal)
        inbox.insert(record.ordinal)
    }

    private mutating func index(
        _ ordinal: UInt64, _ size: Int, from before: InboundRecord?, to after: InboundRecord?
    ) {
        if before?.sequence != after?.sequence {
            if let sequence = before?.sequence { ordinalBySequence[sequence] = nil }
            if let sequence = after?.sequence { ordinalBySequence[sequence] = ordinal }
        }
        let (wasUnfinished, isUnfinished) = (before?.isUnfinished ?? false, after?.isUnfinished ?? false)
        if wasUnfinished != isUnfinished {
            count += isUnfinished ? 1 : -1
            bytes += isUnfinished ? size : -size
        }
        let (wasLetter, isLetter) = (before?.isDeadLetter ?? false, after?.isDeadLetter ?? false)
        if wasLetter != isLetter {
            if isLetter { letters.add(ordinal, size: size) } else { letters.remove(ordinal, size: size) }
        }
    }

    /// Drops stale entries of the orders.
    mutating func prune() {
        let records = records
        expiry.prune(living: count) { entry in
            records[entry.ordinal].map { $0.phase == .waiting && $0.expiresAt == entry.time } ?? false
        }
        inbox.prune(living: count) { records[$0]?.isUnfinished == true }
    }

    // MARK: orders

    /// The items that wait, with the one that the handler has, in order.
    var unfinished: [InboundRecord] { inbox.all.compactMap { records[$0] }.filter(\.isUnfinished) }

    /// Items that wait and were never delivered.
    /// - Parameters:
    ///   - skipped: how many at the front not to look at.
    ///   - depth: how many behind them to look at.
    func neverDelivered(behind skipped: Int, depth: Int, limit: Int) -> [InboundRecord] {
        var found: [InboundRecord] = []
        for ordinal in inbox.all.dropFirst(skipped).prefix(depth) where found.count < limit {
            if let record = records[ordinal], record.phase == .waiting, record.attempts == 0 { found.append(record) }
        }
        return found
    }

    /// The item whose turn is next.
    mutating func nextWaiting() -> InboundRecord? {
        while let ordinal = inbox.first {
            if let record = records[ordinal], record.phase == .waiting { return record }
            inbox.removeFirst()
        }
        return nil
    }

    /// An item with the handler does not expire; one that waits again does.
    mutating func addExpiry(of record: InboundRecord) {
        if let time = record.expiresAt { expiry.add(record.ordinal, at: time) }
    }

    /// When the first item expires, in the ledger's time.
    var nextExpiry: Int64? { expiry.first?.time }

    /// Takes an item out of the index that has expired.
    mutating func takeExpired(at now: Int64) -> InboundRecord? {
        while let next = expiry.first, next.time <= now {
            expiry.removeFirst()
            if let record = records[next.ordinal], record.phase == .waiting, record.expiresAt == next.time {
                return record
            }
        }
        return nil
    }

    /// The dead letters in order of arrival.
    var deadLetters: [InboundRecord] { letters.ordinals.compactMap { records[$0] } }

    /// The oldest dead letter if there are more than the limits allow.
    func excessLetter(over limits: DeliveryLimits) -> InboundRecord? {
        letters.excess(over: limits).flatMap { records[$0] }
    }
}
