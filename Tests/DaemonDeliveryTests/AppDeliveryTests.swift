// The durable channels as a host app meets them on its socket (SES-48 to SES-54): two apps that know only the frames,
// and a simulator on a manual clock between them.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct AppDeliveryTests {
    private let simulation = Simulation()
    private let queue: QueueKey
    private var app: ApplicationIdentifier { queue.app }

    init() throws { queue = try simulation.queue() }

    private func item(
        _ body: PropertyListDictionary = ["n": 1], on channel: Channel = .userInfo, key: String? = nil,
        name: String? = nil, after: UniqueIdentifier? = nil
    ) throws -> Envelope {
        try Envelope(
            .submit, app: app, pairing: simulation.pairing, id: .random(), channel: channel, name: name, key: key,
            after: after
        ).with(body: body)
    }

    /// The counterpart was there once, and is not now.
    private func installCounterpart() throws {
        try simulation.app(.secondary).disconnect()
        simulation.scheduler.run()
    }

    @Test("SES-51: the log of the receiving device has the reason that a handler gives, with the item")
    func reasonOfAFailure() throws {
        func lines() -> [String] { simulation.log.all.map { "\($0)" }.filter { $0.contains("handler") } }
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        try primary.deliver(item())
        let delivery = try #require(secondary.received(.delivery).first)
        try secondary.deliver(delivery.verdict("failed").with(body: ["text": "the lamp is\nunplugged"]))
        let id = try #require(delivery.id)
        let place = "app=com.example.app channel=userInfo id=\(id)"
        #expect(
            lines().last
                == "info handler failed pairing=\(simulation.pairing) \(place) reason=\"the lamp is\\nunplugged\"")
        simulation.scheduler.advance(by: .seconds(1))
        simulation.scheduler.run()
        let again = try #require(secondary.received(.delivery).last)
        try secondary.deliver(again.verdict("rejected", code: 7010).with(body: ["text": "no lamp"]))
        #expect(
            lines().last
                == "info handler rejected an item pairing=\(simulation.pairing) \(place) reason=\"no lamp\"")
    }

    @Test("SES-48 to SES-51: an item is accepted, stored, delivered, handled and heard")
    func theWholeWay() throws {
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        let envelope = try item(["n": 7])
        try primary.deliver(envelope)
        #expect(primary.received(.accepted).map(\.id) == [envelope.id])
        let progress = try #require(primary.received(.progress).first)
        #expect(progress.id == envelope.id && progress.name == "stored")
        let delivery = try #require(secondary.received(.delivery).first)
        #expect(delivery.id == envelope.id && delivery.attempt == 1 && delivery.channel == .userInfo)
        #expect(try delivery.dictionaryBody() == ["n": 7])
        #expect(primary.received(.finished).isEmpty)
        try secondary.deliver(delivery.verdict())
        let finished = try #require(primary.received(.finished).first)
        #expect(finished.id == envelope.id && finished.name == "handled" && finished.code == nil)
        try primary.deliver(finished.acknowledgement)
        #expect(primary.refusal == nil && secondary.refusal == nil)
    }

    @Test("SES-50, DEL-25: an item that was given up tells the code and the name of the peer's last refusal")
    func givenUp() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        let envelope = try item()
        try primary.deliver(envelope)
        let id = try #require(envelope.id)
        let refusal = ItemRefusal(code: 7014, name: "digest-mismatch")
        simulation.simulator.primary.items?.take(.ended(id, queue, .withdrawn(.dead), refusal))
        simulation.scheduler.run()
        let finished = try #require(primary.received(.finished).first)
        #expect(finished.id == id && finished.name == "dead" && finished.code == 7014)
        #expect(try finished.dictionaryBody() == ["refusal": "digest-mismatch"])
    }

    @Test("SES-51: items wait for their app, and come one after the other in the order of their submission")
    func inOrder() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        for number in 0..<20 { try primary.deliver(item(["n": .integer(Int64(number))])) }
        #expect(primary.received(.accepted).count == 20)
        let secondary = try simulation.app(.secondary)
        var numbers: [Int64?] = []
        for _ in 0..<20 {
            simulation.scheduler.run()
            let deliveries = secondary.received(.delivery)
            #expect(deliveries.count == numbers.count + 1)
            let last = try #require(deliveries.last)
            numbers.append(try last.dictionaryBody()["n"]?.integerValue)
            try secondary.deliver(last.verdict())
        }
        #expect(numbers == (0..<20).map { Int64($0) })
        #expect(primary.received(.finished).count == 20)
    }

    @Test("SES-48: the same identifier is the same item")
    func twice() throws {
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        let envelope = try item()
        for _ in 0..<3 { try primary.deliver(envelope) }
        #expect(primary.received(.accepted).count == 3)
        #expect(secondary.received(.delivery).count == 1)
    }

    @Test("SES-48: an urgent item under the identifier of a user info is that item, demoted; a kind has no NUL")
    func urgentAgain() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        let first = try item()
        try primary.deliver(first)
        var again = first
        again.channel = .urgent
        try primary.deliver(again)
        #expect(primary.received(.accepted).map(\.name) == [nil, "demoted"])
        try primary.deliver(queue.query("outstanding"))
        let listed = try #require(primary.received(.answer).last).dictionaryBody()["items"]?.arrayValue
        #expect(listed?.count == 1)
        try primary.deliver(item(on: .urgent, name: "a\0b"))
        #expect(primary.received(.failure).map(\.name) == ["kind"] && primary.refusal == nil)
    }

    @Test("SES-51: what a handler failed comes again after a pause as a redelivery, and what it rejects never")
    func verdicts() throws {
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        try primary.deliver(item())
        try secondary.deliver(secondary.received(.delivery)[0].verdict("failed"))
        #expect(secondary.received(.delivery).count == 1)
        simulation.scheduler.advance(by: .seconds(1))
        simulation.scheduler.run()
        let again = try #require(secondary.received(.delivery).last)
        #expect(again.attempt == 2)
        try secondary.deliver(again.verdict("rejected", code: 7014))
        let finished = try #require(primary.received(.finished).first)
        #expect(finished.name == "rejected" && finished.code == 7014)
    }

    @Test("SES-50: ends that nobody confirmed are told to the app's next connection, until it has heard")
    func endsAreKept() throws {
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        let envelope = try item()
        try primary.deliver(envelope)
        primary.disconnect()
        simulation.scheduler.run()
        try secondary.deliver(secondary.received(.delivery)[0].verdict())
        let second = try simulation.app(.primary)
        #expect(second.received(.finished).map(\.id) == [envelope.id])
        second.disconnect()
        simulation.scheduler.run()
        let third = try simulation.app(.primary)
        #expect(third.received(.finished).map(\.id) == [envelope.id])
        try third.deliver(envelope.acknowledgement)
        third.disconnect()
        simulation.scheduler.run()
        #expect(try simulation.app(.primary).received(.finished).isEmpty)
    }

    @Test(
        "SES-52: of contexts that wait only the newest is delivered, and both sides are told what was sent and received"
    )
    func contexts() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        for number in 1...5 { try primary.deliver(item(["n": .integer(Int64(number))], on: .context)) }
        #expect(primary.received(.accepted).map(\.revision) == [1, 2, 3, 4, 5])
        let secondary = try simulation.app(.secondary)
        simulation.scheduler.run()
        let deliveries = secondary.received(.delivery)
        #expect(try deliveries.map { try $0.dictionaryBody()["n"] } == [5])
        #expect(deliveries.first?.revision == 5)
        let told = secondary.received(.context).filter { $0.name == "received" }
        #expect(told.last?.revision == 5)
        #expect(primary.received(.context).last?.name == "sent")
        // The ones that were replaced have no end, and none is confirmed.
        #expect(primary.received(.finished).isEmpty && primary.received(.progress).isEmpty)
    }

    @Test("SES-88: an item that an app puts off is no attempt, and comes again when its pairing is the active one")
    func putOff() throws {
        let simulation = Simulation(secondaries: 2)
        var primary = try simulation.app(.primary)
        let secondary = try simulation.app(.secondary, number: 2)
        try secondary.send(
            Envelope(.submit, app: app, pairing: simulation.simulator.pairings[1], id: .random(), channel: .context)
                .with(body: ["n": 1]))
        simulation.scheduler.run()
        for _ in 0..<10 {
            let delivery = try #require(primary.received(.delivery).last)
            #expect(delivery.attempt == 1)
            try primary.send(delivery.verdict("later"))
            simulation.scheduler.advance(by: .seconds(600))
            #expect(primary.received(.delivery).count == 1 && primary.refusal == nil)
            primary.disconnect()
            simulation.scheduler.run()
            primary = try simulation.app(.primary)
            simulation.scheduler.run()
        }
        try primary.send(try #require(primary.received(.delivery).last).verdict("later"))
        simulation.scheduler.run()
        simulation.simulator.activate(2)
        simulation.scheduler.run()
        #expect(primary.received(.delivery).map(\.attempt) == [1, 1])
        // It says so before it has heard of the choice.
        try primary.send(try #require(primary.received(.delivery).last).verdict("later"))
        simulation.scheduler.advance(by: .seconds(1))
        simulation.scheduler.run()
        #expect(primary.received(.delivery).map(\.attempt) == [1, 1, 1])
    }

    @Test("SES-88, SET-78: synced settings that an app puts off come again after pauses, whichever pairing is active")
    func putOffSettings() throws {
        let simulation = Simulation(secondaries: 2)
        let primary = try simulation.app(.primary)
        let secondary = try simulation.app(.secondary, number: 2)
        let pairing = simulation.simulator.pairings[1]
        try secondary.send(
            Envelope(.submit, app: app, pairing: pairing, id: .random(), channel: .settings).with(body: ["n": 1]))
        simulation.scheduler.run()
        for count in 1...8 {
            #expect(primary.received(.delivery).map(\.attempt) == Array(repeating: 1, count: count))
            try primary.send(try #require(primary.received(.delivery).last).verdict("later"))
            simulation.scheduler.advance(by: .seconds(60))
            simulation.scheduler.run()
        }
        #expect(primary.refusal == nil)
    }

    @Test("SES-52: a connection that has not named the channel is told of no context, neither at first nor at a change")
    func contextsOfOthers() throws {
        let (primary, secondary) = (simulation.simulator.endpoint(.primary), simulation.simulator.endpoint(.secondary))
        let able = Capability.allCases.filter { $0.channel != .context }
        try installCounterpart()
        func app(_ endpoint: LocalEndpoint, _ capabilities: [Capability], receives: Bool) throws -> Client {
            try endpoint.app(
                "com.example.app", .init(receives: receives), capabilities: capabilities, on: simulation.scheduler,
                user: Simulation.user)
        }
        let old = try app(primary, able, receives: false)
        let sender = try app(primary, Capability.allCases, receives: true)
        for number in 1...2 { try sender.deliver(item(["n": .integer(Int64(number))], on: .context)) }
        let later = try app(primary, able, receives: false)
        let counterpart = try app(secondary, able, receives: true)
        simulation.scheduler.run()
        #expect(sender.received(.context).count == 2)
        #expect([old, later, counterpart].allSatisfy { $0.received(.context).isEmpty })
    }

    @Test("SES-48: a context with the bytes of the last one is not sent again, unless its sender wants that")
    func identicalContext() throws {
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        try primary.deliver(item(["a": 1], on: .context))
        try secondary.deliver(secondary.received(.delivery)[0].verdict())
        try primary.deliver(item(["a": 1], on: .context))
        #expect(primary.received(.accepted).last?.name == "unchanged")
        #expect(secondary.received(.delivery).count == 1)
        try primary.deliver(item(["a": 1], on: .context, name: "always"))
        #expect(secondary.received(.delivery).last?.revision == 2)
    }

    @Test("SES-54: outstanding items are listed in order with their bodies, and can be taken back")
    func outstanding() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        let items = try (0..<3).map { try item(["n": .integer(Int64($0))], key: "k\($0)") }
        for item in items { try primary.deliver(item) }
        // The simulator stores at once: what is stored is listed without its body.
        try primary.deliver(queue.query("outstanding"))
        let answer = try #require(primary.received(.answer).first)
        let listed = try #require(try answer.dictionaryBody()["items"]?.arrayValue)
        #expect(listed.map { $0.dictionaryValue?["id"]?.dataValue } == items.map { $0.id?.bytes })
        let question = try queue.query("cancel").with(body: ["item": .data(#require(items[1].id).bytes)])
        try primary.deliver(question)
        let cancelled = try #require(primary.received(.answer).last)
        #expect(cancelled.name == "asked" && cancelled.id == question.id)
        #expect(primary.received(.finished).map(\.name) == ["cancelled"])
        #expect(primary.received(.finished).map(\.id) == [items[1].id])
    }

    @Test("SES-54, SES-84: an item that is taken back before it comes is refused, while its app has a connection")
    func takenBackEarly() throws {
        let (lost, primary) = (try simulation.app(.primary, receives: false), try simulation.app(.primary))
        try installCounterpart()
        let item = try item(["n": 1], key: "k")
        let question = try queue.query("cancel").with(body: ["item": .data(#require(item.id).bytes)])
        try primary.deliver(question)
        #expect(primary.received(.answer).last?.name == "unknown")
        try lost.deliver(item)
        #expect(lost.received(.failure).last?.name == "cancelled" && lost.received(.accepted).isEmpty)
        primary.disconnect()
        lost.disconnect()
        simulation.scheduler.run()
        let next = try simulation.app(.primary)
        try next.deliver(item)
        #expect(next.received(.accepted).count == 1)
    }

    @Test("SES-48: urgent items pass within their budget and are demoted beyond it")
    func budget() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        for _ in 0..<50 { try primary.deliver(item(on: .urgent)) }
        #expect(primary.received(.accepted).allSatisfy { $0.name == nil })
        try primary.deliver(
            Envelope(.query, app: app, pairing: simulation.pairing, id: .random(), command: "budget"))
        let answer = try #require(primary.received(.answer).first).dictionaryBody()
        #expect(answer["remaining"] == 0 && answer["limit"] == 50)
        try primary.deliver(item(on: .urgent))
        #expect(primary.received(.accepted).last?.name == "demoted")
        simulation.scheduler.advance(by: .seconds(24 * 3600))
        simulation.scheduler.run()
    }

    @Test("SES-49, SES-54: an item and a query for no pairing, an item on no channel of apps or too large are refused")
    func refusals() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        var envelope = try item()
        envelope.pairing = .random()
        try primary.deliver(envelope)
        try primary.deliver(item(on: .configuration))
        try primary.deliver(item(["d": .data(Array(repeating: 0, count: 65_536))]))
        let codes = try primary.received(.failure).map { try SessionError(failure: $0).code }
        #expect(codes == [.deviceNotPaired, .invalidParameter, .payloadTooLarge])
        #expect(primary.received(.failure).last?.id != nil)
        let query = QueueKey(pairing: .random(), app: app, channel: .userInfo).query("outstanding")
        try primary.deliver(query)
        let answer = try #require(primary.received(.answer).last)
        #expect(answer.id == query.id && answer.name == "not-paired")
        #expect(primary.refusal == nil)
    }

    @Test("LIM-14: the queue's limit is told with what is there, and nothing is lost silently")
    func full() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        let submitted = 10_001
        for _ in 0..<submitted { try primary.send(item()) }
        simulation.scheduler.run()
        #expect(primary.received(.accepted).count == 10_000)
        let error = try primary.onlyFailure()
        #expect(error.name == "queue-full" && error.limit == 10_000 && error.isRetryable)
    }

    @Test("FRM-13: an item of another application ends the connection")
    func notYours() throws {
        let primary = try simulation.app(.primary)
        var envelope = try item()
        envelope.app = try ApplicationIdentifier("com.example.other")
        try primary.deliver(envelope)
        #expect(primary.refusal == "not-yours")
    }

    @Test("SES-54: what an operator sends to an app's counterpart is not the app's to list or to take back")
    func configurationIsNoApps() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        let queue = QueueKey.configuration(of: app, at: simulation.pairing)
        for command in ["outstanding", "cancel"] {
            try primary.deliver(queue.query(command).with(body: ["item": .data(UniqueIdentifier.random().bytes)]))
        }
        #expect(primary.received(.answer).map(\.code) == [7008, 7008])
        #expect(primary.received(.answer).map(\.name) == ["channel", "channel"])
    }

    @Test("SES-54: lists of outstanding items are made for one connection a few at a time")
    func manyLists() throws {
        let primary = try simulation.app(.primary)
        try installCounterpart()
        try primary.deliver(item())
        for _ in 0..<9 { try primary.send(queue.query("outstanding")) }
        simulation.scheduler.run()
        #expect(primary.received(.answer).count == 9)
        #expect(primary.received(.answer).filter { $0.name == "too-many-requests" }.count == 1)
    }
}
