// Accounts of users on a local socket (SES-58 to SES-60, LIM-47, LIM-48): no user takes what another one needs.

import TandemBase
import TandemDaemonTestSupport
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct AccountTests {
    private let scheduler = ManualScheduler()

    private func device(connections: Int) -> TestDevice {
        var options = TestDevice(.primary, scheduler: scheduler).endpoint.options
        options.connectionLimit = connections
        return TestDevice(options: options, scheduler: scheduler)
    }

    private func endpoint(_ lines: LogLines) -> LocalEndpoint {
        let relay = Relay(scheduler: scheduler, devices: PerRole(UniqueIdentifier.random()))
        let options = LocalEndpoint.Options(role: .primary, device: .random(), software: "test", daemonUser: 1)
        return LocalEndpoint(options: options, relay: relay, log: lines.append)
    }

    private func isAnswered(_ client: Client) throws -> Bool {
        try client.hello()
        scheduler.run()
        try client.ask("status")
        return client.received(.result).count == 1
    }

    @Test func `LIM-5: a simulator's socket may have 16,000 seats beside the reserve`() {
        let seats = LocalSeats(connections: LocalEndpoint.mostConnections, privileged: [0])
        for _ in 0..<16_000 { #expect(seats.take(for: 0, cedes: { false }) == .shared) }
        for _ in 0..<LocalSeats.reserve { #expect(seats.take(for: 0, cedes: { false }) == .reserved) }
        #expect(seats.take(for: 0, cedes: { false }) == .none)
    }

    @Test func `LIM-5, SES-58: a user gets half of the connections, another one its part, and the operator an answer`()
        throws
    {
        let device = device(connections: 12)
        let hostile = (0..<20).map { _ in device.connect(user: 2000) }
        #expect(hostile.filter { $0.refusal == "too-many-connections" && $0.isClosed }.count == 14)
        let others = (0..<3).map { _ in device.connect(user: 2001) }
        #expect(others.filter { $0.refusal == nil }.count == 2)
        let own = (0..<4).map { _ in device.connect() }
        #expect(own.allSatisfy { $0.refusal == nil })
        for user in [0, Simulation.user] { #expect(try isAnswered(device.connect(user: user))) }
        let app = try device.endpoint.register(on: scheduler, user: Simulation.user)
        #expect(app.refusal == "too-many-connections", "the reserve is for control requests")
        hostile[0].disconnect()
        scheduler.run()
        #expect(try device.app().refusal == nil)
    }

    @Test func `SES-58, SES-83: the connections to both sockets of a device count together, and the reserve is one`()
        throws
    {
        let device = device(connections: 2)
        let other = LocalEndpoint(otherSideOf: device.endpoint)
        let first = device.connect()
        let second = Client(to: other, on: scheduler, user: Simulation.user)
        #expect(first.refusal == nil && second.refusal == nil)
        let reserved = (0..<16).map { _ in Client(to: other, on: scheduler, user: Simulation.user) }
        #expect(reserved.allSatisfy { $0.refusal == nil })
        #expect(try isAnswered(device.connect()))
        #expect(reserved[0].isClosed)
        #expect(
            reserved[0].refusal == "too-many-connections", "the oldest in the reserve made room, at the other socket")
        #expect(Client(to: other, on: scheduler, user: 2000).refusal == "too-many-connections")
    }

    @Test func `LIM-5, SES-58: in the reserve the oldest connection without an open request makes room`() throws {
        let device = device(connections: 1)
        let responder = SilentResponder()
        device.endpoint.controlResponder = responder
        let silent = (0..<17).map { _ in device.connect() }
        #expect(silent.allSatisfy { !$0.isClosed })
        for number in 1...40 {
            let asking = device.connect(user: number.isMultiple(of: 2) ? 0 : Simulation.user)
            try asking.hello()
            try asking.ask("status")
            #expect(responder.requests.count == min(number, 16))
            #expect(asking.refusal == (number > 16 ? "too-many-connections" : nil), "an open request keeps its place")
            #expect(silent.filter(\.isClosed).count == min(number, 16))
        }
        #expect(silent[1].refusal == "too-many-connections" && !silent[0].isClosed)
        #expect(device.connect(user: 2000).refusal == "too-many-connections", "the reserve is the operator's")
        responder.answerAll()
        scheduler.run()
        device.endpoint.controlResponder = nil
        #expect(try isAnswered(device.connect()))
    }

    @Test func `LIM-48, SES-59: what waits for one user's apps has a limit, and the fullest connection is closed`()
        throws
    {
        let simulation = Simulation()
        var clients: [(caller: Client, stuck: Client)] = []
        let neighbour = try simulation.app(.secondary, "app.neighbour", user: 3000)
        let sender = try simulation.app(.primary, "app.neighbour", user: 3000)
        neighbour.stream.pauseReading()
        try sender.send(simulation.message(app: "app.neighbour", wantsReply: false))
        for number in 0..<12 {
            let app = "app.number\(number)"
            let pair = (try simulation.app(.primary, app, user: 2000), try simulation.app(.secondary, app, user: 2000))
            pair.1.stream.pauseReading()
            clients.append(pair)
            for _ in 0..<62 {
                try pair.0.send(
                    Envelope(
                        .messageData, app: try ApplicationIdentifier(app), pairing: simulation.pairing, id: .random(),
                        body: [UInt8](repeating: 1, count: 60_000)))
            }
            simulation.scheduler.advance(by: .seconds(3))
        }
        #expect(simulation.simulator.secondaries[0].waitingBytes <= Limits.queuedBytesOfApps / 2)
        for client in clients.map(\.stuck) + [neighbour] { client.stream.resumeReading() }
        simulation.scheduler.run()
        let closed = clients.filter(\.stuck.isClosed).count
        #expect((3...5).contains(closed) && !neighbour.isClosed)
        #expect(neighbour.received(.message).count == 1)
        #expect(simulation.simulator.secondaries[0].waitingBytes == 0)
    }

    @Test func `LIM-70, SES-59: unfinished frames of one user have a limit, and another user's frame ends`() throws {
        let device = device(connections: 400)
        let body = [UInt8](repeating: 0, count: 400_000)
        let frame = Bytes.frame(body)
        let neighbour = device.connect(user: 3000)
        try neighbour.hello()
        neighbour.stream.send(ByteSlice(copying: Array(frame[..<300_000])))
        let small = device.connect(user: 2000)
        try small.hello()
        small.stream.send(ByteSlice(copying: Array(frame[..<70_000])))
        let hostile = (0..<130).map { _ in device.connect(user: 2000) }
        for client in hostile {
            try client.hello()
            client.stream.send(ByteSlice(copying: Array(frame[..<350_000])))
        }
        scheduler.run()
        let left = hostile.count { !$0.isClosed }
        #expect(left * 350_000 <= Limits.begunBytesOfApps / 2 && left > 10, "\(left) connections")
        #expect(hostile.filter(\.isClosed).allSatisfy { $0.refusal == "too-slow" })
        #expect(!small.isClosed, "the one with most is closed")
        neighbour.stream.send(ByteSlice(copying: Array(frame[300_000...])))
        scheduler.run()
        // The frame is whole, and refused for what it says.
        #expect(neighbour.refusal != nil && neighbour.refusal != "too-slow")
        for client in hostile { client.disconnect() }
        scheduler.run()
        let next = device.connect(user: 2000)
        try next.hello()
        next.stream.send(ByteSlice(copying: Array(frame[..<350_000])))
        scheduler.run()
        #expect(!next.isClosed, "what is gone is not counted")
    }

    @Test func `SES-22, LIM-48: what waits for a user at all devices of a simulator counts together`() throws {
        let simulation = Simulation(secondaries: 20)
        let sender = try simulation.app(.primary, user: 2000)
        let stuck = try (1...20).map { try simulation.app(.secondary, number: $0, user: 2000) }
        for client in stuck { client.stream.pauseReading() }
        for _ in 0..<40 {
            try sender.send(
                Envelope(
                    .messageData, app: try ApplicationIdentifier("com.example.app"), pairing: .zero, id: .random(),
                    body: [UInt8](repeating: 1, count: 60_000)))
            simulation.scheduler.advance(by: .seconds(2))
            #expect(simulation.simulator.primary.waitingBytes <= Limits.queuedBytesOfApps / 2)
        }
        for client in stuck { client.stream.resumeReading() }
        simulation.scheduler.run()
        #expect((1..<20).contains(stuck.filter(\.isClosed).count) && !sender.isClosed)
        #expect(simulation.simulator.primary.waitingBytes == 0)
    }

    @Test func `LIM-11, SES-60: a user's identifiers end at half, and another user registers its app`() throws {
        let simulation = Simulation()
        for number in 0..<Limits.applications / 2 {
            try simulation.app(.primary, "app.\(number)", user: 2000).disconnect()
        }
        #expect(try simulation.register("app.too.many", user: 2000).refusal == "too-many-applications")
        #expect(try simulation.app(.primary, "app.other", user: 2001).refusal == nil)
    }

    @Test func `LIM-54: registrations of one user write so many lines in a minute`() throws {
        let lines = LogLines()
        let endpoint = endpoint(lines)
        for _ in 0..<Limits.applications + 10 {
            try endpoint.app("org.example.often", .init(receives: true), on: scheduler, user: 2000).disconnect()
            scheduler.run()
        }
        #expect(lines.all.count { "\($0.message)" == "app registered" } == Limits.applications)
    }

    @Test func `LIM-54: a connection that only sends writes its registration at the level debug`() throws {
        for (receives, level) in [(true, LogLevel.info), (false, .debug)] {
            let lines = LogLines()
            let endpoint = endpoint(lines)
            try endpoint.app("org.example.often", .init(receives: receives), on: scheduler, user: 2000).disconnect()
            scheduler.run()
            #expect(lines.all.filter { "\($0.message)" == "app registered" }.map(\.level) == [level])
        }
    }

    @Test func `LIM-54: refusals that one user causes write so many lines in a minute, and another user's are written`()
        throws
    {
        let lines = LogLines()
        let endpoint = endpoint(lines)
        func refused(user: UInt32) throws {
            let (ours, theirs) = InProcessStream.pair(on: scheduler)
            endpoint.accept(theirs, credentials: PeerCredentials(user: user, process: 1))
            try Client(ours).send(Envelope(.ping))
            scheduler.run()
        }
        for _ in 0..<100 { try refused(user: 2000) }
        #expect(lines.all.filter { $0.level == .warning }.count == 20)
        try refused(user: 2001)
        #expect(lines.all.filter { $0.level == .warning }.count == 21)
        scheduler.advance(by: .seconds(61))
        try refused(user: 2000)
        #expect(lines.all.last { $0.level == .warning }?.fields.last == .integer("unwritten before", 80))
    }
}

/// A responder that keeps each request until the test answers.
private final class SilentResponder: ControlResponder {
    private(set) var requests: [(ControlAnswer) -> Void] = []

    func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void) {
        requests.append(completion)
    }

    func answerAll() {
        for answer in requests { answer(.done()) }
        requests = []
    }
}
