// One message to all paired devices (SES-30): exactly one completion, with one outcome for each device.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct BroadcastTests {
    private typealias Outcomes = Collector<Result<[BroadcastOutcome], SessionError>>

    private let fixture: SessionFixture
    private let pairings: [UniqueIdentifier]

    init() throws {
        let fixture = try SessionFixture()
        pairings = (0..<3).map { _ in fixture.daemon.pair() }.sorted()
        fixture.activate()
        self.fixture = fixture
    }

    private func broadcast(
        _ message: PropertyListDictionary = ["hello": "all"], later: Collector<UniqueIdentifier>? = nil
    ) -> Outcomes {
        let outcomes = Outcomes()
        let content = OutgoingContent(message)
        var laterFailure: (@Sendable (UniqueIdentifier, SessionError) -> Void)?
        if let later { laterFailure = { pairing, _ in later.add(pairing) } }
        let told = laterFailure
        fixture.core.run { core in
            core.broadcast(content, laterFailure: told) { outcomes.add($0) }
        }
        fixture.scheduler.run()
        return outcomes
    }

    private var sent: Envelope? { fixture.daemon.received.last { $0.kind == .message } }

    private func fail(_ pairing: UniqueIdentifier, _ message: Envelope?) throws {
        let error = SessionError(.notReachable, name: "no-link", reason: "away")
        let (app, id) = (try #require(message?.app), try #require(message?.id))
        fixture.daemon.send(try error.failure(app: app, pairing: pairing, id: id))
    }

    private func pong(_ message: Envelope?) {
        fixture.daemon.send(Envelope(.pong, id: message?.id))
        fixture.scheduler.run()
    }

    @Test("SES-36: a broadcast to those that provide something is a message to each of them, with one outcome each")
    func providing() throws {
        let lamps = [0, 2]
        for index in lamps {
            fixture.daemon.situation.pairings[index].features.provides = try #require(ProvidedNames(["lamp"]))
        }
        fixture.tellSituation()
        let (outcomes, later) = (Outcomes(), Collector<UniqueIdentifier>())
        fixture.core.run { core in
            core.broadcast(OutgoingContent(["on": 1], topic: "light"), to: .providing("lamp")) { pairing, _ in
                later.add(pairing)
            } completion: {
                outcomes.add($0)
            }
            core.broadcast(OutgoingContent(["on": 1]), to: .providing("printer")) { outcomes.add($0) }
        }
        fixture.scheduler.run()
        let messages = fixture.daemon.received.filter { $0.kind == .message }
        let receivers = lamps.map { fixture.daemon.situation.pairings[$0].pairing }
        #expect(messages.map(\.pairing) == receivers && messages.allSatisfy { $0.topic == "light" && !$0.wantsReply })
        #expect(Set(messages.map(\.id)).count == 2)
        try fail(receivers[0], messages[0])
        for ping in fixture.daemon.received.filter({ $0.kind == .ping }) { pong(ping) }
        let told = outcomes.all.map { try? $0.get() }
        #expect(told.last == [] || told.first == [])
        let result = try #require(told.compactMap(\.self).first { !$0.isEmpty })
        #expect(result.map(\.pairing) == receivers.sorted())
        #expect(result.filter { $0.failure != nil }.map(\.pairing) == [receivers[0]])
        #expect(result.compactMap(\.failure?.peer) == [fixture.daemon.situation.pairings[0].peer])
        for _ in 0..<2 { try fail(receivers[1], messages[1]) }
        fixture.scheduler.run()
        #expect(later.all == [receivers[1]])
    }

    @Test("SES-30: it is one frame with the zero pairing; the daemon's failures are the outcomes of their devices")
    func outcomes() throws {
        let outcomes = broadcast()
        #expect(sent?.pairing == .zero && sent?.wantsReply == false)
        #expect(try sent?.dictionaryBody() == ["hello": "all"])
        #expect(fixture.daemon.received.last?.kind == .ping)
        #expect(outcomes.all.isEmpty)
        try fail(pairings[1], sent)
        pong(sent)
        let result = try #require(try outcomes.all.first?.get())
        #expect(result.map(\.pairing) == pairings)
        #expect(result.map { $0.failure?.name } == [nil, "no-link", nil])
        pong(sent)
        #expect(outcomes.all.count == 1)
    }

    @Test("SES-30: a failure that comes later is told once for each device")
    func laterFailures() throws {
        let later = Collector<UniqueIdentifier>()
        _ = broadcast(later: later)
        pong(sent)
        for pairing in [pairings[2], pairings[2], pairings[0]] { try fail(pairing, sent) }
        fixture.scheduler.run()
        #expect(later.all == [pairings[2], pairings[0]])
    }

    @Test("SES-30: a failure with the zero pairing is the error of the whole broadcast")
    func wholeFailure() throws {
        let outcomes = broadcast()
        try fail(.zero, sent)
        pong(sent)
        #expect(outcomes.all.count == 1)
        #expect(outcomes.all.first?.error?.code == .notReachable)
    }

    @Test("SES-13: what must not leave is refused before it leaves")
    func refusals() throws {
        let reserved = broadcast(["tandem.x": 1])
        let large = broadcast(["text": .string(String(repeating: "x", count: 65_536))])
        #expect(reserved.all.first?.error?.code == .invalidParameter)
        #expect(large.all.first?.error?.code == .payloadTooLarge)
        #expect(sent == nil)
    }

    @Test("SES-23: with the daemon it is lost as 7014 daemon-lost; without an answer it is 7012 at its deadline")
    func losses() throws {
        let lost = broadcast()
        fixture.cut()
        #expect(lost.all.first?.error?.name == "daemon-lost")
        fixture.scheduler.advance(by: .seconds(2))
        // The daemon answers the heartbeat, and nothing else.
        fixture.daemon.onFrame = { [daemon = fixture.daemon] in
            if $0.kind == .ping, $0.id != daemon.received.last(where: { $0.kind == .message })?.id {
                daemon.send(Envelope(.pong, id: $0.id))
            }
        }
        let late = broadcast()
        fixture.scheduler.advance(by: .seconds(31))
        #expect(late.all.first?.error?.code == .messageReplyTimedOut)
        #expect(lost.all.count == 1 && late.all.count == 1)
    }

    @Test("without a pairing it is 7005")
    func notPaired() throws {
        let fixture = try SessionFixture()
        fixture.activate()
        let outcomes = Outcomes()
        fixture.core.run { core in core.broadcast(OutgoingContent(["a": 1])) { outcomes.add($0) } }
        fixture.scheduler.run()
        #expect(outcomes.all.first?.error?.code == .deviceNotPaired)
    }
}
