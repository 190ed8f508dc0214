// How a local connection begins (SES-1 to SES-6): hello, then register, and whose an application identifier is.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemOperations
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct OpeningTests {
    let simulation = Simulation()

    @Test(arguments: DeviceRole.allCases)
    func `SES-2: the daemon answers hello with version 1, its role and device, and the common capabilities`(
        role: DeviceRole
    ) throws {
        let client = simulation.connect(role)
        try client.hello([.message, .configuration])
        simulation.scheduler.run()
        let hello = try HelloFrame(try #require(client.received(.hello).first)).hello(from: .server)
        #expect(hello.versions == .chosen(.first))
        #expect(hello.role == role && hello.device == simulation.simulator.endpoint(role).options.device)
        #expect(hello.capabilities == [.message, .configuration])
    }

    @Test func `SES-24: a daemon takes a host app's hello whatever it says of a role and a device`() throws {
        let client = simulation.connect(.primary)
        var hello = Hello.offer(software: "test").body
        (hello["role"], hello["device"]) = ("tertiary", 1)
        try client.deliver(Envelope(.hello).with(body: hello))
        #expect(client.received(.hello).count == 1 && client.refusal == nil)
    }

    @Test func `SES-2: a client of other versions only is refused by name`() throws {
        let client = simulation.connect(.primary)
        try client.deliver(
            Envelope(.hello).with(
                body: ["minimum": 2, "maximum": 9, "capabilities": ["message"], "software": "from the future"]))
        #expect(client.refusal == "version" && client.isClosed)
    }

    @Test func `SES-21: the refusal of a hello whose body does not read names the frame, unlike that of its envelope`()
        throws
    {
        var frames = [try Envelope(.hello).with(body: ["minimum": 1, "maximum": 1, "capabilities": []])]
        frames.append(Envelope(.hello, body: Array("<?xml".utf8)))
        for (frame, fault) in zip(frames, ["key 'software' is not there", "malformed property list"]) {
            let client = simulation.connect(.primary)
            try client.deliver(frame)
            let text = try Refusal(try #require(client.received(.refusal).first)).text
            #expect(text.hasPrefix("in hello: \(fault)"), "\(text)")
        }
        let client = simulation.connect(.primary)
        client.stream.send(Bytes.frame(Array("<?xml version='1.0'?>".utf8)))
        simulation.scheduler.run()
        let text = try Refusal(try #require(client.received(.refusal).first)).text
        #expect(text.hasPrefix("malformed property list"), "\(text)")
    }

    @Test(arguments: [FrameKind.ping, .register, .control, .message])
    func `SES-1: nothing but hello comes first`(kind: FrameKind) throws {
        let client = simulation.connect(.primary)
        var envelope = try simulation.message()
        envelope.kind = kind
        let first =
            switch kind {
            case .register: Envelope(.register, app: envelope.app, body: [])
            case .control: Envelope(.control, id: .random(), command: "status")
            case .ping: Envelope(kind)
            default: envelope
            }
        try client.deliver(first)
        #expect(client.refusal == "hello-expected" && client.isClosed)
    }

    @Test func `SES-1: a frame that breaks its envelope is refused for that fault, also before hello`() throws {
        let cases: [(PropertyListDictionary, String)] = [
            (["kind": "submit"], "envelope"), (["kind": "ping", "colour": "red"], "unknown-key"),
            (["kind": "teleport"], "unknown-kind"),
        ]
        for (envelope, name) in cases {
            let client = simulation.connect(.primary)
            client.stream.send(Bytes.frame(try PropertyListWriter.write(envelope)))
            simulation.scheduler.run()
            #expect(client.refusal == name && client.isClosed)
        }
    }

    @Test(arguments: [Envelope(.bye), Envelope(.refusal, name: "version")])
    func `SES-1: a client that leaves before hello gets no answer`(farewell: Envelope) throws {
        let client = simulation.connect(.primary)
        try client.deliver(farewell)
        #expect(client.isClosed && client.frames.isEmpty)
    }

    @Test func `SES-6: registered tells device, role, owner and the whole state`() throws {
        let app = try simulation.app(.secondary)
        let answer = try RegistrationAnswer(
            body: try #require(app.received(.registered).first).dictionaryBody(), now: simulation.scheduler.now)
        #expect(answer.role == .secondary && answer.uid == UInt64(Simulation.user) && answer.directory == nil)
        #expect(answer.state.active == simulation.pairing)
        let pairing = try #require(answer.state.pairings.first)
        #expect(pairing.role == .secondary && pairing.level == .background && pairing.reason == .notInstalled)
        let primary = simulation.simulator.primary.options.device
        #expect(pairing.peer == primary && pairing.target == .vendor(primary))
    }

    @Test func `SES-6: an app belongs to the user that registered it first, root included`() throws {
        try simulation.app(.primary).disconnect()
        simulation.scheduler.run()
        for user: UInt32 in [1001, 0] {
            let other = try simulation.register(user: user)
            #expect(other.refusal == "app-owned" && other.isClosed)
        }
        #expect(try simulation.app(.primary).received(.registered).count == 1)
    }

    @Test func `SES-6: the operator may give an app to a user before anyone registers it`() throws {
        let app = try ApplicationIdentifier("com.example.app")
        simulation.simulator.primary.registrations.assign(app, to: ApplicationOwnership(user: 1001, role: .primary))
        #expect(try simulation.register().refusal == "app-owned")
        #expect(try simulation.app(.primary, user: 1001).refusal == nil)
    }

    @Test func `SES-6: another user is not told whether the app is connected`() throws {
        let first = try simulation.app(.primary, user: 1001)
        let other = try simulation.register()
        #expect(other.refusal == "app-owned" && other.isClosed && !first.isClosed)
    }

    @Test func `SES-5: a second receiving connection is refused, and taken once the first has gone`() throws {
        let first = try simulation.app(.primary)
        let second = try simulation.register()
        #expect(second.refusal == "already-receiving" && second.isClosed && !first.isClosed)
        first.disconnect()
        simulation.scheduler.run()
        #expect(try simulation.app(.primary).refusal == nil)
    }

    @Test(arguments: ["", ".hidden", "a/b", "../up", String(repeating: "a", count: 129)])
    func `SES-6: a malformed application identifier is refused as such`(text: String) throws {
        let client = try simulation.greet(.primary)
        let envelope: PropertyListDictionary = [
            "kind": "register", "app": .string(text),
            "body": .data(try PropertyListWriter.write(PropertyListDictionary())),
        ]
        let payload = try PropertyListWriter.write(envelope)
        client.stream.send(try Frame(payload: payload).bytes)
        simulation.scheduler.run()
        #expect(client.refusal == "application" && client.isClosed)
    }

    @Test func `LIM-11: app 257 of a device is refused, the 256 go on`() throws {
        for number in 0..<Limits.applications { try simulation.app(.primary, "app.\(number)").disconnect() }
        #expect(try simulation.register("app.too.many").refusal == "too-many-applications")
        #expect(try simulation.app(.primary, "app.0").refusal == nil)
    }

    @Test func `LIM-5: one connection too many is told so, and one that ends makes room`() throws {
        var options = simulation.simulator.primary.options
        options.connectionLimit = 4
        let device = TestDevice(options: options, scheduler: simulation.scheduler)
        let first = device.connect(user: 2000)
        _ = device.connect(user: 2000)
        let third = device.connect(user: 2000)
        #expect(third.refusal == "too-many-connections" && third.isClosed && device.endpoint.connectionCount == 2)
        first.disconnect()
        simulation.scheduler.run()
        #expect(device.connect(user: 2000).refusal == nil)
    }

    @Test func `a stream whose other end is nobody's is closed at once`() throws {
        let (ours, theirs) = InProcessStream.pair(on: simulation.scheduler)
        let client = Client(ours)
        simulation.simulator.primary.accept(theirs)
        simulation.scheduler.run()
        #expect(client.isClosed && client.frames.isEmpty)
    }
}
