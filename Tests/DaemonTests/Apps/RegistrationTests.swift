// Registration within the daemon: ownership is durable before an app is registered, and the rest of the daemon learns
// which apps are connected.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemOperations
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct RegistrationTests {
    let device = TestDevice(.secondary)

    private func register(_ user: UInt32 = Simulation.user, receives: Bool = true) throws -> Client {
        try device.endpoint.register("com.example.app", .init(receives: receives), on: device.scheduler, user: user)
    }

    @Test func `SES-6: nobody is registered before the ownership is stored`() throws {
        device.storesAtOnce = false
        let client = try register()
        #expect(client.received(.registered).isEmpty && device.stored.count == 1)
        device.finishStoring(true)
        #expect(client.received(.registered).count == 1)
        #expect(
            device.endpoint.registrations.owner(of: try ApplicationIdentifier("com.example.app")) == Simulation.user)
    }

    @Test func `SES-6: of two users that register at once the first counts, and the same user's second waits`() throws {
        device.storesAtOnce = false
        let first = try register()
        let stranger = try register(1001, receives: false)
        let second = try register(receives: false)
        #expect(stranger.refusal == "app-owned")
        #expect(second.received(.registered).isEmpty && device.stored.count == 1)
        device.finishStoring(true)
        #expect(first.received(.registered).count == 1 && second.received(.registered).count == 1)
    }

    @Test func `SES-6, SES-74: the refusal of another user's app says what to run, and names the user to root only`()
        throws
    {
        _ = try register()
        let texts = try [1001, 0].map { (user: UInt32) in
            let refusal = try #require(try register(user, receives: false).received(.refusal).last)
            return try Refusal(refusal).text
        }
        #expect(texts[0].hasPrefix("com.example.app belongs to another user; run this as that user"))
        #expect(texts[1].hasPrefix("com.example.app belongs to user \(Simulation.user); run this as that user"))
        #expect(texts.allSatisfy { $0.hasSuffix("'tandem apps assign com.example.app USER'") })
    }

    @Test func `SES-32: a registration waits for what the device prepares, and is judged again after it`() throws {
        let app = try ApplicationIdentifier("com.example.app")
        device.prepares = true
        let first = try register()
        let second = try register(receives: false)
        #expect(first.received(.registered).isEmpty && second.received(.registered).isEmpty)
        device.finishPreparing()
        #expect(first.received(.registered).count == 1 && second.received(.registered).count == 1)
        #expect(device.stored == [app])
        device.prepares = true
        let third = try register(receives: false)
        device.endpoint.registrations.assign(app, to: ApplicationOwnership(user: 1001, role: .secondary))
        device.finishPreparing()
        #expect(third.refusal == "app-owned" && third.received(.registered).isEmpty)
    }

    @Test(arguments: [false, true])
    func `SES-18: a daemon that stops registers nobody, also if it was asked before`(isAskedBefore: Bool) throws {
        device.storesAtOnce = !isAskedBefore
        let client = try device.greet()
        if isAskedBefore { try client.register(try ApplicationIdentifier("com.example.app"), .init()) }
        device.scheduler.run()
        device.endpoint.stop()
        if !isAskedBefore { try client.register(try ApplicationIdentifier("com.example.app"), .init()) }
        device.finishStoring(true)
        #expect(client.refusal == "stopping" && client.received(.registered).isEmpty && device.connected.isEmpty)
    }

    @Test func `an ownership that cannot be stored is nobody's, and may be tried again`() throws {
        device.storesAtOnce = false
        let client = try register()
        device.finishStoring(false)
        #expect(client.refusal == "stopping" && client.isClosed)
        device.storesAtOnce = true
        #expect(try register(1001).received(.registered).count == 1)
    }

    @Test func `a client that leaves while its ownership is stored holds no place`() throws {
        device.storesAtOnce = false
        let client = try register()
        client.disconnect()
        device.scheduler.run()
        device.finishStoring(true)
        #expect(device.connected == device.disconnected && device.endpoint.connectionCount == 0)
        device.storesAtOnce = true
        #expect(try register().received(.registered).count == 1)
    }

    @Test func `frames sent before registered are taken after it, in order`() throws {
        device.storesAtOnce = false
        let client = try device.greet()
        try client.register(try ApplicationIdentifier("com.example.app"))
        let id = UniqueIdentifier.random()
        try client.deliver(Envelope(.ping, id: id))
        device.finishStoring(true)
        #expect(client.envelopes.map(\.kind) == [.hello, .registered, .pong])
        #expect(client.envelopes.last?.id == id)
    }

    @Test func `the daemon learns what an app said of itself, and that it has gone`() throws {
        let registration = TandemSession.Registration(
            anchor: "-----BEGIN PUBLIC KEY-----", identifier: try CustomIdentifier("depot 7"),
            allowsInvalidSignatures: true)
        let client = try device.app("app.a", registration)
        let application = try #require(device.connected.first)
        #expect(application.registration == registration && application.takesConfiguration)
        #expect(application.user == Simulation.user && application.role == .secondary)
        #expect(device.endpoint.connected(application.app) == application)
        client.disconnect()
        device.scheduler.run()
        #expect(device.disconnected == [application] && device.endpoint.connected(application.app) == nil)
    }

    @Test func `a connection that does not receive is no connected app`() throws {
        let client = try device.app("app.a", .init(receives: false))
        client.disconnect()
        device.scheduler.run()
        #expect(device.connected.isEmpty && device.disconnected.isEmpty)
    }

    @Test func `SES-6: the app's directory is told where the side has one`() throws {
        let client = try device.app("app.a")
        let body = try #require(client.received(.registered).first).dictionaryBody()
        #expect(body["directory"]?.stringValue == "apps/app.a")
    }

    @Test func `SES-5: an app whose registered fits no frame is refused, and holds no place`() throws {
        device.directory = String(repeating: "d", count: Limits.frame)
        let client = try register()
        #expect(client.refusal == "too-large" && client.isClosed)
        #expect(device.connected.isEmpty && device.disconnected.isEmpty)
        device.directory = nil
        #expect(try register().received(.registered).count == 1)
        #expect(device.connected.count == 1)
    }

    @Test func `SES-5: a connection registers once`() throws {
        let client = try device.app()
        try client.register(try ApplicationIdentifier("app.b"))
        device.scheduler.run()
        #expect(client.refusal == "unexpected" && client.isClosed)
    }

    @Test(arguments: ["receives", "anchor", "identifier", "allowsInvalidSignatures"])
    func `SES-5: a key of the wrong type is refused and named`(key: String) throws {
        let client = try device.greet()
        try client.deliver(Envelope(.register, app: ApplicationIdentifier("app.a")).with(body: [key: 7]))
        let refusal = try Refusal(try #require(client.received(.refusal).first))
        #expect(refusal.name == .envelope && refusal.text.contains(key))
    }

    @Test func `bye from a client ends its connection and its place`() throws {
        let client = try device.app()
        try client.deliver(Envelope(.bye))
        #expect(client.isClosed && device.disconnected.count == 1 && client.received(.refusal).isEmpty)
    }
}
