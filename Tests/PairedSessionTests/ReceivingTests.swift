// Receiving (SES-8, SES-12, SES-15): late receivers, several of them, one answer, and every way of not answering.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct ReceivingTests {
    private let fixture: SessionFixture
    private let pairing: UniqueIdentifier

    init() throws { (fixture, pairing) = try Self.activated() }

    private static func activated() throws -> (SessionFixture, UniqueIdentifier) {
        let fixture = try SessionFixture()
        let pairing = fixture.daemon.pair()
        fixture.activate()
        return (fixture, pairing)
    }

    private func deliver(
        _ fixture: SessionFixture, _ pairing: UniqueIdentifier, _ body: PropertyListDictionary = ["a": 1],
        kind: FrameKind = .message, reply: Bool = true
    ) throws {
        try fixture.daemon.message(body, kind, from: pairing, reply: reply)
        fixture.scheduler.run()
    }

    @Test("SES-8: a message arrives with its pairing and is answered under its id")
    func answered() throws {
        let messages = fixture.receive()
        try deliver(fixture, pairing, ["a": 1])
        let message = try #require(messages.all.first)
        #expect(message.dictionary == ["a": 1] && message.pairing == pairing && message.wantsReply)
        try message.reply(["b": 2])
        fixture.scheduler.run()
        let reply = try #require(fixture.daemon.received.last)
        #expect(reply.kind == .reply && reply.id == message.id)
        #expect(try reply.dictionaryBody() == ["b": 2])
    }

    @Test("SES-9: only the first answer counts; the second is told to who gives it")
    func onlyFirst() throws {
        let messages = fixture.receive()
        try deliver(fixture, pairing)
        let message = try #require(messages.all.first)
        try message.reply([:])
        let error = #expect(throws: SessionError.self) { try message.reply([:]) }
        #expect(error?.name == "already-answered")
        message.fail("too late")
        fixture.scheduler.run()
        #expect(fixture.daemon.received.filter { $0.kind == .reply || $0.kind == .failure }.count == 1)
    }

    @Test("messages that arrive before the first receiver wait for it, in order and bounded")
    func lateReceiver() throws {
        for number in 0..<257 { try deliver(fixture, pairing, ["n": .integer(Int64(number))]) }
        let refused = try #require(fixture.daemon.received.last)
        #expect(refused.kind == .failure && refused.name == "inbox-full")
        let numbers = fixture.receive().all.map { $0.dictionary?["n"]?.integerValue }
        #expect(numbers == (0..<256).map { Int64($0) })
    }

    @Test("SES-12, SES-28: letting a message go that nobody took is unhandled, one that was read is reply-dropped")
    func letGo() throws {
        fixture.core.run { core in core.receive { _ in } }
        try deliver(fixture, pairing)
        #expect(fixture.daemon.received.last?.name == "unhandled")
        #expect(fixture.daemon.received.last?.code == SessionError.Code.deliveryFailed.rawValue)
        let (other, otherPairing) = try Self.activated()
        other.core.run { core in core.receive { $0.claim() } }
        try deliver(other, otherPairing)
        #expect(other.daemon.received.last?.name == "reply-dropped")
        #expect(other.daemon.received.last?.code == SessionError.Code.messageReplyFailed.rawValue)
    }

    @Test("SES-12, SES-28: a handler that fails is handler-failed, with its text")
    func handlerFails() throws {
        fixture.core.run { core in core.receive { $0.fail("no such room") } }
        try deliver(fixture, pairing)
        let failure = try SessionError(failure: try #require(fixture.daemon.received.last))
        #expect(failure.name == "handler-failed" && failure.reason == "no such room")
    }

    @Test("SES-12: a handler of messages that throws a rejection is handler-failed, with the rejection's own text")
    func handlerRejects() async throws {
        let (handled, continuation) = AsyncStream.makeStream(of: Void.self)
        fixture.session.handleMessages { message in
            if message.dictionary == ["n": 2] { continuation.finish() }
            throw ItemRejection(.invalidParameter, reason: "no such room")
        }
        fixture.scheduler.run()
        // The second one begins when the first is over.
        for number: Int64 in [1, 2] { try deliver(fixture, pairing, ["n": .integer(number)]) }
        for await _ in handled {}
        fixture.scheduler.run()
        let failure = try SessionError(failure: try #require(fixture.daemon.received.first { $0.kind == .failure }))
        #expect(failure.name == "handler-failed" && failure.code == .messageReplyFailed)
        #expect(failure.reason == "7008 invalidParameter: no such room [rejected]")
    }

    @Test(
        "SES-28: a handler's reply that cannot be sent is reply-invalid, with what is wrong with it",
        arguments: [
            ["d": .data([UInt8](repeating: 0, count: 70_000))], ["d": .real(.nan)], ["tandem.x": 1],
        ] as [PropertyListDictionary])
    func unsendableReply(reply: PropertyListDictionary) async throws {
        let (handled, continuation) = AsyncStream.makeStream(of: Void.self)
        fixture.session.handleMessages { message in
            guard message.dictionary == ["n": 2] else { return reply }
            continuation.finish()
            return [:]
        }
        fixture.scheduler.run()
        // The second one begins when the first is over.
        for number: Int64 in [1, 2] { try deliver(fixture, pairing, ["n": .integer(number)]) }
        for await _ in handled {}
        fixture.scheduler.run()
        let failure = try SessionError(failure: try #require(fixture.daemon.received.first { $0.kind == .failure }))
        #expect(failure.name == "reply-invalid" && failure.code == .messageReplyFailed)
        switch reply["d"] {
        case .data?: #expect((failure.actual ?? 0) > 70_000 && failure.limit == 65_536)
        case .real?: #expect(failure.keyPath == "d" && failure.actual == nil)
        default: #expect(failure.reason.contains("tandem."))
        }
    }

    @Test("SES-15: a message with a reserved key is never shown, and answered reserved-key")
    func reservedKey() throws {
        let messages = fixture.receive()
        try deliver(fixture, pairing, ["tandem.configuration": .data([1])])
        #expect(messages.all.isEmpty && fixture.daemon.received.last?.name == "reserved-key")
    }

    @Test("SES-15: a configuration from the daemon is shown as a dictionary of reserved keys and answered with such")
    func configuration() throws {
        let messages = fixture.receive()
        try deliver(fixture, pairing, ["tandem.configuration": .data([1])], kind: .configuration)
        let message = try #require(messages.all.first)
        #expect(message.isConfiguration && message.dictionary?["tandem.configuration"] == .data([1]))
        try message.reply(["tandem.verdict": "applied"])
        fixture.scheduler.run()
        let reply = try #require(fixture.daemon.received.last)
        #expect(try reply.dictionaryBody() == ["tandem.verdict": "applied"])
    }

    @Test("A body that is no dictionary of the strict profile is answered and shown to nobody")
    func malformed() throws {
        let messages = fixture.receive()
        let bytes = Array("<?xml version=\"1.0\"?>".utf8)
        fixture.daemon.send(
            Envelope(.message, app: fixture.daemon.app, pairing: pairing, id: .random(), reply: true, body: bytes))
        fixture.scheduler.run()
        #expect(messages.all.isEmpty && fixture.daemon.received.last?.name == "malformed")
        #expect(fixture.session.activationState == .activated)
    }

    @Test(
        "SES-8: a reply of the wrong kind, an unwanted one, a reserved key and one too large are errors of the caller")
    func badReplies() throws {
        let messages = fixture.receive()
        try deliver(fixture, pairing)
        try deliver(fixture, pairing, reply: false)
        let (asked, note) = (messages.all[0], messages.all[1])
        #expect(#expect(throws: SessionError.self) { try asked.reply(data: []) }?.name == "wrong-kind")
        #expect(#expect(throws: SessionError.self) { try asked.reply(["tandem.x": 1]) }?.name == "reserved-key")
        let large: PropertyListDictionary = ["d": .data([UInt8](repeating: 0, count: 65_536))]
        #expect(#expect(throws: SessionError.self) { try asked.reply(large) }?.code == .payloadTooLarge)
        #expect(#expect(throws: SessionError.self) { try asked.reply(["d": .real(.nan)]) }?.keyPath == "d")
        #expect(#expect(throws: SessionError.self) { try note.reply([:]) }?.name == "no-reply-wanted")
        try asked.reply([:])
    }

    @Test("An answer to a connection that is gone goes nowhere, not to the next one")
    func staleAnswer() throws {
        let messages = fixture.receive()
        try deliver(fixture, pairing)
        fixture.cut(waiting: .seconds(1))
        #expect(fixture.session.activationState == .activated)
        let count = fixture.daemon.received.count
        try messages.all[0].reply([:])
        fixture.scheduler.run()
        #expect(fixture.daemon.received.count == count)
    }

    @Test(
        "SES-12: a message without reply is handled when a handler has returned, whatever it returns",
        arguments: [true, false])
    func handledWithoutReply(returns: Bool) async throws {
        let (handled, continuation) = AsyncStream.makeStream(of: UniqueIdentifier.self)
        fixture.session.handleMessages { message in
            continuation.yield(message.id)
            return returns ? [:] : nil
        }
        fixture.scheduler.run()
        for wantsReply in [false, true, true] { try deliver(fixture, pairing, reply: wantsReply) }
        var ids: [UniqueIdentifier] = []
        // The third one begins when the first two are over.
        for await id in handled {
            ids.append(id)
            if ids.count == 3 { break }
        }
        fixture.scheduler.run()
        let answers = fixture.daemon.received.filter { $0.kind == .reply || $0.kind == .failure }
        #expect(answers.first?.id == ids[1] && answers.first?.kind == (returns ? .reply : .failure))
        #expect(!answers.contains { $0.id == ids[0] })
    }
}
