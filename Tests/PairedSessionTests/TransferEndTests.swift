// How whoever waits for an item's end hears of it when connections, pairings and sessions end before (SES-50, SES-56).

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct TransferEndTests {
    private let fixture: SendingApp
    private var pairing: UniqueIdentifier { fixture.pairing }

    init() throws { fixture = try SendingApp() }

    @Test(
        "SES-49: what is told of an item that was accepted on a connection that is gone completes its submission",
        arguments: [(FrameKind.progress, "stored"), (.finished, "handled")])
    func acceptedUnheard(kind: FrameKind, name: String) throws {
        let (id, results) = fixture.submit()
        fixture.reconnect()
        #expect(results.all.isEmpty)
        fixture.say(kind, id, name)
        #expect(results.all.count == 1)
        fixture.say(.accepted, id)
        fixture.say(.finished, id, "handled")
        #expect(results.all.count == 1)
        #expect(try results.all.first?.get().state == .finished(.handled))
    }

    @Test("SES-50: nobody waits for the end of a context, so it is confirmed at once")
    func contextEnds() throws {
        let (id, _) = fixture.update(["n": 1])
        for (kind, name) in [(FrameKind.accepted, nil), (.finished, "superseded")] {
            fixture.daemon.send(
                Envelope(
                    kind, app: fixture.daemon.app, pairing: pairing, id: id, channel: .context, name: name))
            fixture.scheduler.run()
        }
        let other = UniqueIdentifier.random()
        fixture.daemon.send(
            Envelope(
                .finished, app: fixture.daemon.app, pairing: pairing, id: other, channel: .context, name: "handled"))
        fixture.scheduler.run()
        #expect(fixture.daemon.received.filter { $0.kind == .finishedAck }.map(\.id) == [id, other])
    }

    @Test(
        "SES-56: a new connection names the items that are waited for, and what the daemon forgot is waited for no more"
    )
    func followsAgain() async throws {
        let transfers = try (0..<2).map { _ in try fixture.accepted() }
        fixture.reconnect()
        let question = try #require(fixture.daemon.received.last { $0.command == "subscribe" })
        let named = try #require(try question.dictionaryBody()["items"]?.arrayValue).compactMap(\.dataValue)
        #expect(Set(named) == Set(transfers.map(\.id.bytes)) && question.channel == .userInfo)
        let answer = Envelope(.answer, app: fixture.daemon.app, id: question.id, code: 0, command: "subscribe")
        fixture.daemon.send(try answer.with(body: ["unknown": [.data(transfers[0].id.bytes)]]))
        fixture.scheduler.run()
        await #expect(throws: SessionError.self) { try await transfers[0].outcome() }
        fixture.say(.finished, transfers[1].id, "handled")
        #expect(try await transfers[1].outcome() == .handled)
        #expect(fixture.daemon.received.filter { $0.command == "subscribe" }.count == 1)
    }

    @Test("SES-56: a daemon that cannot tell now is asked again after a second, for what is waited for then")
    func followsLater() throws {
        let ids = try (0..<2).map { _ in try fixture.accepted().id }
        fixture.reconnect()
        var questions: [Envelope] { fixture.daemon.received.filter { $0.command == "subscribe" } }
        func refuse(_ question: Envelope) {
            fixture.daemon.send(
                Envelope(
                    .answer, app: fixture.daemon.app, id: question.id, code: 7001, name: "store", command: "subscribe"))
            fixture.scheduler.run()
        }
        refuse(try #require(questions.last))
        fixture.scheduler.advance(by: .milliseconds(999))
        #expect(questions.count == 1, "not at once")
        fixture.say(.finished, ids[1], "handled")
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(questions.count == 2)
        #expect(try questions.last?.dictionaryBody()["items"] == .array([.data(ids[0].bytes)]))
        refuse(try #require(questions.last))
        fixture.cut(waiting: .milliseconds(1500))
        // The new connection has asked again; what was to be repeated on the former one is not sent as well.
        let last = try #require(questions.last)
        fixture.daemon.send(
            try Envelope(.answer, app: fixture.daemon.app, id: last.id, code: 0, command: "subscribe")
                .with(body: ["unknown": []]))
        fixture.scheduler.advance(by: .seconds(5))
        #expect(questions.count == 3)
    }

    @Test("SES-23, SES-50: an accepted item ends with its pairing, and nobody waits for it beyond the session")
    func pairingEnds() async throws {
        let transfer = try fixture.accepted()
        fixture.daemon.situation.pairings = []
        fixture.daemon.situation.active = nil
        fixture.tellSituation()
        guard case .finished(.failed(let error)) = transfer.state
        else { throw Unexpected("it waits for a device that is no more") }
        #expect(error.code == .deviceNotPaired)
    }

    @Test("SES-50: whoever waits for an item's end hears when the session ends")
    func sessionEnds() async throws {
        let transfer = try fixture.accepted()
        fixture.core.run { core in core.end() }
        fixture.scheduler.run()
        #expect(transfer.state == .accepted)
        await #expect(throws: SessionError.self) { try await transfer.outcome() }
    }

    @Test("SES-50: an accepted item ends with its pairing, also while its app has no daemon")
    func pairingEndsMeanwhile() async throws {
        let transfer = try fixture.accepted()
        fixture.daemon.cut()
        fixture.daemon.situation.pairings = []
        fixture.daemon.situation.active = nil
        fixture.scheduler.advance(by: .seconds(1))
        guard case .finished(.failed(let error)) = transfer.state
        else { throw Unexpected("it waits for a device that is no more") }
        #expect(error.code == .deviceNotPaired && error.messageID == transfer.id)
        fixture.scheduler.advance(by: .seconds(5))
        #expect(!fixture.daemon.received.contains { $0.command == "subscribe" })
    }

    @Test("SES-6, SES-49: a refusal for good ends what was not accepted; what was goes on")
    func refusedForGood() async throws {
        let (waiting, accepted) = (fixture.submit(), fixture.submit())
        fixture.say(.accepted, accepted.0)
        let transfer = try #require(try accepted.1.all.first?.get())
        fixture.daemon.refusal = Refusal(.appRemoved)
        fixture.reconnect()
        #expect(waiting.1.all.map(\.error?.name) == ["app-removed"])
        fixture.daemon.refusal = nil
        fixture.activate()
        fixture.say(.finished, accepted.0, "handled")
        #expect(try await transfer.outcome() == .handled)
    }
}
