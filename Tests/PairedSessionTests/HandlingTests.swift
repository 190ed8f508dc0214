// Durable items for an app's handlers (SES-51 to SES-53), beside a scripted daemon on a manual clock.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct HandlingTests {
    private let fixture: SessionFixture
    private let pairing: UniqueIdentifier

    init() throws {
        fixture = try SessionFixture()
        pairing = fixture.daemon.pair()
        fixture.activate()
    }

    @discardableResult
    private func deliver(
        _ id: UniqueIdentifier = .random(), _ body: PropertyListDictionary = ["n": 1], attempt: Int = 1,
        topic: String? = nil, through other: UniqueIdentifier? = nil
    ) throws -> UniqueIdentifier {
        try fixture.daemon.deliver(body, through: other ?? pairing, id: id, attempt: attempt, topic: topic)
        fixture.scheduler.run()
        return id
    }

    private func handle(
        _ channels: Set<Channel> = [.userInfo, .urgent], pairing: UniqueIdentifier? = nil, topic: String? = nil
    ) -> Collector<(DeliveredItem, HandlingToken)> {
        let given = Collector<(DeliveredItem, HandlingToken)>()
        fixture.core.run { core in
            _ = core.handleItems(channels, pairing: pairing, topic: topic) { given.add(($0, $1)) }
        }
        fixture.scheduler.run()
        return given
    }

    private var verdicts: [Envelope] { fixture.daemon.received.filter { $0.kind == .verdict } }

    @Test("SES-51: one identifier through two pairings is two items: both wait, both are handled, each has its verdict")
    func oneIdentifierTwice() throws {
        let other = fixture.daemon.pair()
        fixture.daemon.tellSituation()
        let id = try deliver()
        try deliver(id, ["n": 2], through: other)
        let given = handle()
        #expect(given.all.map(\.0.facts.pairing) == [pairing, other])
        given.all.first?.1.returned()
        given.all.last?.1.threw(.rejected(SessionError(.deliveryFailed, name: "no", reason: "no")))
        fixture.scheduler.run()
        #expect(verdicts.map(\.pairing) == [pairing, other])
        #expect(verdicts.map(\.name) == ["handled", "rejected"])
    }

    @Test("SES-51: a handler that returns has handled the item, and the verdict names it")
    func handled() throws {
        let given = handle()
        let id = try deliver(topic: nil)
        let (item, token) = try #require(given.all.first)
        #expect(item.content == ["n": 1] && item.facts.pairing == pairing && !item.facts.isRedelivery)
        #expect(verdicts.isEmpty)
        token.returned()
        fixture.scheduler.run()
        let verdict = try #require(verdicts.first)
        #expect(verdict.id == id && verdict.name == "handled" && verdict.channel == .userInfo)
    }

    @Test("SES-51: an item waits for the first handler of its channel, and messages' receivers are none")
    func late() throws {
        _ = fixture.receive()
        let id = try deliver()
        #expect(verdicts.isEmpty && fixture.session.hasContentPending)
        let given = handle()
        #expect(given.all.map(\.0.facts.id) == [id])
        #expect(!fixture.session.hasContentPending)
    }

    @Test("SES-51: a handler that throws fails the item, and one that refuses it for good says so")
    func failures() throws {
        let given = handle()
        try deliver()
        given.all.last?.1.threw(.failed("no disk"))
        fixture.scheduler.run()
        #expect(verdicts.last?.name == "failed")
        try deliver()
        given.all.last?.1.threw(.rejected(SessionError(.deliveryFailed, reason: "never")))
        fixture.scheduler.run()
        #expect(verdicts.last?.name == "rejected" && verdicts.last?.code == 7014)
    }

    @Test("LIM-148: a reason of any length leaves with the verdict, cut")
    func longReasons() throws {
        let (given, long) = (handle(), String(repeating: "x", count: 600 * 1024))
        let ends: [HandlingVerdict] = [.failed(long), .rejected(SessionError(.deliveryFailed, reason: long))]
        for end in ends {
            try deliver()
            given.all.last?.1.threw(end)
            fixture.scheduler.run()
        }
        #expect(verdicts.map(\.name) == ["failed", "rejected"])
        #expect(try verdicts.allSatisfy { try $0.dictionaryBody()["text"]?.stringValue?.utf8.count == 4096 })
    }

    @Test("SES-51: a handler that lets its item go has failed")
    func dropped() throws {
        fixture.core.run { core in
            _ = core.handleItems([.userInfo]) { _, _ in }
        }
        fixture.scheduler.run()
        try deliver()
        fixture.scheduler.run()
        #expect(verdicts.last?.name == "failed")
    }

    @Test("FIL-18: a file whose path the process does not see fails, no handler gets it, and it comes again")
    func hiddenFile() throws {
        let directory = TemporaryDirectory()
        let given = handle([.file])
        let id = UniqueIdentifier.random()
        func deliver(_ attempt: Int) throws {
            let body: PropertyListDictionary = [
                "path": .string(directory.path("photo.jpg")), "name": "photo.jpg", "size": 3, "digest": .data([1]),
            ]
            try fixture.daemon.deliver(body, on: .file, through: pairing, id: id, attempt: attempt)
            fixture.scheduler.run()
        }
        try deliver(1)
        #expect(given.all.isEmpty && verdicts.map(\.name) == ["failed"])
        #expect(try verdicts.last?.dictionaryBody()["text"]?.stringValue?.contains("does not see") == true)
        directory.write([1, 2, 3], to: "photo.jpg")
        try deliver(2)
        #expect(given.all.map(\.0.facts.id) == [id] && verdicts.count == 1)
    }

    @Test(
        "SES-51: given again while its handler runs, an item is not handled twice, and its verdict goes to the new connection"
    )
    func inHand() throws {
        let given = handle()
        let id = try deliver()
        fixture.cut(waiting: .seconds(1))
        fixture.scheduler.run()
        try deliver(id, attempt: 2)
        #expect(given.all.count == 1)
        given.all.first?.1.returned()
        fixture.scheduler.run()
        #expect(verdicts.map(\.id) == [id])
        try deliver(id, attempt: 3)
        #expect(given.all.count == 1 && verdicts.map(\.name) == ["handled", "handled"])
    }

    @Test("SES-51: an item that failed is given again as a redelivery")
    func redelivered() throws {
        let given = handle()
        let id = try deliver()
        given.all.first?.1.threw(.failed("later"))
        fixture.scheduler.run()
        try deliver(id, attempt: 2)
        #expect(given.all.count == 2 && given.all.last?.0.facts.isRedelivery == true)
    }

    @Test(
        "SES-51: with several handlers an item is handled when the last has returned, and fails with the first that throws"
    )
    func several() throws {
        let (first, second) = (handle(), handle())
        try deliver()
        first.all.first?.1.returned()
        fixture.scheduler.run()
        #expect(verdicts.isEmpty)
        second.all.first?.1.returned()
        fixture.scheduler.run()
        #expect(verdicts.map(\.name) == ["handled"])
        try deliver()
        second.all.last?.1.threw(.failed("x"))
        first.all.last?.1.returned()
        fixture.scheduler.run()
        #expect(verdicts.map(\.name) == ["handled", "failed"])
    }

    @Test("SES-53: an item goes to its topic's handlers, else to those without a topic, else it is refused by name")
    func topics() throws {
        let alarms = handle(topic: "alarms")
        try deliver(topic: "alarms")
        #expect(alarms.all.count == 1)
        try deliver(topic: "weather")
        #expect(verdicts.isEmpty, "the app may still register a handler")
        fixture.scheduler.advance(by: Limits.startingTime)
        let verdict = try #require(verdicts.last)
        #expect(verdict.name == "rejected" && verdict.code == 7014)
        #expect(try verdict.dictionaryBody()["text"]?.stringValue?.contains("'weather'") == true)
        let others = handle()
        try deliver(topic: "weather")
        try deliver(topic: "alarms")
        #expect(others.all.map(\.0.facts.topic) == ["weather"])
        #expect(alarms.all.count == 2)
    }

    @Test(
        "SES-51, LIM-33: an item waits for the handler of its topic, which an app registers after another one's, also late",
        arguments: [false, true])
    func parkedTopic(isLate: Bool) throws {
        // The library's own, with which no app begins.
        if isLate { _ = handle([.settings]) }
        if isLate { fixture.scheduler.advance(by: .seconds(10)) }
        try deliver(topic: "weather")
        let alarms = handle(topic: "alarms")
        fixture.scheduler.run()
        let weather = handle(topic: "weather")
        fixture.scheduler.run()
        #expect(alarms.all.isEmpty && weather.all.count == 1 && verdicts.isEmpty)
    }

    @Test("SES-53: a session bound to a pairing gets that pairing's items alone")
    func bound() throws {
        let bound = handle(pairing: pairing)
        let other = fixture.daemon.pair()
        fixture.daemon.tellSituation()
        let free = handle()
        try deliver()
        #expect(bound.all.count == 1 && free.all.isEmpty)
        try deliver(through: other)
        #expect(bound.all.count == 1 && free.all.map(\.0.facts.pairing) == [other])
    }

    @Test("SES-53: an item that no handler of its pairing takes is for those of the default session")
    func boundForAnotherTopic() throws {
        let alarms = handle(pairing: pairing, topic: "alarms")
        let (weather, rest) = (handle(topic: "weather"), handle())
        for topic in ["alarms", "weather", nil] as [String?] { try deliver(topic: topic) }
        #expect(alarms.all.map(\.0.facts.topic) == ["alarms"])
        #expect(weather.all.map(\.0.facts.topic) == ["weather"])
        #expect(rest.all.map(\.0.facts.topic) == [nil] && verdicts.isEmpty)
    }

    @Test("SES-15: an item with a reserved key or a body that is no dictionary is refused and never shown")
    func malformed() throws {
        let given = handle()
        try deliver(.random(), ["tandem.x": 1])
        #expect(given.all.isEmpty && verdicts.last?.name == "rejected")
    }

    // MARK: contexts

    private func tellContext(_ name: String, _ revision: UInt64, _ body: PropertyListDictionary) throws {
        fixture.daemon.send(
            try Envelope(.context, app: fixture.daemon.app, pairing: pairing, name: name, revision: revision)
                .with(body: body))
        fixture.scheduler.run()
    }

    @Test("SES-52: never set, empty and set are three things, and what was sent is not what was received")
    func contexts() throws {
        let session = fixture.session
        #expect(session.applicationContext == nil && session.receivedApplicationContext == nil)
        try tellContext("sent", 1, [:])
        #expect(session.applicationContext == [:] && session.receivedApplicationContext == nil)
        try tellContext("received", 4, ["a": 1])
        #expect(session.receivedApplicationContext == ["a": 1] && session.applicationContext == [:])
    }

    @Test("SES-52: contexts belong to their pairing, and go with it")
    func contextsOfPairings() throws {
        try tellContext("received", 1, ["a": 1])
        let other = fixture.daemon.pair()
        fixture.tellSituation()
        #expect(fixture.session.session(for: other).receivedApplicationContext == nil)
        fixture.daemon.situation.pairings.removeFirst()
        fixture.daemon.situation.active = other
        fixture.tellSituation()
        #expect(fixture.session.session(for: pairing).receivedApplicationContext == nil)
    }

    @Test("SES-51: no handler of items runs once its session is over, and its task ends")
    func ended() async throws {
        let other = fixture.daemon.pair()
        fixture.daemon.tellSituation()
        let (began, hold) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        let handled = Collector<UniqueIdentifier>()
        let subscription = fixture.session.handleUserInfo { item in
            handled.add(item.facts.pairing)
            began.continuation.yield()
            for await _ in hold.stream { break }
        }
        fixture.scheduler.run()
        try deliver()
        try deliver(through: other)
        for await _ in began.stream { break }
        fixture.core.run { core in core.end() }
        fixture.scheduler.run()
        hold.continuation.finish()
        await subscription.finish()
        #expect(handled.all == [pairing])
    }
}
