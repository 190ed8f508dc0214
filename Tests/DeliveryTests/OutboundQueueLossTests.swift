// The sender's half when things go wrong: losses, refusals, expiry, clocks, restored backups (DEL-8 to DEL-10, DEL-12).

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct OutboundQueueLossTests {
    private func sentQueue(_ count: Int, limits: DeliveryLimits = DeliveryLimits()) throws -> OutboundQueue {
        var queue = try outbound(limits)
        for number in 1...count { _ = try queue.enqueue(item(UInt8(number)), at: reading(0)) }
        _ = queue.linkOpened(received: 0, at: reading(0))
        return queue
    }

    @Test func aNewLinkSendsAgainWhatThePeerDoesNotHave() throws {
        var queue = try sentQueue(4)
        queue.linkClosed()
        let opened = queue.linkOpened(received: 2, at: reading(9))
        #expect(opened.sent == [3, 4])
        #expect(queue.record(of: identifier(2))?.phase == .stored(sequence: 2))
    }

    @Test(
        "DEL-9: the gap of a stored item that was taken back goes out on each link, until the item's outcome has come")
    func takenBackWithoutALink() throws {
        var queue = try sentQueue(2)
        _ = queue.stored(through: 2, at: reading(0))
        queue.linkClosed()
        let answer = queue.cancel(identifier(1), at: reading(1)).0
        #expect(answer == .asked)
        for second: Int64 in [2, 3] {
            let opened = queue.linkOpened(received: 2, at: reading(second))
            #expect(opened.gaps == [1] && opened.sent.isEmpty)
            queue.linkClosed()
        }
        _ = queue.linkOpened(received: 2, at: reading(4))
        _ = queue.ended(1, .withdrawn(.cancelled), at: reading(4))
        queue.linkClosed()
        #expect(queue.linkOpened(received: 2, at: reading(5)).gaps.isEmpty)
    }

    @Test("DEL-9, LIM-16: silence on an open link makes it send again")
    func silenceOnAnOpenLinkMakesItSendAgain() throws {
        var queue = try sentQueue(2)
        #expect(queue.nextDeadline == reading(30).monotonic)
        #expect(queue.timeAdvanced(at: reading(29)).sent.isEmpty)
        #expect(queue.timeAdvanced(at: reading(30)).sent == [1, 2])
        #expect(queue.timeAdvanced(at: reading(31)).sent.isEmpty)
    }

    @Test("DEL-9, LIM-16: what is sent or taken back meanwhile does not put off the repetition of what is older")
    func newItemsDoNotPutOffTheRepetition() throws {
        var queue = try sentQueue(1)
        for second in 1...29 {
            #expect(try queue.enqueue(item(UInt8(second + 1)), at: reading(Int64(second))).sent.count == 1)
            _ = queue.cancel(identifier(UInt8(second + 1)), at: reading(Int64(second)))
        }
        #expect(queue.nextDeadline == reading(30).monotonic)
        let again = queue.timeAdvanced(at: reading(30))
        #expect(again.sent == [1] && again.gaps == Array(2...30))
    }

    @Test("DEL-9, LIM-16: the silence begins with the first frame that the peer owes an answer for")
    func beginningOfSilence() throws {
        var queue = try sentQueue(1)
        _ = queue.stored(through: 1, at: reading(1))
        #expect(queue.nextDeadline.map { $0 > reading(1000).monotonic } == true, "only the item's life ends")
        // The item waits for its handler, and is taken back.
        _ = queue.cancel(identifier(1), at: reading(100))
        #expect(queue.nextDeadline == reading(130).monotonic)
        _ = queue.ended(1, .withdrawn(.cancelled), at: reading(101))
        _ = try queue.enqueue(item(2), at: reading(200))
        #expect(queue.nextDeadline == reading(230).monotonic)
    }

    @Test("DEL-8, LIM-16: an item that names no time to live expires after 30 days, and not before")
    func standardLife() throws {
        var queue = try outbound()
        _ = try queue.enqueue(item(1), at: reading(0))
        let life: Int64 = 30 * 24 * 3600
        #expect(queue.timeAdvanced(at: reading(life - 1)).finished.isEmpty)
        #expect(queue.timeAdvanced(at: reading(life)).finished == [.withdrawn(.expired)])
    }

    @Test("DEL-12, LIM-15: a refused head blocks for five attempts and then is dead")
    func aRefusedHeadBlocksForFiveAttemptsAndThenIsDead() throws {
        var queue = try sentQueue(2)
        var time: Int64 = 0
        for attempt in 1...4 {
            #expect(queue.refused(identifier(1), at: reading(time)).sent.isEmpty)
            let pause = Int64(1) << (attempt - 1)
            #expect(queue.timeAdvanced(at: reading(time + pause - 1)).sent.isEmpty)
            time += pause
            #expect(queue.timeAdvanced(at: reading(time)).sent == [1, 2])
        }
        let last = queue.refused(identifier(1), at: reading(time))
        #expect(last.gaps == [1] && last.sent == [2])
        #expect(queue.ended(1, .withdrawn(.dead), at: reading(time)).finished == [.withdrawn(.dead)])
    }

    @Test("DEL-12, LIM-15: on a link that is lost each second five attempts take as long as on one that lasts")
    func pauseOutlastsTheLink() throws {
        var queue = try sentQueue(2)
        var attempts: [Int64] = []
        for time in Int64(0)...20 {
            queue.linkClosed()
            guard queue.linkOpened(received: 0, at: reading(time)).sent.first == 1 else { continue }
            attempts.append(time)
            _ = queue.refused(identifier(1), at: reading(time))
        }
        #expect(attempts == [0, 1, 3, 7, 15])
        #expect(queue.record(of: identifier(1))?.withdrawal == .dead)
    }

    @Test("DEL-12: a pause on a new link holds back what the peer does not have, and ends once it has the refused item")
    func pauseOnANewLink() throws {
        var queue = try sentQueue(3)
        _ = queue.stored(through: 1, at: reading(0))
        _ = queue.cancel(identifier(1), at: reading(0))
        _ = queue.refused(identifier(2), at: reading(0))
        queue.linkClosed()
        let opened = queue.linkOpened(received: 1, at: reading(0))
        #expect(opened.sent.isEmpty && opened.gaps == [1])
        #expect(queue.nextDeadline == reading(1).monotonic)
        #expect(queue.timeAdvanced(at: reading(1)).sent == [2, 3])
        _ = queue.refused(identifier(2), at: reading(1))
        queue.linkClosed()
        #expect(queue.linkOpened(received: 2, at: reading(1)).sent == [3])
        _ = queue.refused(identifier(3), at: reading(1))
        queue.linkClosed()
        _ = queue.cancel(identifier(3), at: reading(1))
        #expect(queue.linkOpened(received: 2, at: reading(1)).gaps == [1, 3], "it was taken back meanwhile")
    }

    @Test("DEL-12: what the peer stores before the refused item does not end the pause, and no new item passes it")
    func pauseOutlastsOtherItems() throws {
        var queue = try sentQueue(3)
        _ = queue.refused(identifier(2), at: reading(0))
        #expect(queue.stored(through: 1, at: reading(0)).sent.isEmpty)
        #expect(try queue.enqueue(item(4), at: reading(0)).sent.isEmpty)
        #expect(queue.nextDeadline == reading(1).monotonic)
        #expect(queue.timeAdvanced(at: reading(1)).sent == [2, 3, 4])
    }

    @Test("DEL-12: a pause ends once its item is stored or taken back, and what was dropped behind it is sent at once")
    func pauseEndsWithItsItem() throws {
        var taken = try sentQueue(3)
        _ = taken.refused(identifier(1), at: reading(0))
        #expect(taken.stored(through: 1, at: reading(0)).sent == [2, 3])
        var cancelled = try sentQueue(3)
        _ = cancelled.refused(identifier(1), at: reading(0))
        let other = cancelled.cancel(identifier(3), at: reading(0)).1
        #expect(other.gaps == [3] && other.sent.isEmpty)
        let refused = cancelled.cancel(identifier(1), at: reading(0)).1
        #expect(refused.sent == [2] && refused.gaps == [1, 3])
        // The new link repeats nothing while the pause lasts, so its end repeats what is before the item, too.
        var behind = try sentQueue(3)
        _ = behind.refused(identifier(2), at: reading(0))
        behind.linkClosed()
        _ = behind.linkOpened(received: 0, at: reading(0))
        let all = behind.cancel(identifier(2), at: reading(0)).1
        #expect(all.sent == [1, 3] && all.gaps == [2])
        // The pause of an item without room may be longer than the time after which everything is repeated.
        var blocked = try sentQueue(2)
        for time in [0, 1, 3, 7, 15, 31] as [Int64] {
            _ = blocked.timeAdvanced(at: reading(time))
            _ = blocked.blockedOnSpace(identifier(1), nil, at: reading(time))
        }
        let late = blocked.cancel(identifier(1), at: reading(62)).1
        #expect(late.sent == [2])
        #expect(blocked.nextDeadline == reading(92).monotonic, "LIM-16: nothing is repeated twice in a row")
    }

    @Test("DEL-12: a pause goes on when a failed commit makes the queue read its rows back, but not after a restart")
    func pauseOfAQueueThatIsReadBack() throws {
        var disk = Disk<OutboundEffect>()
        var former = try outbound()
        stored(try former.enqueue(item(1), at: reading(0)), in: &disk)
        stored(former.linkOpened(received: 0, at: reading(0)), in: &disk)
        stored(former.refused(identifier(1), at: reading(0)), in: &disk)
        var queue = try restarted(disk, at: reading(0))
        queue.keepPause(of: former)
        #expect(queue.linkOpened(received: 0, at: reading(0)).sent.isEmpty)
        #expect(queue.timeAdvanced(at: reading(1)).sent == [1])
        var other = try restarted(disk, at: reading(0))
        #expect(other.linkOpened(received: 0, at: reading(0)).sent == [1])
    }

    @Test("DEL-12: an item that can never be sent is dead at once, and the next one goes on")
    func neverSent() throws {
        var queue = try sentQueue(2)
        let refused = queue.refused(identifier(1), isFinal: true, at: reading(0))
        #expect(refused.gaps == [1] && refused.sent == [2])
    }

    @Test("DEL-25: the last refusal goes with the end of an item that is given up, and with no other end")
    func lastRefusal() throws {
        let refusal = ItemRefusal(code: 7014, name: "digest-mismatch")
        var queue = try sentQueue(2)
        for attempt in 1...5 {
            let last = attempt == 5 ? refusal : ItemRefusal(code: 7015)
            _ = queue.refused(identifier(1), last, at: reading(Int64(attempt) * 100))
            _ = queue.timeAdvanced(at: reading(Int64(attempt) * 100 + 50))
        }
        _ = queue.refused(identifier(2), refusal, at: reading(600))
        let ended = queue.ended(1, .withdrawn(.dead), at: reading(601))
        #expect(ended.effects.contains(.finished(identifier(1), .withdrawn(.dead), refusal)))
        #expect(ended.effects.contains(.deadLetter(identifier(1), refusal)), "for the log")
        let known = queue.record(of: identifier(1))
        let record = try #require(known)
        let place = DeliveryRowKey(.outboundRecord, try queueKey(), record.ordinal)
        let stored = DeliveryValue.outboundRecord(record)
        #expect(try DeliveryValue(place, bytes: stored.bytes).bytes == stored.bytes)
        // The peer took it after all, and its handler failed.
        _ = queue.stored(through: 2, at: reading(602))
        let other = queue.ended(2, .withdrawn(.dead), at: reading(603))
        #expect(other.effects.contains(.finished(identifier(2), .withdrawn(.dead), nil)))
        #expect(!other.effects.contains(.deadLetter(identifier(2), nil)), "the letter is there")
    }

    @Test func aRefusalOfSomethingElseChangesNothing() throws {
        var queue = try sentQueue(1)
        let unknown = queue.refused(identifier(7), at: reading(0))
        #expect(unknown.changes.isEmpty && unknown.effects.isEmpty)
        _ = queue.stored(through: 1, at: reading(0))
        let stored = queue.refused(identifier(1), at: reading(0))
        #expect(stored.changes.isEmpty && stored.effects.isEmpty)
    }

    @Test func itemsExpireWhereverTheyAre() throws {
        var queue = try outbound()
        _ = try queue.enqueue(item(1, lifetime: .seconds(10)), at: reading(0))
        _ = queue.linkOpened(received: 0, at: reading(0))
        queue.linkClosed()
        _ = try queue.enqueue(item(2, lifetime: .seconds(10)), at: reading(0))
        #expect(queue.nextDeadline == reading(10).monotonic)
        #expect(queue.timeAdvanced(at: reading(9)).changes.isEmpty)
        let expired = queue.timeAdvanced(at: reading(10))
        #expect(expired.finished == [.withdrawn(.expired)], "the one never sent ends here")
        #expect(queue.linkOpened(received: 0, at: reading(11)).gaps == [1], "the other one's end is the peer's to tell")
    }

    /// A restart with the stored rows, at this reading.
    private func restarted(_ disk: Disk<OutboundEffect>, at reading: ClockReading) throws -> OutboundQueue {
        try disk.outboundQueue(at: reading, limits: DeliveryLimits())
    }

    private func stored(_ transition: OutboundTransition, in disk: inout Disk<OutboundEffect>) {
        disk.submit(transition.changes, transition.effects)
        _ = disk.commitNext()
    }

    @Test("DEL-8, LIM-135: a start whose clock was not set, now or before, expires nothing, and its time counts")
    func clocksThatWereNotSet() throws {
        let (unset, far): (Int64, Int64) = (-1_800_000_000, 73 * 365 * 86_400)
        for (first, second) in [(unset, 0), (0, unset), (0, far), (far, 0)] {
            var disk = Disk<OutboundEffect>()
            let start = reading(0, wall: first)
            var queue = OutboundQueue(try queueKey(), header: OutboundHeader(epoch: 1, at: start), at: start)
            stored(try queue.enqueue(item(1, lifetime: .seconds(100)), at: start), in: &disk)
            stored(queue.noteClock(at: reading(40, wall: first + 40)), in: &disk)
            queue = try restarted(disk, at: reading(1000, wall: second))
            #expect(queue.timeAdvanced(at: reading(1059, wall: second)).finished.isEmpty)
            #expect(queue.timeAdvanced(at: reading(1060, wall: second)).finished == [.withdrawn(.expired)])
        }
    }

    @Test("DEL-8: a queue's time begins at a start where its rows are, also when its mark is older")
    func timeOfRows() throws {
        var disk = Disk<OutboundEffect>()
        var queue = try outbound(channel: .urgent)
        stored(try queue.enqueue(item(1), at: reading(0)), in: &disk)
        stored(try queue.enqueue(item(2, lifetime: .seconds(30)), at: reading(5000)), in: &disk)
        // It crashed, and begins with a clock that stands at the first item.
        queue = try restarted(disk, at: reading(0))
        #expect(queue.oldestAge(at: reading(0)) == 5_000_000)
        #expect(queue.timeAdvanced(at: reading(29)).finished.isEmpty)
        #expect(queue.timeAdvanced(at: reading(30)).finished == [.withdrawn(.expired)])
    }

    @Test("DEL-8, DEL-23: a time far behind the mark in a stored row is that of no queue, and ends nothing")
    func timeOfAnEarlierVersion() throws {
        var disk = Disk<OutboundEffect>()
        let far: Int64 = 73 * 365 * 86_400
        // It followed a clock that was not set, and then began again where its mark was.
        var queue = try outbound(channel: .urgent)
        stored(try #require(try queue.enqueueUrgent(item(1), at: reading(far))), in: &disk)
        queue = try outbound(channel: .urgent)
        stored(try queue.enqueue(item(2, lifetime: .seconds(100)), at: reading(0)), in: &disk)
        queue = try restarted(disk, at: reading(10))
        #expect(queue.timeAdvanced(at: reading(99)).finished.isEmpty)
        let limits = DeliveryLimits()
        for number in 3..<UInt8(3 + limits.urgentPerDay) {
            #expect(try queue.enqueueUrgent(item(number), at: reading(20)) != nil, "no day of the budget has begun")
        }
    }

    @Test("DEL-19: a context never expires, and tells its receiver of no end")
    func contextsStay() throws {
        var queue = try outbound(channel: .context)
        _ = queue.linkOpened(received: 0, at: reading(0))
        let (_, sent) = try queue.setContext(item(1), digest: [1], at: reading(0))
        guard case .send(let dispatch)? = sent.effects.last else { throw Unexpected("not sent: \(sent.effects)") }
        #expect(dispatch.remaining == nil)
        queue.linkClosed()
        #expect(queue.nextDeadline == nil)
        #expect(queue.timeAdvanced(at: reading(100 * 365 * 86_400)).finished.isEmpty)
    }

    @Test func aJumpOfTheWallClockExpiresNothing() throws {
        var queue = try outbound()
        _ = try queue.enqueue(item(1, lifetime: .seconds(1000)), at: reading(0))
        for jump in [365 * 86_400, -365 * 86_400] as [Int64] {
            #expect(queue.timeAdvanced(at: reading(5, wall: jump)).changes.isEmpty)
        }
        #expect(queue.timeAdvanced(at: reading(1000)).finished == [.withdrawn(.expired)])
    }

    @Test(arguments: [(0, false), (600, true), (-365 * 86_400, false)] as [(Int64, Bool)])
    func timeSwitchedOffCountsButNeverBackwards(off: Int64, expires: Bool) throws {
        var disk = Disk<OutboundEffect>()
        var queue = try outbound()
        let accepted = try queue.enqueue(item(1, lifetime: .seconds(500)), at: reading(0))
        disk.submit(accepted.changes, accepted.effects)
        _ = disk.commitNext()
        let restart = reading(7, wall: off)
        var restarted = try disk.outboundQueue(at: restart, limits: DeliveryLimits())
        let expired = restarted.timeAdvanced(at: restart).finished == [.withdrawn(.expired)]
        #expect(expired == expires)
    }

    @Test(arguments: [UInt64(3), 100, .max]) func aSenderBehindItsPeerStartsANewEpoch(received: UInt64) throws {
        var queue = try sentQueue(2)
        queue.linkClosed()
        #expect(queue.linkOpened(received: received, at: reading(1)).effects == [.startEpoch])
        #expect(try queue.enqueue(item(9), at: reading(1)).sent.isEmpty, "nothing is sent before it")
    }

    @Test func aPeerThatForgotWhatItStoredStartsANewEpoch() throws {
        var queue = try sentQueue(3)
        _ = queue.stored(through: 2, at: reading(0))
        queue.linkClosed()
        #expect(queue.linkOpened(received: 1, at: reading(1)).effects == [.startEpoch])
        #expect(queue.outstanding().map(\.isLostByEpoch) == [true, true, false], "DEL-10: the peer has two of them")
        let fresh = queue.startEpoch(2, at: reading(2))
        #expect(fresh.finished == [.withdrawn(.lost), .withdrawn(.lost)])
        #expect(queue.epoch == 2 && queue.lastSent == 0)
        let opened = queue.linkOpened(received: 0, at: reading(3))
        #expect(opened.sentItems == [identifier(3)] && opened.sent == [1])
    }

    @Test("DEL-34: of one run of the peer a lower number is an older one, and changes no epoch; nothing is sent twice")
    func lateStored() throws {
        var queue = try sentQueue(4)
        // The peer has dialled again and said 1; then 3 comes on the old link.
        _ = queue.stored(through: 3, at: reading(0))
        let isTrue = [(1, false), (1, true), (5, true)].map { queue.mayHaveStored($0, isSameRun: $1) }
        #expect(isTrue == [false, true, false], "another run; the same; never sent")
        let opened = queue.linkOpened(received: 1, isSameRun: true, at: reading(1))
        #expect(opened.sent == [4] && !opened.effects.contains(.startEpoch))
    }

    @Test func aNumberWithoutAnItemBecomesAGap() throws {
        var disk = Disk<OutboundEffect>()
        var queue = try outbound()
        for number in 1...3 {
            let accepted = try queue.enqueue(item(UInt8(number)), at: reading(0))
            disk.submit(accepted.changes, accepted.effects)
            _ = disk.commitNext()
        }
        let opened = queue.linkOpened(received: 0, at: reading(0))
        // The commit of item 2's sequence is the one that failed.
        let lost = opened.changes.filter { change in
            if case .put(let key, .outboundRecord) = change { key.ordinal != 2 } else { true }
        }
        disk.submit(lost, [])
        _ = disk.commitNext()
        var restarted = try disk.outboundQueue(at: reading(1), limits: DeliveryLimits())
        let again = restarted.linkOpened(received: 0, at: reading(1))
        #expect(again.effects.contains(.sendGap(sequence: 2, .lost)))
        #expect(again.sentItems == [1, 3, 2].map { identifier($0) } && again.sent == [1, 3, 4])
    }

    @Test("DEL-12: a dead letter that is tried again behind an older item has one place in the order")
    func retriedBehindAnOlderItem() throws {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var queue = try sentQueue(3, limits: limits)
        _ = queue.stored(through: 1, at: reading(0))
        _ = queue.refused(identifier(2), at: reading(0))
        _ = queue.ended(2, .withdrawn(.dead), at: reading(0))
        let letters = queue.deadLetters
        let letter = try #require(letters.first)
        _ = queue.retryDeadLetter(letter.ordinal, at: reading(0))
        #expect(queue.outstanding().map(\.id) == [1, 2, 3].map { identifier($0) })
    }

    /// A queue without a link, whose only item is a dead letter that is tried again.
    private func retriedQueue(_ item: OutboundItem) throws -> OutboundQueue {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var queue = try outbound(limits, channel: .urgent)
        _ = try queue.enqueue(item, at: reading(0))
        _ = queue.linkOpened(received: 0, at: reading(0))
        _ = queue.refused(item.id, at: reading(0))
        _ = queue.ended(1, .withdrawn(.dead), at: reading(0))
        queue.linkClosed()
        let letters = queue.deadLetters
        _ = queue.retryDeadLetter(try #require(letters.first).ordinal, at: reading(0))
        return queue
    }

    @Test("DEL-24, SES-48: a dead letter that is tried again is superseded by a newer item with its key")
    func retriedAndSuperseded() throws {
        var queue = try retriedQueue(item(1, supersedes: "key"))
        let newer = try queue.enqueue(item(2, supersedes: "key"), at: reading(0))
        #expect(newer.finished == [.withdrawn(.superseded)])
        #expect(queue.outstanding().map(\.id) == [identifier(2)])
    }

    @Test("DEL-24, SES-48: an item supersedes a dead letter that is tried again beside another item with its key")
    func retriedBesideANewerOne() throws {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var disk = Disk<OutboundEffect>()
        var queue = try outbound(limits)
        func submit(_ transition: OutboundTransition) {
            disk.submit(transition.changes, transition.effects)
            _ = disk.commitNext()
        }
        submit(try queue.enqueue(item(1, supersedes: "key"), at: reading(0)))
        submit(queue.linkOpened(received: 0, at: reading(0)))
        submit(queue.refused(identifier(1), at: reading(0)))
        submit(queue.ended(1, .withdrawn(.dead), at: reading(0)))
        queue.linkClosed()
        submit(try queue.enqueue(item(2, supersedes: "key"), at: reading(0)))
        let letters = queue.deadLetters
        submit(queue.retryDeadLetter(try #require(letters.first).ordinal, at: reading(0)))
        var restarted = try disk.outboundQueue(at: reading(1), limits: limits)
        for _ in 0..<2 {
            let newest = try queue.enqueue(item(3, supersedes: "key"), at: reading(1))
            #expect(newest.finished == [.withdrawn(.superseded), .withdrawn(.superseded)])
            #expect(queue.outstanding().map(\.id) == [identifier(3)])
            swap(&queue, &restarted)
        }
    }

    @Test("DEL-24, DEL-23: a dead letter that is tried again is the current one of its kind until a newer one is")
    func retriedAndCurrent() throws {
        var queue = try retriedQueue(item(1, kind: "k"))
        #expect(queue.record(of: identifier(1))?.isCurrent == true)
        _ = try queue.enqueue(item(2, kind: "k"), at: reading(0))
        #expect(queue.record(of: identifier(1))?.isCurrent == false)
        #expect(queue.record(of: identifier(2))?.isCurrent == true)
    }

    @Test("DEL-22: the second end of a dead letter that was acknowledged releases what waits for it, and is no news")
    func secondEnd() throws {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var queue = try sentQueue(1, limits: limits)
        _ = queue.refused(identifier(1), at: reading(0))
        _ = queue.ended(1, .withdrawn(.dead), at: reading(0))
        _ = queue.forget(identifier(1), at: reading(0))
        let letters = queue.deadLetters
        _ = queue.retryDeadLetter(try #require(letters.first).ordinal, at: reading(0))
        let ended = queue.ended(2, .handled, at: reading(0))
        #expect(ended.effects.contains(.finishedSilently(identifier(1))) && ended.finished.isEmpty)
    }

    @Test("LIM-25: a dead letter of the sender that a newer one pushes out is reported to the log")
    func pushedOutLetter() throws {
        var limits = DeliveryLimits()
        (limits.attempts, limits.deadLetters) = (1, 1)
        var queue = try sentQueue(2, limits: limits)
        _ = queue.refused(identifier(1), at: reading(0))
        _ = queue.ended(1, .withdrawn(.dead), at: reading(0))
        _ = queue.refused(identifier(2), at: reading(0))
        let ended = queue.ended(2, .withdrawn(.dead), at: reading(0))
        #expect(ended.effects.contains(.letterDropped(identifier(1))))
    }

    @Test("DEL-24: an item that is a dead letter of its sender a second time is told to the log a second time")
    func secondLetter() throws {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var queue = try sentQueue(1, limits: limits)
        for sequence in 1...2 as ClosedRange<UInt64> {
            _ = queue.refused(identifier(1), at: reading(0))
            let ended = queue.ended(sequence, .withdrawn(.dead), at: reading(0))
            #expect(ended.effects.contains(.deadLetter(identifier(1), nil)))
            let letters = queue.deadLetters
            _ = queue.retryDeadLetter(try #require(letters.first).ordinal, at: reading(0))
        }
    }
}
