// Sending (SES-8, SES-9, SES-13, SES-23): exactly one completion, in every schedule.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

struct RequestTests {
    private let fixture: SessionFixture

    init() throws { fixture = try Self.activated() }

    private static func activated(_ daemon: (ScriptedDaemon) -> Void = { _ = $0.pair() }) throws -> SessionFixture {
        let fixture = try SessionFixture()
        daemon(fixture.daemon)
        fixture.activate()
        return fixture
    }

    /// A daemon that does not read, and 40 large messages without reply: some have left, and the others wait.
    private func withSlowDaemon() throws -> (fixture: SessionFixture, given: Collector<SessionError?>, left: Int) {
        fixture.daemon.channel?.pauseReading()
        let given = Collector<SessionError?>()
        fixture.core.run { core in
            let large = OutgoingContent(data: Array(repeating: 0, count: 60_000))
            for _ in 0..<40 { core.note(large, given: { given.add($0.error) }) }
        }
        fixture.scheduler.run()
        let left = given.all.count
        #expect(left < 40)
        return (fixture, given, left)
    }

    private func answer(_ question: Envelope, with body: PropertyListDictionary) throws -> Envelope {
        try Envelope(.reply, app: question.app, pairing: question.pairing, id: question.id).with(body: body)
    }

    @Test("SES-8: a message is a frame with app, pairing, id, reply, deadline and body, and its reply completes it")
    func reply() throws {
        let results = fixture.request(["question": 1], timeout: .seconds(5))
        let question = try #require(fixture.daemon.received.last)
        #expect(question.kind == .message && question.wantsReply && question.deadline == .seconds(5))
        #expect(question.pairing == fixture.daemon.situation.active)
        #expect(try question.dictionaryBody() == ["question": 1])
        fixture.daemon.send(try answer(question, with: ["answer": 2]))
        fixture.scheduler.run()
        let body = try #require(try results.all.first?.get())
        #expect(try PropertyListReader.readDictionary(body) == ["answer": 2])
    }

    @Test("SES-9: a second reply, a late one and one of another pairing complete nothing")
    func surplusReplies() throws {
        let results = fixture.request()
        let question = try #require(fixture.daemon.received.last)
        var foreign = try answer(question, with: [:])
        foreign.pairing = .random()
        fixture.daemon.send(foreign)
        fixture.scheduler.run()
        #expect(results.all.isEmpty)
        for _ in 0..<3 { fixture.daemon.send(try answer(question, with: [:])) }
        fixture.scheduler.run()
        #expect(results.all.count == 1)
    }

    @Test("SES-9: at the deadline it is 7012, not before and not twice")
    func deadline() throws {
        let results = fixture.request(timeout: .seconds(3))
        let question = try #require(fixture.daemon.received.last)
        fixture.daemon.onFrame = { [daemon = fixture.daemon] in
            if $0.kind == .ping { daemon.send(Envelope(.pong, id: $0.id)) }
        }
        fixture.scheduler.advance(by: .milliseconds(2999))
        #expect(results.all.isEmpty)
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(results.all.map(\.error?.code) == [.messageReplyTimedOut])
        fixture.daemon.send(try answer(question, with: [:]))
        fixture.scheduler.run()
        #expect(results.all.count == 1)
    }

    @Test("SES-20: a failure arrives with its code, name and facts")
    func failure() throws {
        let results = fixture.request()
        let question = try #require(fixture.daemon.received.last)
        let error = SessionError(.deliveryFailed, name: "unhandled", reason: "no handler")
        let (app, pairing, id) = (try #require(question.app), try #require(question.pairing), try #require(question.id))
        fixture.daemon.send(try error.failure(app: app, pairing: pairing, id: id))
        fixture.scheduler.run()
        #expect(results.all.first?.error?.name == "unhandled" && results.all.first?.error?.messageID == id)
    }

    @Test("SES-23: losing the daemon is 7014, a switch 7016, an unpairing 7005")
    func losses() throws {
        let cut = try Self.activated()
        let lost = cut.request()
        cut.cut()
        #expect(lost.all.map(\.error?.name) == ["daemon-lost"])

        let switching = try Self.activated { daemon in _ = (daemon.pair(), daemon.pair()) }
        let left = switching.request()
        switching.daemon.situation.active = switching.daemon.situation.pairings.last?.pairing
        switching.daemon.tellSituation()
        switching.scheduler.run()
        #expect(left.all.map(\.error?.code) == [.sessionInactive])

        let unpairing = try Self.activated()
        let gone = unpairing.request()
        unpairing.daemon.situation = SessionState(revision: 1, active: nil, pairings: [])
        unpairing.tellSituation()
        #expect(gone.all.map(\.error?.code) == [.deviceNotPaired])
    }

    @Test("SES-13: each state refuses with its own code, and nothing leaves")
    func refusals() throws {
        let notActivated = try SessionFixture()
        #expect(notActivated.request().all.map(\.error?.code) == [.sessionNotActivated])
        let rows: [((ScriptedDaemon) -> Void, SessionError.Code)] = [
            ({ _ in }, .deviceNotPaired), ({ _ = $0.pair(.background, .notInstalled) }, .watchAppNotInstalled),
            ({ _ = $0.pair(.unreachable, .noLink) }, .notReachable),
            ({ _ = $0.pair(.background, .counterpartAbsent) }, .notReachable),
            (
                {
                    $0.role = .secondary; _ = $0.pair(.background, .notInstalled)
                }, .companionAppNotInstalled
            ),
        ]
        for (prepare, code) in rows {
            let fixture = try Self.activated(prepare)
            #expect(fixture.request().all.map(\.error?.code) == [code])
            #expect(!fixture.daemon.received.contains { $0.kind == .message })
        }
    }

    @Test("SES-15, LIM-8: reserved keys, and timeouts at their limits")
    func arguments() {
        #expect(fixture.request(["tandem.x": 1]).all.first?.error?.name == "reserved-key")
        #expect(fixture.request(timeout: .zero).all.first?.error?.code == .invalidParameter)
        #expect(fixture.request(timeout: .seconds(601)).all.first?.error?.code == .invalidParameter)
        #expect(fixture.request(timeout: .seconds(600)).all.isEmpty)
    }

    @Test("LIM-7: the 1,025th request that waits is refused, and the first answer makes room")
    func tooMany() throws {
        for _ in 0..<1024 { #expect(fixture.request().all.isEmpty) }
        #expect(fixture.request().all.first?.error?.name == "too-many-requests")
        let question = try #require(fixture.daemon.received.last { $0.kind == .message })
        fixture.daemon.send(try answer(question, with: [:]))
        fixture.scheduler.run()
        #expect(fixture.request().all.isEmpty)
    }

    @Test("SES-8: a message without reply completes when given to the daemon; its failure is told later, once")
    func withoutReply() throws {
        let (given, failures) = (Collector<Result<[UInt8], SessionError>>(), Collector<SessionError>())
        fixture.core.run { core in
            core.note(OutgoingContent(["a": 1]), given: { given.add($0) }, laterFailure: { failures.add($0) })
        }
        fixture.scheduler.run()
        #expect(given.all.count == 1 && given.all.first?.error == nil)
        let note = try #require(fixture.daemon.received.last)
        #expect(!note.wantsReply)
        let (app, pairing, id) = (try #require(note.app), try #require(note.pairing), try #require(note.id))
        for _ in 0..<2 { fixture.daemon.send(try SessionError.unhandled.failure(app: app, pairing: pairing, id: id)) }
        fixture.scheduler.run()
        #expect(failures.all.map(\.name) == ["unhandled"])
    }

    @Test("A caller that gives up gets its one completion, and the late reply is dropped")
    func abandoned() throws {
        let (id, results) = (UniqueIdentifier.random(), Collector<Result<[UInt8], SessionError>>())
        fixture.core.run { core in
            core.request(OutgoingContent(["a": 1]), id: id) { results.add($0) }
            core.abandon(id)
        }
        fixture.scheduler.run()
        #expect(results.all.map(\.error?.name) == ["cancelled"])
        let question = try #require(fixture.daemon.received.last)
        fixture.daemon.send(try answer(question, with: [:]))
        fixture.scheduler.run()
        #expect(results.all.count == 1)
    }

    @Test("SES-23: messages without reply that wait for a slow daemon fail when that daemon is lost")
    func lostWhileWaiting() throws {
        let given = Collector<SessionError?>()
        fixture.core.run { core in
            let content = OutgoingContent(data: Array(repeating: 0, count: 60_000))
            for _ in 0..<64 { core.note(content, given: { given.add($0.error) }) }
        }
        fixture.cut()
        #expect(given.all.count == 64 && given.all.first == .some(nil))
        #expect(given.all.last??.name == "daemon-lost")
    }

    @Test("SES-8: a message without reply fails once, also one that a lost daemon has not taken")
    func failsOnce() throws {
        fixture.daemon.channel?.pauseReading()
        let content = OutgoingContent(["a": .data([UInt8](repeating: 1, count: 60_000))])
        let ends = (0..<40).map { _ in
            let (given, failures) = (Collector<Result<[UInt8], SessionError>>(), Collector<SessionError>())
            fixture.core.run { core in
                core.note(content, given: { given.add($0) }, laterFailure: { failures.add($0) })
            }
            return (given, failures)
        }
        fixture.scheduler.run()
        #expect(ends.contains { $0.0.all.isEmpty }, "some wait")
        fixture.cut()
        for (given, failures) in ends {
            #expect(given.all.count == 1)
            #expect(given.all.count { $0.error != nil } + failures.all.count == 1)
        }
    }

    @Test("LIM-7: while the daemon does not read, 1,024 messages without reply wait and a further one is refused")
    func waitingNotes() throws {
        let (fixture, given, left) = try withSlowDaemon()
        fixture.core.run { core in
            for _ in 0..<1100 { core.note(OutgoingContent(["a": 1]), given: { given.add($0.error) }) }
        }
        fixture.scheduler.run()
        let refused = given.all.compactMap(\.self)
        #expect(refused.count == 1140 - left - 1024 && given.all.count == left + refused.count)
        #expect(refused.allSatisfy { $0.name == "too-many-requests" })
    }

    @Test("LIM-7: to a daemon that reads, all messages without reply of one turn leave, however many")
    func manyNotes() throws {
        let given = Collector<SessionError?>()
        fixture.core.run { core in
            let content = OutgoingContent(data: Array(repeating: 0, count: 2000))
            for _ in 0..<5000 { core.note(content, given: { given.add($0.error) }) }
        }
        fixture.scheduler.run()
        #expect(given.all.count == 5000 && given.all.allSatisfy { $0 == nil })
        #expect(fixture.daemon.received.count { $0.kind == .messageData } == 5000)
    }

    @Test("LIM-6, LIM-62: answers that a daemon does not read for a moment all leave, and end no connection")
    func manyAnswers() throws {
        let arrived = fixture.receive()
        for _ in 0..<80 { try fixture.daemon.message(reply: true) }
        fixture.scheduler.run()
        fixture.daemon.channel?.pauseReading()
        for message in arrived.all { try message.reply(["answer": .data(Array(repeating: 0, count: 60_000))]) }
        fixture.scheduler.run()
        fixture.daemon.channel?.resumeReading()
        fixture.scheduler.run()
        #expect(fixture.daemon.received.count { $0.kind == .reply } == 80 && fixture.daemon.dials == 1)
    }

    @Test("LIM-6: beyond 64 MiB that its daemon does not read, an app connects again, and each question fails once")
    func tooManyBytes() throws {
        let ends = Collector<SessionError?>()
        let envelope = [UInt8](repeating: 0, count: 500_000)
        fixture.daemon.channel?.pauseReading()
        func ask(_ count: Int) {
            fixture.core.run { core in
                for _ in 0..<count {
                    core.ask(.apply(envelope: envelope), pairing: nil, channel: .configuration) { ends.add($0.error) }
                }
            }
            fixture.scheduler.run()
        }
        ask(130)
        #expect(ends.all.isEmpty && fixture.daemon.dials == 1, "65 MB")
        ask(10)
        #expect(ends.all.map { $0?.name } == Array(repeating: "daemon-lost", count: 140))
        fixture.scheduler.advance(by: .seconds(1))
        #expect(fixture.daemon.dials == 2 && fixture.request().all.isEmpty, "SES-23")
    }

    @Test("SES-54, LIM-1: a question that fits no frame fails at once, and the daemon gets none of it")
    func largeQuestion() {
        let ends = Collector<SessionError?>()
        let envelope = [UInt8](repeating: 0, count: 512 * 1024)
        fixture.core.run { core in
            core.ask(.apply(envelope: envelope), pairing: nil, channel: .configuration) { ends.add($0.error) }
        }
        fixture.scheduler.run()
        #expect(ends.all.map { $0?.name } == ["too-large"] && ends.all.first??.messageID == nil)
        #expect(!fixture.daemon.received.contains { $0.kind == .query && $0.command == "apply" })
    }

    @Test("SES-21: the end of a session waits until the refusal of a connection before has left")
    func endBehindRefusal() throws {
        let fixture = try withSlowDaemon().fixture
        fixture.daemon.isRunning = false
        fixture.daemon.send(.state, body: [:])
        fixture.scheduler.run()
        let ends = Collector<Bool>()
        fixture.core.run { core in core.end { ends.add(true) } }
        fixture.scheduler.run()
        #expect(ends.all.isEmpty)
        fixture.daemon.channel?.resumeReading()
        fixture.scheduler.run()
        #expect(ends.all == [true] && fixture.daemon.received.contains { $0.kind == .refusal })
    }

    @Test("SES-9: a message without reply that has waited beyond its deadline never leaves")
    func lateNotes() throws {
        let (fixture, given, left) = try withSlowDaemon()
        // The daemon keeps sending, or the heartbeat would end the connection.
        for second in 1...31 {
            if second < 30 { #expect(given.all.count == left) }
            fixture.scheduler.advance(by: .seconds(1))
            fixture.tellSituation()
        }
        #expect(given.all.count == 40, "the caller need not wait for the daemon")
        fixture.daemon.channel?.resumeReading()
        fixture.scheduler.run()
        #expect(given.all.count == 40)
        #expect(given.all.dropFirst(left).allSatisfy { $0?.code == .messageReplyTimedOut })
        #expect(fixture.daemon.received.count { $0.kind == .messageData } == left)
    }

    @Test("SES-11: a message without reply that has left does not fail when its pairing ends")
    func leftBeforeUnpairing() throws {
        let failures = Collector<SessionError>()
        fixture.core.run { core in
            core.note(OutgoingContent(["a": 1]), given: { _ in }, laterFailure: { failures.add($0) })
        }
        fixture.scheduler.run()
        fixture.daemon.situation.pairings = []
        fixture.daemon.situation.active = nil
        fixture.tellSituation()
        #expect(failures.all.isEmpty)
    }
}
