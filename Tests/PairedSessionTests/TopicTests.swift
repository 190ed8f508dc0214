// SES-34, SES-53: which receivers get a message, and how long it waits for one.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct TopicTests {
    private let fixture: SessionFixture
    private let pairing: UniqueIdentifier

    init() throws {
        fixture = try SessionFixture()
        pairing = fixture.daemon.pair()
        fixture.daemon.answerPings()
        fixture.activate()
    }

    @discardableResult
    private func deliver(
        _ number: Int, topic: String? = nil, from pairing: UniqueIdentifier? = nil, deadline: Duration? = nil
    ) throws -> UniqueIdentifier {
        let id = UniqueIdentifier.random()
        let envelope = Envelope(
            .message, app: fixture.daemon.app, pairing: pairing ?? self.pairing, id: id, reply: true,
            deadline: deadline, topic: topic)
        fixture.daemon.send(try envelope.with(body: ["n": .integer(Int64(number))]))
        fixture.scheduler.run()
        return id
    }

    private func numbers(_ messages: Collector<ReceivedMessage>) -> [Int64?] {
        messages.all.map { $0.dictionary?["n"]?.integerValue }
    }

    private var failures: [SessionError] {
        fixture.daemon.received.filter { $0.kind == .failure }.compactMap { try? SessionError(failure: $0) }
    }

    @Test("SES-53: a topic's handler gets its topic alone; without one, the handlers without topic get it")
    func topics() throws {
        let (alarms, rest) = (fixture.receive(topic: "alarms"), fixture.receive())
        try deliver(1, topic: "alarms")
        try deliver(2)
        try deliver(3, topic: "other")
        #expect(numbers(alarms) == [1] && numbers(rest) == [2, 3])
        #expect(rest.all.map(\.topic) == [nil, "other"])
    }

    @Test("SES-53: topics are told apart by their bytes, however a person reads them")
    func spellings() throws {
        let (one, other) = (fixture.receive(topic: "caf\u{e9}"), fixture.receive(topic: "cafe\u{301}"))
        try deliver(1, topic: "cafe\u{301}")
        #expect(one.all.isEmpty && numbers(other) == [1])
    }

    @Test("SES-34: all receivers of the same rank see a message, and the first answer counts")
    func observers() throws {
        let observers = (0..<3).map { _ in fixture.receive(topic: "alarms") }
        try deliver(1, topic: "alarms")
        #expect(observers.allSatisfy { numbers($0) == [1] })
        try observers[2].all[0].reply(["by": 2])
        #expect(throws: SessionError.self) { try observers[0].all[0].reply(["by": 0]) }
        fixture.scheduler.run()
        let replies = fixture.daemon.received.filter { $0.kind == .reply }
        #expect(try replies.map { try $0.dictionaryBody() } == [["by": 2]])
    }

    @Test("SES-53: receivers of the pairing come before those of the default session, each with and without topic")
    func ranks() throws {
        let defaults = (topic: fixture.receive(topic: "a"), rest: fixture.receive())
        let bound = fixture.receive(pairing: pairing)
        try deliver(1, topic: "a")
        #expect(numbers(bound) == [1] && defaults.topic.all.isEmpty && defaults.rest.all.isEmpty)
        let closest = fixture.receive(pairing: pairing, topic: "a")
        try deliver(2, topic: "a")
        try deliver(3, topic: "a", from: .random())
        #expect(numbers(closest) == [2] && numbers(defaults.topic) == [3])
    }

    @Test("SES-34: messages that came before their handlers are handed over in order, each topic's to its own")
    func lateHandlers() throws {
        for number in 0..<30 { try deliver(number, topic: ["a", "b", nil][number % 3]) }
        let a = fixture.receive(topic: "a")
        fixture.scheduler.advance(by: .milliseconds(500))
        let b = fixture.receive(topic: "b")
        fixture.scheduler.advance(by: .milliseconds(499))
        let rest = fixture.receive()
        #expect(numbers(a) == stride(from: 0, to: 30, by: 3).map { Int64($0) })
        #expect(numbers(b) == stride(from: 1, to: 30, by: 3).map { Int64($0) })
        #expect(numbers(rest) == stride(from: 2, to: 30, by: 3).map { Int64($0) })
        #expect(failures.isEmpty)
    }

    @Test("LIM-33: what nobody takes waits for a second after the first receiver, then it is unhandled by name")
    func startingTime() throws {
        fixture.scheduler.advance(by: .seconds(20))
        fixture.receive(topic: "a")
        let id = try deliver(1, topic: "nobody's")
        fixture.scheduler.advance(by: .milliseconds(999))
        #expect(failures.isEmpty)
        fixture.scheduler.advance(by: .milliseconds(1))
        let error = try #require(failures.first)
        #expect(error.code == .deliveryFailed && error.name == "unhandled" && error.messageID == id)
        #expect(error.keyPath == "nobody's" && error.reason.contains("nobody's"))
        try deliver(2, topic: "nobody's")
        #expect(failures.count == 2, "an app that has started is known to have no handler")
    }

    @Test("SES-34: a message waits no longer than its sender, also while the app is starting")
    func senderDeadline() throws {
        try deliver(1, deadline: .milliseconds(300))
        fixture.scheduler.advance(by: .milliseconds(299))
        #expect(failures.isEmpty)
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(failures.map(\.name) == ["unhandled"])
        #expect(fixture.receive().all.isEmpty)
    }

    @Test("SES-34, LIM-33: an activated app without any handler of messages has started after a second")
    func noHandler() throws {
        try deliver(1)
        fixture.scheduler.advance(by: .milliseconds(999))
        #expect(failures.isEmpty, "its handlers may still come")
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(failures.map(\.name) == ["unhandled"], "no sender waits out its own time")
        fixture.session.handleUserInfo { _ in }
        fixture.scheduler.run()
        try deliver(2)
        #expect(failures.count == 1, "an app that registers its first handler may go on with one of messages")
        fixture.scheduler.advance(by: .seconds(1))
        #expect(failures.map(\.name) == ["unhandled", "unhandled"])
        try deliver(3)
        #expect(failures.count == 3)
    }

    @Test("SES-34: at most 256 messages wait, for all topics together; the next is inbox-full")
    func bounded() throws {
        fixture.receive(topic: "a")
        for number in 0..<256 { try deliver(number, topic: "topic \(number % 7)") }
        #expect(failures.isEmpty)
        try deliver(256, topic: "b")
        #expect(failures.map(\.name) == ["inbox-full"] && failures[0].isRetryable)
        fixture.scheduler.advance(by: .seconds(1))
        #expect(failures.count == 257)
    }

    @Test("SES-34: an app whose last receiver has left is at its start again")
    func restarted() async throws {
        let subscription = fixture.session.handleMessages { _ in [:] }
        fixture.scheduler.run()
        fixture.scheduler.advance(by: .seconds(2))
        subscription.cancel()
        fixture.scheduler.run()
        try deliver(1)
        fixture.scheduler.advance(by: .milliseconds(999))
        #expect(failures.isEmpty)
        #expect(numbers(fixture.receive()) == [1])
    }

    @Test("LIM-37: a topic of 1 to 128 bytes travels, another is 7008 and sends nothing", arguments: [0, 1, 128, 129])
    func topicLength(count: Int) throws {
        let topic = String(repeating: "t", count: count)
        let results = Collector<SessionError?>()
        fixture.core.run { core in
            core.request(OutgoingContent(["a": 1], topic: topic)) { results.add($0.error) }
        }
        fixture.scheduler.run()
        let sent = fixture.daemon.received.filter { $0.kind == .message }.map(\.topic)
        if (1...128).contains(count) {
            #expect(sent == [topic] && results.all.isEmpty)
        } else {
            #expect(sent.isEmpty && results.all.map { $0?.code } == [.invalidParameter])
            #expect(results.all.first??.name == "topic")
        }
    }

    @Test("SES-3: a daemon that takes no data gets none; the caller learns it")
    func daemonWithoutData() throws {
        let fixture = try SessionFixture()
        fixture.daemon.capabilities = [.message]
        fixture.daemon.pair()
        fixture.activate()
        let results = Collector<SessionError?>()
        fixture.core.run { core in
            for content in [OutgoingContent(data: [1]), OutgoingContent(["a": 1])] {
                core.request(content) { results.add($0.error) }
            }
        }
        fixture.scheduler.run()
        #expect(results.all.map { $0?.name } == ["unsupported-kind"])
        let kinds = fixture.daemon.received.map(\.kind)
        #expect(kinds.filter { [.message, .messageData].contains($0) } == [.message])
    }

    @Test("SES-3: a daemon that knows no topics gets none; the caller learns it")
    func oldDaemon() throws {
        let fixture = try SessionFixture()
        fixture.daemon.capabilities = [.message, .messageData]
        fixture.daemon.pair()
        fixture.activate()
        let results = Collector<SessionError?>()
        fixture.core.run { core in
            for topic in ["t", nil] {
                core.request(OutgoingContent(["a": 1], topic: topic)) { results.add($0.error) }
            }
        }
        fixture.scheduler.run()
        #expect(results.all.map { $0?.name } == ["unsupported-kind"])
        #expect(fixture.daemon.received.filter { $0.kind == .message }.count == 1)
    }
}
