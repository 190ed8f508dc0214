// One primary with many secondaries (SES-22): each secondary is a device of its own, and what the primary's app is told
// grows with the number of devices, not with its square.

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

@Suite struct ManySecondariesTests {
    @Test func `SES-22: each secondary is a device with a pairing of its own, and the first one's is active`() throws {
        let simulation = Simulation(secondaries: 3)
        let app = try simulation.app(.primary)
        _ = try simulation.app(.secondary, number: 3)
        let state = try simulation.state(of: app)
        #expect(Set(state.pairings.map(\.pairing)) == Set(simulation.simulator.pairings))
        #expect(state.pairings.map(\.pairing) == simulation.simulator.pairings.sorted())
        #expect(Set(state.pairings.map(\.peer)).count == 3)
        #expect(state.active == simulation.simulator.pairings[0])
        #expect(state.pairing(simulation.simulator.pairings[2])?.level == .immediate)
        #expect(state.pairing(simulation.simulator.pairings[1])?.reason == .notInstalled)
    }

    @Test func `SES-22: a message goes to the secondary of its pairing alone, and its reply comes back`() throws {
        let simulation = Simulation(secondaries: 5)
        let app = try simulation.app(.primary)
        let counterparts = try (1...5).map { try simulation.app(.secondary, number: $0) }
        for counterpart in counterparts { counterpart.answerAll() }
        for (index, pairing) in simulation.simulator.pairings.enumerated() {
            var message = try simulation.message("to number \(index + 1)")
            message.pairing = pairing
            try app.send(message)
        }
        simulation.scheduler.run()
        #expect(counterparts.map { $0.received(.message).map(\.pairing) } == simulation.simulator.pairings.map { [$0] })
        #expect(app.received(.reply).count == 5)
        #expect(app.received(.failure).isEmpty)
    }

    @Test func `a secondary's app sees its own pairing only, and may not send through another's`() throws {
        let simulation = Simulation(secondaries: 2)
        let first = try simulation.app(.secondary, number: 1)
        _ = try simulation.app(.primary)
        #expect(try simulation.state(of: first).pairings.map(\.pairing) == [simulation.simulator.pairings[0]])
        var message = try simulation.message()
        message.pairing = simulation.simulator.pairings[1]
        try first.deliver(message)
        #expect(try first.onlyFailure().name == "not-paired")
    }

    @Test func `SES-29 LIM-19: secondaries that come one by one cost a linear number of entries`() throws {
        let count = 200
        let simulation = Simulation(secondaries: count)
        let app = try simulation.app(.primary)
        for number in 1...count {
            _ = try simulation.app(.secondary, number: number)
            simulation.scheduler.advance(by: .milliseconds(1))
        }
        // Two hundred pairings rest for 50 ms: in 200 ms of arrivals four or five states.
        #expect((3...6).contains(app.received(.state).count))
        simulation.scheduler.advance(by: .milliseconds(50))
        let last = try simulation.state(of: app)
        #expect(last.pairings.allSatisfy { $0.level == .immediate })
        let told = app.received(.state).count
        simulation.scheduler.advance(by: .seconds(10))
        #expect(app.received(.state).count == told && simulation.scheduler.timerCount <= 1)
    }

    @Test(arguments: [8, 9])
    func `SES-29: up to eight pairings every change is told at once`(count: Int) throws {
        let simulation = Simulation(secondaries: count)
        let app = try simulation.app(.primary)
        for number in 1...4 { _ = try simulation.app(.secondary, number: number) }
        #expect(app.received(.state).count == (count == 8 ? 4 : 1))
        simulation.scheduler.advance(by: Limits.restPerPairing * count)
        #expect(try simulation.state(of: app).pairings.count { $0.level == .immediate } == 4)
    }

    @Test func `SES-29, LIM-19: the states of many apps that see many pairings leave in several turns`() throws {
        let device = TestDevice(.primary)
        let pairings = (0..<400).map { _ in UniqueIdentifier.random() }
        for pairing in pairings {
            device.relay.setPairing(
                RelayedPairing(pairing: pairing, role: .primary, peer: .random(), name: "a panel"))
        }
        let apps = try (1...5).map { try device.app("app.\($0)") }
        device.scheduler.advance(by: .seconds(1))
        device.relay.setActive(pairings[7], role: .primary)
        device.scheduler.run()
        let last = try apps.map { try #require(try $0.states(now: device.scheduler.now).last) }
        #expect(last.allSatisfy { $0.active == pairings[7] })
        #expect(Set(last.map(\.revision)).count == 2, "of 2,000 entries some 1,000 in a turn")
    }

    @Test func `SES-29, LIM-19: the announcements of many apps over many links leave in several turns`() throws {
        let (device, count) = (TestDevice(.primary), 400)
        let (relay, scheduler) = (device.relay, device.scheduler)
        let links = (0..<count).map { _ in
            let (pairing, link) = (UniqueIdentifier.random(), FakeLink(relay))
            relay.setPairing(RelayedPairing(pairing: pairing, role: .primary, peer: .random(), name: "a panel"))
            link.port = relay.linkUp(link, pairing: pairing, role: .primary)
            return link
        }
        scheduler.run()
        for number in 1...5 { relay.install(try ApplicationIdentifier("app.\(number)"), on: relay.side(.primary)) }
        var announced: [Int] = []
        func look(turns: Int) {
            scheduler.atEndOfTurn {
                announced.append(links[0].sent(.application).count)
                if turns > 1 { scheduler.schedule(after: .zero) { look(turns: turns - 1) } }
            }
        }
        look(turns: 5)
        scheduler.run()
        #expect(announced.first == 3, "of 2,000 frames some 1,000 in a turn")
        #expect(links.allSatisfy { $0.sent(.application).count == 5 })
    }

    @Test func `LIM-20: the state of the most secondaries fits one frame`() throws {
        let simulation = Simulation(secondaries: Simulator.secondaryLimit)
        let app = try simulation.app(.primary)
        #expect(try simulation.state(of: app).pairings.count == Simulator.secondaryLimit)
    }

    @Test func `SES-22: many secondaries listen side by side in one directory, and leave no socket behind`() throws {
        let directory = TemporaryDirectory()
        let loop = try EventLoop()
        let simulator = Simulator(scheduler: loop, software: "simulator of a test", user: 0, secondaries: 12)
        try simulator.listen(in: directory.path, loop: loop)
        let sockets = Set(directory.names.filter { $0.hasSuffix(".sock") })
        let numbered = (2...12).map { "secondary-\($0).sock" }
        #expect(sockets == Set(["primary.sock", "secondary.sock"] + numbered))
        var hasStopped = false
        simulator.stop { hasStopped = true }
        loop.run { hasStopped }
        #expect(directory.names.filter { $0.hasSuffix(".sock") }.isEmpty)
    }
}

extension Client {
    /// Answers every request from now on.
    func answerAll() {
        onFrame = { client, _, envelope in
            if envelope.kind == .message, envelope.wantsReply { try? client.send(envelope.answer("yes")) }
        }
    }
}
