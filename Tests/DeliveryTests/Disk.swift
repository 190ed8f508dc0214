// A disk as the machines see one: rows of bytes, and commits that wait their turn, each with its packs. Whatever a
// transition asks for goes through the stored form, so that every test also tests reading back.

import TandemBase
import TandemDelivery
import TandemWire
import Testing

/// Rows and pending commits of one device.
struct Disk<Effect> {
    private(set) var rows: [DeliveryTable: [[UInt8]: [UInt8]]] = [:]
    private var packs: [DeliveryRowKey: ItemPacks] = [:]
    private var pending: [(changes: [DeliveryChange], effects: [Effect])] = []

    var isIdle: Bool { pending.isEmpty }

    mutating func submit(_ changes: [DeliveryChange], _ effects: [Effect]) { pending.append((changes, effects)) }

    /// Makes the oldest commit durable and releases its effects; when many wait, those behind it, too, as one.
    mutating func commitNext() -> [Effect] {
        guard !pending.isEmpty else { return [] }
        let count = pending.count < 8 ? 1 : pending.count
        let commit = (
            changes: pending.prefix(count).flatMap(\.changes), effects: pending.prefix(count).flatMap(\.effects)
        )
        pending.removeFirst(count)
        for change in stored(commit.changes) {
            switch change {
            case .put(let key, let value): rows[key.table, default: [:]][key.bytes] = value.bytes
            case .remove(let key): rows[key.table, default: [:]][key.bytes] = nil
            }
        }
        return commit.effects
    }

    /// The changes with new items in packs, each row once.
    private mutating func stored(_ changes: [DeliveryChange]) -> [DeliveryChange] {
        var seen: Set<DeliveryRowKey> = []
        let last = changes.reversed().filter { seen.insert($0.key).inserted }.reversed()
        guard let queue = changes.first?.key.queue else { return [] }
        return [.outboundItem, .inboundItem].reduce(Array(last)) { changes, table in
            packs[DeliveryRowKey(table, queue, 1), default: ItemPacks(queue, items: table)].packed(changes)
        }
    }

    /// Power fails: what was not committed is gone, effects included; the packs are read back.
    mutating func lose() throws {
        pending = []
        packs = [:]
        for tables in Self.packTables {
            for (key, value) in sorted(tables.packs) {
                let key = try DeliveryRowKey(tables.packs, bytes: key)
                let ended = try (rows[tables.ends] ?? [:]).keys.map { try DeliveryRowKey(tables.ends, bytes: $0) }
                let place = DeliveryRowKey(tables.items, key.queue, 1)
                _ = try packs[place, default: ItemPacks(key.queue, items: tables.items)].restore(
                    key, value, ends: Set(ended.filter { $0.queue == key.queue }.compactMap(\.ordinal)))
            }
        }
    }

    private static var packTables: [ItemPacks.Tables] {
        [ItemPacks.Tables(of: .outboundItem), ItemPacks.Tables(of: .inboundItem)]
    }

    private func sorted(_ table: DeliveryTable) -> [(key: [UInt8], value: [UInt8])] {
        (rows[table] ?? [:]).sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    /// The rows of the table, and the items of packs that have not ended.
    func entries(_ table: DeliveryTable) throws -> [ItemPacks.Item] {
        let own = try sorted(table).map { key, value in
            let key = try DeliveryRowKey(table, bytes: key)
            return (key: key, value: try DeliveryValue(key, bytes: value))
        }
        guard let tables = Self.packTables.first(where: { $0.items == table }) else { return own }
        return try own
            + sorted(tables.packs).flatMap { key, value in
                try ItemPacks.items(of: DeliveryRowKey(tables.packs, bytes: key), in: value).filter {
                    rows[tables.ends]?[DeliveryRowKey(tables.ends, $0.key.queue, $0.key.ordinal).bytes] == nil
                }
            }
    }

    func values(_ table: DeliveryTable) throws -> [DeliveryValue] { try entries(table).map(\.value) }

    func values(_ table: DeliveryTable, in queue: QueueKey) throws -> [DeliveryValue] {
        try entries(table).filter { $0.key.queue == queue }.map(\.value)
    }

    func value(_ key: DeliveryRowKey) throws -> DeliveryValue? { try entries(key.table).first { $0.key == key }?.value }

    func body(_ table: DeliveryTable, _ queue: QueueKey, _ ordinal: UInt64) -> [UInt8]? {
        (try? value(DeliveryRowKey(table, queue, ordinal)))?.body
    }

    func inboundRecord(_ queue: QueueKey, _ ordinal: UInt64) -> InboundRecord? {
        if case .inboundRecord(let record)? = try? value(DeliveryRowKey(.inboundRecord, queue, ordinal)) {
            return record
        }
        if case .inboundItem(let record, _)? = try? value(DeliveryRowKey(.inboundItem, queue, ordinal)) {
            return record
        }
        return nil
    }
}

extension Disk {
    func outboundQueue(at reading: ClockReading, limits: DeliveryLimits) throws -> OutboundQueue {
        let records = try values(.outboundRecord).compactMap {
            if case .outboundRecord(let record) = $0 { record } else { nil }
        }
        let items = try values(.outboundItem).compactMap {
            if case .outboundItem(let record, _) = $0 { record } else { nil }
        }
        var header = OutboundHeader(epoch: 1, at: reading)
        if case .outboundHeader(let stored)? = try values(.outboundHeader).first { header = stored }
        var budget = UrgentBudget()
        if case .urgentBudget(let stored)? = try values(.urgentBudget).first { budget = stored }
        return OutboundQueue(
            try queueKey(), header: header, records: records, items: items, budget: budget, at: reading, limits: limits)
    }

    func inboundLedger(at reading: ClockReading, limits: DeliveryLimits) throws -> InboundLedger {
        let records = try values(.inboundRecord).compactMap {
            if case .inboundRecord(let record) = $0 { record } else { nil }
        }
        let items = try values(.inboundItem).compactMap {
            if case .inboundItem(let record, _) = $0 { record } else { nil }
        }
        var header = InboundHeader(epoch: 1, at: reading)
        if case .inboundHeader(let stored)? = try values(.inboundHeader).first { header = stored }
        return InboundLedger(
            try queueKey(), header: header, records: records, items: items, at: reading, limits: limits)
    }
}
