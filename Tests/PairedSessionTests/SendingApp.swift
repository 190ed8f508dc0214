// An app that sends durable items through one pairing, beside a scripted daemon on a manual clock.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct SendingApp {
    private let fixture: SessionFixture
    let pairing: UniqueIdentifier

    var daemon: ScriptedDaemon { fixture.daemon }
    var scheduler: ManualScheduler { fixture.scheduler }
    var session: PairedSession { fixture.session }
    var core: SessionActor { fixture.core }

    init() throws {
        fixture = try SessionFixture()
        pairing = fixture.daemon.pair(.unreachable, .noLink)
        activate()
    }

    func activate() { fixture.activate() }
    func cut(waiting time: Duration = .zero) { fixture.cut(waiting: time) }
    func tellSituation() { fixture.tellSituation() }

    /// The connection ends, and there is another one.
    func reconnect() {
        cut(waiting: .seconds(1))
        scheduler.run()
    }

    /// Submits an item; its completions are collected.
    func submit(
        _ content: PropertyListDictionary = ["n": 1], on channel: Channel = .userInfo,
        _ change: (inout Submission) -> Void = { _ in }
    ) -> (UniqueIdentifier, Collector<Result<Transfer, SessionError>>) {
        var submission = Submission(channel, to: nil, OutgoingContent(content))
        change(&submission)
        let ready = submission
        let results = Collector<Result<Transfer, SessionError>>()
        core.run { core in core.transfer(ready) { results.add($0) } }
        scheduler.run()
        return (ready.id, results)
    }

    /// Submits an item that the daemon accepts.
    func accepted() throws -> Transfer {
        let (id, results) = submit()
        say(.accepted, id)
        return try #require(try results.all.first?.get())
    }

    /// Sends a context; its completions are collected.
    func update(_ context: PropertyListDictionary) -> (UniqueIdentifier, Collector<Result<Acceptance, SessionError>>) {
        let submission = Submission(.context, to: nil, OutgoingContent(context))
        let results = Collector<Result<Acceptance, SessionError>>()
        core.run { core in core.submit(submission) { results.add($0) } }
        scheduler.run()
        return (submission.id, results)
    }

    /// The daemon sends a frame about an item.
    func say(_ kind: FrameKind, _ id: UniqueIdentifier, _ name: String? = nil, code: Int? = nil) {
        daemon.send(
            Envelope(kind, app: daemon.app, pairing: pairing, id: id, channel: .userInfo, code: code, name: name))
        scheduler.run()
    }
}
