// The wait of a process that is about to exit, until its daemon has what the process handed over (SES-89), beside a
// scripted daemon on a manual clock.

import Foundation
import PairedConfiguration
import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct DrainedTests {
    private typealias Ends = Collector<Result<Void, SessionError>>

    private let app: SendingApp
    private let directory = TemporaryDirectory()

    init() throws { app = try SendingApp() }

    /// Begins a wait; its end is collected.
    private func drain(within timeout: Duration? = nil) -> Ends {
        let ends = Ends()
        app.core.run { core in core.drained(within: timeout) { ends.add($0) } }
        app.scheduler.run()
        return ends
    }

    private func accept(_ id: UniqueIdentifier, on channel: Channel) {
        app.daemon.send(
            Envelope(.accepted, app: app.daemon.app, pairing: app.pairing, id: id, channel: channel))
        app.scheduler.run()
    }

    private func settle() {
        app.scheduler.run()
        app.core.run { $0.waitForFiles() }
        app.scheduler.run()
    }

    /// How the waits ended: nil without an error.
    private func errors(_ ends: Ends) -> [SessionError?] { ends.all.map(\.error) }

    @Test("SES-89: without anything on its way to the daemon a process is drained at once")
    func nothing() throws {
        #expect(errors(drain()) == [nil])
        let (id, _) = app.submit()
        accept(id, on: .userInfo)
        #expect(errors(drain()) == [nil], "accepted, and not stored")
    }

    @Test("SES-89: a process is drained when the daemon has accepted or refused each item and context")
    func items() throws {
        let (item, _) = app.submit()
        let (context, _) = app.update(["n": 1])
        let (refused, results) = app.submit()
        let ends = drain()
        accept(item, on: .userInfo)
        accept(context, on: .context)
        #expect(ends.all.isEmpty)
        let full = SessionError(.genericError, name: "queue-full", reason: "full")
        app.daemon.send(
            try full.failure(app: app.daemon.app, pairing: app.pairing, id: refused, channel: .userInfo))
        app.scheduler.run()
        #expect(errors(ends) == [nil] && results.all.first?.error?.name == "queue-full")
    }

    @Test("SES-89: what is submitted after the call does not prolong the wait")
    func later() throws {
        let (first, _) = app.submit()
        let ends = drain()
        let (second, _) = app.submit()
        let all = drain()
        accept(first, on: .userInfo)
        #expect(errors(ends) == [nil] && all.all.isEmpty)
        accept(second, on: .userInfo)
        #expect(errors(all) == [nil])
    }

    @Test("SES-89: a file counts from its call on: while it is read, and until the daemon has accepted it")
    func files() throws {
        directory.write([1, 2, 3], to: "photo.jpg")
        let file = app.session.beginFileTransfer(directory.path("photo.jpg"))
        let ends = drain()
        settle()
        #expect(ends.all.isEmpty && app.daemon.received.last?.kind == .submit)
        accept(file.id, on: .file)
        #expect(errors(ends) == [nil] && file.transfer != nil)
    }

    @Test("SES-89: a file that cannot be read, or is taken back before its daemon has heard of it, has failed")
    func filesThatFail() throws {
        let missing = app.session.beginFileTransfer(directory.path("none"))
        let ends = drain()
        settle()
        #expect(errors(ends) == [nil] && missing.refusal?.code == .fileAccessDenied)
        directory.write([1, 2, 3], to: "photo.jpg")
        let takenBack = app.session.beginFileTransfer(directory.path("photo.jpg"))
        app.core.run { [id = takenBack.id] core in core.takeBack(id, on: .file) }
        #expect(errors(drain()) == [nil] && takenBack.refusal?.name == "cancelled")
    }

    @Test("SES-89: the wait outlasts a lost daemon, and ends with the next one's acceptance")
    func lostDaemon() throws {
        let (id, _) = app.submit()
        let ends = drain()
        app.reconnect()
        #expect(ends.all.isEmpty)
        accept(id, on: .userInfo)
        #expect(errors(ends) == [nil])
    }

    @Test("SES-89, SES-31: a new connection gets what was not accepted before a switch on it continues")
    func lostDaemonAndSwitch() throws {
        let (id, _) = app.submit()
        let ends = drain()
        // A delegate's method that waits lets no switch continue.
        app.core.run { core in core.beforeSwitching { _ in } }
        app.daemon.situation.active = app.daemon.pair()
        app.cut(waiting: .seconds(1))
        app.scheduler.run()
        #expect(app.session.activationState == .inactive && ends.all.isEmpty)
        #expect(app.daemon.received.filter { $0.kind == .submit && $0.id == id }.count == 2)
        accept(id, on: .userInfo)
        #expect(errors(ends) == [nil])
    }

    @Test(
        "SES-89, SES-84: a process is drained when none of its withdrawals is pending, also on a later connection")
    func withdrawals() throws {
        let (id, _) = app.submit()
        accept(id, on: .userInfo)
        app.core.run { core in core.takeBack(id, on: .userInfo) }
        let ends = drain()
        try app.daemon.answerCancel("store", code: 7001)
        app.scheduler.run()
        #expect(ends.all.isEmpty, "its disk is full, and it is asked again")
        app.cut(waiting: .seconds(1))
        app.scheduler.run()
        #expect(ends.all.isEmpty)
        try app.daemon.answerCancel("cancelled")
        app.scheduler.run()
        #expect(errors(ends) == [nil])
    }

    /// An app with synced settings whose counterpart has been heard, and whose thread for edits is held until the
    /// result is signalled.
    private func editing() throws -> (fixture: SessionFixture, panel: PanelConfiguration, held: DispatchSemaphore) {
        let (fixture, panel) = (try SessionFixture(), PanelConfiguration())
        fixture.daemon.pair()
        fixture.daemon.answerPings()
        try panel.install(on: fixture.session, in: .memory)
        fixture.activate()
        fixture.scheduler.settle()
        try fixture.daemon.deliver([:], on: .settings)
        fixture.scheduler.settle()
        acceptSettings(fixture)
        let held = DispatchSemaphore(value: 0)
        ConfigurationThread.run { held.wait() }
        return (fixture, panel, held)
    }

    /// The daemon accepts each body of synced settings that it has.
    private func acceptSettings(_ fixture: SessionFixture) {
        for item in fixture.daemon.received where item.kind == .submit && item.channel == .settings {
            fixture.daemon.send(
                Envelope(
                    .accepted, app: fixture.daemon.app, pairing: fixture.daemon.situation.active, id: item.id,
                    channel: .settings))
        }
        fixture.scheduler.settle()
    }

    @Test("SES-89: an edit of a synced setting counts from the edit on, until the daemon has the item that brings it")
    func edits() throws {
        let (fixture, panel, held) = try editing()
        let ends = Ends()
        func drain() {
            fixture.core.run { core in core.drained(within: nil) { ends.add($0) } }
            fixture.scheduler.run()
        }
        drain()
        #expect(errors(ends) == [nil], "nothing has been edited")
        ends.removeAll()
        panel.volume = 70
        drain()
        #expect(ends.all.isEmpty, "the library has not looked at it")
        held.signal()
        fixture.scheduler.settle()
        #expect(ends.all.isEmpty, "the daemon has not accepted it")
        acceptSettings(fixture)
        #expect(errors(ends) == [nil])
        panel.isHere = true
        drain()
        fixture.scheduler.settle()
        #expect(errors(ends) == [nil, nil], "it is not synced, and no item follows")
    }

    @Test("SES-89, LIM-8: a wait that keeps the library from looking at an edit goes on without it after 30 s")
    func editsBehindTheWait() throws {
        let (fixture, panel, held) = try editing()
        let ends = Ends()
        panel.volume = 70
        fixture.core.run { core in core.drained(within: nil) { ends.add($0) } }
        fixture.scheduler.advance(by: .milliseconds(29_999))
        #expect(ends.all.isEmpty)
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(errors(ends) == [nil])
        held.signal()
        fixture.scheduler.settle()
    }

    @Test("SES-89: the timer of a wait ends with it")
    func timers() throws {
        func pass(_ drain: () -> Ends?) -> Int {
            let (id, _) = app.submit()
            let ends = drain()
            accept(id, on: .userInfo)
            if let ends { #expect(errors(ends) == [nil]) }
            return app.scheduler.timerCount
        }
        let others = pass { nil }
        #expect(pass { drain(within: .seconds(600)) } == others)
        #expect(errors(drain(within: .seconds(600))) == [nil] && app.scheduler.timerCount == others)
    }

    @Test("SES-89, SES-49: a daemon that refuses the app for good ends the wait: its items have failed")
    func refusedForGood() throws {
        let (_, results) = app.submit()
        let ends = drain()
        app.daemon.refusal = Refusal(.appRemoved)
        app.reconnect()
        #expect(errors(ends) == [nil] && results.all.first?.error?.name == "app-removed")
    }

    @Test("SES-89, SES-84: a daemon that refuses the app for good ends the wait, and later waits count its withdrawals")
    func refusedForGoodWithWithdrawal() throws {
        let (first, second) = (try app.accepted().id, UniqueIdentifier.random())
        app.core.run { core in core.takeBack(first, on: .userInfo) }
        let ends = drain()
        app.daemon.refusal = Refusal(.appRemoved)
        app.reconnect()
        #expect(errors(ends) == [nil])
        app.core.run { core in core.takeBack(second, on: .userInfo) }
        #expect(errors(drain()) == [nil], "nothing can end it")
        app.daemon.refusal = nil
        app.activate()
        let again = drain()
        for question in app.daemon.received.filter({ $0.command == "cancel" }).suffix(2) {
            #expect(again.all.isEmpty)
            app.daemon.send(try app.daemon.answer(to: question, "cancelled"))
            app.scheduler.run()
        }
        #expect(errors(again) == [nil])
    }

    @Test("SES-89: the end of the caller's time ends the wait with 7012, and nothing else")
    func timeout() throws {
        let (id, results) = app.submit()
        let ends = drain(within: .seconds(2))
        app.scheduler.advance(by: .milliseconds(1_999))
        #expect(ends.all.isEmpty)
        app.scheduler.advance(by: .milliseconds(1))
        #expect(errors(ends).map { $0?.code } == [.messageReplyTimedOut] && results.all.isEmpty)
        accept(id, on: .userInfo)
        #expect(ends.all.count == 1 && results.all.first?.error == nil && results.all.count == 1)
    }

    @Test("SES-89: the end of the session ends the wait with 7004, as any call after it")
    func ended() throws {
        _ = app.submit()
        let ends = drain()
        app.session.end {}
        app.scheduler.run()
        #expect(errors(ends).map { $0?.name } == ["ended"])
        #expect(errors(drain()).map { $0?.name } == ["ended"])
    }

    @Test("SES-89, SES-9: the wait ends with its task, and with the daemon's acceptance for another one")
    func tasks() async throws {
        let (id, _) = app.submit()
        let (session, ends) = (app.session, Collector<String?>())
        func start() -> Task<Void, Never> {
            Task {
                do throws(SessionError) {
                    try await session.drained()
                    ends.add(nil)
                } catch {
                    ends.add(error.name)
                }
            }
        }
        let cancelled = start()
        cancelled.cancel()
        await app.scheduler.run { !ends.all.isEmpty }
        #expect(ends.all == ["cancelled"])
        ends.removeAll()
        _ = start()
        accept(id, on: .userInfo)
        await app.scheduler.run { !ends.all.isEmpty }
        #expect(ends.all == [nil])
    }

    @Test("LIM-8: a wait with a timeout out of range is refused", arguments: [-1_000, 0, 600_001])
    func badTimeout(milliseconds: Int) async {
        let error = await #expect(throws: SessionError.self) {
            try await app.session.drained(timeout: .milliseconds(milliseconds))
        }
        #expect(error?.code == .invalidParameter && error?.name == "timeout")
    }

    // MARK: by Apple's names

    /// Turns the session's thread until a call of `drained` on another one has returned.
    private func turn(until results: Collector<Bool>) async {
        await app.scheduler.run(atMost: 10_000_000) { !results.all.isEmpty }
    }

    @Test("SES-89: a WCSession's drained keeps its thread until the daemon has accepted, in a delegate's method too")
    func blocking() async throws {
        let (session, results) = (WCSession(over: app.session), Collector<Bool>())
        let (id, _) = app.submit()
        session.callbacks.async { results.add(session.drained(timeout: 600)) }
        for _ in 0..<100 { app.scheduler.run() }
        #expect(results.all.isEmpty)
        accept(id, on: .userInfo)
        await turn(until: results)
        #expect(results.all == [true])
    }

    @Test("SES-89: a WCSession's drained is false when the time is over, also one that is none")
    func timeIsOver() async throws {
        let session = WCSession(over: app.session)
        _ = app.submit()
        for timeout in [0, -1, TimeInterval.nan] {
            let results = Collector<Bool>()
            session.callbacks.async { results.add(session.drained(timeout: timeout)) }
            await turn(until: results)
            #expect(results.all == [false])
        }
    }

    @Test("SES-89: a WCSession's drained is false at once on the session's own thread, where nothing ends the wait")
    func ownThread() throws {
        let session = WCSession(over: app.session)
        _ = app.submit()
        #expect(!session.drained(timeout: 600))
    }

    @Test("SES-89: a WCSession's drained can be awaited, and is false for a session that has ended")
    func awaited() async throws {
        let (session, results) = (WCSession(over: app.session), Collector<Bool>())
        app.session.end {}
        Task { results.add(await session.drained(timeout: .infinity)) }
        await app.scheduler.run { !results.all.isEmpty }
        #expect(results.all == [false])
    }
}
