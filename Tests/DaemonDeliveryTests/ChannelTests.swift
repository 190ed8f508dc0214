// Each durable channel's guarantees to an application, between two ends of durable delivery joined without a link.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct ChannelTests {
    private let pair: DeliveryPair
    private var sender: MemoryDevice { pair.sender }
    private var receiver: MemoryDevice { pair.receiver }

    init() throws { pair = try DeliveryPair() }

    @Test("DEL-5, DEL-15: an item tells its topic, age and time to live; stored comes before handled")
    func wayOfAnItem() {
        let item = payloadItem(7, topic: "login", lifetime: .seconds(100))
        #expect(sender.submit(item, to: .userInfo) == .success(SubmitReceipt()))
        pair.advance(10)
        var storedFirst: Bool?
        receiver.verdict = { [sender] _ in
            storedFirst = sender.stored == [item.id]
            return .none
        }
        sender.link()
        #expect(sender.stored == [item.id] && sender.endings.isEmpty, "stored, and not handled yet")
        #expect(receiver.received.map(\.topic) == ["login"] && receiver.received.map(\.number) == [7])
        #expect(receiver.received.first?.age == .seconds(10) && receiver.received.first?.remaining == .seconds(90))
        #expect(storedFirst != nil)
        receiver.verdict = { _ in .handled }
        if let first = receiver.received.first { receiver.answer(first) }
        pair.scheduler.run()
        #expect(sender.endings == [item.id: [.handled]])
    }

    @Test("DEL-14: what a peer sends on a channel in which the device takes no part does not read, and makes no queue")
    func noPart() throws {
        let store = LoopStore(MemoryStore(), on: pair.scheduler)
        let delivery = DurableDelivery(store: store, scheduler: pair.scheduler, channels: [.configuration])
        delivery.setPairing(pair.receiver.pairing, epoch: 1)
        for (channel, isTaken) in [(Channel.userInfo, false), (.file, false), (.configuration, true)] {
            let item = Envelope(
                .item, app: pair.receiver.app, pairing: pair.receiver.pairing, id: .random(), channel: channel,
                sequence: 1, body: [1])
            #expect(delivery.receive(item) == isTaken, "\(channel)")
        }
        pair.scheduler.run()
        #expect(delivery.queues.isEmpty)
    }

    @Test("DEL-16: an end is kept for the application until it has heard, over restarts, and not longer")
    func heard() throws {
        sender.hearsAtOnce = false
        let item = payloadItem(1)
        sender.submit(item, to: .userInfo)
        sender.link()
        receiver.verdict = { _ in .handled }
        for _ in 0..<3 {
            try sender.restart()
            #expect(
                sender.delivery.submissions.unacknowledged(in: sender.key(.userInfo), limit: .max).map(\.id) == [
                    item.id
                ])
        }
        sender.delivery.submissions.forget(item.id, in: sender.key(.userInfo))
        // LIM-75: the daemon may take so long to make that durable.
        pair.scheduler.advance(by: .milliseconds(5))
        try sender.restart()
        #expect(sender.delivery.submissions.queuesWithEnds(of: sender.app).isEmpty)
        #expect(sender.endings[item.id] == [.handled, .handled, .handled, .handled], "told at each start until heard")
    }

    @Test("DEL-17: items wait for the application's connection, drain in order, and come again when it goes away")
    func consumers() {
        receiver.delivery.arrivals.consumerLeft(receiver.app)
        sender.link()
        for number in 1...3 { sender.submit(payloadItem(number), to: .userInfo) }
        #expect(receiver.received.isEmpty && sender.stored.count == 3)
        receiver.verdict = { _ in .none }
        receiver.delivery.arrivals.consumerArrived(receiver.app, channels: [.context])
        pair.scheduler.run()
        #expect(receiver.received.isEmpty, "another channel's connection takes none")
        receiver.delivery.arrivals.consumerArrived(receiver.app, channels: [.userInfo])
        pair.scheduler.run()
        #expect(receiver.received.map(\.number) == [1], "one at a time")
        receiver.delivery.arrivals.consumerLeft(receiver.app)
        pair.advance(5)
        receiver.verdict = { _ in .handled }
        receiver.delivery.arrivals.consumerArrived(receiver.app, channels: [.userInfo])
        pair.advance(5)
        #expect(receiver.received.map(\.number) == [1, 1, 2, 3])
        #expect(receiver.received.map(\.attempt) == [1, 2, 1, 1], "a redelivery is marked")
    }

    @Test("DEL-18: items of a channel that the peer does not know wait for a link on which it does")
    func unknownChannel() {
        sender.link(channels: [.configuration])
        let item = payloadItem(1)
        sender.submit(item, to: .userInfo)
        pair.advance(100)
        #expect(receiver.received.isEmpty && sender.outstanding(.userInfo).count == 1)
        pair.heal()
        #expect(receiver.received.map(\.number) == [1] && sender.endings[item.id] == [.handled])
    }

    @Test("DEL-5, DEL-11: rejected tells its code; failed comes again after a pause")
    func verdicts() {
        sender.link()
        var verdicts: [MemoryDevice.Verdict] = [.failed, .failed, .rejected(7013), .handled]
        receiver.verdict = { _ in verdicts.removeFirst() }
        let items = [payloadItem(1), payloadItem(2)]
        for item in items { sender.submit(item, to: .userInfo) }
        #expect(receiver.received.count == 1)
        pair.advance(1)
        #expect(receiver.received.count == 2)
        pair.advance(2)
        #expect(receiver.received.map(\.number) == [1, 1, 1, 2])
        #expect(sender.endings == [items[0].id: [.rejected(code: 7013)], items[1].id: [.handled]])
        #expect(sender.codes[items[0].id] == 7013)
    }

    @Test("DEL-12, DEL-25: an item refused again and again is dead, and tells the code and name of the last refusal")
    func refusals() {
        receiver.delivery.removePairing(receiver.pairing)
        receiver.delivery.setPairing(receiver.pairing, epoch: 1)
        sender.link()
        sender.copies = { $0.kind == .item ? 0 : 1 }
        let item = payloadItem(1)
        sender.submit(item, to: .file)
        for code in [7015, 7001, 7015, 7001, 7014] {
            #expect(sender.hearsRefusal(of: item.id, code: code, code == 7014 ? "digest-mismatch" : nil))
            pair.advance(20)
        }
        #expect(!sender.hearsRefusal(of: .random(), code: 7014), "no such item")
        #expect(sender.endings[item.id] == [.withdrawn(.dead)] && sender.codes[item.id] == 7014)
        #expect(sender.refusals[item.id] == "digest-mismatch")
    }

    @Test("DEL-12, SES-51: a refusal concerns the item of the app and the channel that it names")
    func refusedByName() throws {
        receiver.delivery.removePairing(receiver.pairing)
        receiver.delivery.setPairing(receiver.pairing, epoch: 1)
        sender.link()
        // One identifier on two channels: the first is stored and waits for its end, the second has not arrived.
        let item = payloadItem(1)
        let id = item.id
        receiver.verdict = { _ in .none }
        sender.submit(item, to: .userInfo)
        pair.advance(1)
        sender.copies = { $0.kind == .item ? 0 : 1 }
        sender.submit(item, to: .file)
        #expect(!sender.hearsRefusal(of: id, code: 7014, app: try ApplicationIdentifier("org.example.other")))
        for _ in 0..<5 {
            #expect(sender.hearsRefusal(of: id, code: 7014))
            pair.advance(20)
        }
        #expect(sender.delivery.deadLetters().map(\.queue.channel) == [.file])
    }

    @Test("DEL-6: cancelling tells what came of it, and the peer hears")
    func cancelling() {
        let items = (1...3).map { payloadItem($0) }
        func cancel(_ id: UniqueIdentifier) -> Cancellation? {
            var answers: [Cancellation] = []
            sender.delivery.submissions.cancel(id, in: sender.key(.userInfo)) { answers.append($0) }
            #expect(answers.isEmpty)
            pair.scheduler.run()
            #expect(answers.count == 1)
            return answers.first
        }
        #expect(cancel(items[0].id) == .unknown)
        for item in items { sender.submit(item, to: .userInfo) }
        #expect(cancel(items[0].id) == .cancelled)
        receiver.verdict = { _ in .none }
        sender.link()
        #expect(cancel(items[2].id) == .asked)
        #expect(sender.endings[items[2].id] == [.withdrawn(.cancelled)], "it waited at the peer")
        sender.hearsAtOnce = false
        receiver.verdict = { _ in .handled }
        if let first = receiver.received.first { receiver.answer(first) }
        pair.scheduler.run()
        #expect(cancel(items[1].id) == .tooLate(.handled))
        #expect(receiver.received.map(\.number) == [2])
    }

    @Test("DEL-8, DEL-2: what expired or was superseded never reaches the handler")
    func expiredAndSuperseded() {
        let expired = payloadItem(1, lifetime: .seconds(5))
        let out = payloadItem(2, key: "sign")
        let back = payloadItem(3, key: "sign")
        for item in [expired, out, back] { sender.submit(item, to: .userInfo) }
        receiver.delivery.arrivals.consumerLeft(receiver.app)
        let parked = payloadItem(4, lifetime: .seconds(20))
        sender.submit(parked, to: .userInfo)
        pair.advance(6)
        sender.link()
        pair.advance(20)
        receiver.delivery.arrivals.consumerArrived(receiver.app, channels: [.userInfo])
        pair.advance(5)
        #expect(receiver.received.map(\.number) == [3])
        #expect(
            sender.endings[expired.id] == [.withdrawn(.expired)] && sender.endings[parked.id] == [.withdrawn(.expired)])
        #expect(sender.endings[out.id] == [.withdrawn(.superseded)] && sender.endings[back.id] == [.handled])
    }

    @Test("LIM-14: a queue takes its limit and not one more, and room comes back", arguments: [9, 10, 11])
    func quotas(count: Int) throws {
        let pair = try DeliveryPair(limits: DeliveryLimits.standard(with: \.items, 10))
        var results: [Result<SubmitReceipt, DeliveryFailure>?] = []
        for number in 1...count { results.append(pair.sender.submit(payloadItem(number), to: .userInfo)) }
        #expect(results.prefix(10).allSatisfy { $0 == .success(SubmitReceipt()) })
        if count == 11 {
            guard case .failure(.full(let full))? = results[10], full.exceeded == (10, 10)
            else { throw Unexpected("the eleventh was taken") }
        }
        pair.sender.link()
        #expect(pair.receiver.received.map(\.number) == Array(1...min(count, 10)))
        #expect(pair.sender.submit(payloadItem(0), to: .userInfo) == .success(SubmitReceipt()))
    }

    @Test("A pairing that is gone takes nothing")
    func unpaired() {
        sender.delivery.removePairing(sender.pairing)
        #expect(sender.submit(payloadItem(1), to: .userInfo) == .failure(.unpaired))
    }

    @Test("DEL-1: what is submitted while a queue is read back hears that its pairing has ended")
    func endedWhileReadingBack() {
        // After a second failure in a row it waits for a second.
        sender.memory.failNext([.overloaded(path: "disk", limit: 1), .overloaded(path: "disk", limit: 1)])
        for number in 1...2 { sender.submit(payloadItem(number), to: .userInfo) }
        var answers: [Result<SubmitReceipt, DeliveryFailure>] = []
        sender.delivery.submissions.submit(payloadItem(3), to: sender.key(.userInfo)) { answers.append($0) }
        pair.scheduler.run()
        #expect(answers.isEmpty)
        sender.delivery.removePairing(sender.pairing)
        pair.advance(5)
        #expect(answers.count == 1)
    }

    @Test("DEL-1: an item that is submitted again is accepted when it is durable, not when it is known")
    func confirmed() {
        let (kept, lost) = (payloadItem(1), payloadItem(2))
        sender.submit(kept, to: .userInfo)
        sender.memory.failNext([.full(path: "disk")])
        sender.delivery.submissions.submit(lost, to: sender.key(.userInfo)) { _ in }
        #expect(sender.delivery.submissions.hasAccepted(lost.id, in: sender.key(.userInfo)))
        var answers: [Bool] = []
        for id in [lost.id, kept.id] {
            sender.delivery.submissions.answerAgain(id, in: sender.key(.userInfo)) {
                answers.append((try? $0.get()) != nil)
            }
        }
        #expect(answers.isEmpty)
        pair.advance(5)
        sender.delivery.submissions.answerAgain(kept.id, in: sender.key(.userInfo)) {
            answers.append((try? $0.get()) != nil)
        }
        pair.advance(5)
        #expect(answers == [false, false, true])
    }
}
