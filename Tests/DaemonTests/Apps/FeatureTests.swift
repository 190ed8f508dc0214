// SES-36, SES-16, SES-7: what an app declares reaches its counterparts' `state`, and each side tells how it sees the
// other.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FeatureTests {
    let world = TwoDevices()

    private func registration(_ names: [String], complication: Bool = false) throws -> TandemSession.Registration {
        let provides = try #require(ProvidedNames(names))
        return .init(features: ApplicationFeatures(provides: provides, hasComplication: complication))
    }

    private func entry(_ client: Client) throws -> PairingState {
        try #require(try client.states(now: world.scheduler.now).last?.pairings.first)
    }

    @Test func `SES-36: what an app provides is told to its counterpart, and holds when it leaves`() throws {
        let app = try world.devices.primary.app()
        try world.linkUp()
        let counterpart = try world.devices.secondary.app(
            "com.example.app", registration(["print", "lamp", "print"], complication: true))
        #expect(try entry(app).features.provides.names == ["lamp", "print"])
        #expect(try entry(app).features.hasComplication)
        counterpart.disconnect()
        world.scheduler.run()
        #expect(try entry(app).features.provides.names == ["lamp", "print"])
        _ = try world.devices.secondary.app("com.example.app", registration(["scan"]))
        #expect(try entry(app).features.provides.names == ["scan"] && !entry(app).features.hasComplication)
    }

    @Test func `SES-36: a connection that only sends does not speak for its app`() throws {
        let app = try world.devices.primary.app()
        try world.linkUp()
        _ = try world.devices.secondary.app("com.example.app", registration(["lamp"]))
        var sender = try registration(["nothing"])
        sender.receives = false
        _ = try world.devices.secondary.app("com.example.app", sender)
        #expect(try entry(app).features.provides.names == ["lamp"])
    }

    @Test(arguments: [
        [String](repeating: "x", count: 40), (0..<16).map { "name \($0)" }, [String(repeating: "x", count: 64)], [],
    ])
    func `LIM-32: up to 16 names of 1 to 64 bytes`(names: [String]) throws {
        #expect(ProvidedNames(names)?.names == Set(names).sorted())
    }

    @Test(arguments: [(0..<17).map { "name \($0)" }, [String(repeating: "x", count: 65)], [""], ["a\0b"]])
    func `LIM-32: more or other names are a malformed registration`(names: [String]) throws {
        #expect(ProvidedNames(names) == nil)
        var body = TandemSession.Registration().body
        body["provides"] = .array(names.map { .string($0) })
        #expect(throws: WireError.self) { try TandemSession.Registration(body: body) }
        body["provides"] = .array([1])
        #expect(throws: WireError.self) { try TandemSession.Registration(body: body) }
    }

    @Test func `SES-16: each side tells how it sees the other, and no more frames than that takes`() throws {
        let app = try world.devices.primary.app()
        try world.linkUp()
        #expect(try entry(app).seen == nil, "the other side has no such app, and says nothing of it")
        let counterpart = try world.devices.secondary.app()
        #expect(try entry(app).seen == .immediate && entry(counterpart).seen == .immediate)
        let sent = world.links?.primary.sent(.application).count
        app.disconnect()
        world.scheduler.run()
        #expect(try entry(counterpart).seen == .immediate && entry(counterpart).level == .background)
        #expect(world.links?.primary.sent(.application).count == sent.map { $0 + 1 })
        world.linkDown()
        #expect(try entry(counterpart).seen == nil)
    }

    @Test func `SES-16: in the simulator each side sees how the other sees it`() throws {
        let simulation = Simulation()
        let app = try simulation.app(.primary)
        #expect(try simulation.state(of: app).pairings.first?.seen == nil)
        let counterpart = try simulation.app(.secondary)
        #expect(try simulation.state(of: counterpart).pairings.first?.seen == .immediate)
        #expect(try simulation.state(of: app).pairings.first?.seen == .immediate)
        app.disconnect()
        simulation.scheduler.run()
        #expect(try simulation.state(of: counterpart).pairings.first?.level == .background)
    }

    @Test func `SES-35: the daemon counts changes, those that one state covers too`() throws {
        let app = try world.devices.primary.app()
        try world.linkUp()
        _ = try world.devices.secondary.app()
        let before = try entry(app).changes
        for _ in 0..<3 {
            world.links?.primary.lose()
            world.links?.primary.port = world.devices.primary.relay.linkUp(
                try #require(world.links?.primary), pairing: world.pairing, role: .primary)
        }
        world.scheduler.run()
        #expect(try entry(app).changes == before + 6)
    }

    @Test func `SES-3: a topic goes to no end that did not agree to topics`() throws {
        let app = try world.devices.primary.app()
        try world.linkUp()
        let old = try world.devices.secondary.app(capabilities: [.message, .messageData])
        for topic in ["alarms", nil] {
            var message = try world.message()
            message.topic = topic
            try app.send(message)
        }
        world.scheduler.run()
        #expect(try app.onlyFailure().name == "unsupported-kind")
        #expect(old.received(.message).map(\.topic) == [nil] && !old.isClosed)
    }

    @Test func `SES-3 SES-30: a broadcast with a topic fails by name for who did not agree to topics`() throws {
        let simulation = Simulation(secondaries: 2)
        let app = try simulation.app(.primary)
        let new = try simulation.app(.secondary, number: 1)
        let old = try simulation.simulator.secondaries[1].register(
            capabilities: [.message, .messageData], on: simulation.scheduler, user: Simulation.user)
        for topic in ["alarms", nil] {
            var message = try simulation.message(wantsReply: false)
            (message.pairing, message.topic) = (.zero, topic)
            try app.send(message)
        }
        simulation.scheduler.run()
        #expect(new.received(.message).map(\.topic) == ["alarms", nil] && old.received(.message).map(\.topic) == [nil])
        let failure = try #require(app.received(.failure).first)
        #expect(failure.name == "unsupported-kind" && failure.pairing == simulation.simulator.pairings[1])
        #expect(app.received(.failure).count == 1)
    }
}
