// The rows of queues and ledgers: tables, keys, values, changes. A key is pairing, application, channel, ordinal: all
// rows of a pairing, of a queue, and of a queue in order of acceptance are then ranges of keys. The texts contain no
// NUL, so a NUL ends them.

package import TandemBase
package import TandemWire

extension QueueKey {
    /// The prefix of the keys of all rows of this queue, in each table.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16 + app.description.utf8.count + 16)
        bytes.append(bigEndian: pairing.high)
        bytes.append(bigEndian: pairing.low)
        bytes.append(contentsOf: app.description.utf8)
        bytes.append(0)
        bytes.append(contentsOf: channel.rawValue.utf8)
        bytes.append(0)
        return bytes
    }

    /// The prefix of the keys of all rows of a pairing, in each table: for unpairing.
    package static func prefix(of pairing: UniqueIdentifier) -> [UInt8] { pairing.bytes }
}

/// The tables of a queue; the raw value is stored.
package enum DeliveryTable: UInt8, Sendable, Hashable, CaseIterable {
    case outboundHeader = 1
    case outboundRecord = 2
    case outboundPayload = 3
    case inboundHeader = 4
    case inboundRecord = 5
    case inboundPayload = 6
    case urgentBudget = 7
    case sentContext = 8
    case receivedContext = 9
    /// A new item: its record and, if that is short, its body (Decisions/0039). Later forms of the record are in the
    /// table of records. Eight or more of a commit are in a pack instead.
    case outboundItem = 10
    case inboundItem = 11
    /// An item of a pack that has ended before the others. Ends are read before packs.
    case outboundEnd = 12
    case inboundEnd = 13
    /// Several new items (``ItemPacks``).
    case outboundPack = 14
    case inboundPack = 15

    /// Whether a queue has a row of this table for each item, and not one in all.
    package var hasOrdinals: Bool {
        switch self {
        case .outboundRecord, .outboundPayload, .outboundItem, .outboundEnd, .outboundPack: true
        case .inboundRecord, .inboundPayload, .inboundItem, .inboundEnd, .inboundPack: true
        case .outboundHeader, .inboundHeader, .urgentBudget, .sentContext, .receivedContext: false
        }
    }
}

package struct DeliveryRowKey: Sendable, Hashable {
    package let table: DeliveryTable
    package let queue: QueueKey
    /// The item's local number; nil for a row of the whole queue.
    package let ordinal: UInt64?

    package init(_ table: DeliveryTable, _ queue: QueueKey, _ ordinal: UInt64? = nil) {
        precondition(table.hasOrdinals == (ordinal != nil), "a queue's row has no number, an item's has one")
        self.table = table
        self.queue = queue
        self.ordinal = ordinal
    }

    package var bytes: [UInt8] { bytes(prefix: queue.bytes) }

    /// The same, for many rows of one queue: `prefix` is the queue's ``QueueKey/bytes``.
    package func bytes(prefix: [UInt8]) -> [UInt8] {
        guard let ordinal else { return prefix }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(prefix.count + 8)
        bytes += prefix
        bytes.append(bigEndian: ordinal)
        return bytes
    }

    /// Reads a key of this table.
    /// - Throws: ``DeliveryRecordError/key(_:)`` for bytes that no key of the table has.
    package init(_ table: DeliveryTable, bytes: [UInt8]) throws(DeliveryRecordError) {
        let parts = bytes.dropFirst(16).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        guard let pairing = UniqueIdentifier(bytes: bytes.prefix(16)), parts.count == 3,
            let app = try? ApplicationIdentifier(String(decoding: parts[0], as: UTF8.self)),
            let channel = Channel(word: String(decoding: parts[1], as: UTF8.self)),
            parts[2].count == (table.hasOrdinals ? 8 : 0)
        else { throw .key(table) }
        let ordinal = table.hasOrdinals ? UInt64(bigEndianBytes: parts[2]) : nil
        // Ordinals are from 1 and count items.
        if let ordinal, !(1...Limits.lastCount).contains(ordinal) { throw .key(table) }
        self.init(table, QueueKey(pairing: pairing, app: app, channel: channel), ordinal)
    }
}

/// The content of a row. Records are boxed, because changes are passed on several times before they are written.
package enum DeliveryValue: Sendable, Equatable {
    indirect case outboundHeader(OutboundHeader)
    indirect case outboundRecord(OutboundRecord)
    indirect case inboundHeader(InboundHeader)
    indirect case inboundRecord(InboundRecord)
    /// With its body, if that is short.
    indirect case outboundItem(OutboundRecord, body: [UInt8]?)
    indirect case inboundItem(InboundRecord, body: [UInt8]?)
    indirect case urgentBudget(UrgentBudget)
    /// With the bytes that were set.
    indirect case sentContext(SentContext, body: [UInt8])
    indirect case receivedContext(ContextVersion, body: [UInt8])
    /// An item's body, exactly as it was submitted.
    case payload([UInt8])
    /// The stored form of several items (``ItemPacks``).
    case pack([UInt8])
    case end

    package var bytes: [UInt8] {
        switch self {
        case .outboundHeader(let header): header.stored
        case .outboundRecord(let record): record.stored()
        case .outboundItem(let record, let body): record.stored(with: body)
        case .inboundHeader(let header): header.stored
        case .inboundRecord(let record): record.stored()
        case .inboundItem(let record, let body): record.stored(with: body)
        case .urgentBudget(let budget): budget.stored
        case .sentContext(let context, let body): context.stored(body)
        case .receivedContext(let context, let body): context.stored(body)
        case .payload(let body): body
        case .pack(let items): items
        case .end: []
        }
    }

    package init(_ key: DeliveryRowKey, bytes: [UInt8]) throws(DeliveryRecordError) {
        switch (key.table, key.ordinal) {
        case (.outboundPayload, _), (.inboundPayload, _): self = .payload(bytes)
        case (.outboundPack, _), (.inboundPack, _): self = .pack(bytes)
        case (.outboundEnd, _), (.inboundEnd, _): self = .end
        case (.outboundHeader, _): self = .outboundHeader(try OutboundHeader(stored: bytes))
        case (.inboundHeader, _): self = .inboundHeader(try InboundHeader(stored: bytes))
        case (.outboundRecord, let ordinal?):
            self = .outboundRecord(try OutboundRecord(stored: bytes, ordinal: ordinal))
        case (.outboundItem, let ordinal?):
            self = try OutboundRecord.item(stored: bytes, ordinal: ordinal, on: key.queue.channel)
        case (.inboundRecord, let ordinal?): self = .inboundRecord(try InboundRecord(stored: bytes, ordinal: ordinal))
        case (.inboundItem, let ordinal?):
            self = try InboundRecord.item(stored: bytes, ordinal: ordinal, on: key.queue.channel)
        case (.urgentBudget, _): self = .urgentBudget(try UrgentBudget(stored: bytes))
        case (.sentContext, _): self = try SentContext.read(bytes)
        case (.receivedContext, _): self = try ContextVersion.read(bytes)
        case (.outboundRecord, nil), (.outboundItem, nil), (.inboundRecord, nil), (.inboundItem, nil):
            throw .key(key.table)
        }
    }

    package var body: [UInt8]? {
        switch self {
        case .payload(let body), .sentContext(_, let body), .receivedContext(_, let body): body
        case .outboundItem(_, let body), .inboundItem(_, let body): body
        case .outboundHeader, .outboundRecord, .inboundHeader, .inboundRecord, .urgentBudget, .pack, .end: nil
        }
    }
}

package enum DeliveryChange: Sendable, Equatable {
    case put(DeliveryRowKey, DeliveryValue)
    case remove(DeliveryRowKey)

    package var key: DeliveryRowKey {
        switch self {
        case .put(let key, _), .remove(let key): key
        }
    }
}

/// A stored row that this program cannot use. The store checks that rows are the bytes that were written; one that
/// fails here was written by a newer program or a broken one, and is refused instead of guessed at.
package enum DeliveryRecordError: Error, Sendable, Equatable {
    case key(DeliveryTable)
    /// It does not begin as a record of this program does.
    case form(DeliveryTable)
    case missing(DeliveryTable, field: String)
    case invalid(DeliveryTable, field: String)
    /// A field that this program does not know: written by a newer one.
    case unknown(DeliveryTable, number: UInt8)

    static func missing(_ table: DeliveryTable, _ field: RecordField) -> Self { .missing(table, field: "\(field)") }
    static func invalid(_ table: DeliveryTable, _ field: RecordField) -> Self { .invalid(table, field: "\(field)") }
}

extension DeliveryRecordError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .key(let table): "queue row (\(table)): its key names no queue; restore the store from a backup"
        case .form(let table):
            "queue row (\(table)): not in a form that this program knows; use the program that wrote it"
        case .missing(let table, let field): "queue row (\(table)): '\(field)' is missing; restore from a backup"
        case .invalid(let table, let field): "queue row (\(table)): '\(field)' is invalid; restore from a backup"
        case .unknown(let table, let number):
            "queue row (\(table)): unknown field \(number); use the newer program that wrote it"
        }
    }
}
