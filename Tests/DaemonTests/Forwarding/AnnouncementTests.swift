// Announcements of apps between two devices (SES-16).

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct AnnouncementTests {
    let world = TwoDevices()

    private func announced(_ link: FakeLink?) throws -> [ApplicationAnnouncement] {
        try (link?.sent(.application) ?? []).map { try ApplicationAnnouncement(body: $0.dictionaryBody()) }
    }

    @Test func `SES-16: after hello each installed app is announced once, then each change`() throws {
        let relay = world.devices.primary.relay
        relay.install(try ApplicationIdentifier("app.a"), on: relay.side(.primary), trust: .key(.random()))
        relay.install(try ApplicationIdentifier("app.b"), on: relay.side(.primary))
        world.scheduler.run()
        try world.linkUp()
        let link = try #require(world.links?.primary)
        #expect(link.sent(.application).map(\.app?.description) == ["app.a", "app.b"])
        #expect(try announced(link).map { $0.trust != .noKey } == [true, false])
        let app = try world.devices.primary.app("app.b")
        #expect(try announced(link).map(\.isConnected) == [false, false, true])
        app.disconnect()
        world.scheduler.run()
        #expect(try announced(link).map(\.isConnected) == [false, false, true, false])
        #expect(try announced(link).allSatisfy(\.isInstalled))
    }

    @Test func `SES-16, LIM-49: changes for which a link has no room are announced as one when it has`() throws {
        let app = try world.linkedApps().primary
        let link = try #require(world.links?.primary)
        let before = link.sent(.application).count
        link.room = 0
        app.disconnect()
        world.scheduler.run()
        try world.devices.primary.app("app.b").disconnect()
        world.scheduler.run()
        link.port?.drained()
        #expect(link.sent(.application).count == before)
        link.room = Int.max
        for _ in 0..<2 { link.port?.drained() }
        let later = link.sent(.application).dropFirst(before)
        #expect(later.map(\.app?.description) == ["com.example.app", "app.b"])
        #expect(try announced(link).dropFirst(before).map(\.isConnected) == [false, false])
    }

    @Test func `SES-16, SES-73: a link that had no room hears last of the app that took the place of a removed one`()
        throws
    {
        let name = try ApplicationIdentifier("com.example.app")
        let (app, relay) = (try world.linkedApps().primary, world.devices.primary.relay)
        let link = try #require(world.links?.primary)
        link.room = 0
        app.disconnect()
        relay.uninstall(name, on: relay.side(.primary))
        world.scheduler.run()
        relay.install(name, on: relay.side(.primary))
        link.room = Int.max
        link.port?.drained()
        world.scheduler.run()
        #expect(try announced(link).last?.isInstalled == true)
    }

    @Test func `SES-16: only a primary announces its app's custom identifier`() throws {
        try world.linkUp()
        let registration = TandemSession.Registration(identifier: try CustomIdentifier("depot 7"))
        for role in DeviceRole.allCases {
            _ = try world.devices[role].app("com.example.app", registration)
            let identifiers = try announced(world.links?[role]).map(\.identifier)
            #expect(identifiers.last == (role == .primary ? registration.identifier : nil))
        }
    }

    @Test func `an identifier once declared stays when a later connection declares none`() throws {
        try world.linkUp()
        let declared = TandemSession.Registration(identifier: try CustomIdentifier("depot 7"))
        try world.devices.primary.app("app.a", declared).disconnect()
        world.scheduler.run()
        _ = try world.devices.primary.app("app.a")
        #expect(try announced(world.links?.primary).last?.identifier == declared.identifier)
    }

    @Test func `SES-5, PAR-18: the identifier of a connection that only sends is not announced`() throws {
        try world.linkUp()
        _ = try world.devices.primary.app("app.a")
        let identifier = try CustomIdentifier("depot 7")
        _ = try world.devices.primary.app("app.a", .init(receives: false, identifier: identifier))
        let announced = try announced(world.links?.primary)
        #expect(!announced.isEmpty && announced.allSatisfy { $0.identifier == nil })
    }

    @Test func `LIM-11: a device that announces more apps than it may have is refused`() throws {
        try world.linkUp()
        let port = try #require(world.links?.primary.port)
        let announcement = ApplicationAnnouncement(isInstalled: true, isConnected: false, trust: .noKey)
        for number in 0...Limits.applications {
            let envelope = try Envelope(.application, app: ApplicationIdentifier("app.\(number)"))
                .with(body: announcement.body)
            #expect(
                port.receive(try envelope.frame(), envelope)
                    == (number < Limits.applications ? nil : .tooManyApplications))
        }
    }

    @Test func `SES-16, SES-21: a device that replaced its apps is taken on the next link, and a refusal says why`()
        throws
    {
        for link in 0..<3 {
            try world.linkUp()
            let port = try #require(world.links?.primary.port)
            let announcement = ApplicationAnnouncement(isInstalled: true, isConnected: false, trust: .noKey)
            for number in 0...Limits.applications {
                let envelope = try Envelope(.application, app: ApplicationIdentifier("app.\(link).\(number)"))
                    .with(body: announcement.body)
                let name = port.receive(try envelope.frame(), envelope)
                #expect(name == (number < Limits.applications ? nil : .tooManyApplications))
                if let name { #expect(port.refusal(name, of: envelope).text.contains("256")) }
            }
            world.linkDown()
            world.scheduler.advance(by: .seconds(10))
        }
    }

    @Test func `an announcement that lacks a key or is no dictionary is refused by name`() throws {
        try world.linkUp()
        let port = try #require(world.links?.primary.port)
        let app = try ApplicationIdentifier("app.a")
        let lacking = try Envelope(.application, app: app).with(body: ["installed": true])
        #expect(port.receive(try lacking.frame(), lacking) == .envelope)
        let garbage = Envelope(.application, app: app, body: [1, 2, 3])
        #expect(port.receive(try garbage.frame(), garbage) == .malformed)
    }
}
