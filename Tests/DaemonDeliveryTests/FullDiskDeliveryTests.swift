// Durable delivery on a full disk: new items are refused, and what makes room or ends items goes on with the reserve.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemPropertyList
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FullDiskDeliveryTests {
    private let device: OneDevice

    init() throws { device = try OneDevice() }

    private func waiting() -> [UniqueIdentifier] {
        device.delivery.submissions.outstanding(in: device.queue).map(\.id)
    }

    @Test("DEL-31: a full disk refuses new items, and takes outcomes and cancels, also while items keep coming")
    func outcomesAndCancels() throws {
        let app = try device.simulation.app(.primary, receives: false)
        let ids = (0..<6).map { _ in UniqueIdentifier.random() }
        for id in ids { try device.submit(id, from: app) }
        device.run()
        (device.store.isFull, device.store.hasReserve) = (true, true)
        try device.submit(from: app)
        device.run()
        #expect(app.received(.failure).map(\.code) == [7015])
        var answers: [Cancellation] = []
        for number in 0..<3 {
            try device.submit(from: app)
            device.handled(UInt64(number + 1)...UInt64(number + 1))
            device.delivery.submissions.cancel(ids[number + 3], in: device.queue) { answers.append($0) }
            try device.submit(from: app)
            device.run()
        }
        #expect(answers == [.asked, .asked, .asked])
        #expect(waiting() == Array(ids[3...]))
        #expect(app.received(.failure).map(\.code) == Array(repeating: 7015, count: 7))
        #expect(device.sent.filter { $0.kind == .gap }.count == 3)
    }

    @Test("SES-84: a withdrawal that the disk does not take is refused as store: the daemon has the item")
    func withdrawalWithoutRoom() throws {
        let app = try device.simulation.app(.primary, receives: false)
        let id = UniqueIdentifier.random()
        try device.submit(id, from: app)
        device.run()
        let question = try device.queue.query("cancel").with(body: ["item": .data(id.bytes)])
        for isFull in [true, false] {
            device.store.isFull = isFull
            try app.deliver(question)
        }
        #expect(app.received(.answer).map(\.name) == ["store", "asked"])
        #expect(app.received(.answer).map(\.code) == [7001, 0])
    }

    @Test("DEL-31, LIM-56: a daemon whose disk has room again takes items within a second or two")
    func recovers() throws {
        let app = try device.simulation.app(.primary, receives: false)
        device.store.isFull = true
        try device.submit(from: app)
        device.run()
        #expect(app.received(.failure).map(\.code) == [7015])
        device.store.isFull = false
        device.simulation.scheduler.advance(by: .seconds(2))
        let id = UniqueIdentifier.random()
        try device.submit(id, from: app)
        device.run()
        #expect(waiting() == [id] && app.received(.failure).count == 1)
    }

    /// A context that was sent, and that the peer has.
    private func sentContext() -> QueueKey {
        let key = QueueKey(pairing: device.queue.pairing, app: device.queue.app, channel: .context)
        device.delivery.submissions.submit(OutboundItem(id: .random(), payload: [1]), to: key) { _ in }
        device.run()
        let stored = Envelope(.stored, app: key.app, pairing: key.pairing, channel: key.channel, sequence: 1)
        #expect(device.delivery.receive(stored))
        device.simulation.scheduler.advance(by: .seconds(1))
        return key
    }

    @Test("DEL-21, DEL-31: a context that a new epoch loses is set again, on a full disk as soon as there is room")
    func contextOfANewEpoch() throws {
        let key = sentContext()
        (device.store.isFull, device.store.hasReserve) = (true, true)
        device.delivery.setPairing(key.pairing, epoch: 2)
        device.simulation.scheduler.advance(by: .seconds(3))
        device.store.isFull = false
        device.simulation.scheduler.advance(by: .seconds(11))
        #expect(device.delivery.submissions.outstanding(in: key).map(\.revision) == [1])
    }

    /// The lines about rows that cannot be read.
    private var unreadable: [LogEvent] {
        device.log.all.filter { $0.level == .error && "\($0)".contains("cannot be read") }
    }

    @Test("DEL-21, DEL-32: a context that cannot be read in a new epoch is logged once, and set again once it can be")
    func unreadableContext() throws {
        let key = sentContext()
        device.store.failReads(of: DeliveryTable.sentContext.space)
        device.delivery.setPairing(key.pairing, epoch: 2)
        device.simulation.scheduler.advance(by: .seconds(60))
        #expect(device.delivery.submissions.outstanding(in: key).isEmpty && unreadable.count == 1)
        #expect(unreadable.allSatisfy { $0.fields.contains(.text("pairing", "\(key.pairing)")) })
        #expect(unreadable.allSatisfy { $0.fields.contains(.text("app", "\(key.app)")) })
        device.store.failReads(of: nil)
        device.simulation.scheduler.advance(by: .seconds(11))
        #expect(device.delivery.submissions.outstanding(in: key).map(\.revision) == [1])
    }

    @Test("DEL-21, DEL-32: a context whose row is damaged is logged once, and not read again until the next epoch")
    func damagedContext() throws {
        let key = sentContext()
        device.store.damage(DeliveryTable.sentContext.space)
        device.delivery.setPairing(key.pairing, epoch: 2)
        device.simulation.scheduler.advance(by: .seconds(60))
        #expect(device.delivery.submissions.outstanding(in: key).isEmpty && unreadable.count == 1)
        device.store.damage(nil)
        device.simulation.scheduler.advance(by: .seconds(60))
        #expect(device.delivery.submissions.outstanding(in: key).isEmpty)
        device.delivery.setPairing(key.pairing, epoch: 3)
        device.simulation.scheduler.advance(by: .seconds(11))
        #expect(device.delivery.submissions.outstanding(in: key).map(\.revision) == [1])
    }

    @Test("DEL-32: a damaged context is logged again once the app has set another one, whose row is damaged, too")
    func damagedAnew() throws {
        let key = sentContext()
        device.store.damage(DeliveryTable.sentContext.space)
        device.delivery.setPairing(key.pairing, epoch: 2)
        device.simulation.scheduler.advance(by: .seconds(60))
        #expect(unreadable.count == 1)
        device.delivery.linkOpened(key.pairing, received: [])
        device.delivery.submissions.submit(OutboundItem(id: .random(), payload: [2]), to: key) { _ in }
        device.run()
        let stored = Envelope(.stored, app: key.app, pairing: key.pairing, channel: key.channel, sequence: 1)
        #expect(device.delivery.receive(stored))
        device.simulation.scheduler.advance(by: .seconds(1))
        #expect(unreadable.count == 1)
        device.delivery.setPairing(key.pairing, epoch: 3)
        device.simulation.scheduler.advance(by: .seconds(60))
        #expect(unreadable.count == 2)
    }

    @Test("DEL-32: an item whose body is damaged is not sent, and becomes a dead letter")
    func damagedBody() throws {
        let app = try device.simulation.app(.primary, receives: false)
        device.delivery.linkClosed(device.queue.pairing)
        let id = UniqueIdentifier.random()
        try device.submit(id, from: app)
        device.run()
        device.store.damage(DeliveryTable.outboundItem.space)
        device.delivery.linkOpened(device.queue.pairing, received: [])
        device.run()
        device.simulation.scheduler.advance(by: .seconds(3600))
        #expect(device.sent.filter { $0.kind == .item }.isEmpty)
        #expect(Set(device.sent.filter { $0.kind == .gap }.map(\.name)) == ["dead"])
        let outcome = Envelope(
            .outcome, app: device.queue.app, pairing: device.queue.pairing, channel: device.queue.channel, sequence: 1,
            name: "dead")
        #expect(device.delivery.receive(outcome))
        device.run()
        #expect(device.delivery.deadLetters().map(\.id) == [id])
    }

    @Test("DEL-32: an arrived item whose body is damaged reaches no handler, and the log says why it is a dead letter")
    func damagedArrival() throws {
        let (queue, id) = (device.queue, UniqueIdentifier.random())
        let item = Envelope(
            .item, app: queue.app, pairing: queue.pairing, id: id, channel: queue.channel, sequence: 1)
        #expect(device.delivery.receive(try item.with(body: ["n": 1])))
        device.run()
        device.store.damage(DeliveryTable.inboundItem.space)
        let app = try device.simulation.app(.primary)
        device.simulation.scheduler.advance(by: .seconds(3600))
        #expect(app.received(.delivery).isEmpty && device.delivery.deadLetters().map(\.id) == [id])
        #expect(device.log.all.contains { $0.level == .error && "\($0)".contains("body of an item cannot be read") })
    }

    @Test("DEL-32: a body in a form that is unknown is not sent, and the log names the store's file")
    func unknownBody() throws {
        let app = try device.simulation.app(.primary, receives: false)
        device.delivery.linkClosed(device.queue.pairing)
        try device.submit(from: app)
        device.run()
        let row = try #require(
            device.store.memory.read(RowRange(space: DeliveryTable.outboundItem.space)).first)
        device.store.memory.commit([.put(row.space, key: row.key, value: [255])]) { _ in }
        device.delivery.linkOpened(device.queue.pairing, received: [])
        device.run()
        #expect(device.sent.filter { $0.kind == .item }.isEmpty)
        let line = try #require(device.log.all.first { $0.level == .error })
        #expect("\(line)".contains("store disk is damaged"))
    }
}
