// The stored form: whole, strict, and ordered by its keys.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct StoredFormTests {
    /// Every value that many schedules have written, with its key.
    private func writtenRows() throws -> [(DeliveryRowKey, [UInt8])] {
        var devices = try TwoDevices(seed: 77)
        var rows = try channelRows()
        for step in 0..<600 {
            try devices.step()
            guard step.isMultiple(of: 50) else { continue }
            for table in DeliveryTable.allCases where !Self.packs.contains(table) {
                let entries = try devices.senderDisk.entries(table) + devices.receiverDisk.entries(table)
                rows += entries.map { ($0.key, $0.value.bytes) }
            }
        }
        return rows
    }

    /// The tables whose rows are no records.
    private static let packs: Set<DeliveryTable> = [.outboundPack, .outboundEnd, .inboundPack, .inboundEnd]

    /// Rows and fields that only some channels have.
    private func channelRows() throws -> [(DeliveryRowKey, [UInt8])] {
        var context = try outbound(channel: .context)
        var urgent = try outbound(channel: .urgent)
        var received = try inbound(channel: .context)
        let start = reading(0)
        var changes = try context.setContext(item(1, topic: "t"), digest: [1], at: start).1.changes
        changes += try urgent.enqueueUrgent(item(2, kind: "main", after: 9), at: start)?.changes ?? []
        changes += received.arrived(arrived(1, age: .seconds(1), topic: "t", revision: 1), at: start).changes
        return changes.compactMap { if case .put(let key, let value) = $0 { (key, value.bytes) } else { nil } }
    }

    @Test("The rows of new items, headers, budgets and contexts are these bytes in every version")
    func pinned() throws {
        let written = try channelRows().map { Hexadecimal.encode($0.1) }
        #expect(
            written == [
                "011900000000000000014000000001014100000003010101",
                "011001010101010101010101010101010101130000000000000003140000000000000000157fffffffffffffff1700000000"
                    + "1800000001741900000000000000014100000003010101",
                "0101000000000000000102000000000000000203000000000000000105000000000000000006000000000000000107000000"
                    + "000000000008000001a3185c5000",
                "01300000000000000001310000000000000000",
                "01100202020202020202020202020202020213000000000000000314000000000000000015000000009a7ec8001a00000004"
                    + "6d61696e1b1c090909090909090909090909090909094100000003020202",
                "0101000000000000000102000000000000000203000000000000000105000000000000000007000000000000000008000001"
                    + "a3185c5000",
                "010100000000000000011900000000000000014100000003010101",
                "01100101010101010101010101010101010112000000000000000113000000000000000314fffffffffffffc181800000001"
                    + "741900000000000000014100000003010101",
                "0101000000000000000102000000000000000204000000000000000107000000000000000008000001a3185c5000",
            ])
    }

    @Test func whatWasReadIsWrittenAgainAsItWas() throws {
        let rows = try writtenRows()
        #expect(
            Self.packs.union(rows.map(\.0.table)) == Set(DeliveryTable.allCases), "every table has been written")
        for (key, bytes) in rows {
            #expect(try DeliveryValue(key, bytes: bytes).bytes == bytes)
            #expect(try DeliveryRowKey(key.table, bytes: key.bytes) == key)
        }
    }

    private func error(_ key: DeliveryRowKey, _ bytes: [UInt8]) -> DeliveryRecordError? {
        do throws(DeliveryRecordError) {
            _ = try DeliveryValue(key, bytes: bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test func unknownAndMisplacedFieldsAreRefusedByName() throws {
        // The number of `epoch`, which no record has behind its other fields.
        let misplaced: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, 1]
        for (key, bytes) in try recordRows() {
            #expect(error(key, bytes + [0xFF]) == .unknown(key.table, number: 0xFF))
            #expect(error(key, bytes + misplaced) == .invalid(key.table, field: "epoch"))
            #expect(error(key, [2] + bytes.dropFirst()) == .form(key.table))
            #expect(error(key, []) == .form(key.table))
        }
    }

    @Test func missingAndWrongFieldsAreRefusedByName() throws {
        let first: [DeliveryTable: String] = [
            .outboundHeader: "epoch", .outboundRecord: "id", .inboundHeader: "epoch", .inboundRecord: "size",
            .urgentBudget: "used", .sentContext: "revision", .receivedContext: "epoch", .outboundItem: "id",
            .inboundItem: "size",
        ]
        for (key, bytes) in try recordRows() {
            let field = try #require(first[key.table])
            let missing = try #require(error(key, [1]))
            #expect(missing == .missing(key.table, field: field) && missing.description.contains(field))
            // All ones are no number of the wire, and an identifier needs no more than sixteen bytes.
            let isOutbound = key.table == .outboundRecord || key.table == .outboundItem
            let wrong = bytes.prefix(2) + Array(repeating: 0xFF, count: isOutbound ? 15 : 8)
            if key.table != .inboundRecord, key.table != .inboundItem {
                #expect(error(key, Array(wrong)) == .invalid(key.table, field: field))
            }
        }
    }

    @Test func wordsAreRefusedUnlessTheyAreKnown() throws {
        var refused = 0
        for (key, bytes) in try recordRows() {
            guard let offset = bytes.firstRange(of: Array("handled".utf8))?.lowerBound else { continue }
            var damaged = bytes
            for letter in [UInt8(ascii: "x"), 0xFF] {
                damaged[offset] = letter
                #expect(error(key, damaged) == .invalid(key.table, field: "outcome"))
                refused += 1
            }
        }
        #expect(refused > 0)
    }

    @Test("PAR-3, LIM-133: records with an epoch out of range do not read, and the last epoch does")
    func epochs() throws {
        let start = reading(0)
        let context = ContextVersion(epoch: Limits.lastEpoch, revision: 1)
        let values: [(DeliveryTable, DeliveryValue)] = [
            (.outboundHeader, .outboundHeader(OutboundHeader(epoch: Limits.lastEpoch, at: start))),
            (.inboundHeader, .inboundHeader(InboundHeader(epoch: Limits.lastEpoch, at: start))),
            (.receivedContext, .receivedContext(context, body: [])),
        ]
        for (table, value) in values {
            let key = DeliveryRowKey(table, try queueKey())
            var bytes = value.bytes
            #expect(try DeliveryValue(key, bytes: bytes).bytes == bytes)
            // Form, field, and the highest bytes of its number: the epoch becomes 2^33 - 1.
            bytes[5] = 1
            #expect(error(key, bytes) == .invalid(table, field: "epoch"))
        }
    }

    @Test("A record with a count of 2^32 or more does not read: the sum of many would be no number")
    func counts() throws {
        // Where the byte of 2^32 is in the number.
        let places: [DeliveryTable: (field: String, byte: Int)] = [
            .urgentBudget: ("used", 5), .outboundItem: ("size", 22), .inboundItem: ("size", 31),
        ]
        var refused: Set<DeliveryTable> = []
        for (key, bytes) in try channelRows() {
            guard let place = places[key.table] else { continue }
            var bytes = bytes
            bytes[place.byte] = 1
            #expect(error(key, bytes) == .invalid(key.table, field: place.field))
            refused.insert(key.table)
        }
        #expect(refused == Set(places.keys))
    }

    @Test("DEL-32: a number from which a device counts on does not read where counting on would overflow")
    func counters() throws {
        // Where the highest bytes of the numbers are.
        let places: [DeliveryTable: [(field: String, byte: Int)]] = [
            .outboundHeader: [("nextOrdinal", 11), ("nextSequence", 20), ("storedThrough", 29)],
            .inboundHeader: [("nextOrdinal", 11), ("watermark", 20)], .sentContext: [("revision", 2)],
            .inboundItem: [("sequence", 19)],
        ]
        var refused: Set<DeliveryTable> = []
        for (key, bytes) in try channelRows() {
            for place in places[key.table] ?? [] {
                var bytes = bytes
                // 3/4 of the largest number of the wire, and then that one.
                for high in [[0x60], [0x7F] + Array(repeating: 0xFF, count: 7)] as [[UInt8]] {
                    bytes.replaceSubrange(place.byte..<place.byte + high.count, with: high)
                    #expect(error(key, bytes) == .invalid(key.table, field: place.field))
                }
                refused.insert(key.table)
            }
        }
        #expect(refused == Set(places.keys))
        let key = DeliveryRowKey(.outboundItem, try queueKey(), Limits.lastCount + 1)
        #expect(throws: DeliveryRecordError.key(.outboundItem)) { try DeliveryRowKey(.outboundItem, bytes: key.bytes) }
    }

    @Test("DEL-8: an item in whose row the least number is the time of acceptance has an age")
    func leastTimes() throws {
        let start = reading(0)
        var queue = try outbound()
        var ledger = try inbound()
        let changes =
            try queue.enqueue(item(1), at: start).changes
            + ledger.arrived(arrived(1, age: .seconds(1)), at: start).changes
        for case .put(let key, let value) in changes where [.outboundItem, .inboundItem].contains(key.table) {
            var bytes = value.bytes
            let time = key.table == .outboundItem ? 28 : 37
            bytes.replaceSubrange(time..<time + 8, with: [0x80, 0, 0, 0, 0, 0, 0, 0])
            switch try DeliveryValue(key, bytes: bytes) {
            case .outboundItem(let record, _):
                let header = OutboundHeader(epoch: 1, at: start)
                queue = OutboundQueue(key.queue, header: header, items: [record], at: start)
            case .inboundItem(let record, _):
                let header = InboundHeader(epoch: 1, at: start)
                ledger = InboundLedger(key.queue, header: header, items: [record], at: start)
            default: Issue.record("another row")
            }
        }
        #expect(queue.oldestAge(at: reading(1)) == .max)
        #expect(ledger.consumerArrived(at: reading(1)).handed.map(\.age) == [.milliseconds(Int64.max)])
    }

    private func recordRows() throws -> [(DeliveryRowKey, [UInt8])] {
        try writtenRows().filter { $0.0.table != .inboundPayload && $0.0.table != .outboundPayload }
    }

    @Test func damagedBytesAreRefusedOrAreAnotherRecord() throws {
        var schedule = SeededGenerator(seed: 5)
        for (key, bytes) in try recordRows() {
            var damaged = (0..<20).map { _ in
                var damaged = bytes
                damaged[Int.random(in: damaged.indices, using: &schedule)] ^=
                    1 << UInt8.random(in: 0..<8, using: &schedule)
                return damaged
            }
            damaged += bytes.indices.map { Array(bytes.prefix($0)) }
            // A record that can be read is written back unchanged: each record has one form, and no byte is ignored.
            for bytes in damaged {
                if let value = try? DeliveryValue(key, bytes: bytes) { #expect(value.bytes == bytes) }
            }
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
