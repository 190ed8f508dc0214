// An item on its way to the handler: its attempt is written, and the handler gets it once that is durable, unless the
// delivery was called off in between (DEL-47).

import TandemBase
import TandemDelivery
import TandemWire
import Testing

@Suite final class HandOverTests {
    private var former: InboundLedger

    init() throws { former = try inbound() }

    private struct Begun: ~Copyable {
        var ledger: InboundLedger
        /// The item as its first delivery has it.
        let item: ReceivedItem
    }

    /// A ledger whose handler is to get the first of some items, at an attempt whose commit is under way.
    private func begun(_ channel: Channel = .configuration, items: UInt64 = 1) throws -> Begun {
        var ledger = try inbound(channel: channel)
        _ = ledger.consumerArrived(at: reading(0))
        let handed = ledger.arrived(arrived(1, revision: 1), at: reading(0)).handed
        let item = try #require(handed.first)
        for sequence in 1..<items {
            _ = ledger.arrived(arrived(sequence + 1, revision: sequence + 1), at: reading(0))
        }
        return Begun(ledger: ledger, item: item)
    }

    @Test("DEL-47: an item that was called off is handed over to nobody, and the next handler gets its first attempt")
    func leftBeforeTheCommit() throws {
        var begun = try begun()
        let left = begun.ledger.consumerLeft(at: reading(0))
        let stale = begun.ledger.handOver(begun.item, at: reading(0))
        let again = begun.ledger.consumerArrived(at: reading(0))
        #expect(left.reported.isEmpty && !stale)
        #expect(again.handed.map(\.attempt) == [1], "without a pause")
        let handedOver = begun.ledger.handOver(again, at: reading(0))
        #expect(handedOver == again.handed)
        #expect(begun.ledger.handled(1, at: reading(0)).reported == [.handled])
    }

    @Test("DEL-47: a handler that is back before the commit is done gets the item once, with its own delivery")
    func backBeforeTheCommit() throws {
        var begun = try begun(items: 2)
        _ = begun.ledger.consumerLeft(at: reading(0))
        let second = begun.ledger.consumerArrived(at: reading(5))
        let former = begun.ledger.handOver(begun.item, at: reading(6))
        let present = begun.ledger.handOver(second, at: reading(7))
        #expect(!former && present.map(\.ordinal) == [1] && present.map(\.attempt) == [1])
        let next = begun.ledger.handled(1, at: reading(7))
        let late = begun.ledger.handOver(begun.item, at: reading(8))
        #expect(next.handed.map(\.ordinal) == [2] && !late)
    }

    @Test("DEL-11: a handler that leaves with the item has tried it, and its former delivery is over")
    func leftWithTheItem() throws {
        var begun = try begun()
        let isHandedOver = begun.ledger.handOver(begun.item, at: reading(0))
        _ = begun.ledger.consumerLeft(at: reading(0))
        _ = begun.ledger.consumerArrived(at: reading(0))
        let again = begun.ledger.timeAdvanced(at: reading(1))
        let stale = begun.ledger.handOver(begun.item, at: reading(1))
        #expect(isHandedOver && again.handed.map(\.attempt) == [2] && !stale)
    }

    @Test("DEL-47: an item that has ended before its attempt is durable is handed over to nobody")
    func endedBeforeTheCommit() throws {
        var begun = try begun(items: 2)
        _ = begun.ledger.clear(code: 7006, at: reading(0))
        let stale = begun.ledger.handOver(begun.item, at: reading(0))
        #expect(!stale)
    }

    @Test("DEL-35, DEL-47: an orderly stop takes back the attempt of an item that its handler was still to get")
    func orderlyStop() throws {
        var begun = try begun()
        let attempts = begun.ledger.stopping(at: reading(0)).changes.compactMap { change -> Int? in
            guard case .put(_, .inboundRecord(let record)) = change else { return nil }
            return record.attempts
        }
        let stale = begun.ledger.handOver(begun.item, at: reading(0))
        #expect(attempts == [0] && !stale)
    }

    @Test("DEL-20, DEL-47: a context that was called off while a newer one waits is superseded")
    func supersededContext() throws {
        var begun = try begun(.context, items: 2)
        let left = begun.ledger.consumerLeft(at: reading(0))
        let again = begun.ledger.consumerArrived(at: reading(0))
        let stale = begun.ledger.handOver(begun.item, at: reading(0))
        #expect(left.reported == [.withdrawn(.superseded)])
        #expect(again.handed.map(\.revision) == [2] && !stale)
    }

    // MARK: a ledger that is read back

    private func readBack(_ records: [InboundRecord]) throws -> InboundLedger {
        InboundLedger(
            try queueKey(), header: InboundHeader(epoch: 1, at: reading(0)), records: records, at: reading(0))
    }

    /// The first item comes, and its handler gets it.
    private func giveFirst(of ledger: inout InboundLedger) -> InboundTransition {
        _ = ledger.consumerArrived(at: reading(0))
        let first = ledger.arrived(arrived(1), at: reading(0))
        ledger.handOver(first, at: reading(0))
        return first
    }

    @Test("DEL-47: a handler keeps its item when a commit fails, and what was counted ahead keeps its first attempt")
    func keptItem() throws {
        _ = former.consumerArrived(at: reading(0))
        let first = former.arrived(arrived(1), at: reading(0))
        let second = former.arrived(arrived(2), at: reading(0))
        former.handOver(first, at: reading(0))
        // The ledger has not heard yet that the second one's count is durable. The third one's commit fails.
        _ = former.arrived(arrived(3), at: reading(0))
        var ledger = try readBack(records([first, second]))
        ledger.goOn(after: former, isComplete: true)
        #expect(ledger.consumerArrived(at: reading(1)).handed.isEmpty, "the handler has it")
        let next = ledger.handled(1, at: reading(1))
        #expect(next.reported == [.handled] && next.handed.map(\.attempt) == [1])
        #expect(next.handed.map(\.ordinal) == [2])
    }

    @Test(
        "DEL-47: a durable attempt that no handler has seen is given after reading back, once",
        arguments: [true, false])
    func notHandedOver(isComplete: Bool) throws {
        let stored = former.arrived(arrived(1), at: reading(0))
        let first = former.consumerArrived(at: reading(0))
        let item = try #require(first.handed.first)
        var ledger = try readBack(records([stored, first]))
        ledger.goOn(after: former, isComplete: isComplete)
        let again = ledger.consumerStayed(at: reading(1))
        let stale = ledger.handOver(item, at: reading(1))
        let present = ledger.handOver(again, at: reading(1))
        #expect(present.map(\.attempt) == [1] && !stale, "no number names two deliveries")
        // The commit of the attempt itself fails.
        var unwritten = try readBack(records([stored]))
        unwritten.goOn(after: former, isComplete: isComplete)
        let written = unwritten.consumerStayed(at: reading(1))
        #expect(written.handed.map(\.attempt) == [1] && written.atOnce.isEmpty)
    }

    @Test("DEL-47: an attempt after a failed one is not taken for it when the ledger is read back")
    func failedBefore() throws {
        let first = giveFirst(of: &former)
        let failed = former.failed(1, at: reading(0))
        let second = former.timeAdvanced(at: reading(1))
        #expect(second.handed.map(\.attempt) == [2])
        for isDurable in [false, true] {
            var ledger = try readBack(isDurable ? records([first, failed, second]) : records([first, failed]))
            ledger.goOn(after: former, isComplete: true)
            let again = ledger.consumerStayed(at: reading(1))
            #expect(again.handed.map(\.attempt) == [2] && again.atOnce.isEmpty != isDurable)
        }
    }

    @Test("DEL-11, DEL-12, DEL-47: a pause goes on when the ledger is read back, and the next one is longer")
    func pauses() throws {
        let first = giveFirst(of: &former)
        _ = former.pauseWithoutAttempt(1, at: reading(0))
        let formerEnd = former.nextDeadline
        let end = try #require(formerEnd)
        var ledger = try readBack(records([first]))
        ledger.goOn(after: former, isComplete: false)
        #expect(ledger.consumerStayed(at: reading(0)).handed.isEmpty && ledger.nextDeadline == end)
        let second = ClockReading(monotonic: end, wall: reading(0).wall)
        ledger.handOver(ledger.timeAdvanced(at: second), at: second)
        _ = ledger.pauseWithoutAttempt(1, at: second)
        let nextEnd = ledger.nextDeadline
        let next = try #require(nextEnd)
        #expect(next.since(end) > end.since(reading(0).monotonic))
    }

    @Test("SES-88, DEL-47: an item that was put off stays so when the ledger is read back, until its handler arrives")
    func putOff() throws {
        let first = giveFirst(of: &former)
        let later = former.putOff(1, at: reading(0))
        var ledger = try readBack(records([first, later]))
        ledger.goOn(after: former, isComplete: true)
        #expect(ledger.consumerStayed(at: reading(1)).handed.isEmpty && ledger.isPutOff)
        #expect(ledger.consumerArrived(at: reading(2)).handed.map(\.attempt) == [1])
        var uncertain = try readBack(records([first, later]))
        uncertain.goOn(after: former, isComplete: false)
        let given = uncertain.consumerStayed(at: reading(1)).handed
        #expect(given.count == 1, "the handler may have arrived in an event that is lost")
    }

    @Test("DEL-47: an item is given again and marked if its verdict is lost, or may be")
    func givenAgain() throws {
        _ = former.consumerArrived(at: reading(0))
        let first = former.arrived(arrived(1), at: reading(0))
        former.handOver(first, at: reading(1))
        var uncertain = try readBack(records([first]))
        uncertain.goOn(after: former, isComplete: false)
        #expect(uncertain.consumerArrived(at: reading(2)).handed.map(\.attempt) == [2], "its verdict may be lost")
        _ = former.handled(1, at: reading(1))
        var unjudged = try readBack(records([first]))
        unjudged.goOn(after: former, isComplete: true)
        #expect(unjudged.consumerArrived(at: reading(2)).handed.map(\.attempt) == [2])
    }
}
