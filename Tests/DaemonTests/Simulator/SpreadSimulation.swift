// A simulator over real sockets whose apps are spread over several loops with a thread each, and clients on the first loop,
// which is the test's own thread. It waits for the kernel and the other threads, never for time.

import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

final class SpreadSimulation {
    let directory = TemporaryDirectory()
    let loop: EventLoop
    let simulator: Simulator

    init(loops: Int, secondaries: Int = 1) throws {
        loop = try EventLoop()
        simulator = try Simulator(
            loop: loop, loops: loops, software: "simulator of a test", user: 0, secondaries: secondaries)
        try simulator.listen(in: directory.path, loop: loop)
    }

    /// An app that the loop at a place serves.
    static func app(at place: Int, of loops: Int) throws -> String {
        try #require(
            (0..<1000).lazy.map { "com.example.app\($0)" }.first {
                (try? ApplicationIdentifier($0)).map { EndpointSpread.place(of: $0, among: loops) } == place
            })
    }

    func connect(_ role: DeviceRole, number: Int = 1) throws -> Client {
        var outcome: Result<SocketStream, ConnectError>?
        let address = try Simulator.address(of: role, number, in: directory.path)
        StreamConnector(to: address, loop: loop) { outcome = $0 }
        loop.run { outcome != nil }
        return Client(try #require(outcome).get())
    }

    /// A connection that has tried to register; how that ended is in what it received.
    func register(_ role: DeviceRole, _ app: String, number: Int = 1) throws -> Client {
        let client = try connect(role, number: number)
        try client.hello()
        try client.register(try ApplicationIdentifier(app))
        loop.run { client.isClosed || client.refusal != nil || !client.received(.registered).isEmpty }
        return client
    }

    /// A registered app.
    func app(_ role: DeviceRole, _ app: String, number: Int = 1) throws -> Client {
        let client = try register(role, app, number: number)
        try #require(client.received(.registered).count == 1)
        return client
    }

    func message(_ app: String, wantsReply: Bool = true) throws -> Envelope {
        try Envelope(
            .message, app: ApplicationIdentifier(app), pairing: simulator.pairings[0], id: .random(),
            reply: wantsReply
        ).with(body: ["to": .string(app)])
    }

    /// Stops the simulator on all loops; the clients see their connections end.
    func stop(_ clients: [Client]) {
        var hasStopped = false
        simulator.stop { hasStopped = true }
        loop.run { hasStopped && clients.allSatisfy(\.isClosed) }
        #expect(simulator.primary.connectionCount == 0)
        #expect(simulator.secondaries.allSatisfy { $0.connectionCount == 0 })
        #expect(directory.names.filter { $0.hasSuffix(".sock") }.isEmpty)
    }
}
