// The sender's half, event by event: order, window, superseding, taking back, quotas (DEL-1, DEL-2, DEL-4 to DEL-6).

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite final class OutboundQueueTests {
    private var queue: OutboundQueue

    init() throws { queue = try outbound() }

    @Test(
        "An accepted item is one row with its body, or two if that is long, and a header in one transition",
        arguments: [(768, [DeliveryTable.outboundItem]), (769, [.outboundItem, .outboundPayload])])
    func rows(size: Int, rows: [DeliveryTable]) throws {
        let transition = try queue.enqueue(item(1, size: size), at: reading(0))
        #expect(transition.effects.isEmpty, "its submitter waits for the commit")
        let tables = transition.changes.map { change -> DeliveryTable in
            switch change {
            case .put(let key, _), .remove(let key): key.table
            }
        }
        #expect(tables == rows + [.outboundHeader])
        #expect(queue.count == 1 && queue.bytes == size)
    }

    @Test("A body that an earlier version wrote into a separate row is read and removed there", arguments: [3, 900])
    func earlierRows(size: Int) throws {
        var earlier = try outbound()
        let changes = try earlier.enqueue(item(1, size: size), at: reading(0)).changes
        guard case .put(_, .outboundItem(let record, _))? = changes.first else { throw Unexpected("no row of an item") }
        // As version 1 of the store's rows has it, and up to version 3 for a long body: the record in one row, its body
        // in another.
        let row = DeliveryRowKey(.outboundRecord, try queueKey(), 1)
        guard
            case .outboundRecord(let stored) = try DeliveryValue(row, bytes: DeliveryValue.outboundRecord(record).bytes)
        else { throw Unexpected("no such row") }
        var queue = OutboundQueue(
            try queueKey(), header: OutboundHeader(epoch: 1, at: reading(0)), records: [stored], at: reading(0))
        let sent = queue.linkOpened(received: 0, at: reading(0)).effects
        guard case .send(let dispatch)? = sent.first else { throw Unexpected("it is not sent") }
        #expect(dispatch.bodyTable == .outboundPayload)
        let removals = queue.stored(through: 1, at: reading(0)).changes
        #expect(removals.contains(.remove(DeliveryRowKey(.outboundPayload, try queueKey(), 1))))
    }

    @Test(
        "DEL-4: a long body goes when the peer has stored its item, and the row in which the item came when it ends",
        arguments: [(769, [DeliveryTable.outboundPayload]), (768, [])])
    func rowsGoOnce(size: Int, long: [DeliveryTable]) throws {
        _ = queue.linkOpened(received: 0, at: reading(0))
        for number in 1...3 as ClosedRange<UInt8> { _ = try queue.enqueue(item(number, size: size), at: reading(0)) }
        func removed(_ transition: OutboundTransition) -> [DeliveryTable] {
            transition.changes.compactMap {
                if case .remove(let key) = $0, key.table != .outboundRecord { key.table } else { nil }
            }
        }
        #expect(removed(queue.stored(through: 1, at: reading(0))) == long)
        #expect(removed(queue.ended(1, .handled, at: reading(0))) == [.outboundItem])
        #expect(removed(queue.ended(2, .handled, at: reading(0))) == long + [.outboundItem], "never acknowledged")
        #expect(removed(queue.cancel(identifier(3), at: reading(0)).1) == long + [.outboundItem], "taken back")
        #expect(removed(queue.ended(3, .withdrawn(.cancelled), at: reading(0))).isEmpty)
    }

    @Test(
        "DEL-32: a damaged row of an item costs a short body; a long one and the manifest of a file have separate rows",
        arguments: [
            (Channel.userInfo, 768, DeliveryTable.outboundItem), (.userInfo, 769, .outboundPayload),
            (.file, 768, .outboundPayload),
        ])
    func damagedRow(channel: Channel, size: Int, body: DeliveryTable) throws {
        _ = try queue.enqueue(item(1, size: size), at: reading(0))
        let accepted = queue.record(of: identifier(1))
        // A later form of it is read back, beside the damaged row.
        var record = try #require(accepted)
        record.sharesRow = false
        record.placeBody(on: channel)
        #expect(record.bodyTable == body)
    }

    @Test(
        "An item's row lacks its body only if that has a separate row: a long one, and the manifest of a file",
        arguments: [(Channel.userInfo, 768, false), (.userInfo, 769, true), (.file, 768, true)])
    func rowWithoutBody(channel: Channel, size: Int, isRead: Bool) throws {
        var queue = try outbound(channel: channel)
        _ = try queue.enqueue(item(1, size: size), at: reading(0))
        let accepted = queue.record(of: identifier(1))
        let row = DeliveryValue.outboundItem(try #require(accepted), body: nil).bytes
        let key = DeliveryRowKey(.outboundItem, try queueKey(channel), 1)
        do throws(DeliveryRecordError) {
            _ = try DeliveryValue(key, bytes: row)
            #expect(isRead)
        } catch {
            #expect(!isRead && error == .missing(.outboundItem, field: "body"))
        }
    }

    @Test("SES-87: an item of the channel file has the size of its file, also when it is stored there and read back")
    func sizeOfAFile() throws {
        let file = FileDescription(name: "a", size: 200_000_000)
        let body = try Body.bytes(FileManifest(file, digest: [UInt8](repeating: 7, count: 32)).dictionary)
        for (channel, size) in [(Channel.file, 200_000_000), (.userInfo, body.count)] {
            var queue = try outbound(channel: channel)
            _ = try queue.enqueue(OutboundItem(id: identifier(1), payload: body), at: reading(0))
            _ = queue.linkOpened(received: 0, at: reading(0))
            _ = queue.stored(through: 1, at: reading(0))
            let known = queue.record(of: identifier(1))
            let record = try #require(known)
            #expect(record.phase == .stored(sequence: 1) && record.contentSize == size && record.size == body.count)
            let place = DeliveryRowKey(.outboundRecord, try queueKey(channel), record.ordinal)
            let read = try DeliveryValue(place, bytes: DeliveryValue.outboundRecord(record).bytes)
            guard case .outboundRecord(let again) = read else { throw Unexpected("a row of another table") }
            #expect(again.contentSize == size)
        }
    }

    @Test func theSameIdentifierIsTheSameItem() throws {
        _ = try queue.enqueue(item(1), at: reading(0))
        let again = try queue.enqueue(item(1), at: reading(0))
        #expect(again.isDuplicate && again.changes.isEmpty && again.effects.isEmpty && queue.count == 1)
    }

    @Test func itemsAreSentInOrderWithinTheWindow() throws {
        var limits = DeliveryLimits()
        limits.window = 2
        var queue = try outbound(limits)
        for number in 1...4 { _ = try queue.enqueue(item(UInt8(number)), at: reading(0)) }
        #expect(queue.linkOpened(received: 0, at: reading(1)).sent == [1, 2])
        #expect(queue.stored(through: 1, at: reading(1)).sent == [3])
        #expect(queue.stored(through: 3, at: reading(1)).sentItems == [identifier(4)])
        #expect(queue.lastSent == 4)
    }

    @Test(
        "FIL-1, LIM-16: 64 items are under way at once, and one file",
        arguments: [(.userInfo, 64), (.file, 1)] as [(Channel, UInt64)])
    func windows(channel: Channel, count: UInt64) throws {
        var queue = try outbound(.standard(channel))
        for number in 1...70 { _ = try queue.enqueue(item(UInt8(number)), at: reading(0)) }
        #expect(queue.linkOpened(received: 0, at: reading(1)).sent == Array(1...count))
        #expect(queue.stored(through: 1, at: reading(1)).sent == [count + 1])
    }

    @Test func anItemAcceptedOnAnOpenLinkIsSentWithItsBodyAtHand() throws {
        _ = queue.linkOpened(received: 0, at: reading(0))
        let transition = try queue.enqueue(item(7), at: reading(5))
        guard case .send(let dispatch)? = transition.effects.last else { throw Unexpected("not sent") }
        #expect(dispatch.payload == [7, 7, 7] && dispatch.sequence == 1 && dispatch.attempt == 1 && dispatch.age == 0)
        #expect(dispatch.remaining == .seconds(30 * 24 * 3600))
    }

    @Test func aWaitingItemIsSupersededWithoutThePeerHearingOfIt() throws {
        _ = try queue.enqueue(item(1, supersedes: "secondary target"), at: reading(0))
        _ = try queue.enqueue(item(2, supersedes: "another target"), at: reading(0))
        let transition = try queue.enqueue(item(3, supersedes: "secondary target"), at: reading(0))
        #expect(transition.effects.first == .finished(identifier(1), .withdrawn(.superseded), nil))
        let opened = queue.linkOpened(received: 0, at: reading(1))
        #expect(opened.sentItems == [identifier(2), identifier(3)] && opened.sent == [1, 2] && opened.gaps.isEmpty)
    }

    @Test func aSentItemIsSupersededByAGapAndEndsAsThePeerSays() throws {
        _ = try queue.enqueue(item(1, supersedes: "a"), at: reading(0))
        _ = queue.linkOpened(received: 0, at: reading(0))
        let newer = try queue.enqueue(item(2, supersedes: "a"), at: reading(1))
        #expect(newer.effects.contains(.sendGap(sequence: 1, .superseded)))
        #expect(newer.sent == [2] && newer.finished.isEmpty)
        let ended = queue.ended(1, .handled, at: reading(2))
        #expect(ended.finished == [.handled], "the peer was faster")
        #expect(ended.effects.last == .sendOutcomeAck(sequence: 1))
    }

    @Test(
        "DEL-15: an item that is being taken back is reported as stored by its outcome only, and before its end",
        arguments: [Outcome.handled, .withdrawn(.cancelled)])
    func takenBackBeforeStored(_ outcome: Outcome) throws {
        var disk = Disk<OutboundEffect>()
        var events = [try queue.enqueue(item(1), at: reading(0)), queue.linkOpened(received: 0, at: reading(0))]
        events.append(queue.cancel(identifier(1), at: reading(1)).1)
        let covered = queue.stored(through: 1, at: reading(2))
        #expect(covered.atOnce.isEmpty, "the peer may have the gap only")
        for event in events + [covered] {
            disk.submit(event.changes, event.effects)
            _ = disk.commitNext()
        }
        var restarted = try disk.outboundQueue(at: reading(3), limits: DeliveryLimits())
        for _ in 0..<2 {
            #expect(queue.record(of: identifier(1))?.phase == .sent(sequence: 1) && queue.lastStored == 1)
            let ended = queue.ended(1, outcome, at: reading(4))
            #expect(ended.atOnce == (outcome == .handled ? [.stored(identifier(1))] : []))
            #expect(ended.finished == [outcome])
            swap(&queue, &restarted)
        }
    }

    @Test func cancellingIsDefinite() throws {
        for number in 1...3 { _ = try queue.enqueue(item(UInt8(number)), at: reading(0)) }
        #expect(queue.cancel(identifier(9), at: reading(0)).0 == .unknown)
        let (first, transition) = queue.cancel(identifier(2), at: reading(0))
        #expect(first == .cancelled && transition.finished == [.withdrawn(.cancelled)])
        _ = queue.linkOpened(received: 0, at: reading(1))
        let (second, asked) = queue.cancel(identifier(1), at: reading(1))
        #expect(second == .asked && asked.gaps == [1] && asked.finished.isEmpty)
        #expect(queue.ended(1, .withdrawn(.cancelled), at: reading(2)).finished == [.withdrawn(.cancelled)])
        #expect(queue.cancel(identifier(1), at: reading(3)).0 == .tooLate(.withdrawn(.cancelled)))
    }

    @Test(arguments: [(items: 3, bytes: 1000), (items: 100, bytes: 9)])
    func aFullQueueSaysHowFullAndChangesNothing(limit: (items: Int, bytes: Int)) throws {
        var limits = DeliveryLimits()
        (limits.items, limits.bytes) = limit
        var queue = try outbound(limits)
        for number in 1...3 { _ = try queue.enqueue(item(UInt8(number), supersedes: "\(number)"), at: reading(0)) }
        let full = QueueFull(
            KeptAmount(records: 3, bytes: 9), of: KeptAmount(records: limit.items, bytes: limit.bytes))
        #expect(throws: full) { try queue.enqueue(item(4), at: reading(0)) }
        #expect(queue.count == 3 && queue.record(of: identifier(4)) == nil)
        #expect(throws: Never.self) { try queue.enqueue(item(5, supersedes: "2"), at: reading(0)) }
        #expect(queue.count == 3, "a superseded item makes room for its successor")
    }

    @Test("DEL-4: one row says which items the peer has stored")
    func storedIsOneRow() throws {
        _ = queue.linkOpened(received: 0, at: reading(0))
        var changes: [DeliveryChange] = []
        for number in 1...3 as ClosedRange<UInt8> { changes += try queue.enqueue(item(number), at: reading(0)).changes }
        let stored = queue.stored(through: 2, at: reading(0))
        #expect(stored.changes.map(\.key) == [DeliveryRowKey(.outboundHeader, try queueKey())])
        guard case .put(_, .outboundHeader(let header))? = stored.changes.first
        else { throw Unexpected("no row of the header") }
        let items = changes.compactMap { change -> OutboundRecord? in
            if case .put(_, .outboundItem(let record, _)) = change { record } else { nil }
        }
        let again = OutboundQueue(try queueKey(), header: header, items: items, at: reading(1))
        let phases = (1...3).map { again.record(of: identifier($0))?.phase }
        #expect(phases == [.stored(sequence: 1), .stored(sequence: 2), .sent(sequence: 3)])
    }

    @Test func storedDropsALongBodyAndKeepsTheRecordUntilItHasEnded() throws {
        _ = try queue.enqueue(item(1, size: 1000), at: reading(0))
        _ = queue.linkOpened(received: 0, at: reading(0))
        let stored = queue.stored(through: 1, at: reading(0))
        #expect(stored.changes.contains(.remove(DeliveryRowKey(.outboundPayload, try queueKey(), 1))))
        #expect(queue.record(of: identifier(1))?.phase == .stored(sequence: 1))
        #expect(queue.forget(identifier(1), at: reading(0)).changes.isEmpty, "it has not ended")
        _ = queue.ended(1, .rejected(code: 5), at: reading(0))
        #expect(queue.unacknowledged().map(\.id) == [identifier(1)])
        _ = queue.forget(identifier(1), at: reading(0))
        #expect(!queue.hasUnacknowledged && queue.count == 0 && queue.kept == KeptAmount())
    }

    @Test("DEL-42: that the peer has stored an item is said with its word, and that commit may wait for others")
    func storedAtOnce() throws {
        var limits = DeliveryLimits()
        limits.window = 2
        var queue = try outbound(limits)
        for number in 1...3 { _ = try queue.enqueue(item(UInt8(number)), at: reading(0)) }
        _ = queue.linkOpened(received: 0, at: reading(0))
        let first = queue.stored(through: 1, at: reading(0))
        #expect(first.atOnce == [.stored(identifier(1))] && first.sent == [3])
        #expect(!first.mayWait, "an item is sent behind this commit")
        let rest = queue.stored(through: 3, at: reading(0))
        #expect(rest.atOnce == [.stored(identifier(2)), .stored(identifier(3))])
        #expect(rest.effects.isEmpty && rest.mayWait)
        #expect(!queue.ended(1, .handled, at: reading(0)).mayWait, "the submitter waits for the end")
        #expect(queue.forget(identifier(1), at: reading(0)).mayWait)
    }

    @Test("DEL-33: the same identifier is the same item, also after its end was heard and after a restart")
    func sameItem() throws {
        var disk = Disk<OutboundEffect>()
        var queue = try outbound()
        let submit = try queue.enqueue(item(1), at: reading(0))
        let events = [
            submit, queue.linkOpened(received: 0, at: reading(0)), queue.ended(1, .rejected(code: 5), at: reading(0)),
            queue.forget(identifier(1), at: reading(0)),
        ]
        for event in events {
            disk.submit(event.changes, event.effects)
            _ = disk.commitNext()
        }
        var restarted = try disk.outboundQueue(at: reading(1), limits: DeliveryLimits())
        for _ in 0..<2 {
            let again = try queue.enqueue(item(1), at: reading(1))
            #expect(again.changes.isEmpty && again.effects.isEmpty)
            let cancelled = queue.cancel(identifier(1), at: reading(1)).0
            let known = queue.record(of: identifier(1))?.phase
            #expect(cancelled == .tooLate(.rejected(code: 5)) && known == .finished(.rejected(code: 5)))
            #expect(queue.count == 0 && queue.kept == KeptAmount() && !queue.hasUnacknowledged)
            swap(&queue, &restarted)
        }
    }

    @Test("DEL-33, LIM-59: the newest ends stay known, and push the oldest out with its row")
    func boundedMemory() throws {
        var limits = DeliveryLimits()
        limits.acknowledged = 2
        var queue = try outbound(limits)
        _ = queue.linkOpened(received: 0, at: reading(0))
        var rows: Set<UInt64> = []
        for number in 1...4 as ClosedRange<UInt8> {
            _ = try queue.enqueue(item(number), at: reading(0))
            let end = queue.ended(UInt64(number), .handled, at: reading(0))
            for change in end.changes + queue.forget(identifier(number), at: reading(0)).changes {
                switch change {
                case .put(let key, .outboundRecord): rows.insert(key.ordinal ?? 0)
                case .remove(let key) where key.table == .outboundRecord: rows.remove(key.ordinal ?? 0)
                default: break
                }
            }
        }
        let isForgotten = (1...4).map { queue.record(of: identifier($0)) == nil }
        #expect(isForgotten == [true, true, false, false] && rows == [3, 4])
        let again = try queue.enqueue(item(1), at: reading(0)).sent
        #expect(again == [5], "a new item by now")
    }

    @Test func acknowledgingWhatWasNeverSentIsAViolation() throws {
        _ = try queue.enqueue(item(1), at: reading(0))
        _ = queue.linkOpened(received: 0, at: reading(0))
        #expect(queue.stored(through: 2, at: reading(0)).effects == [.violation])
        #expect(queue.ended(2, .handled, at: reading(0)).effects == [.violation])
        #expect(queue.ended(0, .handled, at: reading(0)).effects == [.violation])
        #expect(queue.stored(through: .max, at: reading(0)).effects == [.violation])
    }

    @Test func anOutcomeThatIsKnownAlreadyIsSettledAgain() throws {
        _ = try queue.enqueue(item(1), at: reading(0))
        _ = queue.linkOpened(received: 0, at: reading(0))
        _ = queue.ended(1, .handled, at: reading(0))
        _ = queue.forget(identifier(1), at: reading(0))
        #expect(queue.ended(1, .handled, at: reading(0)).effects == [.sendOutcomeAck(sequence: 1)])
    }
}
