// The records of an outbound queue, and every index over them. Each index follows from a record's change alone, so that
// no event can forget one. An entry of an order whose item has moved on is stale: it is skipped, and dropped in time.
// No event looks at all records, except those that report something about each.

import TandemBase
import TandemWire

/// An outbound queue's records by ordinal.
struct OutboundRecords: Sendable {
    private var records: [UInt64: OutboundRecord] = [:]
    private var ordinalByID: [UniqueIdentifier: UInt64] = [:]
    /// The unfinished items with a sequence.
    private var ordinalBySequence: [UInt64: UInt64] = [:]
    private var newestBySupersedeKey: [[UInt8]: UInt64] = [:]
    private var currentByKind: [String: UInt64] = [:]
    /// Items that wait for the end of another item, by that item.
    private var barriers: [UniqueIdentifier: [UInt64]] = [:]
    private var expiry = ExpiryIndex()
    /// Unfinished items in order of acceptance.
    private var acceptance = OrdinalQueue()
    /// Items that were not sent, in order of acceptance, for each precedence.
    private var waiting = Precedence.allCases.map { _ in OrdinalQueue() }
    /// Ended items that their submitters have not acknowledged, in the order of their ends.
    private var ended = OrdinalQueue()
    private var letters = DeadLetters()
    /// Ended items that their submitters have not acknowledged.
    private(set) var unacknowledged = 0
    /// Sent items whose withdrawal the peer has not answered.
    private(set) var withdrawing = 0
    /// Unfinished items, and their bytes.
    private(set) var count = 0
    private(set) var bytes = 0

    init(_ stored: [OutboundRecord]) {
        records.reserveCapacity(stored.count)
        ordinalByID.reserveCapacity(stored.count)
        for record in stored.sorted(by: { $0.ordinal < $1.ordinal }) {
            set(record)
            ordinalByID[record.id] = record.ordinal
            guard record.isUnfinished else { continue }
            acceptance.append(record.ordinal)
            if record.canExpire { expiry.add(record.ordinal, at: record.expiresAt) }
            relate(record)
        }
        rebuildWaiting()
        prune()
    }

    // MARK: records

    /// Rows and bytes of all records, ended ones and dead letters included.
    var kept: KeptAmount { KeptAmount(records: records.count, bytes: bytes + letters.bytes) }

    subscript(ordinal: UInt64) -> OutboundRecord? { records[ordinal] }

    subscript(id: UniqueIdentifier) -> OutboundRecord? { ordinalByID[id].flatMap { records[$0] } }

    func record(sequence: UInt64) -> OutboundRecord? { ordinalBySequence[sequence].flatMap { records[$0] } }

    /// The sequences that unfinished items have, in order.
    var sequences: [UInt64] { ordinalBySequence.keys.sorted() }

    /// Adds an item that was accepted now.
    mutating func add(_ record: OutboundRecord) {
        set(record)
        ordinalByID[record.id] = record.ordinal
        relate(record)
        waiting[Int(record.precedence.rawValue)].append(record.ordinal)
        acceptance.append(record.ordinal)
        expiry.add(record.ordinal, at: record.expiresAt)
    }

    /// Replaces a record.
    /// - Returns: the record before.
    @discardableResult
    mutating func set(_ record: OutboundRecord) -> OutboundRecord? {
        let before = records.updateValue(record, forKey: record.ordinal)
        index(record.ordinal, record.size, from: before, to: record)
        return before
    }

    mutating func remove(_ record: OutboundRecord) {
        let before = records.removeValue(forKey: record.ordinal)
        ordinalByID[record.id] = nil
        index(record.ordinal, record.size, from: before, to: nil)
    }

    /// Puts an ended item back into its place in the order of acceptance; the caller sets its record.
    mutating func reopen(_ record: OutboundRecord) {
        // A stale entry would come alive again beside the new one.
        acceptance.remove(record.ordinal)
        acceptance.insert(record.ordinal)
        waiting[Int(record.precedence.rawValue)].insert(record.ordinal)
        expiry.add(record.ordinal, at: record.expiresAt)
    }

    private mutating func index(
        _ ordinal: UInt64, _ size: Int, from before: OutboundRecord?, to after: OutboundRecord?
    ) {
        if before?.phase.sequence != after?.phase.sequence {
            if let sequence = before?.phase.sequence { ordinalBySequence[sequence] = nil }
            if let sequence = after?.phase.sequence { ordinalBySequence[sequence] = ordinal }
        }
        withdrawing += Self.change(before, after) { $0.phase.sequence != nil && $0.withdrawal != nil }
        let opened = Self.change(before, after, where: \.isUnfinished)
        count += opened
        bytes += opened * size
        switch Self.change(before, after, where: \.isUnacknowledged) {
        case 1:
            unacknowledged += 1
            ended.append(ordinal)
        case -1:
            unacknowledged -= 1
            // Its entry would come alive again with its next end.
            if opened > 0 { ended.remove(ordinal) }
        default: break
        }
        switch Self.change(before, after, where: \.isDeadLetter) {
        case 1: letters.add(ordinal, size: size)
        case -1: letters.remove(ordinal, size: size)
        default: break
        }
    }

    /// 1 if the condition becomes true, -1 if it becomes false.
    private static func change(
        _ before: OutboundRecord?, _ after: OutboundRecord?, where condition: (OutboundRecord) -> Bool
    ) -> Int {
        (after.map(condition) == true ? 1 : 0) - (before.map(condition) == true ? 1 : 0)
    }

    /// Drops stale entries of the orders.
    mutating func prune() {
        let records = records
        expiry.prune(living: count) { entry in
            records[entry.ordinal].map { $0.canExpire && $0.expiresAt == entry.time } ?? false
        }
        acceptance.prune(living: count) { records[$0]?.isUnfinished == true }
        ended.prune(living: unacknowledged) { records[$0]?.isUnacknowledged == true }
    }

    // MARK: relations between items

    private mutating func relate(_ record: OutboundRecord) {
        if record.isCurrent, let kind = record.kind { currentByKind[kind] = record.ordinal }
        if let item = record.after { barriers[item, default: []].append(record.ordinal) }
        guard let supersedeKey = record.supersedeKey, record.withdrawal == nil else { return }
        newestBySupersedeKey[supersedeKey] = record.ordinal
    }

    /// The item ends or is taken back: it is nothing to other items any more.
    mutating func unrelate(_ record: OutboundRecord) {
        if let supersedeKey = record.supersedeKey, newestBySupersedeKey[supersedeKey] == record.ordinal {
            newestBySupersedeKey[supersedeKey] = nil
        }
        if let kind = record.kind, currentByKind[kind] == record.ordinal { currentByKind[kind] = nil }
        guard let item = record.after else { return }
        barriers[item]?.removeAll { $0 == record.ordinal }
        if barriers[item]?.isEmpty == true { barriers[item] = nil }
    }

    /// The item that a new one with this key supersedes.
    func newest(supersededBy key: [UInt8]?) -> OutboundRecord? {
        key.flatMap { newestBySupersedeKey[$0] }.flatMap { records[$0] }
    }

    /// Unfinished items and their bytes without the one that a new item with this key replaces at once.
    func remaining(supersededBy key: [UInt8]?) -> (items: Int, bytes: Int) {
        guard let replaced = newest(supersededBy: key), replaced.phase == .waiting else { return (count, bytes) }
        return (count - 1, bytes - replaced.size)
    }

    /// The current item of a kind, which is the current one no longer.
    mutating func removeCurrent(_ kind: String) -> OutboundRecord? {
        currentByKind.removeValue(forKey: kind).flatMap { records[$0] }
    }

    /// The items for whose end others wait here.
    var awaited: [UniqueIdentifier] { Array(barriers.keys) }

    func isAwaiting(_ id: UniqueIdentifier) -> Bool { barriers[id] != nil }

    /// The items that waited for this one, and do so no longer.
    mutating func removeBarrier(_ id: UniqueIdentifier) -> [OutboundRecord] {
        (barriers.removeValue(forKey: id) ?? []).compactMap { records[$0] }
    }

    // MARK: orders

    /// Puts all items that were not sent in order of acceptance again.
    mutating func rebuildWaiting() {
        waiting = Precedence.allCases.map { _ in OrdinalQueue() }
        for ordinal in acceptance.all {
            guard let record = records[ordinal], record.phase == .waiting else { continue }
            waiting[Int(record.precedence.rawValue)].append(ordinal)
        }
    }

    /// Takes the next item to send; nil if there is none, or if it waits for another item's end.
    mutating func takeWaiting() -> OutboundRecord? {
        for precedence in waiting.indices {
            while let ordinal = waiting[precedence].first {
                guard let record = records[ordinal], record.phase == .waiting else {
                    waiting[precedence].removeFirst()
                    continue
                }
                // Everything behind it waits with it.
                if record.after != nil { return nil }
                waiting[precedence].removeFirst()
                return record
            }
        }
        return nil
    }

    /// When the first item expires, in the queue's time.
    var nextExpiry: Int64? { expiry.first?.time }

    /// Takes an item out of the index that has expired.
    mutating func takeExpired(at now: Int64) -> UInt64? {
        while let next = expiry.first, next.time <= now {
            expiry.removeFirst()
            if let record = records[next.ordinal], record.canExpire, record.expiresAt <= now { return next.ordinal }
        }
        return nil
    }

    /// The oldest unfinished item.
    var oldest: OutboundRecord? { acceptance.first.flatMap { records[$0] } }

    /// The unfinished items in order of acceptance, from behind `ordinal`.
    func outstanding(after ordinal: UInt64, limit: Int) -> [OutboundRecord] {
        var found: [OutboundRecord] = []
        for next in acceptance.all where next > ordinal {
            guard found.count < limit else { break }
            if let record = records[next], record.isUnfinished { found.append(record) }
        }
        return found
    }

    /// The first of the ended items that their submitters have not acknowledged, in the order of their ends.
    func unacknowledged(limit: Int) -> [OutboundRecord] {
        Array(ended.all.lazy.compactMap { records[$0] }.filter(\.isUnacknowledged).prefix(limit))
    }

    /// The oldest of them if there are more than so many.
    mutating func excessUnacknowledged(over limit: Int) -> OutboundRecord? {
        guard unacknowledged > limit else { return nil }
        prune()
        return ended.first.flatMap { records[$0] }
    }

    /// The dead letters in order of acceptance.
    var deadLetters: [OutboundRecord] { letters.ordinals.compactMap { records[$0] } }

    /// The oldest dead letter if there are more than the limits allow.
    func excessLetter(over limits: DeliveryLimits) -> OutboundRecord? {
        letters.excess(over: limits).flatMap { records[$0] }
    }
}
