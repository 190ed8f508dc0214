// Frames that wait for room on a link, or for a commit: what does not wait behind them, and on which link they leave.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemPropertyList
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

struct WaitingFramesTests {
    private let device: OneDevice
    private let app: Client

    init() throws {
        device = try OneDevice()
        app = try device.simulation.app(.primary)
    }

    private var sequences: [UInt64] { device.sent.filter { $0.kind == .item }.compactMap(\.sequence) }

    @Test func `DEL-43: reports to apps and answers to their questions wait for no link`() throws {
        let item = try Envelope(.submit, app: device.queue.app, pairing: device.queue.pairing, channel: .userInfo)
            .with(body: ["a": .data([UInt8](repeating: 7, count: 60_000))])
        for _ in 0..<60 {
            var item = item
            item.id = .random()
            try app.send(item)
        }
        device.run()
        // The peer answers no marker.
        #expect(!sequences.isEmpty && sequences.count < 60)
        device.handled(1...3)
        #expect(app.received(.progress).count == 3 && app.received(.finished).count == 3)
        try app.deliver(device.queue.query("subscribe", for: []))
        #expect(app.received(.answer).count == 1)
    }

    @Test func `DEL-43: a handler gets its item while the acknowledgement waits for room`() throws {
        device.queuedBytes = Limits.queuedBytes
        let item = try Envelope(
            .item, app: device.queue.app, pairing: device.queue.pairing, id: .random(), channel: .userInfo, sequence: 1
        ).with(body: ["n": 1])
        #expect(device.delivery.receive(item))
        device.run()
        #expect(app.received(.delivery).count == 1 && !device.sent.contains { $0.kind == .stored })
        #expect(
            device.delivery.positions(of: device.queue.pairing).received.map(\.sequence) == [1],
            "the next hello names what is durable")
        device.queuedBytes = 0
        device.delivery.linkDrained(device.queue.pairing)
        device.run()
        #expect(device.sent.contains { $0.kind == .stored })
    }

    @Test func `DEL-37: the acknowledgement of an item passes the bodies that wait for room`() throws {
        device.delivery.linkClosed(device.queue.pairing)
        for _ in 0..<60 {
            try app.send(
                Envelope(
                    .submit, app: device.queue.app, pairing: device.queue.pairing, id: .random(), channel: .userInfo
                )
                .with(body: ["a": .data([UInt8](repeating: 7, count: 60_000))]))
        }
        device.run()
        device.delivery.linkOpened(device.queue.pairing, received: [])
        device.run()
        let bodies = sequences.count
        #expect(bodies > 0 && bodies < 60)
        for sequence in 1...3 as ClosedRange<UInt64> {
            let item = try Envelope(
                .item, app: device.queue.app, pairing: device.queue.pairing, id: .random(), channel: .urgent,
                sequence: sequence
            ).with(body: ["n": 1])
            #expect(device.delivery.receive(item))
            device.run()
        }
        // The commit of the later ones waits for others (LIM-75).
        device.simulation.scheduler.advance(by: .milliseconds(5))
        #expect(device.sent.contains { $0.kind == .stored && $0[.sequence] == 3 as UInt64 })
        #expect(sequences.count == bodies)
    }

    @Test func `LIM-42: a peer that answers no marker and asks for more and more frames loses its link`() throws {
        let scheduler = ManualScheduler()
        let delivery = DurableDelivery(store: LoopStore(MemoryStore(), on: scheduler), scheduler: scheduler)
        var stalls = 0
        delivery.connect(
            send: { _, _ in }, queuedBytes: { _ in Limits.queuedBytes },
            onEvent: { if case .stalled = $0 { stalls += 1 } })
        let (pairing, app) = (device.queue.pairing, device.queue.app)
        delivery.setPairing(pairing, epoch: 1)
        delivery.linkOpened(pairing, received: [])
        let item = try Envelope(.item, app: app, pairing: pairing, id: .random(), channel: .userInfo, sequence: 1)
            .with(body: ["n": 1])
        // The first one is about to leave, and each repetition is answered, once for those of one commit.
        for _ in 0..<32_769 {
            #expect(delivery.receive(item))
            scheduler.run()
        }
        #expect(stalls == 0)
        #expect(delivery.receive(item))
        scheduler.run()
        #expect(stalls == 1)
    }

    @Test func `DEL-44: frames that wait for a link of a former epoch never leave on the next one`() throws {
        let pairing = device.queue.pairing
        device.delivery.linkClosed(pairing)
        for _ in 0..<20 { try device.submit(from: app) }
        device.run()
        // The body of the first one is being read, and the others are behind it.
        device.store.hold(fetches: true)
        device.delivery.linkOpened(pairing, received: [])
        device.run()
        device.delivery.linkClosed(pairing)
        device.delivery.setPairing(pairing, epoch: 2)
        device.delivery.linkOpened(pairing, received: [])
        device.run()
        device.store.goOn()
        device.run()
        #expect(sequences == Array(1...20))
    }

    @Test func `DEL-44: a frame whose commit is done on the next link leaves there once`() throws {
        device.store.hold(commits: true)
        try device.submit(from: app)
        device.run()
        device.delivery.linkClosed(device.queue.pairing)
        device.delivery.linkOpened(device.queue.pairing, received: [])
        device.run()
        device.store.goOn()
        device.run()
        #expect(sequences == [1])
    }

    @Test func `DEL-44: nothing leaves on the link of an epoch that is over`() throws {
        device.delivery.setPairing(device.queue.pairing, epoch: 2)
        try device.submit(from: app)
        device.run()
        #expect(sequences.isEmpty)
        device.delivery.linkOpened(device.queue.pairing, received: [])
        device.run()
        #expect(sequences == [1])
    }

    // MARK: withdrawn items

    /// The sequences of items and gaps in the order in which they left for the first time.
    private var firstSent: [UInt64] {
        device.sent.filter { $0.kind == .item || $0.kind == .gap }.compactMap(\.sequence)
            .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Twenty items of which the first is being read while the others are behind it.
    private func twentyBehindOne() throws -> [UniqueIdentifier] {
        device.delivery.linkClosed(device.queue.pairing)
        let items = (0..<20).map { _ in UniqueIdentifier.random() }
        // Each in a row of its own.
        for item in items {
            try device.submit(item, from: app)
            device.run()
        }
        device.store.hold(fetches: true)
        device.delivery.linkOpened(device.queue.pairing, received: [])
        device.run()
        return items
    }

    private func cancel(_ item: UniqueIdentifier) {
        device.delivery.submissions.cancel(item, in: device.queue) { _ in }
        device.run()
    }

    @Test func `DEL-6: an item that is withdrawn before its frame leaves has its gap in its place`() throws {
        let items = try twentyBehindOne()
        for index in [6, 2, 3, 0] { cancel(items[index]) }
        device.store.goOn()
        device.run()
        #expect(firstSent == Array(1...20))
        #expect(Set(sequences).isDisjoint(with: [3, 4, 7]))
    }

    @Test func `DEL-6: a gap in the place of an item waits until the withdrawal is durable`() throws {
        let items = try twentyBehindOne()
        device.store.hold(commits: true)
        cancel(items[1])
        // Written and not synced: it reads as gone.
        device.store.memory.commit([.deleteAll(RowRange(space: DeliveryTable.outboundItem.space))], room: .ordinary) {
            _ in
        }
        device.store.doOne()
        device.run()
        #expect(!device.sent.contains { $0.kind == .gap })
        device.store.goOn()
        device.run()
        #expect(device.sent.first { $0.kind == .gap }?.sequence == 2)
    }
}
