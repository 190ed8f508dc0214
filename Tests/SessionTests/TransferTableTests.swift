// Items that an app has submitted (SES-48 to SES-50) and received (SES-51), without any connection.

import TandemBase
import TandemSession
import TandemWire
import Testing

struct TransferTableTests {
    private let pairing = UniqueIdentifier.random()

    private func expect(
        _ id: UniqueIdentifier, _ token: Int, isTaken: Bool = true, in table: inout TransferTable<Int>
    ) {
        let excess = table.submit(id, to: pairing, on: .userInfo, token: token)
        #expect((excess == nil) == isTaken)
    }

    @Test("SES-49: each step of an item is news once, and never backwards")
    func steps() {
        var table = TransferTable<Int>(capacity: 10)
        let id = UniqueIdentifier.random()
        expect(id, 7, in: &table)
        #expect(table.unacceptedCount == 1)
        let first = table.reached(.accepted, id)
        let again = table.reached(.accepted, id)
        let stored = table.reached(.stored, id)
        let backwards = table.reached(.accepted, id)
        #expect(first?.token == 7 && again?.token == nil && stored?.phase == .stored && backwards?.token == nil)
        #expect(table.unacceptedCount == 0)
        let end = table.ended(id)
        let secondEnd = table.ended(id)
        #expect(end?.token == 7 && secondEnd?.token == nil)
    }

    @Test("SES-49: what was not accepted is submitted again in its order, and what was accepted is not")
    func again() {
        var table = TransferTable<Int>(capacity: 10)
        let ids = (0..<5).map { _ in UniqueIdentifier.random() }
        for (number, id) in ids.enumerated() { expect(id, number, in: &table) }
        _ = table.reached(.accepted, ids[1])
        _ = table.ended(ids[3])
        #expect(table.unaccepted.map(\.entry.token) == [0, 2, 4])
    }

    @Test("LIM-14: no more wait for acceptance than the table holds, and a known identifier is not taken twice")
    func bounded() {
        var table = TransferTable<Int>(capacity: 2)
        let first = UniqueIdentifier.random()
        expect(first, 0, in: &table)
        expect(first, 1, isTaken: false, in: &table)
        expect(.random(), 1, in: &table)
        expect(.random(), 2, isTaken: false, in: &table)
        _ = table.reached(.accepted, first)
        expect(.random(), 2, in: &table)
    }

    @Test("LIM-14: no more bytes of a queue wait for acceptance than the table holds, and room comes back")
    func boundedBytes() {
        var table = TransferTable<Int>(capacity: 10, byteCapacity: 100)
        let ids = (0..<4).map { _ in UniqueIdentifier.random() }
        let excesses = ids.enumerated().map { number, id in
            table.submit(id, to: pairing, on: number == 3 ? .urgent : .userInfo, size: 50, token: number)
        }
        #expect(excesses.map { $0?.actual } == [nil, nil, 150, nil])
        _ = table.reached(.accepted, ids[0])
        _ = table.ended(ids[0])
        let afterAcceptance = table.submit(.random(), to: pairing, on: .userInfo, size: 50, token: 4)
        let full = table.submit(.random(), to: pairing, on: .userInfo, size: 1, token: 5)
        #expect(afterAcceptance == nil && full?.actual == 101 && full?.limit == 100)
        _ = table.dropUnaccepted(of: pairing)
        let afterDrop = table.submit(.random(), to: pairing, on: .userInfo, size: 100, token: 6)
        #expect(afterDrop == nil)
    }

    @Test(
        "SES-49: bytes of waiting contexts and settings refuse no newer one, and their number does",
        arguments: [
            Channel.context, .settings,
        ])
    func latestWins(channel: Channel) {
        var table = TransferTable<Int>(capacity: 3, byteCapacity: 100)
        let excesses = (0..<4).map { table.submit(.random(), to: pairing, on: channel, size: 100, token: $0) }
        #expect(excesses.map { $0?.actual } == [nil, nil, nil, 4])
        #expect(excesses.last??.isOfBytes == false && excesses.last??.limit == 3)
    }

    @Test("SES-23: when a pairing goes, what its daemon had not accepted is let go, and nothing else")
    func dropped() {
        var table = TransferTable<Int>(capacity: 10)
        let other = UniqueIdentifier.random()
        let kept = UniqueIdentifier.random()
        _ = table.submit(.random(), to: pairing, on: .userInfo, token: 1)
        _ = table.submit(kept, to: other, on: .userInfo, token: 2)
        let gone = table.dropUnaccepted(of: pairing)
        #expect(gone == [1])
        #expect(table[kept] != nil && table.unacceptedCount == 1)
        let rest = table.dropUnaccepted(of: nil)
        #expect(rest == [2])
    }
}

struct HandlingMemoryTests {
    private func isNew(_ arrival: HandlingMemory<Int>.Arrival) -> Bool {
        if case .new = arrival { true } else { false }
    }

    private func item(
        _ id: UniqueIdentifier = .random(), of pairing: UniqueIdentifier = .random(), on channel: Channel = .userInfo
    ) throws -> ItemKey {
        ItemKey(QueueKey(pairing: pairing, app: try ApplicationIdentifier("org.example.lamp"), channel: channel), id)
    }

    @Test("SES-51: an item in hand is not handled a second time, and one with a verdict gets the same again")
    func once() throws {
        var memory = HandlingMemory<Int>()
        let id = try item()
        let arrival = memory.arrived(id)
        #expect(isNew(arrival))
        guard case .inHand = memory.arrived(id) else { Issue.record("another arrival"); return }
        memory.ended(id, 3)
        guard case .done(3) = memory.arrived(id) else { Issue.record("another arrival"); return }
    }

    @Test("SES-51: an item whose handler failed is new when it comes again")
    func failed() throws {
        var memory = HandlingMemory<Int>()
        let id = try item()
        _ = memory.arrived(id)
        memory.forget(id)
        let arrival = memory.arrived(id)
        #expect(isNew(arrival))
    }

    @Test("SES-51: one identifier through another pairing, or on another channel, is another item")
    func sameIdentifier() throws {
        var memory = HandlingMemory<Int>()
        let first = try item()
        let others = [try item(first.id), try item(first.id, of: first.queue.pairing, on: .file)]
        _ = memory.arrived(first)
        memory.ended(first, 1)
        for other in others {
            let arrival = memory.arrived(other)
            #expect(isNew(arrival))
        }
    }

    @Test("SES-51: of the verdicts the oldest is forgotten first, and what is in hand never")
    func bounded() throws {
        var memory = HandlingMemory<Int>(capacity: 2)
        let ids = try (0..<4).map { _ in try item() }
        for id in ids { _ = memory.arrived(id) }
        for (number, id) in ids.dropLast().enumerated() { memory.ended(id, number) }
        guard case .inHand = memory.arrived(ids[3]) else { Issue.record("another arrival"); return }
        guard case .done(2) = memory.arrived(ids[2]) else { Issue.record("another arrival"); return }
        let oldest = memory.arrived(ids[0])
        #expect(isNew(oldest))
    }
}
