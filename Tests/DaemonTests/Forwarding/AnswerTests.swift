// Answers to requests: one from the connection that was asked, and no other.

import TandemBase
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct AnswerTests {
    private let simulation = Simulation()
    private let caller: Client
    private let counterpart: Client
    private let request: Envelope

    init() throws {
        caller = try simulation.app(.primary)
        counterpart = try simulation.app(.secondary)
        request = try simulation.message()
    }

    @Test func `SES-9: a second reply is dropped and counted`() throws {
        try caller.deliver(request)
        for text in ["first", "second"] { try counterpart.send(request.answer(text)) }
        simulation.scheduler.run()
        #expect(caller.received(.reply).map(\.body) == [try request.answer("first").body])
        #expect(simulation.counter("relay.stray") == 1)
    }

    @Test func `SES-10: a reply forged by another app is refused or dropped, and the true one still arrives`() throws {
        let caller = try simulation.app(.primary, "app.a")
        let counterpart = try simulation.app(.secondary, "app.a")
        let forger = try simulation.app(.secondary, "app.b")
        let request = try simulation.message(app: "app.a")
        try caller.deliver(request)
        var forged = try request.answer("forged")
        forged.app = try ApplicationIdentifier("app.b")
        try forger.deliver(forged)
        #expect(caller.received(.reply).isEmpty && simulation.counter("relay.stray") == 1)
        try forger.deliver(request.answer("forged"))
        #expect(forger.refusal == "not-yours" && forger.isClosed)
        #expect(caller.received(.reply).isEmpty)
        try counterpart.deliver(request.answer("true"))
        #expect(caller.received(.reply).count == 1)
    }

    @Test func `SES-10: another connection of the same app cannot answer either`() throws {
        let second = try simulation.app(.secondary, receives: false)
        try caller.deliver(request)
        try second.deliver(request.answer("not asked"))
        #expect(caller.received(.reply).isEmpty && !second.isClosed)
    }

    @Test func `SES-10: an identifier that is still open is 7008 duplicate-id, and free again after its answer`() throws
    {
        try caller.send(request)
        try caller.deliver(request)
        let error = try caller.onlyFailure()
        #expect(error.code == .invalidParameter && error.name == "duplicate-id")
        #expect(counterpart.received(.message).count == 1)
        try counterpart.send(request.answer("one"))
        try caller.deliver(request)
        #expect(counterpart.received(.message).count == 2)
    }

    @Test func `SES-12: the counterpart's failure reaches its caller as it is`() throws {
        try caller.deliver(request)
        let failure = try Envelope(
            .failure, app: request.app, pairing: request.pairing, id: request.id, code: 7014, name: "unhandled"
        ).frame()
        counterpart.stream.send(failure.bytes)
        simulation.scheduler.run()
        #expect(caller.frames.last == failure)
    }

    @Test func `SES-8: a message without reply may fail at its counterpart, but cannot be replied to`() throws {
        let message = try simulation.message(wantsReply: false)
        try caller.deliver(message)
        try counterpart.send(message.answer("nobody asked"))
        let failure = SessionError(.deliveryFailed, name: "unhandled", reason: "no handler")
        let (app, id) = (try #require(message.app), try #require(message.id))
        try counterpart.deliver(failure.failure(app: app, pairing: simulation.pairing, id: id))
        #expect(caller.received(.reply).isEmpty)
        #expect(try caller.onlyFailure().name == "unhandled")
    }

    @Test func `SES-9: an answer after the caller's deadline is dropped`() throws {
        let request = try simulation.message(deadline: .milliseconds(500))
        try caller.send(request)
        simulation.scheduler.advance(by: .seconds(3))
        try counterpart.deliver(request.answer("late"))
        #expect(caller.received(.reply).isEmpty)
        #expect(simulation.counter("relay.stray") == 1 && simulation.counter("relay.expired") == 1)
    }

    @Test func `LIM-2: a reply that is too large becomes 7011 reply-too-large for the caller`() throws {
        try caller.deliver(request)
        var reply = try request.answer("")
        reply.body = [UInt8](repeating: 1, count: Limits.messageBody + 1)[...]
        try counterpart.deliver(reply)
        #expect(caller.received(.reply).isEmpty)
        #expect(try caller.onlyFailure().name == "reply-too-large")
    }

    @Test(arguments: [FrameKind.reply, .failure])
    func `SES-68: an answer that is padded becomes 7011 reply-too-large for the caller`(kind: FrameKind) throws {
        try caller.deliver(request)
        var answer = try request.answer("")
        if kind == .failure {
            let error = SessionError(.deliveryFailed, name: "unhandled", reason: "no handler")
            answer = try error.failure(
                app: #require(request.app), pairing: #require(request.pairing), id: #require(request.id))
        }
        try answer.pad(to: Limits.frame)
        try counterpart.deliver(answer)
        #expect(caller.received(.reply).isEmpty)
        #expect(try caller.onlyFailure().name == "reply-too-large")
    }

    @Test func `a reply whose caller has gone is dropped, and the counterpart lives on`() throws {
        try caller.deliver(request)
        caller.disconnect()
        simulation.scheduler.run()
        try counterpart.deliver(request.answer("anyone?"))
        #expect(!counterpart.isClosed && simulation.counter("relay.stray") == 1)
    }
}
