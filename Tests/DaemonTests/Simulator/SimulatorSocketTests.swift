// The simulator over real Unix sockets, end to end (SES-22): two files in a directory, an app on each, a message and its
// reply. The loop runs on the test's thread and waits for the kernel, never for time.

import TandemBase
import TandemDaemon
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
        simulator = Simulator(scheduler: loop, software: "simulator of a test", user: 0)
        try simulator.listen(in: directory.path, loop: loop)
    }

    private func connect(_ role: DeviceRole) throws -> Client {
        var outcome: Result<SocketStream, ConnectError>?
        StreamConnector(to: try Simulator.address(of: role, in: directory.path), loop: loop) { outcome = $0 }
        loop.run { outcome != nil }
        return Client(try #require(outcome).get())
    }

    private func app(_ role: DeviceRole) throws -> Client {
        let client = try connect(role)
        try client.hello()
        try client.register(try ApplicationIdentifier("com.example.app"))
        loop.run { client.isClosed || !client.received(.registered).isEmpty }
        return client
    }

    @Test(arguments: DeviceRole.allCases)
    func `SES-22: two apps on two sockets exchange a message and its reply, unchanged`(from role: DeviceRole) throws {
        let caller = try app(role)
        let counterpart = try app(role.counterpart)
        let request = try Envelope(
            .message, app: ApplicationIdentifier("com.example.app"), pairing: simulator.pairings[0], id: .random(),
            reply: true
        ).with(body: ["text": "over real sockets"])
        try caller.send(request)
        loop.run { counterpart.isClosed || !counterpart.received(.message).isEmpty }
        #expect(counterpart.frames.last == (try request.frame()))
        try counterpart.send(request.answer("yes"))
        loop.run { caller.isClosed || !caller.received(.reply).isEmpty }
        #expect(caller.frames.last == (try request.answer("yes").frame()))
        stop(caller, counterpart)
    }

    @Test func `SES-18: a stop says bye, closes every connection and removes the sockets`() throws {
        #expect(directory.names.filter { $0.hasSuffix(".sock") } == ["primary.sock", "secondary.sock"])
        let clients = (try app(.primary), try connect(.secondary))
        stop(clients.0, clients.1)
        #expect(clients.0.received(.bye).map(\.name) == ["stopping"])
        #expect(directory.names.filter { $0.hasSuffix(".sock") }.isEmpty)
    }

    @Test func `a directory whose sockets are served already is refused`() throws {
        let second = Simulator(scheduler: loop, software: "second", user: 0)
        #expect(throws: SimulatorError.self) { try second.listen(in: directory.path, loop: loop) }
        let client = try app(.primary)
        stop(client, client)
    }

    @Test func `a directory with too long a path is refused with its length`() {
        let long = String(repeating: "d", count: 100)
        #expect(throws: SimulatorError.address(.pathTooLong(bytes: 113))) {
            try simulator.listen(in: long, loop: loop)
        }
    }

    /// Stops the simulator; the clients close when they are told so.
    private func stop(_ first: Client, _ second: Client) {
        var hasStopped = false
        simulator.stop { hasStopped = true }
        loop.run { hasStopped && first.isClosed && second.isClosed }
        #expect(simulator.primary.connectionCount == 0)
        #expect(simulator.secondaries[0].connectionCount == 0)
    }
}
