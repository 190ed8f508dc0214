// Simulator over real Unix sockets, end to end (SES-22): a socket for each device in a directory, apps on each,
// messages and replies. The loop runs on the test's thread and waits for the kernel, never for time.

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

@Suite struct SimulatorSocketTests {
    private let directory = TemporaryDirectory()
    private let loop: EventLoop
    private let simulator: Simulator

    init() throws {
        loop = try EventLoop()
        simulator = Simulator(scheduler: loop, software: "simulator of a test", user: Linux.user, secondaries: 4)
        try simulator.listen(in: directory.path, loop: loop)
    }

    private func connect(_ role: DeviceRole, number: Int = 1) throws -> Client {
        var outcome: Result<SocketStream, ConnectError>?
        StreamConnector(to: try Simulator.address(of: role, number, in: directory.path), loop: loop) { outcome = $0 }
        loop.run { outcome != nil }
        return Client(try #require(outcome).get())
    }

    /// A connection that has tried to register; the frames that it received tell the outcome.
    private func register(_ role: DeviceRole, _ app: String = "com.example.app", number: Int = 1) throws -> Client {
        let client = try connect(role, number: number)
        try client.hello()
        try client.register(try ApplicationIdentifier(app))
        loop.run { client.isClosed || client.refusal != nil || !client.received(.registered).isEmpty }
        return client
    }

    private func app(_ role: DeviceRole, _ app: String = "com.example.app", number: Int = 1) throws -> Client {
        let client = try register(role, app, number: number)
        try #require(client.received(.registered).count == 1)
        return client
    }

    private func message(_ app: String = "com.example.app", wantsReply: Bool = true) throws -> Envelope {
        try Envelope(
            .message, app: ApplicationIdentifier(app), pairing: simulator.pairings[0], id: .random(), reply: wantsReply
        ).with(body: ["to": .string(app)])
    }

    private func exchange(_ request: Envelope, from caller: Client, to counterpart: Client) throws {
        try caller.send(request)
        loop.run { counterpart.isClosed || !counterpart.received(.message).isEmpty }
        #expect(counterpart.frames.last == (try request.frame()))
        try counterpart.send(request.answer("yes"))
        loop.run { caller.isClosed || !caller.received(.reply).isEmpty }
        #expect(caller.frames.last == (try request.answer("yes").frame()))
    }

    @Test(arguments: DeviceRole.allCases)
    func `SES-22: two apps on two sockets delivery a message and its reply, unchanged`(from role: DeviceRole) throws {
        let (caller, counterpart) = (try app(role), try app(role.counterpart))
        try exchange(message(), from: caller, to: counterpart)
        stop([caller, counterpart])
    }

    @Test func `SES-22 FRM-12: apps of many names delivery messages and replies unchanged`() throws {
        var clients: [Client] = []
        for name in (0..<8).map({ "com.example.app\($0)" }) {
            let pair = (try app(.primary, name), try app(.secondary, name))
            clients += [pair.0, pair.1]
            try exchange(message(name), from: pair.0, to: pair.1)
        }
        #expect(simulator.primary.connectionCount == 8)
        stop(clients)
    }

    @Test func `FRM-3: what a client sends ahead of its registration arrives in order, split at any byte`() throws {
        let counterpart = try app(.secondary)
        let opening = try [
            Envelope(.hello).with(body: Hello.offer(software: "test").body),
            Envelope(.register, app: ApplicationIdentifier("com.example.app")).with(
                body: TandemSession.Registration(receives: false).body),
        ].flatMap { try $0.frame().bytes.copied() }
        var (clients, arrived) = ([counterpart], 0)
        for cut in stride(from: 1, to: 1500, by: 61) {
            let messages = try (0..<8).map { _ in try message(wantsReply: false) }
            let bytes = opening + (try messages.flatMap { try $0.frame().bytes.copied() })
            let client = try connect(.primary)
            client.stream.send(Array(bytes[..<cut]))
            for _ in 0..<3 { loop.runOnce() }
            client.stream.send(Array(bytes[cut...]))
            arrived += messages.count
            loop.run { client.isClosed || counterpart.received(.message).count >= arrived }
            #expect(counterpart.received(.message).suffix(messages.count).map(\.id) == messages.map(\.id))
            clients.append(client)
        }
        stop(clients)
    }

    @Test func `SES-5: one connection of an app receives`() throws {
        let clients = (try app(.primary), try register(.primary))
        #expect(clients.1.refusal == "already-receiving")
        stop([clients.0, clients.1])
    }

    @Test func `LIM-11: applications are counted also when their connections are gone`() throws {
        for number in 0..<Limits.applications { try app(.primary, "com.example.app\(number)").disconnect() }
        #expect(try register(.primary, "another").refusal == "too-many-applications")
        stop([])
    }

    @Test func `LIM-5: connections are counted until they are gone`() throws {
        let client = try app(.primary)
        #expect(simulator.primary.connectionCount == 1)
        client.disconnect()
        loop.run { simulator.primary.connectionCount == 0 }
        stop([client])
    }

    @Test func `SES-18: a stop lets apps answer what is open`() throws {
        let pair = (try app(.primary), try app(.secondary))
        pair.1.onFrame = { client, _, envelope in
            // Answered only once the stop has begun.
            guard envelope.kind == .bye else { return }
            for message in client.received(.message) { try? client.send(message.answer("at last")) }
        }
        try pair.0.send(message())
        loop.run { !pair.1.received(.message).isEmpty }
        stop([pair.0, pair.1])
        #expect(pair.0.received(.reply).count == 1)
    }

    @Test func `SES-30: a broadcast reaches all secondaries`() throws {
        let sender = try app(.primary)
        let receivers = try (1...4).map { try app(.secondary, number: $0) }
        var message = try message(wantsReply: false)
        message.pairing = .zero
        try sender.send(message)
        loop.run { receivers.allSatisfy { !$0.received(.message).isEmpty } }
        #expect(receivers.map { $0.received(.message).last?.pairing } == simulator.pairings)
        stop([sender] + receivers)
    }

    @Test func `SES-18: a stop says bye, closes every connection and removes the sockets`() throws {
        #expect(
            directory.names.filter { $0.hasSuffix(".sock") }.sorted()
                == ["primary.sock", "secondary-2.sock", "secondary-3.sock", "secondary-4.sock", "secondary.sock"])
        let clients = (try app(.primary), try connect(.secondary))
        stop([clients.0, clients.1])
        #expect(clients.0.received(.bye).map(\.name) == ["stopping"])
        #expect(directory.names.filter { $0.hasSuffix(".sock") }.isEmpty)
    }

    @Test func `a directory whose sockets are served already is refused`() throws {
        let second = Simulator(scheduler: loop, software: "second", user: 0)
        #expect(throws: SimulatorError.self) { try second.listen(in: directory.path, loop: loop) }
        let client = try app(.primary)
        stop([client])
    }

    @Test func `a directory with too long a path is refused with its length`() {
        let long = String(repeating: "d", count: 100)
        #expect(throws: SimulatorError.address(.pathTooLong(bytes: 113))) {
            try simulator.listen(in: long, loop: loop)
        }
    }

    /// Stops the simulator; the clients see their connections end.
    private func stop(_ clients: [Client]) {
        var hasStopped = false
        simulator.stop { hasStopped = true }
        loop.run { hasStopped && clients.allSatisfy(\.isClosed) }
        #expect(simulator.primary.connectionCount == 0)
        #expect(simulator.secondaries.allSatisfy { $0.connectionCount == 0 })
    }
}
