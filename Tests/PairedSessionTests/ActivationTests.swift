// Activation against a scripted daemon (SES-1 to SES-7, SES-19, SES-23).

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct ActivationTests {
    private let fixture: SessionFixture

    init() throws { fixture = try SessionFixture() }

    @Test("SES-1, SES-5: activation greets, registers with the options, and knows device, role and directory")
    func activates() throws {
        var options = PairedSessionOptions(application: "com.example.app")
        options.anchor = "PEM"
        options.identifier = "kitchen"
        options.allowsInvalidSignatures = true
        let fixture = try SessionFixture(options)
        let pairing = fixture.daemon.pair()
        let results = fixture.activate()
        #expect(results.all.count == 1 && results.all.first?.error == nil)
        #expect(fixture.session.activationState == .activated)
        #expect(fixture.session.role == .primary && fixture.session.directory == "/apps/x")
        #expect(fixture.session.deviceIdentifier == fixture.daemon.device)
        #expect(fixture.session.pairedDevice?.pairing == pairing)
        #expect(fixture.session.reachability.level == .immediate)
        let registration = try #require(fixture.daemon.registrations.first)
        #expect(registration.anchor == "PEM" && registration.identifier?.description == "kitchen")
        #expect(registration.receives && registration.allowsInvalidSignatures)
    }

    @Test("concurrent and repeated activations use one connection and all complete")
    func idempotent() throws {
        let results = (0..<5).map { _ in fixture.activate() }
        #expect(results.allSatisfy { $0.all.count == 1 })
        #expect(fixture.daemon.dials == 1)
    }

    @Test("SES-19: without a daemon it says noDaemon and keeps trying until there is one")
    func noDaemon() throws {
        fixture.daemon.isRunning = false
        let results = fixture.activate()
        fixture.scheduler.advance(by: .seconds(60))
        #expect(results.all.isEmpty && fixture.daemon.dials > 5)
        #expect(fixture.session.activationState == .notActivated)
        #expect(fixture.session.reachability.reason == .noDaemon)
        fixture.daemon.isRunning = true
        // In steps: this daemon answers no heartbeat, so that a connection which came early is lost again.
        for _ in 0..<31 where results.all.isEmpty { fixture.scheduler.advance(by: .seconds(1)) }
        #expect(results.all.count == 1)
        #expect(fixture.session.activationState == .activated)
    }

    @Test("SES-26: an app without a daemon is told after one second, and not before")
    func missingDaemon() throws {
        let told = Collector<String>()
        var options = PairedSessionOptions(application: "com.example.app")
        options.onMissingDaemon = { told.add($0) }
        let fixture = try SessionFixture(options)
        fixture.daemon.isRunning = false
        fixture.activate()
        fixture.scheduler.advance(by: .milliseconds(999))
        #expect(told.all.isEmpty)
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(told.all.count == 1)
    }

    @Test("SES-26: an app that waits at a wrong path is told the path and its error")
    func wrongPath() async throws {
        let told = Collector<String>()
        var options = PairedSessionOptions(application: "com.example.app", socketPath: "/nonexistent/tandem.sock")
        options.onMissingDaemon = { told.add($0) }
        let session = try PairedSession(options)
        let error = await #expect(throws: SessionError.self) { try await session.activate(timeout: .milliseconds(200)) }
        #expect(told.all.isEmpty)
        let wait = error.map { "\($0)" } ?? ""
        #expect(wait.contains("/nonexistent/tandem.sock"), "\(wait)")
        await #expect(throws: SessionError.self) { try await session.activate(timeout: .milliseconds(1500)) }
        #expect(told.all.count == 1)
        let text = try #require(told.all.first)
        #expect(text.contains("/nonexistent/tandem.sock") && text.contains("No such file"), "\(text)")
        await session.end()
    }

    @Test("An ended session has no pairing and no item, also if its daemon was away", arguments: [true, false])
    func endWithoutDaemon(isDaemonThere: Bool) throws {
        let fixture = try SessionFixture()
        fixture.daemon.pair()
        fixture.activate()
        try fixture.daemon.deliver()
        fixture.scheduler.run()
        #expect(fixture.session.pairedDevices.count == 1 && fixture.session.hasContentPending)
        if !isDaemonThere {
            fixture.daemon.isRunning = false
            fixture.cut(waiting: .seconds(1))
        }
        fixture.core.run { $0.end() }
        fixture.scheduler.run()
        #expect(fixture.session.pairedDevices.isEmpty && !fixture.session.hasContentPending)
    }

    @Test("SES-21: the key of a state that does not read is named to the daemon, and in the errors of what it ends")
    func unreadableState() throws {
        let faults: [(key: String, value: PropertyListValue?, words: String)] = [
            ("target", .string("nobody"), "key 'target' is not a paired identifier"),
            ("level", nil, "key 'level' is not there"),
        ]
        for fault in faults {
            let fixture = try SessionFixture()
            fixture.daemon.pair()
            fixture.daemon.answerPings()
            fixture.activate()
            let lost = fixture.request()
            var body = fixture.daemon.situation.body(now: fixture.scheduler.now)
            var entry = try #require(body["pairings"]?.arrayValue?.first?.dictionaryValue)
            entry[fault.key] = fault.value
            body["pairings"] = .array([.dictionary(entry)])
            fixture.daemon.send(.state, body: body)
            fixture.scheduler.run()
            let refusal = try #require(fixture.daemon.received.last { $0.kind == .refusal })
            #expect(try Refusal(refusal).description == "envelope: in state: \(fault.words)")
            let error = try #require(lost.all.first?.error)
            #expect(error.name == "daemon-lost" && error.reason.contains("in state: \(fault.words)"), "\(error)")
        }
    }

    @Test("FRM-2: bytes of the daemon that are no frame are named in the errors of what they end")
    func noFrame() throws {
        fixture.daemon.pair()
        fixture.daemon.answerPings()
        fixture.activate()
        let lost = fixture.request()
        fixture.daemon.send(bytes: [0, 0, 0, 0])
        fixture.scheduler.run()
        let error = try #require(lost.all.first?.error)
        #expect(error.name == "daemon-lost" && error.reason.contains("too-large: frame of 0 bytes"), "\(error)")
    }

    /// The error of an activation that ends without a daemon, and what the app was told meanwhile.
    private func failure(_ prepare: (ScriptedDaemon) -> Void) throws -> (error: SessionError, told: [String]) {
        let told = Collector<String>()
        var options = PairedSessionOptions(application: "com.example.app")
        options.onMissingDaemon = { told.add($0) }
        let fixture = try SessionFixture(options)
        fixture.daemon.pair()
        prepare(fixture.daemon)
        let results = Collector<Result<Void, SessionError>>()
        fixture.core.run { core in core.activate(waiter: 1, within: .seconds(3)) { results.add($0) } }
        fixture.scheduler.advance(by: .seconds(4))
        return (try #require(results.all.first?.error), told.all)
    }

    @Test("SES-21: an activation that is not accepted in time says which end refused the other, and for what")
    func activationRefused() throws {
        let unreadable = try failure { $0.spoil = { $0["role"] = "captain" } }
        #expect(unreadable.error.name == "no-daemon")
        let words = "envelope: in registered: key 'role' is not primary or secondary"
        #expect(unreadable.error.reason.hasSuffix(words) && !unreadable.error.reason.contains("is it running"))
        #expect(unreadable.told.count == 1 && unreadable.told.first?.hasSuffix(words) == true, "\(unreadable.told)")
        let busy = try failure { $0.refusal = Refusal(.tooManyConnections, "64 are open") }
        #expect(busy.error.reason.hasSuffix("the daemon refused the connection: too-many-connections: 64 are open"))
        let away = try failure { $0.isRunning = false }
        #expect(away.error.reason == "no daemon answered in time; is it running? (no daemon)")
    }

    @Test("SES-6: a refusal ends the activation with its name and text")
    func refused() throws {
        fixture.daemon.refusal = Refusal(.appOwned, "com.example.app belongs to uid 1000")
        let results = fixture.activate()
        let error = try #require(results.all.first?.error)
        #expect(error.name == "app-owned" && error.reason.contains("uid 1000"))
        fixture.scheduler.advance(by: .seconds(60))
        #expect(fixture.daemon.dials == 1)
        fixture.daemon.refusal = nil
        #expect(fixture.activate().all.first?.error == nil)
    }

    @Test("SES-73: an app that the operator removes is told so, and comes back only when it activates again")
    func removed() throws {
        fixture.activate()
        #expect(fixture.session.refusal == nil)
        fixture.daemon.send(try Refusal(.appRemoved, "the operator has removed it").envelope)
        fixture.scheduler.advance(by: .seconds(60))
        #expect(fixture.session.activationState == .notActivated && fixture.daemon.dials == 1)
        #expect(fixture.session.refusal?.name == "app-removed")
        #expect(fixture.activate().all.first?.error == nil)
        #expect(fixture.session.refusal == nil && fixture.daemon.dials == 2)
    }

    @Test("SES-54, CFG-60: a configuration that the app hands over is a query, whose answer is the verdict")
    func submits() throws {
        fixture.daemon.pair()
        fixture.activate()
        let (session, daemon) = (fixture.session, fixture.daemon)
        let verdict = Collector<Result<AnswerFrame, SessionError>>()
        fixture.core.run { core in
            core.ask(.apply(envelope: [1, 2]), pairing: nil, channel: .configuration) { verdict.add($0) }
        }
        fixture.scheduler.run()
        let query = try QueryFrame(try #require(daemon.received.last { $0.kind == .query }))
        #expect(try query.question() == .apply(envelope: [1, 2]) && query.channel == .configuration)
        let body = ApplyAnswer(verdict: "schema", text: "volume").body
        daemon.send(try AnswerFrame(to: (query.id, query.app, query.command), body: body).envelope)
        fixture.scheduler.run()
        #expect(try verdict.all.first.map { ApplyAnswer(try $0.get().body) }?.verdict == "schema")
        withExtendedLifetime(session) {}
    }

    @Test("SES-54, CFG-112: without a pairing a configuration is handed over all the same, and nothing else is asked")
    func submitsUnpaired() throws {
        fixture.activate()
        let verdict = Collector<Result<AnswerFrame, SessionError>>()
        let budget = Collector<Result<AnswerFrame, SessionError>>()
        fixture.core.run { core in
            core.ask(.budget, pairing: nil, channel: .urgent) { budget.add($0) }
            core.ask(.apply(envelope: [1, 2]), pairing: nil, channel: .configuration) { verdict.add($0) }
        }
        fixture.scheduler.run()
        #expect(throws: SessionError.self) { try budget.all.first?.get() }
        let queries = try fixture.daemon.received.filter { $0.kind == .query }.map { try QueryFrame($0) }
        let query = try #require(queries.first)
        #expect(queries.count == 1 && query.pairing == nil && query.channel == .configuration)
        let body = ApplyAnswer(verdict: "applied", text: "").body
        fixture.daemon.send(try AnswerFrame(to: (query.id, query.app, query.command), body: body).envelope)
        fixture.scheduler.run()
        #expect(try verdict.all.first.map { ApplyAnswer(try $0.get().body) }?.verdict == "applied")
        withExtendedLifetime(fixture.session) {}
    }

    @Test("SES-23: after the daemon is lost the session comes back by itself")
    func comesBack() throws {
        fixture.daemon.pair()
        fixture.activate()
        fixture.cut()
        #expect(fixture.session.activationState == .notActivated)
        #expect(fixture.session.reachability.reason == .noDaemon)
        #expect(fixture.session.pairedDevices.map(\.reachability.reason) == [.noDaemon], "the pairing is stored")
        fixture.scheduler.advance(by: .seconds(1))
        #expect(fixture.session.activationState == .activated && fixture.daemon.registrations.count == 2)
    }

    @Test("SES-17: a daemon that falls silent is asked twice and then left")
    func silentDaemon() throws {
        fixture.activate()
        let before = fixture.daemon.received.count
        fixture.scheduler.advance(by: .milliseconds(14_999))
        #expect(fixture.daemon.received.dropFirst(before).map(\.kind) == [.ping, .ping])
        #expect(fixture.session.activationState == .activated)
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(fixture.session.activationState == .notActivated)
    }

    @Test("SES-17: a ping is answered at once with the same id")
    func pong() throws {
        fixture.activate()
        let id = UniqueIdentifier.random()
        fixture.daemon.send(Envelope(.ping, id: id))
        fixture.scheduler.run()
        #expect(fixture.daemon.received.last == Envelope(.pong, id: id))
    }

    @Test("LIM-4: a daemon that never greets is left after 10 s")
    func neverGreets() throws {
        fixture.daemon.greets = false
        fixture.activate()
        fixture.scheduler.advance(by: .seconds(11))
        #expect(fixture.daemon.dials == 2)
    }

    @Test("FRM-11, FRM-13: what is not for a host app, or for another app, ends the connection with a refusal")
    func strangeFrames() throws {
        let other = try ApplicationIdentifier("other")
        let frames = [
            (try Envelope(.join).with(body: [:]), RefusalName.unexpected),
            (try Envelope(.result, id: .random(), command: "status").with(body: [:]), .unexpected),
            (try Envelope(.state, app: other).with(body: [:]), .notYours),
            (try Envelope(.hello).with(body: Hello(.chosen(.first), software: "x").body), .unexpected),
            (try Envelope(.state, app: ApplicationIdentifier("com.example.app")).with(body: [:]), .envelope),
        ]
        for (frame, name) in frames {
            let fixture = try SessionFixture()
            fixture.activate()
            fixture.daemon.send(frame)
            fixture.scheduler.run()
            #expect(fixture.daemon.received.last?.name == name.rawValue)
            #expect(fixture.session.activationState == .notActivated)
        }
    }

    @Test("The app's own end completes who waits, says bye and dials no more")
    func end() throws {
        fixture.daemon.pair()
        fixture.activate()
        let reply = fixture.request()
        fixture.session.end {}
        fixture.scheduler.advance(by: .seconds(60))
        #expect(reply.all.map(\.error?.name) == ["ended"])
        #expect(fixture.daemon.received.last?.kind == .bye && fixture.daemon.dials == 1)
    }

    @Test("Releasing the session ends it")
    func released() throws {
        let scheduler: ScriptedDaemon
        do {
            let fixture = try SessionFixture()
            fixture.activate()
            scheduler = fixture.daemon
        }
        scheduler.scheduler.run()
        #expect(scheduler.received.last?.kind == .bye)
    }

    @Test("An ended session releases its observers, and takes no other")
    func observers() throws {
        final class Witness: Sendable {}
        weak var held: Witness?
        func observe() {
            let witness = Witness()
            held = witness
            fixture.session.observeTransfers { _ in _ = witness }
            fixture.session.observeIncomingFiles { _ in _ = witness }
            fixture.scheduler.run()
        }
        observe()
        #expect(held != nil)
        fixture.session.end {}
        fixture.scheduler.run()
        #expect(held == nil)
        observe()
        #expect(held == nil)
    }
}
