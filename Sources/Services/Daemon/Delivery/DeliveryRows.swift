// Stored form of the delivery queues: each table of the room Delivery of Decisions is a key space of the store, 17 to
// 31. A row that cannot be read back means a damaged or newer store, and is refused.

import TandemBase
import TandemDelivery
package import TandemStore
import TandemWire

extension DeliveryTable {
    /// The table's key space.
    package var space: RowSpace { RowSpace(rawValue: 16 + rawValue) }
}

extension [[DeliveryChange]] {
    /// The changes of the store's rows, without those that later ones undo: an item that was accepted and sent in one
    /// turn is written once.
    /// - Parameters:
    ///   - packs: the packs of the queue; all changes are of that queue.
    ///   - prefix: the prefix of its rows' keys.
    func rowChanges(_ packs: inout ItemPacks, prefix: [UInt8]) -> [RowChange] {
        if isEmpty { return [] }
        return packs.packed(lastOfEachRow).map { $0.rowChange(prefix: prefix) }
    }

    /// The last change of each row, in the order of the changes.
    private var lastOfEachRow: [DeliveryChange] {
        // A peer or app that waits for each answer makes commits of one event: copying its changes was most of their
        // cost. Comparing them in pairs is cheap for a few.
        if count == 1, self[0].count <= 4, self[0].areOfDifferentRows { return self[0] }
        let most = reduce(0) { $0 + $1.count }
        var seen = RowsOfQueue(capacity: most)
        var last: [DeliveryChange] = []
        last.reserveCapacity(most)
        for changes in reversed() {
            for change in changes.reversed() where seen.insert(change.key.numberInQueue) { last.append(change) }
        }
        last.reverse()
        return last
    }
}

extension [DeliveryChange] {
    fileprivate var areOfDifferentRows: Bool {
        indices.allSatisfy { index in
            !self[..<index].contains { $0.key.numberInQueue == self[index].key.numberInQueue }
        }
    }
}

extension DeliveryRowKey {
    /// The row among those of its queue; never 0, because each table has a number from 1. A table is below 32, and an
    /// ordinal counts items: it never reaches the bits that this takes.
    fileprivate var numberInQueue: UInt64 { (ordinal ?? 0) &* 32 &+ UInt64(table.rawValue) }
}

extension DeliveryChange {
    /// The change of the store's row.
    /// - Parameter prefix: the prefix of the keys of the queue's rows.
    fileprivate func rowChange(prefix: [UInt8]) -> RowChange {
        switch self {
        case .put(let key, let value): .put(key.table.space, key: key.bytes(prefix: prefix), value: value.bytes)
        case .remove(let key): .delete(key.table.space, key: key.bytes(prefix: prefix))
        }
    }
}

/// A set of rows of one queue, by their numbers: hashing the queue's names for each change would be felt. Ordinals are
/// this device's own and rise, so that no stranger chooses numbers that collide.
private struct RowsOfQueue {
    /// 0 is a free entry.
    private var entries: [UInt64]

    /// - Parameter capacity: rows that are inserted at most.
    init(capacity: Int) {
        var count = 8
        while count < 2 * capacity { count *= 2 }
        entries = Array(repeating: 0, count: count)
    }

    /// - Returns: whether the row was not there yet.
    mutating func insert(_ row: UInt64) -> Bool {
        let mask = entries.count - 1
        var index = Int(truncatingIfNeeded: (row &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        while entries[index] != 0 {
            if entries[index] == row { return false }
            index = (index + 1) & mask
        }
        entries[index] = row
        return true
    }
}

/// The rows of all queues, as they were committed.
struct DeliveryRows {
    fileprivate var outboundHeaders: [QueueKey: OutboundHeader] = [:]
    fileprivate var outboundRecords: [QueueKey: [OutboundRecord]] = [:]
    fileprivate var outboundItems: [QueueKey: [OutboundRecord]] = [:]
    fileprivate var inboundHeaders: [QueueKey: InboundHeader] = [:]
    fileprivate var inboundRecords: [QueueKey: [InboundRecord]] = [:]
    fileprivate var inboundItems: [QueueKey: [InboundRecord]] = [:]
    fileprivate var budgets: [QueueKey: UrgentBudget] = [:]
    fileprivate var sentContexts: [QueueKey: SentContext] = [:]
    fileprivate var receivedContexts: [QueueKey: ContextVersion] = [:]
    private var ends: [DeliveryTable: [QueueKey: Set<UInt64>]] = [:]
    private var packs: [DeliveryTable: [QueueKey: ItemPacks]] = [:]

    /// The packs of a queue.
    /// - Parameter items: the table of its new items.
    func packs(_ key: QueueKey, items: DeliveryTable) -> ItemPacks {
        packs[items]?[key] ?? ItemPacks(key, items: items)
    }

    /// The tables without the long bodies, which are read when they are needed; ends before packs.
    static let tables = OutboundQueue.tables + InboundLedger.tables

    /// The first part of a table's rows, of one queue or of all. In parts, because the rows of short bodies take far
    /// more memory than the records that stay of them; and a damaged one of them must not take the others with it.
    static func range(of table: DeliveryTable, in queue: QueueKey? = nil) -> RowRange {
        var range = queue.map { .prefix($0.bytes, in: table.space) } ?? RowRange(space: table.space)
        // A pack is as large as many rows.
        range.limit = table == .outboundPack || table == .inboundPack ? 64 : 1000
        range.passesDamaged = table == .outboundItem || table == .inboundItem
        return range
    }

    /// The pairings of the queues.
    var pairings: Set<UniqueIdentifier> {
        Set(outboundHeaders.keys.map(\.pairing)).union(inboundHeaders.keys.map(\.pairing))
    }

    mutating func add(_ rows: [Row], of table: DeliveryTable) throws(DeliveryRecordError) {
        for row in rows {
            let key = try DeliveryRowKey(table, bytes: row.key)
            if row.isDamaged {
                try addDamaged(key, of: table)
            } else {
                try add(key, DeliveryValue(key, bytes: row.value))
            }
        }
    }

    private mutating func add(_ key: DeliveryRowKey, _ value: DeliveryValue) throws(DeliveryRecordError) {
        switch value {
        case .outboundHeader(let header): outboundHeaders[key.queue] = header
        case .outboundRecord(let record): outboundRecords[key.queue, default: []].append(record)
        case .outboundItem(let record, _): outboundItems[key.queue, default: []].append(record)
        case .inboundHeader(let header): inboundHeaders[key.queue] = header
        case .inboundRecord(let record): inboundRecords[key.queue, default: []].append(record)
        case .inboundItem(let record, _): inboundItems[key.queue, default: []].append(record)
        case .urgentBudget(let budget): budgets[key.queue] = budget
        case .sentContext(let context, _): sentContexts[key.queue] = context
        case .receivedContext(let context, _): receivedContexts[key.queue] = context
        case .payload: preconditionFailure("bodies are not among the tables that are read whole")
        case .end: ends[key.table, default: [:]][key.queue, default: []].insert(key.ordinal ?? 0)
        case .pack(let bytes): try add(key, bytes)
        }
    }

    private mutating func add(_ key: DeliveryRowKey, _ bytes: [UInt8]) throws(DeliveryRecordError) {
        let tables = ItemPacks.Tables(of: key.table)
        let ended = ends[tables.ends]?[key.queue] ?? []
        // In its place: a copy for each row would be felt with thousands of packs.
        let found = try packs[tables.items, default: [:]][key.queue, default: ItemPacks(key.queue, items: tables.items)]
            .restore(key, bytes, ends: ended)
        for item in found { try add(item.key, item.value) }
    }

    /// Where the record has a separate row, a damaged item row costs a short body only: the item cannot be taken
    /// (DEL-32). A long body is elsewhere and stays.
    private mutating func addDamaged(_ key: DeliveryRowKey, of table: DeliveryTable) throws(DeliveryRecordError) {
        if let index = outboundRecords[key.queue]?.firstIndex(where: { $0.ordinal == key.ordinal }),
            table == .outboundItem
        {
            outboundRecords[key.queue]?[index].placeBody(on: key.queue.channel)
        } else if let index = inboundRecords[key.queue]?.firstIndex(where: { $0.ordinal == key.ordinal }),
            table == .inboundItem
        {
            inboundRecords[key.queue]?[index].placeBody(on: key.queue.channel)
        } else {
            throw .invalid(table, field: "body")
        }
    }
}

/// A delivery machine that its rows restore.
protocol StoredMachine: DeliveryMachine, ~Copyable {
    static var direction: DeliveryDirection { get }
    /// Its tables without the long bodies, which are read when they are needed; ends before packs.
    static var tables: [DeliveryTable] { get }
    /// The table of its new items.
    static var items: DeliveryTable { get }

    /// Its unfinished items.
    var count: Int { get }
    var deadLetterCount: Int { get }
    /// The remainder of a ledger; of no meaning for an outbound queue.
    var occupancy: LedgerOccupancy { get }

    /// The queues that have rows.
    static func keys(in rows: DeliveryRows) -> [QueueKey]

    /// The machine of these rows; a new one in this epoch if there are none.
    init(_ key: QueueKey, from rows: DeliveryRows, epoch: UInt64, at reading: ClockReading, limits: DeliveryLimits)

    /// Takes from the machine that was in place of this one, before it was read back, the state that is in no row and
    /// that the failed commit does not change.
    /// - Parameter isComplete: whether no event was lost, so that a handler that had an item still has it.
    mutating func goOn(after former: borrowing Self, isComplete: Bool)
}

extension OutboundQueue: StoredMachine {
    static var direction: DeliveryDirection { .outbound }
    static var tables: [DeliveryTable] {
        [.outboundHeader, .outboundRecord, .outboundItem, .outboundEnd, .outboundPack, .urgentBudget, .sentContext]
    }
    static var items: DeliveryTable { .outboundItem }

    var occupancy: LedgerOccupancy { .unused }

    mutating func goOn(after former: borrowing OutboundQueue, isComplete: Bool) { keepPause(of: former) }

    static func keys(in rows: DeliveryRows) -> [QueueKey] { Array(rows.outboundHeaders.keys) }

    init(_ key: QueueKey, from rows: DeliveryRows, epoch: UInt64, at reading: ClockReading, limits: DeliveryLimits) {
        self.init(
            key, header: rows.outboundHeaders[key] ?? OutboundHeader(epoch: epoch, at: reading),
            records: rows.outboundRecords[key] ?? [], items: rows.outboundItems[key] ?? [],
            budget: rows.budgets[key] ?? UrgentBudget(), context: rows.sentContexts[key], at: reading, limits: limits)
    }
}

extension InboundLedger: StoredMachine {
    static var direction: DeliveryDirection { .inbound }
    static var tables: [DeliveryTable] {
        [.inboundHeader, .inboundRecord, .inboundItem, .inboundEnd, .inboundPack, .receivedContext]
    }
    static var items: DeliveryTable { .inboundItem }

    static func keys(in rows: DeliveryRows) -> [QueueKey] { Array(rows.inboundHeaders.keys) }

    init(_ key: QueueKey, from rows: DeliveryRows, epoch: UInt64, at reading: ClockReading, limits: DeliveryLimits) {
        self.init(
            key, header: rows.inboundHeaders[key] ?? InboundHeader(epoch: epoch, at: reading),
            records: rows.inboundRecords[key] ?? [], items: rows.inboundItems[key] ?? [],
            context: rows.receivedContexts[key], at: reading, limits: limits)
    }
}

extension LoopStore {
    /// Reads the rows of one queue in these tables, after every commit submitted before.
    func rows(
        of key: QueueKey, in tables: ArraySlice<DeliveryTable>, _ rows: DeliveryRows = DeliveryRows(),
        then done: @escaping (Result<DeliveryRows, StoreError>) -> Void
    ) {
        guard let table = tables.first else { return done(.success(rows)) }
        self.rows(DeliveryRows.range(of: table, in: key), of: table, rows) { [self] result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(let rows): self.rows(of: key, in: tables.dropFirst(), rows, then: done)
            }
        }
    }

    private func rows(
        _ range: RowRange, of table: DeliveryTable, _ rows: DeliveryRows,
        then done: @escaping (Result<DeliveryRows, StoreError>) -> Void
    ) {
        fetch(range) { [self] result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(let found):
                var rows = rows
                do throws(DeliveryRecordError) {
                    try rows.add(found, of: table)
                } catch {
                    return done(.failure(.corrupt(path: path, detail: error.description)))
                }
                guard let rest = range.rest(after: found) else { return done(.success(rows)) }
                self.rows(rest, of: table, rows, then: done)
            }
        }
    }

    /// Reads the body of an item of a pack.
    func payload(
        _ ordinal: UInt64, packedIn pack: DeliveryRowKey, then done: @escaping (Result<[UInt8]?, StoreError>) -> Void
    ) {
        value(
            at: pack, { (row) throws(DeliveryRecordError) in try ItemPacks.body(of: ordinal, in: pack, row) },
            then: done)
    }

    /// Reads the body of an item from its row of this table; nil if there is none.
    func payload(
        _ ordinal: UInt64, of key: QueueKey, in table: DeliveryTable,
        then done: @escaping (Result<[UInt8]?, StoreError>) -> Void
    ) {
        let rowKey = DeliveryRowKey(table, key, ordinal)
        value(
            at: rowKey, { (row) throws(DeliveryRecordError) in try DeliveryValue(rowKey, bytes: row).body }, then: done)
    }

    /// Reads one row; nil if there is none.
    func value<Value>(
        at key: DeliveryRowKey, _ read: @escaping ([UInt8]) throws(DeliveryRecordError) -> Value?,
        then done: @escaping (Result<Value?, StoreError>) -> Void
    ) {
        fetch(.key(key.bytes, in: key.table.space)) { [path] result in
            done(
                result.flatMap { rows in
                    guard let row = rows.first else { return .success(nil) }
                    do throws(DeliveryRecordError) {
                        return .success(try read(row.value))
                    } catch {
                        return .failure(.corrupt(path: path, detail: error.description))
                    }
                })
        }
    }
}
