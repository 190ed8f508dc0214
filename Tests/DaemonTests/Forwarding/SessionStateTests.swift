// Reports of pairings to host apps (SES-7): at every change, once for each turn, with growing revisions, the last one
// always true.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct SessionStateTests {
    let world = TwoDevices()

    private func levels(_ client: Client) throws -> [String] {
        try client.states(now: world.scheduler.now).map { state in
            state.pairings.map { "\($0.level.rawValue) \($0.reason.rawValue)" }.joined(separator: ", ")
        }
    }

    @Test func `SES-7: each step towards the counterpart and back is told once`() throws {
        let app = try world.devices.primary.app()
        try world.linkUp()
        world.scheduler.advance(by: Limits.introduction)
        let counterpart = try world.devices.secondary.app()
        counterpart.disconnect()
        world.scheduler.run()
        world.linkDown(.noHeartbeat)
        #expect(
            try levels(app) == [
                "unreachable no-link", "background counterpart-absent", "background not-installed", "immediate none",
                "background counterpart-absent", "unreachable no-heartbeat",
            ])
        let revisions = try app.states(now: world.scheduler.now).map(\.revision)
        #expect(zip(revisions, revisions.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func `SES-7: after a flap within one turn observers get one state, the true one`() throws {
        let app = try world.devices.primary.app()
        try world.linkUp()
        _ = try world.devices.secondary.app()
        let before = app.frames.count
        let link = try #require(world.links?.primary)
        link.lose()
        link.port = world.devices.primary.relay.linkUp(link, pairing: world.pairing, role: .primary)
        let announcement = ApplicationAnnouncement(isInstalled: true, isConnected: true, trust: .noKey)
        let envelope = try Envelope(.application, app: ApplicationIdentifier("com.example.app"))
            .with(body: announcement.body)
        #expect(link.port?.receive(try envelope.frame(), envelope) == nil)
        world.scheduler.run()
        #expect(app.frames.count == before + 1)
        #expect(try levels(app).last == "immediate none")
    }

    @Test func `after a second of flapping observers end on the true state`() throws {
        let app = try world.devices.primary.app()
        _ = try world.devices.secondary.app()
        for _ in 0..<20 {
            try world.linkUp()
            world.scheduler.advance(by: .milliseconds(25))
            world.linkDown()
            world.scheduler.advance(by: .milliseconds(25))
        }
        #expect(try levels(app).last == "unreachable no-link")
        try world.linkUp()
        #expect(try levels(app).last == "immediate none")
    }

    @Test func `SES-7: since counts from the last change, at sending`() throws {
        try world.linkUp()
        _ = try world.devices.secondary.app()
        world.scheduler.advance(by: .seconds(7))
        let app = try world.devices.primary.app()
        let body = try #require(app.received(.registered).first).dictionaryBody()
        let pairing = try #require(body["pairings"]?.arrayValue?.first?.dictionaryValue)
        #expect(pairing["level"]?.stringValue == "immediate" && pairing["installed"]?.booleanValue == true)
        let since = try #require(pairing["since"]?.integerValue)
        world.scheduler.advance(by: .seconds(2))
        let second = try world.devices.primary.app("com.example.app", .init(receives: false))
        let later = try #require(second.received(.registered).first).dictionaryBody()
        #expect(later["pairings"]?.arrayValue?.first?.dictionaryValue?["since"]?.integerValue == since + 2000)
    }

    @Test func `SES-7: every connection of an app is told, and nobody of another app when nothing changes for it`()
        throws
    {
        try world.linkUp()
        let first = try world.devices.primary.app("app.a")
        let second = try world.devices.primary.app("app.a", .init(receives: false))
        let other = try world.devices.primary.app("app.b")
        let before = (first.frames.count, second.frames.count, other.frames.count)
        _ = try world.devices.secondary.app("app.a")
        #expect(first.frames.count == before.0 + 1 && second.frames.count == before.1 + 1)
        #expect(other.frames.count == before.2)
    }

    @Test func `SES-7: pending, version and stopping are told as reasons`() throws {
        let app = try world.devices.secondary.app()
        let relay = world.devices.secondary.relay
        for reason in [ReachabilityReason.version, .stopping, .noHeartbeat] {
            relay.setLinkDown(reason, pairing: world.pairing, role: .secondary)
            world.scheduler.run()
            #expect(try levels(app).last == "unreachable \(reason.rawValue)")
        }
        let pending = RelayedPairing(
            pairing: world.pairing, role: .secondary, peer: .random(), name: "new", isPending: true)
        relay.setPairing(pending)
        world.scheduler.run()
        #expect(try levels(app).last == "unreachable pending")
    }

    @Test func `SES-7: the active pairing and a removed one are told`() throws {
        let app = try world.devices.primary.app()
        let relay = world.devices.primary.relay
        let second = UniqueIdentifier.random()
        relay.setPairing(RelayedPairing(pairing: second, role: .primary, peer: .random(), name: "second"))
        relay.setActive(second, role: .primary)
        world.scheduler.run()
        let both = try #require(try app.states(now: world.scheduler.now).last)
        #expect(both.active == second && both.pairings.count == 2)
        relay.removePairing(second, role: .primary)
        world.scheduler.run()
        let one = try #require(try app.states(now: world.scheduler.now).last)
        #expect(one.active == nil && one.pairings.map(\.pairing) == [world.pairing])
    }

    @Test func `SES-7: the target is the primary's custom identifier where its app declares one, on both sides`() throws
    {
        try world.linkUp()
        let custom = try CustomIdentifier("depot 7")
        let secondary = try world.devices.secondary.app()
        let device = world.devices.primary.endpoint.options.device
        #expect(try secondary.states(now: world.scheduler.now).last?.pairings.first?.target == .vendor(device))
        let primary = try world.devices.primary.app("com.example.app", .init(identifier: custom))
        for app in [primary, secondary] {
            #expect(try app.states(now: world.scheduler.now).last?.pairings.first?.target == .custom(custom))
        }
    }
}
