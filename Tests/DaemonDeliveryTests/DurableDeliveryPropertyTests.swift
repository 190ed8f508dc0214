// Invariants of every schedule: order, barriers, one end for each item, one handling, whichever frames are lost or
// repeated and however the clock is set.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct DurableDeliveryPropertyTests {
    private static let channels: [Channel] = [.userInfo, .urgent, .file, .configuration]

    @Test("DEL-2, DEL-22: order in each channel, and items wait for the end of the one they name", arguments: 0..<12)
    func orderAndBarriers(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let pair = try DeliveryPair()
        var events: [MemoryDevice.Event] = []
        for device in [pair.sender, pair.receiver] { device.log = { events.append($0) } }
        // One that fails at each of its attempts would be a dead letter (DEL-11), which is another test's.
        var failed: Set<UniqueIdentifier> = []
        pair.receiver.verdict = { item in
            Int.random(in: 0..<10, using: &generator) == 0 && failed.insert(item.id).inserted ? .failed : .handled
        }
        for device in [pair.sender, pair.receiver] {
            device.copies = { _ in [0, 1, 1, 1, 1, 1, 1, 2].randomElement(using: &generator) ?? 1 }
        }
        var accepted: [(item: OutboundItem, channel: Channel)] = []
        for number in 0..<120 {
            let after =
                Int.random(in: 0..<4, using: &generator) == 0
                ? accepted.randomElement(using: &generator)?.item.id ?? .random() : nil
            let channel = Self.channels.randomElement(using: &generator) ?? .userInfo
            let item = payloadItem(number, after: after)
            pair.sender.submit(item, to: channel)
            accepted.append((item, channel))
            try disturb(pair, Int.random(in: 0..<24, using: &generator))
        }
        pair.receiver.verdict = { _ in .handled }
        for _ in 0..<8 { pair.heal() }
        check(events, accepted, pair)
    }

    private func disturb(_ pair: DeliveryPair, _ event: Int) throws {
        switch event {
        case 0: try pair.sender.restart()
        case 1: try pair.receiver.restart()
        case 2: pair.sender.unlink()
        case 3...8: pair.sender.link()
        case 9: pair.advance(31)
        case 10...14: pair.advance(1)
        default: break
        }
    }

    private func check(
        _ events: [MemoryDevice.Event], _ accepted: [(item: OutboundItem, channel: Channel)], _ pair: DeliveryPair
    ) {
        for channel in Self.channels {
            let expected = accepted.filter { $0.channel == channel }.map(\.item.id)
            var first: [UniqueIdentifier] = []
            for item in pair.receiver.received where item.queue.channel == channel && !first.contains(item.id) {
                first.append(item.id)
            }
            #expect(first == expected, "FIFO of \(channel)")
        }
        for (item, _) in accepted {
            #expect(Set(pair.sender.endings[item.id] ?? []) == [.handled], "one end")
            guard let after = item.after, let start = events.firstIndex(of: .received(item.id)),
                accepted.contains(where: { $0.item.id == after })
            else { continue }
            let end = events.firstIndex(of: .ended(after))
            #expect(end.map { $0 < start } == true, "the one it waited for had ended")
        }
    }

    @Test(
        "DEL-6: items that are cancelled in any order while more come hold up nothing, and each ends once",
        arguments: 0..<12)
    func cancelledItems(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let directory = TemporaryDirectory()
        let pair = try DeliveryPair(in: directory)
        let key = pair.sender.key(.userInfo)
        pair.sender.link()
        var (kept, cancelled, open): ([UniqueIdentifier], [UniqueIdentifier], [UniqueIdentifier]) = ([], [], [])
        for number in 0..<400 {
            let item = payloadItem(number)
            pair.sender.delivery.submissions.submit(item, to: key) { _ in }
            if Int.random(in: 0..<4, using: &generator) == 0 { kept.append(item.id) } else { open.append(item.id) }
            while open.count > Int.random(in: 0..<40, using: &generator) {
                let id = open.remove(at: Int.random(in: open.indices, using: &generator))
                pair.sender.delivery.submissions.cancel(id, in: key) { _ in }
                cancelled.append(id)
            }
            if Int.random(in: 0..<3, using: &generator) == 0 { pair.scheduler.run() }
        }
        for id in open { pair.sender.delivery.submissions.cancel(id, in: key) { _ in } }
        // No repetition is due so soon (LIM-16).
        for _ in 0..<100 {
            pair.sender.run()
            pair.scheduler.advance(by: .milliseconds(50))
        }
        #expect(pair.sender.delivery.submissions.outstanding(in: key).isEmpty)
        #expect(kept.allSatisfy { pair.sender.endings[$0] == [.handled] })
        #expect((cancelled + open).allSatisfy { pair.sender.endings[$0]?.count == 1 })
        let numbers = pair.receiver.received.map(\.number)
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
    }

    @Test("DEL-22: an item that waits for one that nobody knows, or that has ended, does not wait")
    func barrierOfNothing() throws {
        let pair = try DeliveryPair()
        pair.sender.link()
        let first = payloadItem(1)
        pair.sender.submit(first, to: .file)
        pair.sender.submit(payloadItem(2, after: first.id), to: .userInfo)
        pair.sender.submit(payloadItem(3, after: .random()), to: .userInfo)
        #expect(pair.receiver.received.map(\.number) == [1, 2, 3])
    }

    @Test("DEL-22: a barrier holds over restarts, holds what is behind it, and ends when its item is cancelled")
    func barrierOverRestarts() throws {
        let pair = try DeliveryPair()
        pair.receiver.verdict = { $0.number == 1 ? .none : .handled }
        let first = payloadItem(1)
        pair.sender.submit(first, to: .file)
        for number in [2, 3] {
            pair.sender.submit(payloadItem(number, after: number == 2 ? first.id : nil), to: .userInfo)
        }
        for _ in 0..<2 {
            try pair.sender.restart()
            pair.sender.link()
            pair.advance(40)
            #expect(!pair.receiver.received.contains { $0.number != 1 })
        }
        pair.receiver.delivery.arrivals.consumerLeft(pair.receiver.app)
        pair.sender.delivery.submissions.cancel(first.id, in: pair.sender.key(.file)) { _ in }
        pair.receiver.delivery.arrivals.consumerArrived(pair.receiver.app, channels: [.userInfo])
        pair.advance(5)
        #expect(pair.receiver.received.map(\.number).suffix(2) == [2, 3])
    }

    @Test(
        "DEL-7, DEL-9: each frame that acknowledges may be lost, and every item still ends once and is handled once",
        arguments: [FrameKind.stored, .outcome, .outcomeAck, .item], 0..<6)
    func lostAcknowledgements(kind: FrameKind, place: Int) throws {
        let pair = try DeliveryPair()
        var seen = 0
        let loses: (Envelope) -> Int = { envelope in
            guard envelope.kind == kind else { return 1 }
            seen += 1
            return seen == place + 1 ? 0 : 1
        }
        for device in [pair.sender, pair.receiver] { device.copies = loses }
        pair.sender.link()
        let items = (0..<6).map { payloadItem($0) }
        for item in items { pair.sender.submit(item, to: .userInfo) }
        for _ in 0..<8 { pair.advance(31) }
        pair.heal()
        #expect(seen > place)
        #expect(
            pair.receiver.received.map(\.number) == Array(0..<6)
                && pair.receiver.received.allSatisfy { $0.attempt == 1 })
        #expect(items.allSatisfy { pair.sender.endings[$0.id] == [.handled] })
        #expect(pair.sender.outstanding(.userInfo).isEmpty)
    }

    @Test("DEL-3, DEL-7: each frame three times, before and after restarts of both, is handled once")
    func replay() throws {
        let pair = try DeliveryPair()
        var frames: [(MemoryDevice, Envelope)] = []
        for device in [pair.sender, pair.receiver] {
            device.copies = { [unowned device] envelope in
                frames.append((device, envelope))
                return 3
            }
        }
        pair.sender.link()
        let items = (0..<20).map { payloadItem($0) }
        for item in items { pair.sender.submit(item, to: .userInfo) }
        for device in [pair.sender, pair.receiver] {
            // That the ends were heard is durable by then (DEL-42).
            pair.scheduler.advance(by: .milliseconds(5))
            try device.restart()
            pair.sender.link()
            for (from, envelope) in frames { _ = from.other?.delivery.receive(envelope) }
            pair.scheduler.run()
        }
        #expect(pair.receiver.received.map(\.number) == Array(0..<20))
        #expect(items.allSatisfy { pair.sender.endings[$0.id] == [.handled] })
        #expect(pair.sender.violations == 0 && pair.receiver.violations == 0)
    }

    @Test(
        "DEL-8: a wall clock that jumps a year loses, repeats and expires nothing", arguments: [-1, 1], [false, true])
    func clockJumps(direction: Int64, withRestarts: Bool) throws {
        let pair = try DeliveryPair()
        let items = (0..<12).map { payloadItem($0, lifetime: .seconds(3600)) }
        for (number, item) in items.enumerated() {
            pair.sender.submit(item, to: .userInfo)
            if number == 3 { pair.sender.link() }
            if number == 6 { pair.sender.unlink() }
            guard number.isMultiple(of: 4) else { continue }
            let year = Duration.seconds(direction * 365 * 24 * 3600)
            pair.scheduler.setWallClock(pair.scheduler.wallNow + year)
            pair.advance(70)
            guard withRestarts else { continue }
            try pair.sender.restart()
            try pair.receiver.restart()
        }
        pair.heal()
        #expect(pair.receiver.received.map(\.number) == Array(0..<12))
        #expect(items.allSatisfy { Set(pair.sender.endings[$0.id] ?? []) == [.handled] })
    }
}
