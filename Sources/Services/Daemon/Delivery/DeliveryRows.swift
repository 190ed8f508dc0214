// Stored form of the delivery queues: each table of the room Delivery of Decisions is a key space of the store, 17 to
// 25. A row that cannot be read back means a damaged or newer store, and is refused.

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
    /// turn is written once. All of them are of one queue, which is written out once.
    var rowChanges: [RowChange] {
        guard let queue = joined().first?.key.queue.bytes else { return [] }
        let most = reduce(0) { $0 + $1.count }
        var seen = Set<RowOfQueue>(minimumCapacity: most)
        var last: [RowChange] = []
        last.reserveCapacity(most)
        for changes in reversed() {
            for change in changes.reversed() where seen.insert(RowOfQueue(change.key)).inserted {
                last.append(change.rowChange(in: queue))
            }
        }
        last.reverse()
        return last
    }
}

extension DeliveryChange {
    /// The change of the store's row; `queue` is what the keys of the queue's rows start with.
    fileprivate func rowChange(in queue: [UInt8]) -> RowChange {
        switch self {
        case .put(let key, let value): .put(key.table.space, key: key.bytes(in: queue), value: value.bytes)
        case .remove(let key): .delete(key.table.space, key: key.bytes(in: queue))
        }
    }
}

/// A row among those of one queue: two numbers, because hashing the queue's names for each change would be felt.
private struct RowOfQueue: Hashable {
    let table: UInt8
    let ordinal: UInt64

    init(_ key: DeliveryRowKey) {
        table = key.table.rawValue
        ordinal = key.ordinal ?? 0
    }
}

/// The rows of all queues, as they were committed.
struct DeliveryRows {
    private(set) var outboundHeaders: [QueueKey: OutboundHeader] = [:]
    private(set) var outboundRecords: [QueueKey: [OutboundRecord]] = [:]
    private(set) var inboundHeaders: [QueueKey: InboundHeader] = [:]
    private(set) var inboundRecords: [QueueKey: [InboundRecord]] = [:]
    private var budgets: [QueueKey: UrgentBudget] = [:]
    private var sentContexts: [QueueKey: SentContext] = [:]
    private var receivedContexts: [QueueKey: ReceivedContext] = [:]

    /// The tables without the bodies, which are read when they are needed.
    static let tables: [DeliveryTable] = DeliveryTable.allCases.filter {
        $0 != .outboundPayload && $0 != .inboundPayload
    }

    mutating func add(_ rows: [Row], of table: DeliveryTable) throws(DeliveryRecordError) {
        for row in rows {
            let key = try DeliveryRowKey(table, bytes: row.key)
            switch try DeliveryValue(key, bytes: row.value) {
            case .outboundHeader(let header): outboundHeaders[key.queue] = header
            case .outboundRecord(let record): outboundRecords[key.queue, default: []].append(record)
            case .inboundHeader(let header): inboundHeaders[key.queue] = header
            case .inboundRecord(let record): inboundRecords[key.queue, default: []].append(record)
            case .urgentBudget(let budget): budgets[key.queue] = budget
            case .sentContext(let context, _): sentContexts[key.queue] = context
            case .receivedContext(let context, _): receivedContexts[key.queue] = context
            case .payload: preconditionFailure("bodies are not among the tables that are read whole")
            }
        }
    }

    /// The queue of these rows.
    func queue(
        _ key: QueueKey, _ header: OutboundHeader, at reading: ClockReading, limits: DeliveryLimits
    ) -> OutboundQueue {
        OutboundQueue(
            key, header: header, records: outboundRecords[key] ?? [], budget: budgets[key] ?? UrgentBudget(),
            context: sentContexts[key], at: reading, limits: limits)
    }

    /// The ledger of these rows.
    func ledger(
        _ key: QueueKey, _ header: InboundHeader, at reading: ClockReading, limits: DeliveryLimits
    ) -> InboundLedger {
        InboundLedger(
            key, header: header, records: inboundRecords[key] ?? [], context: receivedContexts[key], at: reading,
            limits: limits)
    }
}

extension LoopStore {
    /// Reads the rows of one queue in these tables, after every commit submitted before.
    func rows(
        of key: QueueKey, in tables: ArraySlice<DeliveryTable>, _ rows: DeliveryRows = DeliveryRows(),
        then done: @escaping (Result<DeliveryRows, StoreError>) -> Void
    ) {
        guard let table = tables.first else { return done(.success(rows)) }
        fetch(.prefix(key.bytes, in: table.space)) { [self] result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(let found):
                var rows = rows
                do throws(DeliveryRecordError) {
                    try rows.add(found, of: table)
                } catch {
                    return done(.failure(.corrupt(path: "", detail: error.description)))
                }
                self.rows(of: key, in: tables.dropFirst(), rows, then: done)
            }
        }
    }

    /// Reads the body of an item from its row; nil if there is none.
    func payload(
        _ ordinal: UInt64, of key: QueueKey, in table: DeliveryTable, then done: @escaping ([UInt8]?) -> Void
    ) {
        let place = DeliveryRowKey(table, key, ordinal)
        fetch(.key(place.bytes, in: table.space)) { result in done((try? result.get())?.first?.value) }
    }

    /// Reads the context of a queue from its row; nil if there is none.
    func context(at place: DeliveryRowKey, then done: @escaping (LatestContext?) -> Void) {
        fetch(.key(place.bytes, in: place.table.space)) { result in
            let row = (try? result.get())?.first
            switch row.flatMap({ try? DeliveryValue(place, bytes: $0.value) }) {
            case .sentContext(let context, let body):
                done(LatestContext(place.queue, .sent, context.revision, body))
            case .receivedContext(let context, let body):
                done(LatestContext(place.queue, .received, context.revision, body))
            default: done(nil)
            }
        }
    }
}
