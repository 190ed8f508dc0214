// Calls that wait for the daemon: their cancellation, the turns that they share, and what an ended session says.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct CancelledCallTests {
    private let fixture: SendingApp

    init() throws {
        fixture = try SendingApp()
        // This daemon answers when it is told to.
        fixture.daemon.stored = nil
    }

    private typealias Call = @Sendable (PairedSession) async throws(SessionError) -> Void

    private static let calls: [(String, Call)] = [
        ("user info", { session throws(SessionError) in _ = try await session.transferUserInfo(["n": 1]) }),
        ("urgent", { session throws(SessionError) in _ = try await session.transferUrgentUserInfo(["n": 1]) }),
        ("context", { session throws(SessionError) in _ = try await session.updateApplicationContext(["n": 1]) }),
        ("several", { session throws(SessionError) in _ = try await session.broadcastUserInfo(["n": 1]) }),
        ("outstanding", { session throws(SessionError) in _ = try await session.outstandingTransfers() }),
        ("budget", { session throws(SessionError) in _ = try await session.urgentBudget() }),
        ("configuration", { session throws(SessionError) in _ = try await session.submitConfiguration([1]) }),
    ]

    /// Starts the call in a task of its own, and returns what it throws.
    private func start(_ call: @escaping Call, after isReady: @escaping @Sendable () async -> Void = {}) -> Task<
        SessionError?, Never
    > {
        let session = fixture.session
        return Task {
            await isReady()
            do throws(SessionError) {
                try await call(session)
                return nil
            } catch {
                return error
            }
        }
    }

    private func result(of task: Task<SessionError?, Never>) async -> SessionError? {
        let ended = Collector<SessionError?>()
        Task { ended.add(await task.value) }
        await fixture.scheduler.run { !ended.all.isEmpty }
        return ended.all.first ?? nil
    }

    @Test("SES-9: each call that waits for a silent daemon ends when its task is cancelled", arguments: calls.indices)
    func cancelled(index: Int) async throws {
        let (name, call) = Self.calls[index]
        let before = fixture.daemon.received.count
        let task = start(call)
        await fixture.scheduler.run { fixture.daemon.received.count > before }
        task.cancel()
        let error = try #require(await result(of: task))
        #expect(error.code == .genericError && error.name == "cancelled")
        let sent = try #require(fixture.daemon.received.last)
        if ["user info", "urgent", "context"].contains(name) { #expect(error.messageID == sent.id) }
    }

    @Test("SES-9: a call of a task that was cancelled before sends nothing", arguments: calls.indices)
    func cancelledBefore(index: Int) async throws {
        let before = fixture.daemon.received.count
        let task = start(Self.calls[index].1) { withUnsafeCurrentTask { $0?.cancel() } }
        let error = await result(of: task)
        #expect(error?.name == "cancelled" && fixture.daemon.received.count == before)
    }

    @Test(
        "SES-50: an error of the wait for a level has the item's identifier, and the item goes on",
        arguments: [0, 1, 2])
    func lostWait(ending: Int) async throws {
        let before = fixture.daemon.received.count
        let task = start { session throws(SessionError) in
            _ = try await session.transferUserInfo(["n": 1], until: .handled)
        }
        await fixture.scheduler.run { fixture.daemon.received.count > before }
        let id = try #require(fixture.daemon.received.last?.id)
        fixture.say(.accepted, id)
        switch ending {
        case 0: task.cancel()
        case 1: fixture.say(.finished, id, "expired")
        default: fixture.session.end {}
        }
        let error = try #require(await result(of: task))
        #expect(error.messageID == id)
        #expect(error.name == ["cancelled", "expired", "ended"][ending])
        if ending == 0 { #expect(!fixture.daemon.received.contains { $0.command == "cancel" }) }
    }

    @Test("SES-84: taking back an item that was sent on waits for the other device's answer as long as it is linked")
    func withdrawalOfSentItem() async throws {
        let cases: [(isLinked: Bool, answer: String, end: String?)] = [
            (true, "asked", "cancelled"), (true, "asked", "handled"), (true, "asked", nil), (false, "asked", nil),
            (true, "unknown", nil),
        ]
        for (isLinked, answer, end) in cases {
            let app = try SendingApp()
            app.daemon.stored = nil
            if isLinked {
                app.daemon.situation.pairings = []
                app.daemon.situation.pairings.append(
                    PairingState(
                        pairing: app.pairing, peer: .random(), name: "panel", role: .primary,
                        target: .vendor(.random()), isInstalled: true, level: .background, reason: .counterpartAbsent,
                        since: app.scheduler.now))
                app.daemon.tellSituation()
                app.scheduler.run()
            }
            let transfer = try app.accepted()
            let answers = Collector<TransferCancellation?>()
            Task { answers.add(try? await transfer.cancel()) }
            await app.scheduler.run { app.daemon.received.contains { $0.command == "cancel" } }
            try app.daemon.answerCancel(answer)
            let waits = isLinked && answer == "asked"
            await app.scheduler.run(atMost: waits ? 1_000 : 100_000) { !answers.all.isEmpty }
            #expect(answers.all.isEmpty == waits)
            if let end { app.say(.finished, transfer.id, end) } else { app.scheduler.advance(by: .seconds(30)) }
            await app.scheduler.run { !answers.all.isEmpty }
            let expected: TransferCancellation =
                end == "cancelled" ? .cancelled : end == "handled" ? .tooLate(.handled) : .unknown
            #expect(answers.all == [expected])
        }
    }

    private func answer(_ question: Envelope?) throws {
        let question = try #require(question)
        fixture.daemon.send(
            try fixture.daemon.answer(to: question, nil, OutstandingPage(items: [], more: nil).body))
    }

    @Test("LIM-24: calls that are open at once share questions, and none shares one that was sent before it")
    func shared() throws {
        let results = Collector<Result<[OutstandingTransfer], SessionError>>()
        func ask(_ count: Int) {
            fixture.core.run { core in
                for _ in 0..<count { core.outstanding(.userInfo, to: nil) { results.add($0) } }
            }
            fixture.scheduler.run()
        }
        func questions() -> [Envelope] { fixture.daemon.received.filter { $0.command == "outstanding" } }
        let before = questions().count
        ask(1)
        ask(499)
        #expect(questions().count == before + 1, "the others wait for the next one")
        #expect(results.all.count == 0)
        try answer(questions().last)
        fixture.scheduler.run()
        #expect(results.all.count == 1)
        #expect(questions().count == before + 2)
        try answer(questions().last)
        fixture.scheduler.run()
        #expect(results.all.count == 500 && results.all.allSatisfy { $0.error == nil })
        ask(1_025)
        let refused = results.all.dropFirst(500).map(\.error)
        #expect(refused.map { $0?.name } == ["too-many-requests"] && refused.first??.limit == 1_024)
    }

    @Test("LIM-24: a daemon that does not answer a question is not asked again for the calls that came meanwhile")
    func sharedSilence() throws {
        let results = Collector<Result<AnswerFrame, SessionError>>()
        func questions() -> Int { fixture.daemon.received.count { $0.command == "budget" } }
        let before = questions()
        for _ in 0..<3 {
            fixture.core.run { core in core.urgentBudget(of: nil) { results.add($0) } }
            fixture.scheduler.run()
        }
        fixture.scheduler.advance(by: .seconds(30))
        #expect(results.all.map { $0.error?.code } == [.deliveryFailed, .deliveryFailed, .deliveryFailed])
        #expect(questions() == before + 1)
    }

    @Test("SES-9: an ended session says so for every call", arguments: calls.indices)
    func ended(index: Int) async throws {
        fixture.session.end {}
        fixture.scheduler.run()
        let task = start(Self.calls[index].1)
        let error = await result(of: task)
        #expect(error?.name == "ended" && error?.code == .sessionNotActivated)
        #expect(
            fixture.session.obstacle(to: Submission(.userInfo, to: nil, OutgoingContent(["a": 1])))?.name == "ended")
    }

    @Test("LIM-8: an activation with a timeout out of range is refused", arguments: [-1_000, 0, 600_001])
    func activationTimeout(milliseconds: Int) async {
        let error = await #expect(throws: SessionError.self) {
            try await fixture.session.activate(timeout: .milliseconds(milliseconds))
        }
        #expect(error?.code == .invalidParameter && error?.name == "timeout")
    }
}
