// Shared limit of many queues (LIM-38): however many names an app or a peer uses, it gets no more.

import TandemBase
import TandemDaemon
import TandemDelivery
import TandemReactor
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct BudgetTests {
    private let scheduler = ManualScheduler()
    private let pairing = UniqueIdentifier.random()

    private func delivery(
        records: Int = 4, bytes: Int = 1000, share: Int = 1000, user: Int = 1000, of pairings: [UniqueIdentifier] = [],
        userOf: @escaping (ApplicationIdentifier) -> UInt32? = { _ in nil }
    ) -> DurableDelivery {
        var limits = ItemBudgetLimits()
        limits.pairing = KeptAmount(records: records, bytes: bytes)
        limits.share = KeptAmount(records: share, bytes: 1000)
        limits.user = KeptAmount(records: user, bytes: 1000)
        let delivery = DurableDelivery(
            store: LoopStore(MemoryStore(), on: scheduler), scheduler: scheduler, budgets: limits,
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
}
