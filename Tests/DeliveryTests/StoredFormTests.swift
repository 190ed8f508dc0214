// The stored form: whole, strict, and ordered by its keys.

import TandemDelivery
import TandemIdentity
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct StoredFormTests {
    /// Every value that many schedules have written, with its key.
    private func writtenRows() throws -> [(DeliveryRowKey, [UInt8])] {
        var devices = try TwoDevices(seed: 77)
        for _ in 0..<600 { try devices.step() }
        let rows = devices.senderDisk.rows.merging(devices.receiverDisk.rows) { one, _ in one }
        return try channelRows()
            + rows.flatMap { table, rows in try rows.map { (try DeliveryRowKey(table, bytes: $0.key), $0.value) } }
    }

    /// Rows and fields that only some channels have.
    private func channelRows() throws -> [(DeliveryRowKey, [UInt8])] {
        var context = try outbound(channel: .context)
        var urgent = try outbound(channel: .urgent)
        var received = try inbound(channel: .context)
        let start = reading(0)
        var changes = try context.setContext(item(1, topic: "t"), digest: [1], policy: .always, at: start).1.changes
        changes += try urgent.enqueueUrgent(item(2, kind: "main", after: 9), at: start)?.changes ?? []
        changes += received.arrived(arrived(1, age: .seconds(1), topic: "t", revision: 1), at: start).changes
        return changes.compactMap { if case .put(let key, let value) = $0 { (key, value.bytes) } else { nil } }
    }

    @Test func whatWasReadIsWrittenAgainAsItWas() throws {
        let rows = try writtenRows()
        #expect(Set(rows.map(\.0.table)).count == DeliveryTable.allCases.count, "every table has been written")
        for (key, bytes) in rows {
            #expect(try DeliveryValue(key, bytes: bytes).bytes == bytes)
            #expect(try DeliveryRowKey(key.table, bytes: key.bytes) == key)
        }
    }

    @Test func unknownMissingAndWrongFieldsAreRefusedByName() throws {
        for (key, bytes) in try writtenRows() where key.table != .inboundPayload && key.table != .outboundPayload {
            let fields = try PropertyListReader.readDictionary(bytes)
            try refuses(key, fields, changed: "x", to: 1) { $0 == .unknown(key.table, field: "x") }
            for field in fields.keys {
                try refuses(key, fields, changed: field, to: .array([])) { $0 == .invalid(key.table, field: field) }
            }
            for field in ["size", "attempts", "clock", "epoch"] where fields[field] != nil {
                try refuses(key, fields, changed: field, to: nil) { $0 == .missing(key.table, field: field) }
                try refuses(key, fields, changed: field, to: .real(1)) { $0 == .invalid(key.table, field: field) }
            }
        }
    }

    private func refuses(
        _ key: DeliveryRowKey, _ fields: PropertyListDictionary, changed field: String, to value: PropertyListValue?,
        _ isExpected: (DeliveryRecordError) -> Bool
    ) throws {
        var damaged = fields
        damaged[field] = value
        let bytes = try PropertyListWriter.write(damaged)
        do throws(DeliveryRecordError) {
            _ = try DeliveryValue(key, bytes: bytes)
            Issue.record("\(key.table) accepted with \(field) changed")
        } catch {
            #expect(isExpected(error), "\(error)")
            #expect(error.description.contains(field))
        }
    }

    @Test func damagedBytesNeverTrap() throws {
        var schedule = SeededGenerator(seed: 5)
        for (key, bytes) in try writtenRows() where !bytes.isEmpty {
            for _ in 0..<20 {
                var damaged = bytes
                damaged[Int.random(in: damaged.indices, using: &schedule)] ^=
                    1 << UInt8.random(in: 0..<8, using: &schedule)
                _ = try? DeliveryValue(key, bytes: damaged)
                _ = try? DeliveryValue(key, bytes: Array(damaged.prefix(damaged.count / 2)))
            }
        }
        #expect(throws: DeliveryRecordError.self) {
            try DeliveryValue(DeliveryRowKey(.outboundHeader, try queueKey()), bytes: [])
        }
    }

    @Test(arguments: ["", "00", "61626300", "ff00ff00"]) func bytesThatAreNoKeyAreRefused(suffix: String) throws {
        let bytes = identifier(1).bytes + (Hexadecimal.decode(suffix) ?? [])
        for table in DeliveryTable.allCases {
            #expect(throws: DeliveryRecordError.key(table)) { try DeliveryRowKey(table, bytes: bytes) }
        }
        let header = DeliveryRowKey(.outboundHeader, try queueKey())
        #expect(throws: DeliveryRecordError.key(.outboundRecord)) {
            try DeliveryRowKey(.outboundRecord, bytes: header.bytes)
        }
    }

    @Test func rowsOfAQueueAreARangeInOrderOfAcceptance() throws {
        let key = try queueKey()
        let ordinals: [UInt64] = [1, 2, 255, 256, 65_536, 1 << 40]
        let keys = ordinals.map { DeliveryRowKey(.outboundRecord, key, $0).bytes }
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
        #expect(keys.allSatisfy { $0.starts(with: key.bytes) && $0.starts(with: QueueKey.prefix(of: key.pairing)) })
        let longer = QueueKey(
            pairing: key.pairing, app: try ApplicationIdentifier("com.example.app2"), channel: .configuration)
        #expect(!longer.bytes.starts(with: key.bytes))
    }

    @Test func outcomesHaveOneSpelling() {
        let outcomes: [Outcome] = [.handled, .rejected(code: -3)] + GapReason.allCases.map { .withdrawn($0) }
        for outcome in outcomes { #expect(Outcome(name: outcome.name, code: outcome.code) == outcome) }
        for (name, code) in [("handled", 1), ("rejected", nil), ("cancelled", 0), ("other", nil)] as [(String, Int64?)]
        {
            #expect(Outcome(name: name, code: code) == nil)
        }
    }
}
