// Contexts at the machines: revisions that rise by one, application that only rises, whatever comes in which order.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct ContextStateTests {
    @Test(
        "DEL-20: of 1,000 revisions in any order the highest stands, and none is handed over after a higher",
        arguments: 0..<6)
    func shuffledRevisions(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var disk = Disk<InboundEffect>()
        var ledger = try inbound(channel: .context)
        _ = ledger.consumerArrived(at: reading(0))
        var handed: [UInt64] = []
        var stale = 0
        let revisions = (1...500).flatMap { [$0, $0] }.shuffled(using: &generator)
        for (index, revision) in revisions.enumerated() {
            let transition = ledger.arrived(arrived(UInt64(index + 1), revision: UInt64(revision)), at: reading(0))
            disk.submit(transition.changes, [])
            _ = disk.commitNext()
            handed += transition.handed.compactMap(\.revision)
            stale += transition.effects.count { if case .staleContext = $0 { true } else { false } }
            if transition.handed.isEmpty { #expect(transition.reported == [.withdrawn(.superseded)]) }
            for delivery in transition.handed { _ = ledger.handled(delivery.ordinal, at: reading(0)) }
            #expect(ledger.context?.revision == UInt64(revisions.prefix(index + 1).max() ?? 0))
        }
        #expect(handed == handed.sorted() && handed.last == 500 && handed.count + stale == 1000)
        guard case .receivedContext(let context, _)? = try disk.values(.receivedContext, in: queueKey(.context)).first
        else { throw Unexpected("the context is not stored") }
        #expect(context == ContextVersion(epoch: 1, revision: 500))
    }

    @Test("DEL-20: a new epoch applies whatever revision it begins with; within it they rise again")
    func epochs() throws {
        var ledger = try inbound(channel: .context)
        _ = ledger.arrived(arrived(1, revision: 9), at: reading(0))
        _ = ledger.startEpoch(2, at: reading(0))
        _ = ledger.arrived(arrived(1, revision: 3), at: reading(0))
        #expect(ledger.context == ContextVersion(epoch: 2, revision: 3))
        let again = ledger.arrived(arrived(2, revision: 3), at: reading(0))
        #expect(again.effects.contains(.staleContext(revision: 3)))
        #expect(ledger.context == ContextVersion(epoch: 2, revision: 3))
    }

    @Test("SES-52: a reader of contexts is sent versions that rise, also if an epoch begins with a lower revision")
    func reported() {
        var reported = ReportedContexts()
        let numbers: [(UInt64, UInt64)] = [(1, 9), (1, 12), (1, 10), (1, 12), (2, 1), (1, 13), (2, 2)]
        let versions = numbers.map { ContextVersion(epoch: $0.0, revision: $0.1) }
        let sent = versions.map { reported.advance(to: $0, of: identifier(1)) }
        #expect(sent == [true, true, false, false, true, false, true])
        let other = reported.advance(to: versions[0], of: identifier(2))
        #expect(other, "each pairing has its own")
        reported.forget(identifier(1))
        let again = [versions[6], versions[6]].map { reported.advance(to: $0, of: identifier(1)) }
        let kept = reported.advance(to: versions[0], of: identifier(2))
        #expect(again == [true, false] && !kept, "a new pairing may have the same identifier and epoch")
    }

    @Test("DEL-19: the context's row is in the transition of its item, at both ends")
    func sameTransition() throws {
        var queue = try outbound(channel: .context)
        let sent = try queue.setContext(item(1), digest: [7], at: reading(0)).1
        var ledger = try inbound(channel: .context)
        let received = ledger.arrived(arrived(1, revision: 1), at: reading(0))
        func tables(_ changes: [DeliveryChange]) -> Set<DeliveryTable> {
            Set(changes.map { if case .put(let key, _) = $0 { key.table } else { .inboundHeader } })
        }
        #expect(tables(sent.changes).isSuperset(of: [.sentContext, .outboundItem]))
        #expect(tables(received.changes).isSuperset(of: [.receivedContext, .inboundItem]))
    }

    @Test(
        "DEL-19: the bytes of a withdrawn context are a change at once, and none if the peer handled it"
    )
    func takenBack() throws {
        var queue = try outbound(channel: .context)
        _ = queue.linkOpened(received: 0, at: reading(0))
        func set(_ number: UInt8, _ digest: UInt8, _ queue: inout OutboundQueue) throws -> ContextUpdate {
            try queue.setContext(item(number), digest: [digest], at: reading(0)).0
        }
        #expect(try set(1, 7, &queue) == .set(revision: 1))
        #expect(try set(2, 7, &queue) == .unchanged(revision: 1))
        queue.linkClosed()
        #expect(queue.cancel(identifier(1), at: reading(0)).0 == .asked)
        #expect(try set(3, 7, &queue) == .set(revision: 2), "the peer has not answered")
        #expect(try set(4, 7, &queue) == .unchanged(revision: 2))

        _ = queue.linkOpened(received: 1, at: reading(0))
        #expect(queue.cancel(identifier(3), at: reading(0)).0 == .asked)
        _ = queue.ended(2, .handled, at: reading(0))
        #expect(try set(5, 7, &queue) == .unchanged(revision: 2), "it was handled after all")
    }

    @Test("DEL-19: a newer context takes back the older one that waits at the peer, and not the one in hand")
    func superseding() throws {
        var ledger = try inbound(channel: .context)
        _ = ledger.arrived(arrived(1, revision: 1), at: reading(0))
        let second = ledger.arrived(arrived(2, revision: 2), at: reading(0))
        #expect(second.reported == [.withdrawn(.superseded)])
        #expect(ledger.consumerArrived(at: reading(0)).handed.map(\.revision) == [2])
        let third = ledger.arrived(arrived(3, revision: 3), at: reading(0))
        #expect(third.reported.isEmpty && third.handed.isEmpty)
        #expect(ledger.handled(2, at: reading(0)).handed.map(\.revision) == [3])
    }

    /// Revisions 5, 6 and 7 have come, and the handler has had 5 since before the others.
    private func ledgerWithNewerContexts() throws -> InboundLedger {
        var ledger = try inbound(channel: .context)
        _ = ledger.consumerArrived(at: reading(0))
        for sequence: UInt64 in 1...3 {
            let transition = ledger.arrived(arrived(sequence, revision: sequence + 4), at: reading(0))
            ledger.handOver(transition, at: reading(0))
        }
        return ledger
    }

    @Test("DEL-20: a context that its handler fails at while a newer one waits is superseded, and the newest is given")
    func failedAtWithNewerOnes() throws {
        var ledger = try ledgerWithNewerContexts()
        let failed = ledger.failed(1, at: reading(0))
        #expect(failed.reported == [.withdrawn(.superseded)] && failed.handed.map(\.revision) == [7])
        #expect(failed.handed.map(\.attempt) == [1] && ledger.deadLetters.isEmpty)
        #expect(ledger.handled(3, at: reading(0)).handed.isEmpty)
        #expect(ledger.count == 0)
    }

    @Test("DEL-20: a context whose handler went away or puts it off is superseded if a newer one waits")
    func leftWithNewerOnes() throws {
        var left = try ledgerWithNewerContexts()
        #expect(left.consumerLeft(at: reading(0)).reported == [.withdrawn(.superseded)])
        #expect(left.consumerArrived(at: reading(0)).handed.map(\.revision) == [7])
        var untaken = try ledgerWithNewerContexts()
        #expect(untaken.pauseWithoutAttempt(1, at: reading(0)).handed.map(\.revision) == [7])
        var putOff = try ledgerWithNewerContexts()
        #expect(putOff.putOff(1, at: reading(0)).reported == [.withdrawn(.superseded)])
        #expect(putOff.consumerArrived(at: reading(0)).handed.map(\.revision) == [7])
    }

    private static let oneAttempt = {
        var limits = DeliveryLimits()
        limits.attempts = 1
        return limits
    }()

    /// A ledger whose first context of this revision has failed too often.
    private func withDeadLetter(revision: UInt64) throws -> InboundLedger {
        var ledger = try inbound(Self.oneAttempt, channel: .context)
        _ = ledger.consumerArrived(at: reading(0))
        _ = ledger.arrived(arrived(1, revision: revision), at: reading(0))
        _ = ledger.failed(1, at: reading(0))
        return ledger
    }

    private func readBack(_ letter: InboundRecord, at key: DeliveryRowKey) throws -> InboundRecord {
        let value = try DeliveryValue(key, bytes: DeliveryValue.inboundRecord(letter).bytes)
        guard case .inboundRecord(let stored) = value else { throw Unexpected("another record") }
        return stored
    }

    @Test(
        "DEL-24: the dead letter of a context is tried again while it is the last one, and dropped behind a newer one",
        arguments: [true, false])
    func deadLetter(isNewest: Bool) throws {
        var ledger = try withDeadLetter(revision: 1)
        _ = ledger.outcomeAcknowledged(1, at: reading(0))
        if !isNewest {
            _ = ledger.arrived(arrived(2, revision: 2), at: reading(0))
            _ = ledger.handled(2, at: reading(0))
        }
        let tried = ledger.retryDeadLetter(1, at: reading(0))
        #expect(tried.handed.map(\.revision) == (isNewest ? [1] : []))
        #expect(tried.effects.contains(.staleContext(revision: 1)) == !isNewest && ledger.deadLetters.isEmpty)
    }

    @Test(
        "DEL-24: the dead letter of an earlier epoch's context is dropped, also if the present one has its revision",
        arguments: [2, 3] as [UInt64])
    func deadLetterOfAnotherEpoch(epoch: UInt64) throws {
        var ledger = try withDeadLetter(revision: 5)
        for next in 2...epoch { _ = ledger.startEpoch(next, at: reading(0)) }
        var early = ledger.retryDeadLetter(1, at: reading(0))
        #expect(early.handed.map(\.revision) == [5] && !early.dropsOutdated, "no other context has come")
        _ = ledger.failed(1, at: reading(0))
        _ = ledger.arrived(arrived(1, revision: 5), at: reading(0))
        _ = ledger.handled(2, at: reading(0))
        early = ledger.retryDeadLetter(1, at: reading(0))
        #expect(early.handed.isEmpty && early.dropsOutdated && early.effects.contains(.staleContext(revision: 5)))
        #expect(ledger.deadLetters.isEmpty)
    }

    @Test("DEL-24: the epoch of a context's dead letter is stored with it")
    func storedEpoch() throws {
        var ledger = try withDeadLetter(revision: 5)
        _ = ledger.outcomeAcknowledged(1, at: reading(0))
        let changes = ledger.startEpoch(2, at: reading(0)).changes
        let letter = try #require(ledger.deadLetters.first)
        let key = DeliveryRowKey(.inboundRecord, try queueKey(.context), letter.ordinal)
        #expect(changes.contains(.put(key, .inboundRecord(letter))))
        let stored = try readBack(letter, at: key)
        let header = InboundHeader(epoch: 2, at: reading(0))
        var restored = InboundLedger(
            key.queue, header: header, records: [stored], context: ContextVersion(epoch: 2, revision: 5),
            at: reading(0), limits: Self.oneAttempt)
        #expect(restored.retryDeadLetter(letter.ordinal, at: reading(0)).dropsOutdated)
    }

    @Test(
        "DEL-24: a dead letter of an earlier version, which has no epoch, is compared by its revision alone",
        arguments: [5, 6] as [UInt64], [2, 3] as [UInt64])
    func deadLetterWithoutEpoch(latest: UInt64, epoch: UInt64) throws {
        var former = try withDeadLetter(revision: 5)
        _ = former.outcomeAcknowledged(1, at: reading(0))
        let letter = try #require(former.deadLetters.first)
        let key = DeliveryRowKey(.inboundRecord, try queueKey(.context), letter.ordinal)
        let stored = try readBack(letter, at: key)
        // The second epoch began in the earlier version.
        var ledger = InboundLedger(
            key.queue, header: InboundHeader(epoch: 2, at: reading(0)), records: [stored],
            context: ContextVersion(epoch: 1, revision: latest), at: reading(0), limits: Self.oneAttempt)
        _ = ledger.consumerArrived(at: reading(0))
        _ = ledger.startEpoch(epoch, at: reading(0))
        let tried = ledger.retryDeadLetter(letter.ordinal, at: reading(0))
        let handed = tried.handed.compactMap(\.revision)
        let expected: [UInt64] = latest == 5 ? [5] : []
        #expect(tried.dropsOutdated == (latest != 5))
        #expect(handed == expected)
        #expect(ledger.deadLetters.isEmpty)
    }

    @Test("DEL-20: a newer context does not wait for the pause of the one that failed; without one it comes again")
    func pauseOfTheFailed() throws {
        var ledger = try inbound(channel: .context)
        _ = ledger.consumerArrived(at: reading(0))
        _ = ledger.arrived(arrived(1, revision: 1), at: reading(0))
        #expect(ledger.failed(1, at: reading(0)).handed.isEmpty)
        #expect(ledger.timeAdvanced(at: reading(1)).handed.map(\.attempt) == [2])
        #expect(ledger.failed(1, at: reading(1)).handed.isEmpty)
        let newer = ledger.arrived(arrived(2, revision: 2), at: reading(1))
        #expect(newer.reported == [.withdrawn(.superseded)] && newer.handed.map(\.revision) == [2])
        #expect(ledger.nextDeadline == nil)
    }
}
