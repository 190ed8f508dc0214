// A disk as the machines see one: rows of bytes, and commits that wait their turn. Whatever a transition asks for goes
// through the stored form, so that every test also tests reading back.

import TandemDelivery
import TandemWire
import Testing

/// Rows and pending commits of one device.
struct Disk<Effect> {
    private(set) var rows: [DeliveryTable: [[UInt8]: [UInt8]]] = [:]
    private var pending: [(changes: [DeliveryChange], effects: [Effect])] = []

    var isIdle: Bool { pending.isEmpty }

    mutating func submit(_ changes: [DeliveryChange], _ effects: [Effect]) { pending.append((changes, effects)) }

    /// Makes the oldest commit durable and releases its effects.
    mutating func commitNext() -> [Effect] {
        guard !pending.isEmpty else { return [] }
        let commit = pending.removeFirst()
        for change in commit.changes {
            switch change {
            case .put(let key, let value): rows[key.table, default: [:]][key.bytes] = value.bytes
            case .remove(let key): rows[key.table, default: [:]][key.bytes] = nil
            }
        }
        return commit.effects
    }

    /// Power fails: what was not committed is gone, effects included.
    mutating func lose() { pending = [] }

    func values(_ table: DeliveryTable) throws -> [DeliveryValue] {
        try (rows[table] ?? [:]).sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, value in
            try DeliveryValue(DeliveryRowKey(table, bytes: key), bytes: value)
        }
    }

    func values(_ table: DeliveryTable, in queue: QueueKey) throws -> [DeliveryValue] {
        try (rows[table] ?? [:]).filter { $0.key.starts(with: queue.bytes) }.map { key, value in
            try DeliveryValue(DeliveryRowKey(table, bytes: key), bytes: value)
        }
    }

    func value(_ key: DeliveryRowKey) throws -> DeliveryValue? {
        try rows[key.table]?[key.bytes].map { try DeliveryValue(key, bytes: $0) }
    }

    func body(_ table: DeliveryTable, _ queue: QueueKey, _ ordinal: UInt64) -> [UInt8]? {
        (try? value(DeliveryRowKey(table, queue, ordinal)))?.body
    }

    /// The record as its rows restore it.
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
        return OutboundQueue(
            try queueKey(), header: header, records: records, items: items, at: reading, limits: limits)
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
