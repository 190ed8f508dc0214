// Dead letters in both directions: listed, tried once more, dropped, bounded.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct DeadLetterTests {
    private let pair: DeliveryPair
    private var sender: MemoryDevice { pair.sender }
    private var receiver: MemoryDevice { pair.receiver }

    init() throws { pair = try DeliveryPair(limits: DeliveryLimits.standard(with: \.deadLetters, 3)) }

    private func act(_ action: DeadLetterAction, on device: MemoryDevice) -> Bool? {
        guard let letter = device.delivery.deadLetters().first else { return nil }
        var answer: Bool?
        device.delivery.act(action, on: letter.ordinal, in: letter.queue, letter.direction) { answer = $0 == .done }
        pair.scheduler.run()
        return answer
    }

    @Test("DEL-11, DEL-24: what a handler fails at five times is listed here, ends there, and can be tried and dropped")
    func inbound() throws {
        sender.link()
        receiver.verdict = { _ in .failed }
        let items = [payloadItem(1, topic: "t"), payloadItem(2)]
        for item in items { sender.submit(item, to: .userInfo) }
        pair.advance(120)
        #expect(receiver.received.count == 10)
        #expect(items.allSatisfy { sender.endings[$0.id] == [.withdrawn(.dead)] })
        try receiver.restart()
        sender.link()
        let letters = receiver.delivery.deadLetters()
        #expect(letters.map(\.id) == items.map(\.id) && letters.map(\.attempts) == [5, 5])
        #expect(letters.map(\.direction) == [.inbound, .inbound] && letters.map(\.topic) == ["t", nil])
        receiver.verdict = { _ in .handled }
        #expect(act(.retry, on: receiver) == true)
        #expect(receiver.received.last?.number == 1 && receiver.delivery.deadLetters().count == 1)
        #expect(act(.drop, on: receiver) == true)
        #expect(act(.drop, on: receiver) == nil)
        #expect(sender.endings[items[0].id] == [.withdrawn(.dead)], "for its sender it had ended")
        #expect(receiver.memory.read(RowRange(space: DeliveryTable.inboundItem.space)).isEmpty)
    }

    @Test("CTL-22: a dead letter that is tried again may wait for an app that is away")
    func retriedForAnAbsentApp() {
        sender.link()
        receiver.verdict = { _ in .failed }
        for number in 1...2 { sender.submit(payloadItem(number), to: .userInfo) }
        pair.advance(120)
        receiver.delivery.arrivals.consumerLeft(receiver.app)
        #expect(act(.drop, on: receiver) == true && receiver.mayWait.isEmpty)
        #expect(act(.retry, on: receiver) == true && receiver.mayWait == [receiver.app])
    }

    @Test(
        "FIL-14, DEL-24: a dead letter's file goes when it is dropped, pushed out or handled after all, and not before")
    func files() {
        sender.link()
        receiver.verdict = { _ in .failed }
        let items = (1...4).map { payloadItem($0) }
        for item in items { sender.submit(item, to: .file) }
        pair.advance(300)
        // A file of the window of one leaves the sender when it is stored; the fourth letter pushes out the first.
        #expect(Set(sender.released.map(\.id)) == Set(items.map(\.id)))
        #expect(receiver.released.map(\.id) == [items[0].id])
        #expect(act(.drop, on: receiver) == true)
        receiver.verdict = { _ in .handled }
        #expect(act(.retry, on: receiver) == true)
        #expect(receiver.released.map(\.id) == items.prefix(3).map(\.id))
    }

    @Test("FIL-14: the file of a received item goes when its time is over before its app comes")
    func expires() {
        receiver.delivery.arrivals.consumerLeft(receiver.app)
        sender.link()
        let item = payloadItem(1, lifetime: .seconds(60))
        sender.submit(item, to: .file)
        #expect(receiver.released.isEmpty)
        pair.advance(61)
        #expect(receiver.released.map(\.id) == [item.id])
    }

    @Test("FIL-14, DEL-24: what the peer refuses keeps its file until it is dropped, also when its end was heard")
    func refusedFiles() {
        sender.link()
        receiver.copies = { _ in 0 }
        sender.copies = { _ in 0 }
        let item = payloadItem(1)
        sender.submit(item, to: .file)
        refuse(item)
        #expect(sender.released.isEmpty)
        sender.copies = { _ in 1 }
        receiver.copies = { _ in 1 }
        pair.heal()
        #expect(sender.endings[item.id] == [.withdrawn(.dead)] && sender.released.isEmpty)
        #expect(act(.drop, on: sender) == true)
        #expect(sender.released.map(\.id) == [item.id])
    }

    private func refuse(_ item: OutboundItem) {
        for _ in 0..<5 {
            #expect(sender.hearsRefusal(of: item.id, code: 7015, "insufficient-space"))
            pair.advance(20)
        }
    }

    @Test("DEL-12, DEL-24: what the peer refuses five times is listed, keeps its body, and can be sent again")
    func outbound() throws {
        sender.link()
        sender.copies = { $0.kind == .item ? 0 : 1 }
        let items = [payloadItem(1), payloadItem(2)]
        for item in items {
            sender.submit(item, to: .file)
            refuse(item)
        }
        #expect(items.allSatisfy { sender.endings[$0.id] == [.withdrawn(.dead)] })
        try sender.restart()
        let letters = sender.delivery.deadLetters()
        #expect(letters.map(\.id) == items.map(\.id) && letters.map(\.refusal?.code) == [7015, 7015])
        #expect(letters.map(\.refusal?.name) == ["insufficient-space", "insufficient-space"])
        sender.copies = { _ in 1 }
        #expect(act(.retry, on: sender) == true)
        pair.heal()
        #expect(receiver.received.map(\.number) == [1])
        #expect(sender.endings[items[0].id] == [.withdrawn(.dead)], "its submitter had heard")
        #expect(act(.drop, on: sender) == true)
        try sender.restart()
        #expect(sender.delivery.deadLetters().isEmpty)
        #expect(sender.memory.read(RowRange(space: DeliveryTable.outboundItem.space)).isEmpty)
        let known = items.map { sender.delivery.submissions.record(of: $0.id, in: sender.key(.file))?.record }
        #expect(known.map(\.?.isAcknowledged) == [true, true] && known.map(\.?.size) == [0, 0], "DEL-33")
    }

    @Test("LIM-25: dead letters are bounded, the oldest goes first, with its body, and the log says which")
    func bounded() throws {
        sender.link()
        receiver.verdict = { _ in .failed }
        let items = (1...5).map { payloadItem($0) }
        for item in items { sender.submit(item, to: .userInfo) }
        for _ in 0..<10 { pair.advance(60) }
        #expect(receiver.delivery.deadLetters().count == 3)
        let dropped = receiver.lines.all.filter { "\($0.message)".hasPrefix("the oldest dead letter is dropped") }
        #expect(dropped.compactMap(\.fields.last) == items.prefix(2).map { LogField.text("id", "\($0.id)") })
        let bodies = receiver.memory.read(RowRange(space: DeliveryTable.inboundItem.space)).map(\.value.last)
        #expect(bodies == [51, 52, 53])
    }

    @Test("CTL-16, CTL-63: of dead letters as many are made as an answer takes, by queue, and the others are counted")
    func firstOnes() throws {
        sender.link()
        receiver.verdict = { _ in .failed }
        for number in 1...2 { sender.submit(payloadItem(number), to: .userInfo) }
        for number in 3...4 { sender.submit(payloadItem(number), to: .urgent) }
        for _ in 0..<10 { pair.advance(60) }
        let all = receiver.delivery.deadLetters()
        try #require(all.count == 4)
        for limit in 0...5 {
            let (letters, more) = receiver.delivery.deadLetters(of: nil, atMost: limit)
            #expect(letters == Array(all.prefix(limit)) && more == 4 - letters.count, "\(limit)")
        }
        let known = receiver.delivery.deadLetters(of: all[0].queue.app, atMost: 1)
        #expect(known.letters == [all[0]] && known.more == 3)
        let stranger = receiver.delivery.deadLetters(of: try ApplicationIdentifier("app.other"), atMost: 1)
        #expect(stranger.letters.isEmpty && stranger.more == 0)
    }
}
