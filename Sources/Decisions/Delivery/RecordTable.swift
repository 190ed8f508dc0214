// Records of a queue or ledger, with the indexes that both need: sequences, order, expiry and dead letters. Each index
// follows from a record's change alone, so that no event can forget one. An entry of an order whose item has moved on
// is stale: it is skipped, and dropped in time. No event looks at all records, except those that report something about
// each.

import TandemBase
import TandemWire

/// A record as the table needs it.
protocol QueueRecord: Sendable {
    /// Where its row is, once it has changed since it was accepted or came.
    static var recordTable: DeliveryTable { get }
    /// Where it is as it was accepted or came, with its body if that is short (Decisions/0039).
    static var itemTable: DeliveryTable { get }
    /// Where a long body is.
    static var payloadTable: DeliveryTable { get }

    /// The order of acceptance or arrival.
    var ordinal: UInt64 { get }
    /// The item's identifier; nil for a gap.
    var itemID: UniqueIdentifier? { get }
    /// The number by which the peer names it now; nil if it has none.
    var sequence: UInt64? { get }
    /// Bytes of the body.
    var size: Int { get }
    /// Whether its short body is in the item's row in ``itemTable``; a long one has a separate row.
    var sharesRow: Bool { get set }
    var bodyTable: DeliveryTable { get }
    var isUnfinished: Bool { get }
    /// Whether it failed too often and waits, with its body, for an operator.
    var isDeadLetter: Bool { get }
    /// When it expires, in the machine's time; nil while its time to live does not count.
    var deadline: Int64? { get }
    /// The content of its row.
    var value: DeliveryValue { get }
    /// The content of its row in ``itemTable``.
    func value(with body: [UInt8]?) -> DeliveryValue

    /// Decides from its size alone whether the body is in the item's row. Needed where the row does not tell: the item
    /// is new, or its row is damaged.
    mutating func placeBody(on channel: Channel)

    /// Reads the fields of a row but for the body.
    init(_ fields: inout RecordReader, ordinal: UInt64) throws(DeliveryRecordError)
}

extension QueueRecord {
    /// Reads a row of ``recordTable``.
    init(stored: [UInt8], ordinal: UInt64) throws(DeliveryRecordError) {
        var fields = try RecordReader(stored, of: Self.recordTable)
        try self.init(&fields, ordinal: ordinal)
        try fields.finish()
    }

    /// Reads a row of ``itemTable``, a record, with its body if that is short.
    /// - Throws: ``DeliveryRecordError/missing(_:field:)`` for a row without the short body that it was written with.
    static func item(
        stored: [UInt8], ordinal: UInt64, on channel: Channel
    ) throws(DeliveryRecordError) -> DeliveryValue {
        var fields = try RecordReader(stored, of: itemTable)
        var record = try Self(&fields, ordinal: ordinal)
        let body = try fields.bytes(.body)
        try fields.finish()
        record.placeBody(on: channel)
        if record.sharesRow, body == nil { throw .missing(itemTable, .body) }
        record.sharesRow = body != nil
        return record.value(with: body)
    }

    /// A body of this size shares its record's row: together they stay in one page of the store.
    static func isShort(_ size: Int) -> Bool { size <= 768 }

    /// The newest form of each record: its row in ``recordTable`` takes precedence over the one in which it came.
    /// - Parameter items: the records as they were accepted or came.
    static func newest(_ records: [Self], _ items: [Self]) -> [Self] {
        guard !items.isEmpty else { return records }
        var newest: [UInt64: Self] = [:]
        newest.reserveCapacity(records.count + items.count)
        for record in records { newest[record.ordinal] = record }
        for item in items { newest[item.ordinal, default: item].sharesRow = item.sharesRow }
        return Array(newest.values)
    }
}

struct RecordTable<Record: QueueRecord>: Sendable {
    private var records = OrdinalTable<Record>()
    private var ordinalBySequence = OrdinalTable<UInt64>()
    /// Unfinished items in order of acceptance or arrival.
    private var order = OrdinalQueue()
    private var expiry = ItemExpiry()
    private var letters = OrdinalQueue()
    private var letterBytes = 0
    /// Unfinished items, and bytes of their bodies.
    private(set) var count = 0
    private(set) var bytes = 0
    /// A record has left an order, whose entry of it may be the first: most events only add.
    private var hasLeft = true

    init(_ stored: [Record]) {
        for record in stored.sorted(by: { $0.ordinal < $1.ordinal }) { set(record) }
        prune()
    }

    // MARK: records

    /// Rows and bytes of all records, ended ones and dead letters included.
    var kept: KeptAmount { KeptAmount(records: records.count, bytes: bytes + letterBytes) }

    subscript(ordinal: UInt64) -> Record? { records[ordinal] }

    func record(sequence: UInt64) -> Record? { ordinalBySequence[sequence].flatMap { records[$0] } }

    /// The sequences that records have, in order.
    var sequences: [UInt64] { ordinalBySequence.numbers }

    /// The sequences of items that have ended, in the order of acceptance or arrival.
    var endedSequences: [UInt64] { records.values.compactMap { $0.isUnfinished ? nil : $0.sequence } }

    /// Adds or replaces a record. An ended one that is unfinished again returns to its place in the order.
    /// - Returns: the record before.
    @discardableResult
    mutating func set(_ record: Record) -> Record? {
        let before = records.set(record, at: record.ordinal)
        index(record.ordinal, record.size, from: before.map { Entry($0) } ?? Entry(), to: Entry(record))
        return before
    }

    /// - Returns: the removed record.
    @discardableResult
    mutating func remove(_ ordinal: UInt64) -> Record? {
        guard let before = records.remove(ordinal) else { return nil }
        index(ordinal, before.size, from: Entry(before), to: Entry())
        return before
    }

    /// The facts of a record that the indexes need: copying a whole record for each counts many references.
    private struct Entry {
        var isThere = false
        var sequence: UInt64?
        var deadline: Int64?
        var isUnfinished = false
        var isDeadLetter = false

        init() {}

        init(_ record: borrowing Record) {
            isThere = true
            sequence = record.sequence
            deadline = record.deadline
            isUnfinished = record.isUnfinished
            isDeadLetter = record.isDeadLetter
        }
    }

    private mutating func index(_ ordinal: UInt64, _ size: Int, from before: Entry, to after: Entry) {
        if before.sequence != after.sequence {
            if let sequence = before.sequence { ordinalBySequence.remove(sequence) }
            if let sequence = after.sequence { ordinalBySequence.set(ordinal, at: sequence) }
        }
        if before.deadline != after.deadline {
            if let deadline = after.deadline { expiry.add(ordinal, at: deadline) }
            if before.deadline != nil { hasLeft = true }
        }
        if before.isUnfinished != after.isUnfinished {
            if before.isUnfinished { hasLeft = true }
            count += after.isUnfinished ? 1 : -1
            bytes += after.isUnfinished ? size : -size
            if after.isUnfinished {
                // A stale entry would come alive again beside the new one.
                if before.isThere { order.remove(ordinal) }
                order.insert(ordinal)
            }
        }
        if before.isDeadLetter != after.isDeadLetter {
            if after.isDeadLetter { letters.insert(ordinal) } else { letters.remove(ordinal) }
            letterBytes += after.isDeadLetter ? size : -size
        }
    }

    /// Drops stale entries of the orders.
    mutating func prune() {
        guard hasLeft else { return }
        hasLeft = false
        let records = records
        expiry.prune(living: count) { records[$0]?.deadline }
        order.prune(living: count) { records[$0]?.isUnfinished == true }
    }

    // MARK: order

    /// The ordinals of unfinished items in order, and perhaps of some that have ended.
    var ordinals: ArraySlice<UInt64> { order.all }

    /// The unfinished items in order, from behind `ordinal`.
    func unfinished(after ordinal: UInt64 = 0, limit: Int = .max) -> [Record] {
        var found: [Record] = []
        for next in order.all where next > ordinal {
            guard found.count < limit else { break }
            if let record = records[next], record.isUnfinished { found.append(record) }
        }
        return found
    }

    /// The unfinished item that is the first in order.
    mutating func first() -> Record? {
        while let ordinal = order.first {
            if let record = records[ordinal], record.isUnfinished { return record }
            order.removeFirst()
        }
        return nil
    }

    // MARK: expiry

    /// When the first item expires, in the machine's time.
    var nextExpiry: Int64? { expiry.next }

    /// Takes an item out of the index that has expired.
    mutating func takeExpired(at now: Int64) -> Record? {
        let records = records
        return expiry.takeExpired(at: now) { records[$0]?.deadline }.flatMap { records[$0] }
    }

    // MARK: dead letters

    var deadLetters: [Record] { letters.all.compactMap { records[$0] } }

    var deadLetterCount: Int { letters.count }

    /// The dead letter of this number; nil for another item.
    func deadLetter(_ ordinal: UInt64) -> Record? { records[ordinal].flatMap { $0.isDeadLetter ? $0 : nil } }

    /// The oldest dead letter if there are more than the limits allow (LIM-25).
    func excessLetter(over limits: DeliveryLimits) -> Record? {
        guard letters.count > limits.deadLetters || letterBytes > limits.bytes else { return nil }
        return letters.first.flatMap { records[$0] }
    }
}

/// Ordinals first in, first out, in constant time: removing from the front of an array would move all the rest.
struct OrdinalQueue: Sendable {
    private var items: [UInt64] = []
    private var head = 0

    private init(_ items: [UInt64]) { self.items = items }

    init() {}

    var first: UInt64? { head < items.count ? items[head] : nil }

    /// All of them, in order.
    var all: ArraySlice<UInt64> { items[head...] }

    var count: Int { items.count - head }

    mutating func append(_ ordinal: UInt64) { items.append(ordinal) }

    /// Inserts an ordinal into a queue of rising ones; slow unless it goes to the end.
    mutating func insert(_ ordinal: UInt64) {
        if items.last ?? 0 < ordinal { return append(ordinal) }
        items.insert(ordinal, at: items[head...].firstIndex { $0 > ordinal } ?? items.endIndex)
    }

    mutating func removeFirst() {
        head += 1
        guard head > 64, head * 2 > items.count else { return }
        items.removeFirst(head)
        head = 0
    }

    /// Removes one from anywhere; slow.
    mutating func remove(_ ordinal: UInt64) {
        if let index = items[head...].firstIndex(of: ordinal) { items.remove(at: index) }
    }

    /// Drops stale ordinals: those at the front, and all of them once most are stale.
    /// - Parameter living: how many may be alive at most.
    mutating func prune(living: Int, isAlive: (UInt64) -> Bool) {
        while let first, !isAlive(first) { removeFirst() }
        guard count > 64, count > 2 * living else { return }
        self = OrdinalQueue(all.filter(isAlive))
    }
}
