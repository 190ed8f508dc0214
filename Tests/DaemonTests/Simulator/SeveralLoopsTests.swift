// Apps spread over several loops: the frames and rules are those of one loop, what is limited is limited for all loops
// together, and a stop ends all of them.

import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire
import Testing

@Suite struct SeveralLoopsTests {
    @Test func `an app's loop follows from its identifier alone, and many apps are spread evenly`() throws {
        let places = try ["com.example.app", "org.example.lamp", "a.b"].map {
            EndpointSpread.place(of: try ApplicationIdentifier($0), among: 16)
        }
        #expect(places == [8, 12, 5])
        var counts = [0, 0, 0, 0]
        for number in 0..<1000 {
            counts[EndpointSpread.place(of: try ApplicationIdentifier("com.example.app\(number)"), among: 4)] += 1
        }
        #expect(counts.allSatisfy { (200...300).contains($0) }, "\(counts)")
    }

    @Test(arguments: [1, 2, 3])
    func `SES-22 FRM-12: on every loop apps exchange messages and replies unchanged`(loops: Int) throws {
        let simulation = try SpreadSimulation(loops: loops)
        var clients: [Client] = []
        for number in 0..<8 {
            let app = "com.example.app\(number)"
            let pair = (try simulation.app(.primary, app), try simulation.app(.secondary, app))
            clients += [pair.0, pair.1]
            let request = try simulation.message(app)
            try pair.0.send(request)
            simulation.loop.run { pair.1.isClosed || !pair.1.received(.message).isEmpty }
            #expect(pair.1.frames.last == (try request.frame()))
            try pair.1.send(request.answer("yes"))
            simulation.loop.run { pair.0.isClosed || !pair.0.received(.reply).isEmpty }
            #expect(pair.0.frames.last == (try request.answer("yes").frame()))
        }
        #expect(simulation.simulator.primary.connectionCount == 8)
        simulation.stop(clients)
    }

    @Test func `FRM-3: what a client sends ahead goes with it to its loop, split at any byte`() throws {
        let simulation = try SpreadSimulation(loops: 2)
        let app = try SpreadSimulation.app(at: 1, of: 2)
        let counterpart = try simulation.app(.secondary, app)
        let body = TandemSession.Registration(receives: false).body
        let opening = try [
            Envelope(.hello).with(body: Hello.offer(software: "test").body),
            Envelope(.register, app: ApplicationIdentifier(app)).with(body: body),
        ].flatMap { try $0.frame().bytes.copied() }
        var (clients, arrived) = ([counterpart], 0)
        for cut in stride(from: 1, to: 1500, by: 61) {
            let messages = try (0..<8).map { _ in try simulation.message(app, wantsReply: false) }
            let bytes = opening + (try messages.flatMap { try $0.frame().bytes.copied() })
            let client = try simulation.connect(.primary)
            client.stream.send(Array(bytes[..<cut]))
            for _ in 0..<3 { simulation.loop.runOnce() }
            client.stream.send(Array(bytes[cut...]))
            arrived += messages.count
            simulation.loop.run { client.isClosed || counterpart.received(.message).count >= arrived }
            #expect(counterpart.received(.message).suffix(messages.count).map(\.id) == messages.map(\.id))
            clients.append(client)
        }
        simulation.stop(clients)
    }

    @Test func `SES-5: one connection of an app receives, on whichever loop`() throws {
        let simulation = try SpreadSimulation(loops: 2)
        var clients: [Client] = []
        for place in 0..<2 {
            let app = try SpreadSimulation.app(at: place, of: 2)
            clients.append(try simulation.app(.primary, app))
            let second = try simulation.register(.primary, app)
            #expect(second.refusal == "already-receiving")
            clients.append(second)
        }
        simulation.stop(clients)
    }

    @Test func `LIM-11: applications are counted over all loops`() throws {
        let simulation = try SpreadSimulation(loops: 2)
        for number in 0..<Limits.applications {
            try simulation.app(.primary, "com.example.app\(number)").disconnect()
        }
        for place in 0..<2 {
            let app = try #require(
                (0..<100).lazy.map { "another.\($0)" }.first {
                    (try? ApplicationIdentifier($0)).map { EndpointSpread.place(of: $0, among: 2) } == place
                })
            #expect(try simulation.register(.primary, app).refusal == "too-many-applications")
        }
        simulation.stop([])
    }

    @Test func `LIM-5: connections are counted where they were accepted until they are gone`() throws {
        let simulation = try SpreadSimulation(loops: 2)
        let client = try simulation.app(.primary, SpreadSimulation.app(at: 1, of: 2))
        #expect(simulation.simulator.primary.connectionCount == 1)
        client.disconnect()
        simulation.loop.run { simulation.simulator.primary.connectionCount == 0 }
        simulation.stop([client])
    }

    @Test func `SES-18: a stop says bye on every loop and answers what is open`() throws {
        let simulation = try SpreadSimulation(loops: 3)
        var clients: [Client] = []
        for place in 0..<3 {
            let app = try SpreadSimulation.app(at: place, of: 3)
            let pair = (try simulation.app(.primary, app), try simulation.app(.secondary, app))
            pair.1.onFrame = { client, _, envelope in
                // Answered only once the stop has begun.
                guard envelope.kind == .bye else { return }
                for message in client.received(.message) { try? client.send(message.answer("at last")) }
            }
            try pair.0.send(simulation.message(app))
            simulation.loop.run { !pair.1.received(.message).isEmpty }
            clients += [pair.0, pair.1]
        }
        simulation.stop(clients)
        #expect(clients.allSatisfy { $0.received(.bye).map(\.name) == ["stopping"] })
        #expect(clients.map { $0.received(.reply).count } == [1, 0, 1, 0, 1, 0])
    }

    @Test func `SES-30: a broadcast reaches all secondaries from whichever loop`() throws {
        let simulation = try SpreadSimulation(loops: 2, secondaries: 4)
        var clients: [Client] = []
        for place in 0..<2 {
            let app = try SpreadSimulation.app(at: place, of: 2)
            let sender = try simulation.app(.primary, app)
            let receivers = try (1...4).map { try simulation.app(.secondary, app, number: $0) }
            var message = try simulation.message(app, wantsReply: false)
            message.pairing = .zero
            try sender.send(message)
            simulation.loop.run { receivers.allSatisfy { !$0.received(.message).isEmpty } }
            #expect(receivers.map { $0.received(.message).last?.pairing } == simulation.simulator.pairings)
            clients += [sender] + receivers
        }
        simulation.stop(clients)
    }
}
