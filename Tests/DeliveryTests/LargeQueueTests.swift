// Cost of a long or old queue: its memory is bounded, and it writes only changes.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct LargeQueueTests {
    private func wide(_ number: UInt64) -> UniqueIdentifier {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        return UniqueIdentifier(bytes: bytes + Array(repeating: 0x55, count: 8)) ?? .random()
    }

    private func large(_ number: UInt64) -> OutboundItem { OutboundItem(id: wide(number), payload: [1]) }

    @Test("DEL-3, DEL-7: thousands of settled items are remembered by one number, and none comes in again")
    func dedupeWindow() throws {
        let count = UInt64(Repetition.times(20_000, long: 100_000))
        var ledger = try inbound(channel: .userInfo)
        _ = ledger.consumerArrived(at: reading(0))
        for sequence in 1...count {
            let item = received(wide(sequence), [1])
            #expect(ledger.arrived(item, as: sequence, at: reading(0)).handed.count == 1)
            _ = ledger.handled(sequence, at: reading(0))
            _ = ledger.outcomeAcknowledged(sequence, at: reading(0))
        }
        for sequence in stride(from: 1, through: count, by: 997) {
            let again = ledger.arrived(received(wide(sequence), [1]), as: sequence, at: reading(0))
            #expect(again.effects == [.acknowledge(through: count)] && again.changes.isEmpty)
        }
        #expect(ledger.count == 0 && ledger.bytes == 0)
    }

    @Test("DEL-26: a header row is written when the records would not tell its numbers, and else not")
    func headerRows() throws {
        var queue = try outbound(channel: .userInfo)
        var headers = 0
        func note(_ transition: OutboundTransition) {
            for case .put(let key, _) in transition.changes where key.table == .outboundHeader { headers += 1 }
        }
        note(queue.linkOpened(received: 0, at: reading(0)))
        for number in 1...640 as ClosedRange<UInt64> {
            note(try queue.enqueue(large(number), at: reading(0)))
            #expect(queue.stored(through: number, at: reading(0)).changes.map(\.key.table) == [.outboundHeader])
            guard number > 64 else { continue }
            note(queue.ended(number - 64, .handled, at: reading(0)))
            note(queue.forget(wide(number - 64), at: reading(0)))
        }
        #expect((1...30).contains(headers), "\(headers) beside the acknowledgements of 640 items, of which 64 are open")
    }

    @Test("DEL-26: numbers go on after a restart at any point, however rarely the header is written", arguments: 0..<8)
    func numbersAfterRestart(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var disk = Disk<OutboundEffect>()
        var queue = try disk.outboundQueue(at: reading(0), limits: DeliveryLimits())
        var sent: Set<UInt64> = []
        var (accepted, stored, ended): (UInt64, UInt64, UInt64) = (0, 0, 0)
        func run(_ transition: OutboundTransition) {
            disk.submit(transition.changes, [])
            _ = disk.commitNext()
            for case .send(let dispatch) in transition.effects { sent.insert(dispatch.sequence) }
        }
        run(queue.linkOpened(received: 0, at: reading(0)))
        for _ in 0..<300 {
            switch Int.random(in: 0..<8, using: &generator) {
            case 0...2:
                accepted += 1
                run(try queue.enqueue(large(accepted), at: reading(0)))
            case 3 where stored < queue.lastSent:
                stored = UInt64.random(in: stored + 1...queue.lastSent, using: &generator)
                run(queue.stored(through: stored, at: reading(0)))
            case 4, 5:
                guard ended < stored else { continue }
                ended += 1
                run(queue.ended(ended, .handled, at: reading(0)))
                run(queue.forget(wide(ended), at: reading(0)))
            case 6:
                let before = (queue.lastSent, queue.lastStored, queue.count)
                queue = try disk.outboundQueue(at: reading(0), limits: DeliveryLimits())
                #expect((queue.lastSent, queue.lastStored, queue.count) == before)
                run(queue.linkOpened(received: stored, at: reading(0)))
            default: break
            }
        }
        #expect(sent == Set(1...max(1, accepted)), "each number once, none left out")
    }

    @Test("DEL-8, DEL-26: the clock is noted in the rows, once in a second or when it was set")
    func clockNoted() throws {
        var queue = try outbound()
        _ = try queue.enqueue(item(1), at: reading(0))
        #expect(queue.noteClock(at: reading(1)).changes.isEmpty)
        #expect(queue.noteClock(at: reading(60)).changes.count == 1)
        #expect(queue.noteClock(at: reading(61)).changes.isEmpty)
        let set = ClockReading(monotonic: reading(120).monotonic, wall: WallTime(milliseconds: 1))
        let noted = queue.noteClock(at: set)
        #expect(noted.changes.count == 1 && noted.effects.isEmpty)
        guard case .put(let place, .outboundHeader(let header))? = noted.changes.first
        else { throw Unexpected("no header is written: \(noted.changes)") }
        let stored = DeliveryValue.outboundHeader(header)
        #expect(try DeliveryValue(place, bytes: stored.bytes) == stored)
        #expect(queue.noteClock(at: set).changes.isEmpty)
    }

    @Test("LIM-24: ends that nobody hears of are kept up to the limit, the oldest goes first", arguments: [9, 10, 11])
    func unacknowledged(count: Int) throws {
        var limits = DeliveryLimits()
        limits.unacknowledged = 10
        var queue = try outbound(limits, channel: .userInfo)
        for number in 1...UInt8(count) {
            _ = try queue.enqueue(item(number), at: reading(0))
            _ = queue.cancel(identifier(number), at: reading(0))
        }
        #expect(queue.unacknowledged().map(\.id) == (1...UInt8(count)).suffix(10).map { identifier($0) })
        let isForgotten = queue.record(of: identifier(1))?.isAcknowledged
        #expect(isForgotten == (count > 10))
    }

    @Test("DEL-8: of many items each expires in its time, and the deadline is always the next one's")
    func expiryOrder() throws {
        var generator = SeededGenerator(seed: 5)
        var queue = try outbound(channel: .userInfo)
        var lifetimes: [UInt64: Int64] = [:]
        for number in 1...500 as ClosedRange<UInt64> {
            let seconds = Int64.random(in: 1...1000, using: &generator)
            lifetimes[number] = seconds
            let new = OutboundItem(id: wide(number), payload: [1], lifetime: .seconds(seconds))
            _ = try queue.enqueue(new, at: reading(0))
        }
        for number in stride(from: 1, through: 500, by: 3) as StrideThrough<UInt64> {
            _ = queue.cancel(wide(number), at: reading(0))
            lifetimes[number] = nil
        }
        while let next = lifetimes.values.min() {
            #expect(queue.nextDeadline == reading(next).monotonic)
            #expect(queue.timeAdvanced(at: reading(next - 1)).finished.isEmpty)
            let due = lifetimes.filter { $0.value == next }
            #expect(queue.timeAdvanced(at: reading(next)).finished.count == due.count)
            for number in due.keys { lifetimes[number] = nil }
        }
        #expect(queue.nextDeadline == nil && queue.count == 0)
    }
}
