// The receiver's half, event by event: the watermark, repetitions, gaps, the handler, dead letters (DEL-3 to DEL-7,
// DEL-11).

import TandemBase
import TandemDelivery
import TandemWire
import Testing

@Suite final class InboundLedgerTests {
    private var ledger: InboundLedger

    init() throws { ledger = try Self.ledgerWithConsumer() }

    private static func ledgerWithConsumer(_ limits: DeliveryLimits = DeliveryLimits()) throws -> InboundLedger {
        var ledger = try inbound(limits)
        _ = ledger.consumerArrived(at: reading(0))
        return ledger
    }

    @Test func anItemIsStoredBeforeItIsAcknowledgedAndHanded() throws {
        let transition = ledger.arrived(arrived(1), at: reading(0))
        #expect(transition.effects.first == .acknowledge(through: 1))
        #expect(transition.handed.map(\.payload) == [[1, 1, 1]])
        #expect(transition.handed.map(\.isRedelivery) == [false])
        #expect(ledger.received == 1 && ledger.count == 1)
        #expect(!transition.changes.isEmpty)
    }

    @Test func aRepetitionIsAcknowledgedAndNotStoredAgain() throws {
        _ = ledger.arrived(arrived(1), at: reading(0))
        let again = ledger.arrived(arrived(1), at: reading(0))
        #expect(again.effects == [.acknowledge(through: 1)] && again.changes.isEmpty)
        _ = ledger.handled(1, at: reading(0))
        let later = ledger.arrived(arrived(1), at: reading(0))
        #expect(later.effects == [.acknowledge(through: 1), .report(sequence: 1, .handled)])
        _ = ledger.outcomeAcknowledged(1, at: reading(0))
        #expect(ledger.arrived(arrived(1), at: reading(0)).effects == [.acknowledge(through: 1)])
    }

    @Test func whatComesTooEarlyIsDroppedWithoutAnAnswer() throws {
        #expect(ledger.arrived(arrived(2), at: reading(0)).effects == [.droppedAhead])
        #expect(ledger.gapArrived(2, .cancelled, at: reading(0)).effects == [.droppedAhead])
        #expect(ledger.arrived(arrived(.max), at: reading(0)).effects == [.droppedAhead])
        #expect(ledger.received == 0)
    }

    @Test func aFullLedgerDropsAndTakesTheItemLater() throws {
        var limits = DeliveryLimits()
        limits.bytes = 5
        var ledger = try inbound(limits)
        _ = ledger.arrived(arrived(1), at: reading(0))
        #expect(ledger.arrived(arrived(2), at: reading(0)).effects == [.droppedFull])
        _ = ledger.consumerArrived(at: reading(0))
        _ = ledger.handled(1, at: reading(0))
        #expect(ledger.arrived(arrived(2), at: reading(0)).effects.first == .acknowledge(through: 2))
    }

    @Test func oneItemAtATimeInSequence() throws {
        var ledger = try inbound()
        for sequence in 1...3 { _ = ledger.arrived(arrived(UInt64(sequence)), at: reading(0)) }
        #expect(ledger.consumerArrived(at: reading(0)).handed.map(\.ordinal) == [1])
        #expect(ledger.handled(2, at: reading(0)).effects.isEmpty, "it does not have that one")
        #expect(ledger.handled(1, at: reading(0)).handed.map(\.ordinal) == [2])
        let rejected = ledger.rejected(2, code: 42, at: reading(0))
        #expect(rejected.reported == [.rejected(code: 42)] && rejected.handed.map(\.ordinal) == [3])
    }

    @Test func aGapMovesTheWatermark() throws {
        let gap = ledger.gapArrived(1, .superseded, at: reading(0))
        #expect(gap.effects == [.acknowledge(through: 1), .report(sequence: 1, .withdrawn(.superseded))])
        #expect(ledger.arrived(arrived(2), at: reading(0)).handed.count == 1)
    }

    @Test func aGapTakesBackWhatWaitsAndNotWhatTheHandlerHas() throws {
        ledger.handOver(ledger.arrived(arrived(1), at: reading(0)), at: reading(0))
        _ = ledger.arrived(arrived(2), at: reading(0))
        #expect(ledger.gapArrived(2, .cancelled, at: reading(0)).reported == [.withdrawn(.cancelled)])
        #expect(ledger.gapArrived(1, .cancelled, at: reading(0)).effects == [.acknowledge(through: 2)])
        let handled = ledger.handled(1, at: reading(0))
        #expect(handled.reported == [.handled] && handled.handed.isEmpty)
        let again = ledger.gapArrived(1, .cancelled, at: reading(0))
        #expect(again.reported == [.handled], "its outcome stands")
    }

    @Test(
        "LIM-145: an item that its handler has had for five minutes is named, until the verdict; each attempt has its own"
    )
    func itemInHandler() throws {
        let item = arrived(1)
        let first = ledger.arrived(item, at: reading(50))
        _ = ledger.arrived(arrived(2), at: reading(60))
        // The commit of its attempt took so long.
        ledger.handOver(first, at: reading(100))
        let early = ledger.inHandler(at: reading(399).monotonic)?.id
        let long = ledger.inHandler(at: reading(400).monotonic)
        #expect(early == nil && long?.id == item.item.id && long?.since == reading(100).monotonic)
        _ = ledger.failed(1, at: reading(500))
        let waiting = ledger.inHandler(at: reading(500).monotonic)?.id
        ledger.handOver(ledger.timeAdvanced(at: reading(501)), at: reading(501))
        let again = ledger.inHandler(at: reading(800).monotonic)?.id
        let late = ledger.inHandler(at: reading(801).monotonic)?.id
        #expect(waiting == nil && again == nil && late == item.item.id)
        ledger.handOver(ledger.handled(1, at: reading(801)), at: reading(801))
        let next = ledger.inHandler(at: reading(1100).monotonic)?.id
        _ = ledger.consumerLeft(at: reading(1101))
        let left = ledger.inHandler(at: reading(9_000).monotonic)?.id
        #expect(next == nil && left == nil, "the next one has its own time")
    }

    @Test("DEL-11, LIM-15: a failing head blocks and then is a dead letter")
    func aFailingHeadBlocksAndThenIsADeadLetter() throws {
        _ = ledger.arrived(arrived(1), at: reading(0))
        _ = ledger.arrived(arrived(2), at: reading(0))
        var time: Int64 = 0
        for attempt in 1...4 {
            #expect(ledger.failed(1, at: reading(time)).handed.isEmpty)
            time += Int64(1) << (attempt - 1)
            #expect(ledger.nextDeadline == reading(time).monotonic)
            let handed = ledger.timeAdvanced(at: reading(time)).handed
            #expect(handed.map(\.attempt) == [attempt + 1] && handed.allSatisfy(\.isRedelivery))
        }
        let last = ledger.failed(1, at: reading(time))
        #expect(last.reported == [.withdrawn(.dead)] && last.handed.map(\.ordinal) == [2])
        #expect(ledger.deadLetters.map(\.ordinal) == [1])
        let letter = try #require(ledger.deadLetters.first?.id)
        #expect(last.effects.contains(.deadLetter(id: letter)), "by the name that commands know")
    }

    @Test("DEL-6, DEL-11: the pause of an item that is taken back meanwhile holds up no other")
    func aPauseEndsWithItsItem() throws {
        _ = ledger.arrived(arrived(1), at: reading(0))
        _ = ledger.arrived(arrived(2), at: reading(0))
        _ = ledger.failed(1, at: reading(0))
        let gap = ledger.gapArrived(1, .cancelled, at: reading(0))
        #expect(gap.reported == [.withdrawn(.cancelled)] && gap.handed.map(\.ordinal) == [2])
    }

    @Test("DEL-6: an item that is taken back while its handler has it does not come again when that fails, or leaves")
    func takenBackInHand() throws {
        typealias End = (inout InboundLedger) -> InboundTransition
        let ends: [End] = [
            { $0.failed(1, at: reading(1)) }, { $0.consumerLeft(at: reading(1)) },
            { $0.pauseWithoutAttempt(1, at: reading(1)) }, { $0.putOff(1, at: reading(1)) },
        ]
        for end in ends {
            var ledger = try Self.ledgerWithConsumer()
            ledger.handOver(ledger.arrived(arrived(1), at: reading(0)), at: reading(0))
            _ = ledger.arrived(arrived(2), at: reading(0))
            #expect(ledger.gapArrived(1, .superseded, at: reading(0)).effects == [.acknowledge(through: 2)])
            #expect(end(&ledger).reported == [.withdrawn(.superseded)])
            #expect(ledger.count == 1 && ledger.deadLetters.isEmpty)
        }
    }

    @Test("DEL-6: the outcome of an item that its handler has stands, also when its sender has asked for it")
    func handledAfterAll() throws {
        var ledger = try Self.ledgerWithConsumer()
        ledger.handOver(ledger.arrived(arrived(1), at: reading(0)), at: reading(0))
        _ = ledger.gapArrived(1, .cancelled, at: reading(0))
        #expect(ledger.handled(1, at: reading(1)).reported == [.handled])
        // The next item is another one.
        ledger.handOver(ledger.arrived(arrived(2), at: reading(1)), at: reading(1))
        #expect(ledger.failed(2, at: reading(1)).reported.isEmpty && ledger.count == 1)
    }

    @Test("DEL-6, DEL-11: an item that is taken back in its last attempt is no dead letter")
    func takenBackInTheLastAttempt() throws {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var ledger = try Self.ledgerWithConsumer(limits)
        ledger.handOver(ledger.arrived(arrived(1), at: reading(0)), at: reading(0))
        _ = ledger.gapArrived(1, .cancelled, at: reading(0))
        #expect(ledger.failed(1, at: reading(0)).reported == [.withdrawn(.cancelled)] && ledger.deadLetters.isEmpty)
    }

    @Test("DEL-6, DEL-47: an item whose attempt is not durable yet is taken back, and no handler gets it")
    func takenBackBeforeTheHandOver() throws {
        var ledger = try Self.ledgerWithConsumer()
        let delivery = ledger.arrived(arrived(1), at: reading(0))
        #expect(ledger.gapArrived(1, .cancelled, at: reading(0)).reported == [.withdrawn(.cancelled)])
        #expect(ledger.handOver(delivery, at: reading(0)).isEmpty && ledger.count == 0)
    }

    @Test func aDeadLetterIsRetriedOrDroppedOnceSettled() throws {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var ledger = try Self.ledgerWithConsumer(limits)
        _ = ledger.arrived(arrived(1), at: reading(0))
        _ = ledger.failed(1, at: reading(0))
        #expect(ledger.retryDeadLetter(1, at: reading(0)).handed.isEmpty, "its sender has not heard")
        _ = ledger.outcomeAcknowledged(1, at: reading(0))
        #expect(ledger.deadLetters.count == 1)
        #expect(ledger.retryDeadLetter(1, at: reading(0)).handed.map(\.ordinal) == [1])
        #expect(ledger.handled(1, at: reading(0)).reported.isEmpty, "for its sender it has ended")
        #expect(ledger.deadLetters.isEmpty && ledger.count == 0)
        _ = ledger.arrived(arrived(2), at: reading(0))
        _ = ledger.failed(2, at: reading(0))
        _ = ledger.outcomeAcknowledged(2, at: reading(0))
        #expect(!ledger.dropDeadLetter(2, at: reading(0)).changes.isEmpty)
        #expect(ledger.deadLetters.isEmpty)
    }

    @Test("SES-87, CTL-16: a file that arrived has the size of the file, also when its record is read back")
    func sizeOfAFile() throws {
        let file = FileDescription(name: "a", size: 200_000_000)
        let body = try Body.bytes(FileManifest(file, digest: [UInt8](repeating: 7, count: 32)).dictionary)
        let item = ReceivedItem(queue: try queueKey(.file), id: identifier(1), payload: body)
        var ledger = try inbound(channel: .file)
        let changes = ledger.arrived(item, as: 1, at: reading(0)).changes
        let sizes = try changes.compactMap { change -> Int? in
            guard case .put(let key, let value) = change, key.table == .inboundItem,
                case .inboundItem(let record, _) = try DeliveryValue(key, bytes: value.bytes)
            else { return nil }
            return record.contentSize
        }
        #expect(sizes == [200_000_000])
    }

    @Test func aHandlerThatTakesItsProcessDownIsCounted() throws {
        var disk = Disk<InboundEffect>()
        var limits = DeliveryLimits()
        limits.attempts = 3
        var ledger = try Self.ledgerWithConsumer(limits)
        let first = ledger.arrived(arrived(1), at: reading(0))
        disk.submit(first.changes, [])
        _ = disk.commitNext()
        for attempt in 2...3 {
            ledger = try disk.inboundLedger(at: reading(1), limits: limits)
            let again = ledger.consumerArrived(at: reading(1))
            #expect(again.handed.map(\.attempt) == [attempt])
            disk.submit(again.changes, [])
            _ = disk.commitNext()
        }
        ledger = try disk.inboundLedger(at: reading(1), limits: limits)
        #expect(ledger.consumerArrived(at: reading(1)).reported == [.withdrawn(.dead)])
    }

    @Test func aConsumerThatLeavesGivesItsItemBack() throws {
        ledger.handOver(ledger.arrived(arrived(1), at: reading(0)), at: reading(0))
        #expect(ledger.consumerLeft(at: reading(0)).reported.isEmpty)
        #expect(ledger.handled(1, at: reading(0)).effects.isEmpty, "the word of one who left does not count")
        _ = ledger.consumerArrived(at: reading(0))
        #expect(ledger.timeAdvanced(at: reading(1)).handed.map(\.attempt) == [2])
    }

    @Test("SES-88: an item that its handler puts off is no attempt, and waits until the handler is there again")
    func putOff() throws {
        _ = ledger.arrived(arrived(1), at: reading(0))
        for time in Int64(1)...20 {
            #expect(ledger.putOff(1, at: reading(time)).reported.isEmpty)
            #expect(ledger.timeAdvanced(at: reading(time)).handed.isEmpty)
            #expect(ledger.isPutOff == true)
            // A connection that ends meanwhile has had nothing.
            if time.isMultiple(of: 2) { #expect(ledger.consumerLeft(at: reading(time)).changes.isEmpty) }
            #expect(ledger.consumerArrived(at: reading(time)).handed.map(\.attempt) == [1])
            #expect(ledger.isPutOff == false)
        }
        #expect(ledger.handled(1, at: reading(21)).reported == [.handled])
    }

    @Test func anExpiredItemNeverReachesTheHandler() throws {
        var ledger = try inbound()
        _ = ledger.arrived(arrived(1, remaining: .seconds(10)), at: reading(0))
        #expect(ledger.nextDeadline == reading(10).monotonic)
        #expect(ledger.timeAdvanced(at: reading(10)).reported == [.withdrawn(.expired)])
        #expect(ledger.consumerArrived(at: reading(10)).handed.isEmpty)
    }

    @Test func aNewLinkRepeatsEveryOutcomeThatIsNotSettled() throws {
        for sequence in 1...3 {
            _ = ledger.arrived(arrived(UInt64(sequence)), at: reading(0))
            _ = ledger.handled(UInt64(sequence), at: reading(0))
        }
        _ = ledger.outcomeAcknowledged(2, at: reading(0))
        // DEL-9: two effects, however many they are; the frames are made as there is room for them.
        #expect(ledger.linkOpened().effects == [.acknowledge(through: 3), .reportAgain(sequences: [1, 3])])
        #expect((1...4).map { ledger.outcome(of: $0) } == [.handled, nil, .handled, nil])
    }

    @Test func aNewEpochKeepsWhatWaitsAndForgetsTheNumbers() throws {
        var ledger = try inbound()
        _ = ledger.arrived(arrived(1), at: reading(0))
        _ = ledger.gapArrived(2, .cancelled, at: reading(0))
        _ = ledger.startEpoch(2, at: reading(0))
        #expect(ledger.epoch == 2 && ledger.received == 0 && ledger.linkOpened().effects == [.acknowledge(through: 0)])
        _ = ledger.arrived(arrived(1), at: reading(1))
        #expect(ledger.consumerArrived(at: reading(1)).handed.map(\.ordinal) == [1])
        let old = ledger.handled(1, at: reading(1))
        #expect(old.reported.isEmpty && old.handed.map(\.ordinal) == [3])
    }

    @Test("DEL-3, LIM-24: a sender that settles nothing finds no room any more")
    func unsettled() throws {
        var limits = DeliveryLimits()
        (limits.items, limits.unacknowledged) = (2, 3)
        var ledger = try inbound(limits)
        for sequence in UInt64(1)...5 {
            #expect(!ledger.gapArrived(sequence, .cancelled, at: reading(0)).changes.isEmpty)
        }
        #expect(ledger.gapArrived(6, .cancelled, at: reading(0)).effects == [.droppedFull])
        #expect(ledger.arrived(arrived(6), at: reading(0)).effects == [.droppedFull])
        #expect(!ledger.wouldStore(6, size: 1) && ledger.received == 5)
        _ = ledger.outcomeAcknowledged(1, at: reading(0))
        #expect(ledger.wouldStore(6, size: 1) == true)
        #expect(!ledger.arrived(arrived(6), at: reading(0)).changes.isEmpty)
    }

    @Test(
        "DEL-12, LIM-15: an item for which the handler has no room costs no attempt, and is given again until it expires"
    )
    func noRoomForTheHandler() throws {
        _ = ledger.arrived(arrived(1, remaining: .seconds(1000)), at: reading(0))
        _ = ledger.arrived(arrived(2), at: reading(0))
        var time: Int64 = 0
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
            #expect(ledger.pauseWithoutAttempt(1, at: reading(time)).reported.isEmpty)
            #expect(ledger.timeAdvanced(at: reading(time + pause - 1)).handed.isEmpty)
            time += pause
            let again = ledger.timeAdvanced(at: reading(time)).handed
            #expect(again.map(\.ordinal) == [1] && again.map(\.isRedelivery) == [false])
        }
        _ = ledger.pauseWithoutAttempt(1, at: reading(time))
        let last = ledger.timeAdvanced(at: reading(1000))
        #expect(last.reported == [.withdrawn(.expired)] && last.handed.map(\.ordinal) == [2])
    }
}
