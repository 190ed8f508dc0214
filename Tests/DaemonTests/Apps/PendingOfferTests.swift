// Configurations given to a host app: each offer ends exactly once, by the app's answer, its end, or the deadline.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct PendingOfferTests {
    private let device = TestDevice(.secondary)
    private let pairing = UniqueIdentifier.random()
    private let outcomes = Outcomes()

    private final class Outcomes {
        var all: [OfferOutcome] = []
        var failure: SessionError? { if case .failed(let error)? = all.first { error } else { nil } }
    }

    private func offer(_ body: [UInt8] = [1, 2, 3], deadline: Duration = .seconds(30)) throws {
        let app = try ApplicationIdentifier("com.example.app")
        device.endpoint.offer(body, to: app, pairing: pairing, deadline: deadline) { [outcomes] in
            outcomes.all.append($0)
        }
        #expect(outcomes.all.isEmpty)
        device.scheduler.run()
    }

    @Test func `the app gets kind configuration with a reply wanted, and its reply's body comes back`() throws {
        let app = try device.app()
        try offer()
        let request = try #require(app.received(.configuration).first)
        #expect(request.wantsReply && request.pairing == pairing && Array(request.body ?? []) == [1, 2, 3])
        #expect(request.deadline == .seconds(30))
        let reply = try request.answer("applied")
        try app.deliver(reply)
        #expect(outcomes.all == [.reply(Array(try #require(reply.body)))])
        try app.send(reply)
        device.scheduler.advance(by: .seconds(60))
        #expect(outcomes.all.count == 1 && !app.isClosed)
    }

    @Test func `the app's failure comes back as its error`() throws {
        let app = try device.app()
        try offer()
        let request = try #require(app.received(.configuration).first)
        let error = SessionError(.deliveryFailed, name: "unhandled", reason: "no hook")
        let (name, id) = (try #require(request.app), try #require(request.id))
        try app.deliver(error.failure(app: name, pairing: pairing, id: id))
        let failure = try #require(outcomes.failure)
        #expect(failure.code == .deliveryFailed && failure.name == "unhandled" && outcomes.all.count == 1)
    }

    @Test func `without a receiving connection it is not-connected, and nothing is sent later`() throws {
        let sender = try device.app("com.example.app", .init(receives: false))
        try offer()
        #expect(outcomes.all == [.notConnected])
        _ = try device.app()
        #expect(sender.received(.configuration).isEmpty)
    }

    @Test func `an app that disconnects ends it as disconnected`() throws {
        let app = try device.app()
        try offer()
        app.disconnect()
        device.scheduler.advance(by: .seconds(60))
        #expect(outcomes.all == [.disconnected])
    }

    @Test func `an app that does not answer ends it at the deadline, and its late reply is nothing`() throws {
        let app = try device.app()
        try offer(deadline: .seconds(5))
        device.scheduler.advance(by: .milliseconds(4_900))
        #expect(outcomes.all.isEmpty)
        device.scheduler.advance(by: .milliseconds(200))
        #expect(outcomes.all == [.expired])
        try app.deliver(try #require(app.received(.configuration).first).answer("late"))
        #expect(outcomes.all.count == 1 && !app.isClosed)
    }

    @Test func `another connection of the app cannot answer for it`() throws {
        let app = try device.app()
        let second = try device.app("com.example.app", .init(receives: false))
        try offer()
        let request = try #require(app.received(.configuration).first)
        try second.deliver(request.answer("forged"))
        #expect(outcomes.all.isEmpty)
        try app.deliver(request.answer("true"))
        #expect(outcomes.all.count == 1)
    }

    @Test(arguments: [false, true])
    func `FRM-10, FRM-13: an answer under another app's name, or that names a channel, answers no offer`(
        namesChannel: Bool
    ) throws {
        let app = try device.app()
        try offer()
        let request = try #require(app.received(.configuration).first)
        var answer = try request.answer("forged")
        answer.app = try ApplicationIdentifier("app.other")
        if namesChannel {
            answer = Envelope(
                .failure, app: request.app, pairing: pairing, id: request.id, channel: .userInfo, code: 7014)
        }
        try app.deliver(answer)
        #expect(app.refusal == (namesChannel ? "envelope" : "not-yours") && app.isClosed)
        #expect(outcomes.all == [.disconnected])
    }

    @Test func `SES-3: an app that does not know configurations gets none`() throws {
        let app = try device.app(capabilities: [.message])
        #expect(device.connected.first?.takesConfiguration == false)
        try offer()
        let failure = try #require(outcomes.failure)
        #expect(failure.code == .deliveryFailed && app.received(.configuration).isEmpty)
    }

    @Test func `what is too large for a frame fails before it is sent`() throws {
        _ = try device.app()
        try offer([UInt8](repeating: 1, count: Limits.frame + 1))
        let failure = try #require(outcomes.failure)
        #expect(failure.code == .payloadTooLarge && failure.limit == Limits.frame)
    }

    @Test func `SES-15: a counterpart cannot send kind configuration`() throws {
        let simulation = Simulation()
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        var imitation = try simulation.message()
        imitation.kind = .configuration
        try caller.deliver(imitation)
        #expect(caller.refusal == "unexpected" && counterpart.received(.configuration).isEmpty)
    }
}
