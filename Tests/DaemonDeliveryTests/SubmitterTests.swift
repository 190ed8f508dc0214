// Reports of an item to its submitters, and their number on one connection at once, in a simulator with several
// secondaries.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

struct SubmitterTests {
    private func submit(
        _ id: UniqueIdentifier, _ body: PropertyListDictionary, _ channel: Channel, to pairing: UniqueIdentifier
    ) throws -> Envelope {
        try Envelope(
            .submit, app: ApplicationIdentifier("com.example.app"), pairing: pairing, id: id, channel: channel
        ).with(body: body)
    }

    @Test("SES-50: items of one identifier for two pairings are two items, and each tells its submitter")
    func oneIdentifierTwice() throws {
        let simulation = Simulation(secondaries: 2)
        let secondaries = [try simulation.app(.secondary, number: 1), try simulation.app(.secondary, number: 2)]
        let sender = try simulation.app(.primary, receives: false)
        let id = UniqueIdentifier.random()
        for pairing in simulation.simulator.pairings { try sender.send(submit(id, ["n": 1], .userInfo, to: pairing)) }
        simulation.scheduler.run()
        for secondary in secondaries {
            let delivery = try #require(secondary.received(.delivery).first)
            try secondary.deliver(delivery.verdict())
            try sender.deliver(delivery.acknowledgement)
        }
        #expect(sender.received(.finished).map(\.pairing) == simulation.simulator.pairings)
    }

    /// An app that has gone again has set a large context for each secondary, where the app is installed.
    private func storeContexts(in simulation: Simulation) throws {
        let pairings = simulation.simulator.pairings
        for number in 1...pairings.count { try simulation.app(.secondary, number: number).disconnect() }
        let app = try simulation.app(.primary)
        for pairing in pairings {
            let body: PropertyListDictionary = ["d": .data(Array(repeating: 7, count: 250_000))]
            try app.deliver(submit(.random(), body, .context, to: pairing))
        }
        app.disconnect()
        simulation.scheduler.run()
    }

    @Test("SES-52, LIM-6: contexts of many pairings are told at the speed at which they are read")
    func manyContexts() throws {
        let simulation = Simulation(secondaries: 24)
        try storeContexts(in: simulation)
        let second = try simulation.greet(.primary)
        second.stream.pauseReading()
        try second.register(ApplicationIdentifier("com.example.app"))
        simulation.scheduler.advance(by: .seconds(2))
        second.stream.resumeReading()
        simulation.scheduler.run()
        #expect(!second.isClosed)
        #expect(Set(second.received(.context).map(\.pairing)) == Set(simulation.simulator.pairings))
    }

    @Test("SES-50: an end goes to the app's receiver at once when the connection that submitted the item has said bye")
    func submitterSaysBye() throws {
        let simulation = Simulation(secondaries: 24)
        try storeContexts(in: simulation)
        let pairing = try #require(simulation.simulator.pairings.first)
        let secondary = try simulation.app(.secondary, number: 1)
        let submitter = try simulation.greet(.primary)
        submitter.stream.pauseReading()
        try submitter.register(ApplicationIdentifier("com.example.app"), .init(receives: false))
        let item = try submit(.random(), ["n": 1], .userInfo, to: pairing)
        try submitter.deliver(item)
        // The contexts that wait for it take a while to leave.
        try submitter.send(Envelope(.bye))
        let receiver = try simulation.app(.primary)
        simulation.scheduler.run()
        #expect(!submitter.isClosed)
        try secondary.deliver(item.verdict())
        #expect(receiver.received(.finished).map(\.id) == [item.id])
    }

    @Test("LIM-6: an app that has shut its reading down does not keep the daemon busy with its contexts")
    func contextsForADeafApp() throws {
        let simulation = Simulation(secondaries: 24)
        try storeContexts(in: simulation)
        let (near, far) = InProcessStream.pair(on: simulation.scheduler)
        let deaf = DeafStream(far)
        simulation.simulator.endpoint(.primary, 1).accept(
            deaf, credentials: PeerCredentials(user: Simulation.user, process: 4711))
        let app = Client(near)
        try app.hello()
        simulation.scheduler.run()
        near.pauseReading()
        try app.register(ApplicationIdentifier("com.example.app"))
        simulation.scheduler.advance(by: .seconds(1))
        let waits = deaf.waits
        simulation.scheduler.advance(by: .seconds(1))
        #expect((1...20).contains(deaf.waits - waits), "looked at \(deaf.waits - waits) times in a second")
    }

    @Test("SES-62: the list of outstanding items that an app asks for at once comes behind the contexts of before")
    func contextsFirst() throws {
        let simulation = Simulation(secondaries: 3)
        try storeContexts(in: simulation)
        let second = try simulation.greet(.primary)
        let queue = try simulation.queue()
        try second.register(queue.app)
        for _ in 0..<2 { try second.deliver(outstanding(queue)) }
        simulation.scheduler.advance(by: .seconds(2))
        let kinds = second.envelopes.map(\.kind).filter { $0 == .context || $0 == .answer }
        #expect(kinds == [.context, .context, .context, .answer, .answer])
    }

    @Test("SES-50, LIM-41: 256 ends are told ahead of what the app has heard, and the others when it has, each once")
    func manyEnds() throws {
        let simulation = Simulation()
        let secondary = try simulation.app(.secondary)
        let first = try simulation.app(.primary)
        let ids = (0..<300).map { _ in UniqueIdentifier.random() }
        for id in ids { try first.send(submit(id, ["n": 1], .userInfo, to: simulation.pairing)) }
        simulation.scheduler.run()
        first.disconnect()
        for _ in ids {
            try secondary.deliver(#require(secondary.received(.delivery).last).verdict())
        }
        simulation.scheduler.run()
        let second = try simulation.app(.primary)
        #expect(second.received(.finished).map(\.id) == ids.prefix(256).map(\.self))
        for finished in second.received(.finished) {
            #expect(second.received(.finished).count == 256)
            try second.deliver(finished.acknowledgement)
        }
        #expect(second.received(.finished).map(\.id) == ids.map(\.self))
    }

    @Test("SES-54, LIM-40: a list of outstanding items comes 512 at a time")
    func longList() throws {
        let simulation = Simulation()
        try simulation.app(.secondary).disconnect()
        let app = try simulation.app(.primary)
        let ids = (0..<513).map { _ in UniqueIdentifier.random() }
        for id in ids { try app.send(submit(id, ["n": 1], .userInfo, to: simulation.pairing)) }
        simulation.scheduler.run()
        let queue = try simulation.queue()
        var listed: [[UInt8]?] = []
        var pages: [Int] = []
        var after: PropertyListValue? = 0
        while let next = after {
            try app.deliver(queue.query("outstanding").with(body: ["after": next]))
            let body = try #require(app.received(.answer).last).dictionaryBody()
            let items = body["items"]?.arrayValue ?? []
            listed += items.map { $0.dictionaryValue?["id"]?.dataValue }
            pages.append(items.count)
            after = body["more"]
        }
        #expect(pages == [512, 1, 0] && listed == ids.map(\.bytes))
    }

    @Test("LIM-40: a list of outstanding items ends with the body that exceeds 256 KiB")
    func largeList() throws {
        let device = try OneDevice()
        let app = try device.simulation.app(.primary)
        for _ in 0..<6 {
            try app.send(
                submit(
                    .random(), ["n": .data([UInt8](repeating: 1, count: 60_000))], .userInfo, to: device.queue.pairing))
        }
        device.run()
        try app.deliver(outstanding(device.queue))
        let items = try #require(app.received(.answer).last).dictionaryBody()["items"]?.arrayValue
        #expect(items?.count == 5)
    }

    private func outstanding(_ queue: QueueKey) throws -> Envelope {
        try queue.query("outstanding").with(body: ["after": 0])
    }

    @Test("SES-69, LIM-77: four of a user's reads are at work, the next follow in order; others do not wait for them")
    func readsInTurns() throws {
        let device = try OneDevice()
        let simulation = device.simulation
        func client(_ user: UInt32) throws -> (Client, QueueKey) {
            let name = "com.example.user\(user)"
            try simulation.app(.secondary, name, user: user).disconnect()
            let client = try simulation.app(.primary, name, user: user)
            let queue = try simulation.queue(of: name)
            let item = Envelope(.submit, app: queue.app, pairing: queue.pairing, id: .random(), channel: .userInfo)
            try client.deliver(item.with(body: ["n": 1]))
            return (client, queue)
        }
        let (greedy, ofGreedy) = try client(2000)
        let (modest, ofModest) = try client(2001)
        device.store.hold(fetches: true)
        let questions = try (0..<8).map { _ in try outstanding(ofGreedy) }
        for question in questions { try greedy.send(question) }
        device.run()
        #expect(device.store.heldCount == 4)
        try modest.deliver(outstanding(ofModest))
        #expect(device.store.heldCount == 5)
        // Four of the first user, in the order of their questions, and then the other one's.
        for done in 1...5 {
            device.store.doOne()
            device.run()
            #expect(greedy.received(.answer).map(\.id) == questions.prefix(min(done, 4)).map(\.id))
            #expect(modest.received(.answer).count == (done == 5 ? 1 : 0))
        }
        #expect(device.store.heldCount == 4)
        for _ in 0..<4 {
            device.store.doOne()
            device.run()
        }
        #expect(greedy.received(.answer).map(\.id) == questions.map(\.id) && device.store.heldCount == 0)
    }

    @Test("LIM-24, LIM-50, SES-60: a connection makes 8 lists at once, a user half of 64, and another user its part")
    func listsInTheMaking() throws {
        let device = try OneDevice()
        let simulation = device.simulation
        /// The connections of a user's app that has an item, and asked each for nine lists.
        func ask(_ user: UInt32, connections: Int) throws -> [Client] {
            let name = "com.example.user\(user)"
            for role in DeviceRole.allCases { try simulation.app(role, name, user: user).disconnect() }
            let queue = try simulation.queue(of: name)
            let clients = try (0..<connections).map { _ in
                try simulation.app(.primary, name, receives: false, user: user)
            }
            let item = Envelope(.submit, app: queue.app, pairing: queue.pairing, id: .random(), channel: .userInfo)
            try clients[0].send(item.with(body: ["n": 1]))
            device.run()
            #expect(clients[0].received(.accepted).count == 1)
            device.store.hold(fetches: true)
            for client in clients { for _ in 0..<9 { try client.send(outstanding(queue)) } }
            device.run()
            device.store.hold()
            return clients
        }
        func refusals(_ clients: [Client]) -> [Int] {
            clients.map { $0.received(.answer).count { $0.name == "too-many-requests" } }
        }
        let first = try ask(2000, connections: 5)
        #expect(refusals(first) == [1, 1, 1, 1, 9])
        let second = try ask(2001, connections: 2)
        #expect(refusals(second) == [1, 7], "a third of what the first one leaves")
        device.store.goOn()
        device.run()
        #expect((first + second).allSatisfy { $0.received(.answer).count == 9 })
        #expect(refusals(try ask(2002, connections: 4)) == [1, 1, 1, 1], "what is made is not counted")
        device.store.goOn()
        device.run()
    }
}

/// The daemon's end of a socket whose app has shut its reading down: what waits is lost and still counted, so that
/// nothing leaves, and each wait is over at once.
private final class DeafStream: ByteStream {
    private let inner: any ByteStream
    /// How often the daemon has asked to hear when more has left.
    private(set) var waits = 0

    init(_ inner: any ByteStream) { self.inner = inner }

    var delegate: (any ByteStreamDelegate)? {
        get { inner.delegate }
        set { inner.delegate = newValue }
    }
    var account: QueueAccount? {
        get { inner.account }
        set { inner.account = newValue }
    }
    var peer: PeerDescription { inner.peer }
    var scheduler: any Scheduler { inner.scheduler }
    var queuedBytes: Int { inner.queuedBytes }
    var isCongested: Bool { inner.isCongested }
    var isBlocked: Bool { inner.isBlocked }

    func awaitDrain() {
        waits += 1
        // A moment later, so that a daemon that asks again at once is counted and does not hang the test.
        scheduler.schedule(after: .milliseconds(1)) { [self] in inner.delegate?.streamDidDrain(inner) }
    }

    func start() { inner.start() }
    func send(_ bytes: ByteSlice) { inner.send(bytes) }
    func write(_ bytes: RawSpan) { inner.write(bytes) }
    func keep(_ block: ByteBlock) { inner.keep(block) }
    func pauseReading() { inner.pauseReading() }
    func resumeReading() { inner.resumeReading() }
    func close(_ reason: CloseReason) { inner.close(reason) }
    func closeAfterFlush(_ reason: CloseReason) { inner.closeAfterFlush(reason) }
}
