// Packs of items (Decisions/0040), against rows that each item has alone: whatever is accepted, ended and lost, after a
// start the same items are there.

import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct ItemPacksTests {
    private let queue: QueueKey
    private var packs: ItemPacks
    private var rows: [DeliveryRowKey: [UInt8]] = [:]

    /// An item as a queue writes it.
    private let template: [UInt8]

    init() throws {
        queue = try queueKey()
        packs = ItemPacks(queue, items: .outboundItem)
        var machine = OutboundQueue(queue, header: OutboundHeader(epoch: 1, at: reading(0)), at: reading(0))
        let changes = try machine.enqueue(item(1), at: reading(0)).changes
        template = try #require(
            changes.compactMap { if case .put(_, let value) = $0 { value.bytes } else { nil } }.first)
    }

    private func put(_ ordinal: UInt64, size: Int = 10) throws -> DeliveryChange {
        let key = DeliveryRowKey(.outboundItem, queue, ordinal)
        guard case .outboundItem(let record, _) = try DeliveryValue(key, bytes: template) else { throw TestFailure() }
        return .put(
            key, .outboundItem(record, body: [UInt8](repeating: UInt8(truncatingIfNeeded: ordinal), count: size)))
    }

    private struct TestFailure: Error {}

    private func end(_ ordinal: UInt64) -> DeliveryChange { .remove(DeliveryRowKey(.outboundItem, queue, ordinal)) }

    @discardableResult
    private mutating func commit(_ changes: [DeliveryChange]) -> [DeliveryChange] {
        let stored = packs.packed(changes)
        for change in stored {
            switch change {
            case .put(let key, let value): rows[key] = value.bytes
            case .remove(let key): rows[key] = nil
            }
        }
        return stored
    }

    private func rows(_ table: DeliveryTable) -> [(key: DeliveryRowKey, value: [UInt8])] {
        rows.filter { $0.key.table == table }.sorted { $0.key.ordinal ?? 0 < $1.key.ordinal ?? 0 }
    }

    /// Reads the packs back, and returns the items that are there.
    private mutating func start() throws -> [UInt64] {
        packs = ItemPacks(queue, items: .outboundItem)
        let ends = Set(rows(.outboundEnd).compactMap(\.key.ordinal))
        return try rows(.outboundPack).flatMap { row in try packs.restore(row.key, row.value, ends: ends) }
            .compactMap(\.key.ordinal)
    }

    @Test("Eight or more items of a commit share rows of up to 8 KiB (LIM-131); fewer have their own")
    mutating func packing() throws {
        commit(try (1...40).map { try put($0, size: 700) })
        #expect(rows(.outboundPack).map(\.key.ordinal) == [1, 11, 21, 31] && rows(.outboundItem).isEmpty)
        #expect(rows(.outboundPack).allSatisfy { $0.value.count <= 8192 })
        commit(try (41...47).map { try put($0) })
        #expect(rows(.outboundPack).count == 4 && rows(.outboundItem).map(\.key.ordinal) == Array(41...47))
        #expect(try start() == Array(1...40))
    }

    @Test("An item that ends before its neighbours is not there after a start; the last one takes all rows along")
    mutating func ending() throws {
        commit(try (1...8).map { try put($0) })
        #expect(commit([end(2)]).map(\.key.table) == [.outboundEnd])
        #expect(commit([end(2)]) == [end(2)], "it had ended: there is no such row")
        #expect(packs.pack(of: 2) == nil)
        #expect(packs.pack(of: 3) == DeliveryRowKey(.outboundPack, queue, 1))
        #expect(try start() == [1] + Array(3...8))
        #expect(packs.pack(of: 2) == nil)
        commit(([1] + Array(3...8)).map { end($0) })
        #expect(rows.isEmpty && packs.pack(of: 3) == nil)
    }

    @Test("A pack whose items all end in one commit leaves no row of an end") mutating func allAtOnce() throws {
        commit(try (1...8).map { try put($0) })
        #expect(commit((1...8).map { end($0) }) == [.remove(DeliveryRowKey(.outboundPack, queue, 1))])
    }

    @Test("An item in a row of its own is removed there") mutating func ownRow() throws {
        #expect(commit([end(7)]) == [end(7)])
        commit(try (8...20).map { try put($0) })
        #expect(commit([end(7)]) == [end(7)] && packs.pack(of: 7) == nil)
    }

    @Test("An item that is accepted and ends in one commit takes no other along, however many packs the commit has")
    mutating func endedAtOnce() throws {
        let kept: [UInt64] = [1] + Array(3...30)
        commit(try kept.map { try put($0, size: 700) } + [end(2)])
        #expect(rows(.outboundPack).count > 1 && rows(.outboundEnd).isEmpty)
        #expect(packs.pack(of: 2) == nil)
        #expect(try start() + rows(.outboundItem).compactMap(\.key.ordinal) == kept)
    }

    @Test("A body is found in its pack, and of no other item") mutating func body() throws {
        commit(try (1...9).filter { $0 != 5 }.map { try put($0) })
        let row = try #require(rows(.outboundPack).first)
        for ordinal in UInt64(1)...9 {
            let body = try ItemPacks.body(of: ordinal, in: row.key, row.value)
            #expect(body == (ordinal == 5 ? nil : Array(repeating: UInt8(ordinal), count: 10)))
        }
    }

    @Test("Bytes that are no pack are refused") mutating func damage() throws {
        commit(try (1...8).map { try put($0) })
        let row = try #require(rows(.outboundPack).first)
        var shorter: [Int] = []
        for count in 0..<row.value.count {
            let cut = Array(row.value[..<count])
            // Cut between two items it is a shorter pack; the store's checksum is against that.
            if let items = try? ItemPacks.items(of: row.key, in: cut) { shorter.append(items.count) }
        }
        #expect(shorter == Array(0...7))
        var copy = ItemPacks(queue, items: .outboundItem)
        #expect(throws: DeliveryRecordError.self) { try copy.restore(row.key, [], ends: []) }
        let elsewhere = DeliveryRowKey(.outboundPack, queue, 5)
        #expect(throws: DeliveryRecordError.self) { try ItemPacks.items(of: elsewhere, in: row.value) }
        #expect(throws: DeliveryRecordError.self) { try ItemPacks.items(of: row.key, in: row.value + row.value) }
    }

    @Test("After random commits and starts exactly the items that have not ended are there, and nothing else")
    mutating func random() throws {
        for seed in 0..<UInt64(Repetition.times(50, long: 2_000)) {
            var random = SeededGenerator(seed: seed)
            var live: Set<UInt64> = []
            var next: UInt64 = 1
            for _ in 0..<60 {
                var changes: [DeliveryChange] = []
                for _ in 0..<Int.random(in: 0...30, using: &random) {
                    changes.append(try put(next, size: Int.random(in: 0...768, using: &random)))
                    live.insert(next)
                    next += 1
                }
                // Accepted and ended in this commit: nothing was written of them.
                for _ in 0..<Int.random(in: 0...8, using: &random) where !changes.isEmpty {
                    let ordinal = changes.remove(at: Int.random(in: 0..<changes.count, using: &random)).key.ordinal ?? 0
                    live.remove(ordinal)
                    changes.append(end(ordinal))
                }
                let puts = changes.filter { if case .put = $0 { true } else { false } }
                let new = Set(puts.compactMap(\.key.ordinal))
                for ordinal in live.subtracting(new).sorted() where Int.random(in: 0..<3, using: &random) == 0 {
                    changes.append(end(ordinal))
                    live.remove(ordinal)
                }
                commit(changes)
                if Int.random(in: 0..<5, using: &random) == 0 {
                    let found = try start() + rows(.outboundItem).compactMap(\.key.ordinal)
                    #expect(found.sorted() == live.sorted(), "seed \(seed)")
                }
            }
            commit(live.sorted().map { end($0) })
            #expect(rows.isEmpty, "seed \(seed)")
            packs = ItemPacks(queue, items: .outboundItem)
        }
    }
}
