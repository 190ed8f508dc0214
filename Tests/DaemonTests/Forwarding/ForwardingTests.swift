// Messages and replies between the two sides of a pair: what is forwarded are the bytes that came, in the order they
// came.

import TandemBase
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct ForwardingTests {
    let simulation = Simulation()

    @Test(arguments: DeviceRole.allCases)
    func `SES-8 FRM-12: a message and its reply arrive as the bytes they were sent as`(from role: DeviceRole) throws {
        let caller = try simulation.app(role)
        let counterpart = try simulation.app(role.counterpart)
        let request = try simulation.message()
        try caller.deliver(request)
        #expect(counterpart.frames.last == (try request.frame()))
        let reply = try request.answer("and to you")
        try counterpart.deliver(reply)
        #expect(caller.frames.last == (try reply.frame()))
        #expect(caller.received(.failure).isEmpty && counterpart.received(.failure).isEmpty)
    }

    @Test func `FRM-9 FRM-12: keys that only the ends understand, and another writing, are forwarded untouched`() throws
    {
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        var request = try simulation.message(wantsReply: false)
        request.extensions = ["x-trace": "4bf92f3577b34da6", "x-hops": 3]
        let frame = try request.frame()
        caller.stream.send(frame.bytes)
        simulation.scheduler.run()
        #expect(counterpart.frames.last?.bytes == frame.bytes)
    }

    @Test func `SES-8: bytes travel as messageData, and any bytes may answer them`() throws {
        let caller = try simulation.app(.secondary)
        let counterpart = try simulation.app(.primary)
        let app = try ApplicationIdentifier("com.example.app")
        let id = UniqueIdentifier.random()
        let body: [UInt8] = [0, 255, 1, 2, 3]
        try caller.deliver(
            Envelope(.messageData, app: app, pairing: simulation.pairing, id: id, reply: true, body: body))
        #expect(counterpart.received(.messageData).map { Array($0.body ?? []) } == [body])
        try counterpart.deliver(Envelope(.reply, app: app, pairing: simulation.pairing, id: id, body: []))
        #expect(caller.received(.reply).map { $0.body?.count } == [0])
    }

    @Test func `SES-14: messages from one connection arrive in the order they were sent`() throws {
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        let sent = try (0..<300).map { try simulation.message("number \($0)", wantsReply: $0.isMultiple(of: 3)) }
        for message in sent { try caller.send(message) }
        simulation.scheduler.run()
        #expect(counterpart.received(.message).map(\.id) == sent.map(\.id))
    }

    @Test func `a connection that does not receive sends, and gets its own replies`() throws {
        let receiver = try simulation.app(.primary)
        let sender = try simulation.app(.primary, receives: false)
        let counterpart = try simulation.app(.secondary)
        counterpart.onFrame = { client, _, envelope in
            if envelope.kind == .message { try? client.send(envelope.answer("yes")) }
        }
        try sender.deliver(simulation.message())
        #expect(sender.received(.reply).count == 1)
        #expect(receiver.received(.reply).isEmpty)
    }

    @Test func `apps with other identifiers see nothing of each other`() throws {
        let caller = try simulation.app(.primary, "app.a")
        let counterpart = try simulation.app(.secondary, "app.a")
        let stranger = try simulation.app(.secondary, "app.b")
        try caller.deliver(simulation.message(app: "app.a"))
        #expect(counterpart.received(.message).count == 1)
        #expect(stranger.received(.message).isEmpty)
    }

    @Test func `a message without reply is counted as forwarded and leaves nothing open`() throws {
        let caller = try simulation.app(.primary)
        _ = try simulation.app(.secondary)
        try caller.deliver(simulation.message(wantsReply: false))
        #expect(simulation.counter("relay.forwarded") == 1)
        simulation.scheduler.advance(by: Limits.standardDeadline + .seconds(2))
        #expect(simulation.scheduler.timerCount == 0)
        #expect(caller.received(.failure).isEmpty)
    }
}
