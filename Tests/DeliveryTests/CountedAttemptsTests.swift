// Attempts that are counted ahead (DEL-11): an item whose attempt is durably counted is given as soon as the verdict of
// the one before is known, and nothing that a crash takes back is forgotten.

import TandemBase
import TandemDelivery
import TandemWire
import Testing

@Suite struct CountedAttemptsTests {
    private struct Busy: ~Copyable {
        var ledger: InboundLedger
        let transitions: [InboundTransition]
    }

    /// A ledger whose handler has the first of some items, with what the arrivals led to.
    private func ledger(
        items: UInt64, _ limits: DeliveryLimits = DeliveryLimits(), size: Int = 3
    ) throws -> Busy {
        var ledger = try inbound(limits)
        _ = ledger.consumerArrived(at: reading(0))
        var transitions: [InboundTransition] = []
        for number in 1...items { transitions.append(ledger.arrived(arrived(number, size: size), at: reading(0))) }
        for transition in transitions { ledger.handOver(transition, at: reading(0)) }
        return Busy(ledger: ledger, transitions: transitions)
    }

    private func counted(_ transitions: [InboundTransition]) -> [[UInt64]] {
        transitions.flatMap(\.effects).compactMap { if case .counted(let ordinals) = $0 { ordinals } else { nil } }
    }

    private func deliveries(_ effects: [InboundEffect]) -> [ReceivedItem] { effects.compactMap(\.delivered) }

    @Test("DEL-11: an item whose attempt is durably counted is given with the verdict of the one before")
    func atOnce() throws {
        var busy = try ledger(items: 3)
        for ordinals in counted(busy.transitions) { busy.ledger.attemptsAreDurable(ordinals) }
        let verdict = busy.ledger.handled(1, at: reading(0))
        #expect(deliveries(verdict.atOnce).map(\.ordinal) == [2] && verdict.handed.count == 1)
        #expect(deliveries(verdict.atOnce).map(\.attempt) == [1], "nobody has seen it before")
        #expect(deliveries(verdict.atOnce).first?.payload == [2, 2, 2], "no row is read for it")
        #expect(verdict.effects == [.report(sequence: 1, .handled)], "the sender hears after the commit")
    }

    @Test("DEL-42: a verdict may wait for others while the handler has the next item, and not behind the last one")
    func patience() throws {
        var busy = try ledger(items: 3)
        for ordinals in counted(busy.transitions) { busy.ledger.attemptsAreDurable(ordinals) }
        #expect(busy.transitions.map(\.mayWait) == [false, true, true], "the handler has the first")
        #expect(busy.ledger.handled(1, at: reading(0)).mayWait)
        #expect(busy.ledger.rejected(2, code: 1, at: reading(0)).mayWait)
        #expect(!busy.ledger.handled(3, at: reading(0)).mayWait)
        #expect(busy.ledger.outcomeAcknowledged(1, at: reading(0)).mayWait, "the sender says it again if asked")
        var uncounted = try ledger(items: 2)
        #expect(!uncounted.ledger.handled(1, at: reading(0)).mayWait, "the next item waits for this commit")
    }

    @Test("DEL-11: an item whose count is not durable yet waits for the commits before")
    func afterTheCommit() throws {
        var busy = try ledger(items: 3)
        let first = try #require(counted(busy.transitions).first)
        busy.ledger.attemptsAreDurable(first)
        #expect(deliveries(busy.ledger.handled(1, at: reading(0)).atOnce).map(\.ordinal) == [2])
        let verdict = busy.ledger.handled(2, at: reading(0))
        #expect(verdict.atOnce.isEmpty && deliveries(verdict.effects).map(\.ordinal) == [3])
        #expect(verdict.handed.map(\.attempt) == [1])
    }

    @Test("DEL-11: after a crash what was counted is given again, in sequence and marked")
    func crash() throws {
        var busy = try ledger(items: 3)
        for ordinals in counted(busy.transitions) { busy.ledger.attemptsAreDurable(ordinals) }
        // Verdicts whose commits are lost.
        for ordinal in 1...2 as ClosedRange<UInt64> { _ = busy.ledger.handled(ordinal, at: reading(0)) }
        var ledger = InboundLedger(
            try queueKey(), header: InboundHeader(epoch: 1, at: reading(0)), records: records(busy.transitions),
            at: reading(0))
        var given = ledger.consumerArrived(at: reading(1)).handed
        for ordinal in 1...2 as ClosedRange<UInt64> { given += ledger.handled(ordinal, at: reading(1)).handed }
        #expect(given.map(\.ordinal) == [1, 2, 3] && given.allSatisfy(\.isRedelivery))
    }

    @Test("DEL-11: an item that was tried before is counted when it is its turn, not with another")
    func countedAlone() throws {
        let busy = try ledger(items: 3)
        var ledger = InboundLedger(
            try queueKey(), header: InboundHeader(epoch: 1, at: reading(0)), records: records(busy.transitions),
            at: reading(0))
        let again = ledger.consumerArrived(at: reading(1))
        #expect(records([again]).map(\.ordinal) == [1] && counted([again]).isEmpty)
        #expect(again.handed.map(\.attempt) == [2])
    }

    @Test("DEL-7: an item that was counted and never given is withdrawn as one that was never tried")
    func withdrawn() throws {
        var busy = try ledger(items: 2)
        let gap = busy.ledger.gapArrived(2, .dead, at: reading(0))
        #expect(records([gap]).map(\.attempts) == [0] && gap.reported == [.withdrawn(.dead)])
        #expect(busy.ledger.deadLetters.isEmpty, "its body is the sender's to keep")
    }

    @Test("DEL-11, LIM-45: no more are counted ahead than is said, and the next ones when there is room")
    func bounded() throws {
        var limits = DeliveryLimits()
        limits.countedAhead = 2
        var busy = try ledger(items: 5, limits)
        #expect(records(busy.transitions).map(\.attempts) == [1, 1, 1, 0, 0])
        #expect(
            records([busy.ledger.handled(1, at: reading(0))]).filter { $0.attempts > 0 }.map(\.ordinal) == [1, 2, 4])
    }

    @Test("LIM-45: of bodies 256 KiB are at hand, and an item beyond them is read for its turn", arguments: [0, 1])
    func bodiesAtHand(excess: Int) throws {
        var busy = try ledger(items: 4, size: 128 * 1024 + excess)
        for ordinals in counted(busy.transitions) { busy.ledger.attemptsAreDurable(ordinals) }
        var bodies: [Int] = []
        for ordinal in 1...3 as ClosedRange<UInt64> {
            let next = busy.ledger.handled(ordinal, at: reading(0))
            bodies.append((next.atOnce + next.effects).count { if case .deliver = $0 { true } else { false } })
        }
        #expect(bodies == [1, 1 - excess, 0])
    }

    @Test("LIM-45: a body that comes while there is a handler is at hand, also before its attempt is counted")
    func bodyBeforeItsCount() throws {
        var limits = DeliveryLimits()
        limits.countedAhead = 1
        var busy = try ledger(items: 4, limits)
        for ordinal in 1...3 as ClosedRange<UInt64> {
            let next = busy.ledger.handled(ordinal, at: reading(0))
            #expect(deliveries(next.atOnce + next.effects).map(\.payload.count) == [3])
        }
    }

    @Test("DEL-11: a handler that leaves has tried one item; those that were counted keep their first attempt")
    func handlerLeaves() throws {
        var busy = try ledger(items: 2)
        for ordinals in counted(busy.transitions) { busy.ledger.attemptsAreDurable(ordinals) }
        _ = busy.ledger.consumerLeft(at: reading(0))
        _ = busy.ledger.consumerArrived(at: reading(0))
        let again = busy.ledger.timeAdvanced(at: reading(2))
        #expect(again.handed.map(\.attempt) == [2])
        #expect(deliveries(busy.ledger.handled(1, at: reading(2)).atOnce).map(\.attempt) == [1])
    }

    @Test("DEL-35, LIM-45: an orderly stop returns the attempts that were counted ahead; the one in hand was made")
    func orderlyStop() throws {
        var busy = try ledger(items: 4)
        for ordinals in counted(busy.transitions) { busy.ledger.attemptsAreDurable(ordinals) }
        let stop = busy.ledger.stopping(at: reading(1))
        #expect(records(busy.transitions + [stop]).map(\.attempts) == [1, 0, 0, 0])
        #expect(busy.ledger.handled(1, at: reading(1)).handed.isEmpty, "nothing is delivered any more")
    }

    @Test("DEL-11: a ledger that is read back believes no count that it has not seen become durable")
    func readBack() throws {
        let busy = try ledger(items: 2)
        #expect(busy.ledger.received == 2)
        // The second item's commit is lost, and it comes again.
        var ledger = InboundLedger(
            try queueKey(), header: InboundHeader(epoch: 1, at: reading(0)), records: records([busy.transitions[0]]),
            at: reading(0))
        _ = ledger.consumerArrived(at: reading(0))
        let again = ledger.arrived(arrived(2), at: reading(0))
        // A commit that was under way when the ledger was replaced.
        ledger.attemptsAreDurable([1])
        #expect(counted([again]) == [[2]] && ledger.handled(1, at: reading(0)).atOnce.isEmpty)
    }
}
