// Shared limit of many queues (LIM-38): however many names an app or a peer uses, it gets no more.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct BudgetTests {
    private let scheduler = ManualScheduler()
    private let pairing = UniqueIdentifier.random()

    private func delivery(
        records: Int = 4, bytes: Int = 1000, share: Int = 1000, user: Int = 1000, of pairings: [UniqueIdentifier] = [],
        in store: MemoryStore = MemoryStore(), userOf: @escaping (ApplicationIdentifier) -> UInt32? = { _ in nil }
    ) -> DurableDelivery {
        var limits = ItemBudgetLimits()
        limits.pairing = KeptAmount(records: records, bytes: bytes)
        limits.share = KeptAmount(records: share, bytes: 1000)
        limits.user = KeptAmount(records: user, bytes: 1000)
        let delivery = DurableDelivery(
            store: LoopStore(store, on: scheduler), scheduler: scheduler, budgets: limits,
            userOf: userOf)
        for pairing in [pairing] + pairings { delivery.setPairing(pairing, epoch: 1) }
        return delivery
    }

    private func key(_ app: String, _ channel: Channel = .userInfo, _ pairing: UniqueIdentifier? = nil) throws
        -> QueueKey
    {
        QueueKey(
            pairing: pairing ?? self.pairing, app: try ApplicationIdentifier("org.example.\(app)"), channel: channel)
    }

    private func submit(_ item: OutboundItem, to key: QueueKey, _ delivery: DurableDelivery) -> DeliveryFailure? {
        var answer: Result<SubmitReceipt, DeliveryFailure>?
        delivery.submissions.submit(item, to: key) { answer = $0 }
        scheduler.run()
        guard case .failure(let failure)? = answer else {
            #expect(answer != nil, "one answer")
            return nil
        }
        return failure
    }

    @Test("LIM-38: all queues of a pairing share a number of items")
    func recordsOfAPairing() throws {
        let delivery = delivery()
        let first = payloadItem(1)
        for (app, channel) in [("a", Channel.userInfo), ("b", .context), ("c", .urgent)] {
            #expect(submit(payloadItem(1), to: try key(app, channel), delivery) == nil)
        }
        #expect(submit(first, to: try key("d"), delivery) == nil, "the last one that has room")
        let full = DeliveryFailure.full(
            QueueFull(KeptAmount(records: 4, bytes: 4), of: KeptAmount(records: 4, bytes: 1000)))
        #expect(submit(payloadItem(2), to: try key("e"), delivery) == full)
        #expect(submit(payloadItem(2), to: try key("e", .context), delivery) == full)
        #expect(submit(payloadItem(2), to: try key("e", .urgent), delivery) == full)
        #expect(submit(first, to: try key("d"), delivery) == nil, "what is known is no new item")
        #expect(submit(payloadItem(2), to: try key("e", .configuration), delivery) == nil, "an operator's is apart")
    }

    @Test("SES-2, LIM-52: a hello names one queue in `sent`, however many apps have sent something")
    func oneSentPosition() throws {
        let delivery = delivery(records: 100)
        delivery.linkOpened(pairing, received: [])
        #expect(delivery.positions(of: pairing).sent.isEmpty)
        for number in 0..<20 { #expect(submit(payloadItem(number), to: try key("app\(number)"), delivery) == nil) }
        #expect(delivery.positions(of: pairing).sent.map(\.sequence) == [1])
    }

    @Test("LIM-38: all queues of a pairing share bytes, and what goes makes room")
    func bytesOfAPairing() throws {
        let delivery = delivery(bytes: 10)
        let item = OutboundItem(id: .random(), payload: [1, 2, 3, 4, 5, 6])
        #expect(submit(item, to: try key("a"), delivery) == nil)
        let second = OutboundItem(id: .random(), payload: [1, 2, 3, 4, 5])
        #expect(
            submit(second, to: try key("b"), delivery)
                == .full(
                    QueueFull(KeptAmount(records: 1, bytes: 6), of: KeptAmount(records: 4, bytes: 10))))
        delivery.submissions.cancel(item.id, in: try key("a")) { _ in }
        scheduler.run()
        #expect(submit(second, to: try key("b"), delivery) == nil)
    }

    @Test("LIM-38: ends that nobody hears of count, and are forgotten with their pairing")
    func endsCount() throws {
        let other = UniqueIdentifier.random()
        let delivery = delivery(user: 4, of: [other], userOf: { _ in 1000 })
        for number in 0..<4 {
            let item = payloadItem(number)
            #expect(submit(item, to: try key("a"), delivery) == nil)
            delivery.submissions.cancel(item.id, in: try key("a")) { _ in }
        }
        scheduler.run()
        #expect(submit(payloadItem(5), to: try key("b"), delivery) != nil)
        #expect(submit(payloadItem(5), to: try key("b", .userInfo, other), delivery) != nil, "of all pairings")
        delivery.removePairing(pairing)
        #expect(submit(payloadItem(5), to: try key("b", .userInfo, other), delivery) == nil)
    }

    @Test("LIM-38: a user's apps leave others their room")
    func usersShare() throws {
        let mine = try key("a").app
        let delivery = delivery(share: 2, userOf: { $0 == mine ? 1000 : 1001 })
        for number in 0..<2 { #expect(submit(payloadItem(number), to: try key("a"), delivery) == nil) }
        #expect(submit(payloadItem(2), to: try key("a", .urgent), delivery) != nil)
        for number in 0..<2 { #expect(submit(payloadItem(number), to: try key("b"), delivery) == nil) }
        #expect(submit(payloadItem(3), to: try key("b"), delivery) != nil, "the pairing's is spent")
    }

    @Test("LIM-38, DEL-3: what a peer sends under ever new names finds no room either, and comes again")
    func aPeersNames() throws {
        let delivery = delivery(records: 2)
        delivery.linkOpened(pairing, received: [])
        func send(_ app: String, _ kind: FrameKind, _ channel: Channel = .userInfo) throws -> UInt64 {
            let queue = try key(app, channel)
            let item = Envelope(
                kind, app: queue.app, pairing: pairing, id: kind == .item ? .random() : nil, channel: channel,
                sequence: 1, name: kind == .gap ? "cancelled" : nil, revision: 1, body: kind == .item ? [1] : nil)
            #expect(delivery.receive(item))
            scheduler.run()
            return delivery.positions(of: pairing).received.first { $0.key == queue }?.sequence ?? 0
        }
        #expect(try send("a", .item) == 1)
        #expect(try send("b", .gap) == 1, "a gap is kept until it is settled")
        #expect(try send("c", .item) == 0)
        #expect(try send("d", .gap) == 0)
        #expect(try send("e", .item, .context) == 0)
        let settled = Envelope(
            .outcomeAck, app: try key("b").app, pairing: pairing, channel: .userInfo, sequence: 1)
        #expect(delivery.receive(settled))
        scheduler.run()
        #expect(try send("c", .item) == 1, "there is room again")
    }

    // MARK: ledgers

    /// A peer's gap, after which its queue keeps an outcome until that is acknowledged.
    /// - Returns: the queue's watermark.
    private func gap(_ sequence: UInt64 = 1, in key: QueueKey, _ delivery: DurableDelivery) -> UInt64 {
        let gap = Envelope(
            .gap, app: key.app, pairing: pairing, channel: key.channel, sequence: sequence, name: "cancelled")
        #expect(delivery.receive(gap))
        scheduler.run()
        return delivery.positions(of: pairing).received.first { $0.key == key }?.sequence ?? 0
    }

    private func acknowledge(_ sequence: UInt64 = 1, in key: QueueKey, _ delivery: DurableDelivery) {
        let settled = Envelope(.outcomeAck, app: key.app, pairing: pairing, channel: key.channel, sequence: sequence)
        #expect(delivery.receive(settled))
        scheduler.run()
    }

    @Test("DEL-46, LIM-11: queues of which only the watermark is left leave room for those of further apps")
    func emptyLedgers() throws {
        let delivery = delivery(records: 1000)
        delivery.linkOpened(pairing, received: [])
        for number in 0..<Limits.applications + 50 {
            let queue = try key("app\(number)")
            #expect(gap(in: queue, delivery) == 1)
            acknowledge(in: queue, delivery)
        }
        #expect(delivery.positions(of: pairing).received.count == Limits.applications + 50, "no watermark is forgotten")
        #expect(delivery.arrivals.crowded.isEmpty)
    }

    @Test("DEL-46, LIM-11: of queues that keep something a channel has as many as a device has apps")
    func occupiedLedgers() throws {
        let delivery = delivery(records: 1000)
        delivery.linkOpened(pairing, received: [])
        let keys = try (0...Limits.applications).map { try key("app\($0)") }
        for key in keys.dropLast() { #expect(gap(in: key, delivery) == 1) }
        let last = keys[Limits.applications]
        #expect(gap(in: last, delivery) == 0 && delivery.arrivals.crowded == [pairing])
        #expect(gap(in: try key("app", .urgent), delivery) == 1, "another channel")
        acknowledge(in: keys[0], delivery)
        #expect(delivery.arrivals.crowded.isEmpty)
        #expect(gap(in: last, delivery) == 1, "there is room again")
        #expect(gap(2, in: keys[0], delivery) == 1, "an empty queue needs room, too")
        #expect(gap(2, in: keys[1], delivery) == 2)
    }

    @Test("DEL-46, CTL-12: a pairing is crowded while an item waits for its queue, be it empty or not begun")
    func crowdedPairings() throws {
        let delivery = delivery(records: 1000)
        delivery.linkOpened(pairing, received: [])
        let (empty, further) = (try key("empty"), try key("further"))
        #expect(gap(in: empty, delivery) == 1)
        acknowledge(in: empty, delivery)
        for number in 0..<Limits.applications { #expect(gap(in: try key("app\(number)"), delivery) == 1) }
        #expect(delivery.arrivals.crowded.isEmpty)
        for (queue, sequence) in [(empty, UInt64(2)), (further, 1)] {
            #expect(gap(sequence, in: queue, delivery) == sequence - 1)
            #expect(delivery.arrivals.crowded == [pairing])
            scheduler.advance(by: .seconds(60))
            #expect(delivery.arrivals.crowded == [pairing], "it may come again")
            scheduler.advance(by: .seconds(1))
            #expect(delivery.arrivals.crowded.isEmpty, "its app is gone")
        }
        #expect(gap(2, in: empty, delivery) == 1 && delivery.arrivals.crowded == [pairing])
        acknowledge(in: try key("app0"), delivery)
        #expect(delivery.arrivals.crowded.isEmpty)
    }

    @Test("DEL-46, LIM-11: a queue that keeps a received context counts, also once its item has ended")
    func contextsInLedgers() throws {
        let delivery = delivery(records: 1000)
        delivery.linkOpened(pairing, received: [])
        let keys = try (0...Limits.applications).map { try key("app\($0)", .context) }
        for key in keys {
            let item = Envelope(
                .item, app: key.app, pairing: pairing, id: .random(), channel: .context, sequence: 1, revision: 1,
                body: [1])
            #expect(delivery.receive(item))
            _ = gap(in: key, delivery)
            acknowledge(in: key, delivery)
        }
        let received = Set(delivery.positions(of: pairing).received.map(\.key))
        #expect(received == Set(keys.dropLast()))
    }

    @Test("DEL-46, LIM-150: a peer that names ever new apps gets as many queues as a hello has room for")
    func ledgersInAHello() throws {
        let delivery = delivery(records: 1000)
        delivery.linkOpened(pairing, received: [])
        for number in 0..<mostLong + 20 { try use(1000 + number, delivery) }
        #expect(delivery.positions(of: pairing).received.count == mostLong)
        #expect(delivery.arrivals.crowded == [pairing])
        delivery.removePairing(pairing)
        #expect(delivery.arrivals.crowded.isEmpty)
    }

    /// Queues with the longest names for which a hello has room (LIM-150).
    private let mostLong = 126_976 / (128 + 40)

    @Test("DEL-46, LIM-150: a queue of files keeps its room, since the beginning of a file may be here")
    func ledgersOfFiles() throws {
        let delivery = delivery(records: 0)
        for number in 0..<mostLong + 1 {
            let name = String(repeating: "a", count: 124) + "\(1000 + number)"
            let key = QueueKey(pairing: pairing, app: try ApplicationIdentifier(name), channel: .file)
            #expect(delivery.isNext(1, in: key) == (number < mostLong))
        }
        #expect(delivery.arrivals.crowded == [pairing])
    }

    /// A peer's gap for the queue of an app with the longest name, and the acknowledgement of its outcome.
    private func use(_ number: Int, sequence: UInt64 = 1, _ delivery: DurableDelivery) throws {
        let name = String(repeating: "a", count: 124) + "\(number)"
        let key = QueueKey(pairing: pairing, app: try ApplicationIdentifier(name), channel: .userInfo)
        let gap = Envelope(
            .gap, app: key.app, pairing: pairing, channel: .userInfo, sequence: sequence, name: "cancelled")
        #expect(delivery.receive(gap))
        acknowledge(sequence, in: key, delivery)
    }

    @Test("DEL-46, LIM-150: queues of a former epoch, and those that have not begun, leave their room to others")
    func ledgersWithoutAWatermark() throws {
        let store = MemoryStore()
        let delivery = delivery(records: 1000, in: store)
        for epoch in 1...3 {
            delivery.setPairing(pairing, epoch: UInt64(epoch))
            delivery.linkOpened(pairing, received: [])
            scheduler.advance(by: .seconds(1))
            #expect(delivery.positions(of: pairing).received.isEmpty)
            for number in 0..<mostLong { try use(1000 * (epoch + 3) + number, sequence: 2, delivery) }
            for number in 0..<mostLong { try use(1000 * epoch + number, delivery) }
            scheduler.advance(by: .seconds(1))
            #expect(delivery.positions(of: pairing).received.count == mostLong)
            #expect(delivery.arrivals.crowded.isEmpty)
            let headers = RowSpace(rawValue: 16 + DeliveryTable.inboundHeader.rawValue)
            #expect(store.read(RowRange(space: headers)).count == mostLong)
        }
    }
}
