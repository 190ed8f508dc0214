// The failures of a broadcast that count, by receiver (SES-30, SES-10, SES-11, LIM-21).

import TandemBase
import TandemSession
import Testing

final class BroadcastLedgerTests {
    private var ledger = BroadcastLedger(capacity: 100)
    private let sender = ConnectionNumber(1)
    private let pairings = [UniqueIdentifier.random(), .random(), .random()]
    private let now = MonotonicTime(nanoseconds: 0)
    private let app: ApplicationIdentifier

    init() throws { app = try ApplicationIdentifier("com.example.app") }

    /// A broadcast to connections 10, 11 and 12, each with 100 more bytes.
    @discardableResult
    private func record(
        _ id: UniqueIdentifier = .random(), in ledger: inout BroadcastLedger, seconds: Int = 30,
        endOffset: UInt64? = 100
    ) -> UniqueIdentifier {
        let message = BroadcastLedger.Message(id: id, deadline: now + .seconds(seconds), count: 40)
        ledger.record(
            [message], app: app, origin: sender, deliveries: deliveries(from: endOffset.map { $0 - 40 }))
        return id
    }

    private func deliveries(from startOffset: UInt64?) -> [BroadcastLedger.Delivery] {
        pairings.enumerated().map { index, pairing in
            BroadcastLedger.Delivery(
                pairing: pairing, destination: ConnectionNumber(UInt64(10 + index)), startOffset: startOffset)
        }
    }

    @Test("SES-30 SES-10: a failure counts once, and only from who got the message, naming its app and pairing")
    func onlyReceiversFail() throws {
        let id = record(in: &ledger)
        let receiver = ConnectionNumber(11)
        let other = try ApplicationIdentifier("com.example.other")
        #expect(ledger.failed(id, app: app, pairing: pairings[1], by: ConnectionNumber(13)) == nil)
        #expect(ledger.failed(id, app: app, pairing: pairings[0], by: receiver) == nil)
        #expect(ledger.failed(id, app: other, pairing: pairings[1], by: receiver) == nil)
        #expect(ledger.failed(.random(), app: app, pairing: pairings[1], by: receiver) == nil)
        let failure = ledger.failed(id, app: app, pairing: pairings[1], by: receiver)
        #expect(failure?.origin == sender && failure?.pairing == pairings[1])
        #expect(ledger.failed(id, app: app, pairing: pairings[1], by: receiver) == nil)
        #expect(ledger.failed(id, app: app, pairing: pairings[2], by: ConnectionNumber(12)) != nil)
    }

    @Test("SES-11: of a lost connection those deliveries are returned that did not leave, and its own are forgotten")
    func lostConnection() {
        let first = record(in: &ledger, endOffset: 100)
        let second = record(in: &ledger, endOffset: 200)
        #expect(ledger.closed(ConnectionNumber(10), departed: 199, last: 199).isEmpty, "all left: nothing is looked at")
        #expect(ledger.closed(ConnectionNumber(10), departed: 199, last: 200).map(\.id) == [second])
        #expect(ledger.closed(ConnectionNumber(11), departed: 0).map(\.id) == [first, second])
        #expect(ledger.closed(ConnectionNumber(12), departed: nil).isEmpty)
        #expect(ledger.closed(sender, departed: nil).isEmpty && ledger.count == 0)
    }

    @Test("SES-11, LIM-21: a lost connection costs looks at what it may owe, not at all that is remembered")
    func looks() {
        var ledger = BroadcastLedger(capacity: 10_000)
        var last: [UniqueIdentifier] = []
        for number in 1...1000 as ClosedRange<UInt64> {
            last = (last + [record(in: &ledger, endOffset: 100 * number)]).suffix(2)
        }
        #expect(ledger.closed(ConnectionNumber(10), departed: 99_800).map(\.id) == last)
        #expect(ledger.looks == 3)
        // Its queue had other frames only.
        #expect(ledger.closed(ConnectionNumber(11), departed: 100_000, last: 100_000).isEmpty)
        #expect(ledger.looks == 3)
    }

    @Test("SES-11, LIM-21: a sender that closes costs looks at what it has sent, not at all that is remembered")
    func looksOfASender() {
        var ledger = BroadcastLedger(capacity: 10_000)
        for _ in 0..<1000 { record(in: &ledger) }
        let other = ConnectionNumber(2)
        let ids = [UniqueIdentifier.random(), .random()]
        let messages = ids.map { BroadcastLedger.Message(id: $0, deadline: now + .seconds(30), count: 40) }
        ledger.record(messages, app: app, origin: other, deliveries: deliveries(from: 60))
        #expect(ledger.closed(other, departed: nil).isEmpty)
        let isKnown = ledger.contains(ids[0]) || ledger.contains(ids[1])
        #expect(ledger.looks == 2 && ledger.count == 1000 && !isKnown)
        // The identifiers are new again, and what was recorded under them before is not found twice.
        ledger.record(messages, app: app, origin: sender, deliveries: deliveries(from: 1000))
        #expect(ledger.closed(ConnectionNumber(10), departed: 1000).map(\.id) == ids)
    }

    @Test("SES-11: a frame that waited may leave behind shorter ones that began later, and is found behind them")
    func behindShorter() {
        let counts = [500, 10, 10]
        let messages = counts.map { BroadcastLedger.Message(id: .random(), deadline: now + .seconds(30), count: $0) }
        for message in messages {
            ledger.record([message], app: app, origin: sender, deliveries: deliveries(from: 100))
        }
        #expect(ledger.closed(ConnectionNumber(10), departed: 200).map(\.id) == [messages[0].id])
    }

    @Test(
        "SES-30 SES-11: broadcasts that left together share their receivers, and each has its own place among the bytes"
    )
    func together() {
        let alone = ConnectionNumber(20)
        var messages = [10, 20, 30].map {
            BroadcastLedger.Message(id: .random(), deadline: now + .seconds(30), count: $0)
        }
        let ids = messages.map(\.id)
        let delivery = BroadcastLedger.Delivery(pairing: pairings[0], destination: alone, startOffset: 1000)
        messages[2].deliveries = [delivery]
        ledger.record(messages, app: app, origin: sender, deliveries: deliveries(from: 100))
        #expect(ledger.count == 3)
        #expect(ledger.failed(ids[1], app: app, pairing: pairings[0], by: ConnectionNumber(10)) != nil)
        #expect(ledger.failed(ids[1], app: app, pairing: pairings[0], by: alone) == nil)
        #expect(ledger.failed(ids[2], app: app, pairing: pairings[0], by: ConnectionNumber(10)) != nil)
        #expect(ledger.closed(ConnectionNumber(10), departed: 109).map(\.id) == [ids[0]])
        #expect(ledger.closed(ConnectionNumber(11), departed: 110).map(\.id) == [ids[1], ids[2]])
        #expect(ledger.closed(ConnectionNumber(12), departed: 159).map(\.id) == [ids[2]])
        #expect(ledger.closed(alone, departed: 1029).map(\.id) == [ids[2]])
        #expect(ledger.closed(alone, departed: 1030).isEmpty)
    }

    @Test("LIM-21: broadcasts that reached nobody are bounded, too")
    func nobody() {
        for _ in 0..<1000 {
            let message = BroadcastLedger.Message(id: .random(), deadline: now + .seconds(600), count: 300)
            ledger.record([message], app: app, origin: sender, deliveries: [])
            #expect((1...100).contains(ledger.count))
        }
    }

    @Test("a broadcast is remembered until its deadline, and its identifier is free again then")
    func deadline() {
        let id = record(in: &ledger, seconds: 2)
        ledger.expire(now: now + .seconds(1))
        #expect(ledger.contains(id) == true)
        ledger.expire(now: now + .seconds(2))
        #expect(ledger.contains(id) == false)
        record(id, in: &ledger)
        #expect(ledger.contains(id) == true)
    }

    @Test("LIM-21: beyond its capacity the oldest are forgotten, the newest never")
    func capacity() {
        var ledger = BroadcastLedger(capacity: 9)
        let first = record(in: &ledger)
        for _ in 0..<2 { record(in: &ledger) }
        #expect(ledger.contains(first) && ledger.count == 3)
        let last = record(in: &ledger)
        #expect(!ledger.contains(first) && ledger.contains(last) && ledger.count == 1)
        var small = BroadcastLedger(capacity: 1)
        let only = record(in: &small)
        #expect(small.contains(only) == true)
    }
}
