// Items, verdicts and queries of an app that break the rules of their kind (SES-48, SES-49, SES-54, FRM-10).

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct BadItemTests {
    private let simulation = Simulation()
    private let queue: QueueKey

    init() throws { queue = try simulation.queue() }

    @Test(
        "FRM-10: a verdict that breaks the rules of its kind is refused, whatever item it names",
        arguments: [("rejected", nil), ("handled", 7014), ("unheard", nil)] as [(name: String, code: Int?)],
        [false, true])
    func verdicts(verdict: (name: String, code: Int?), isItemKnown: Bool) throws {
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        try primary.deliver(
            Envelope(.submit, app: queue.app, pairing: queue.pairing, id: .random(), channel: queue.channel)
                .with(body: ["n": 1]))
        var envelope = try #require(secondary.received(.delivery).first).verdict(verdict.name, code: verdict.code)
        if !isItemKnown { envelope.id = .random() }
        try secondary.deliver(envelope)
        #expect(secondary.refusal == "envelope" && secondary.isClosed)
    }

    @Test("SES-51: a verdict on an item that the connection does not have changes nothing")
    func strayVerdict() throws {
        let app = try simulation.app(.secondary)
        try app.deliver(
            Envelope(
                .verdict, app: queue.app, pairing: queue.pairing, id: .random(), channel: queue.channel,
                name: "handled"))
        #expect(app.refusal == nil && !app.isClosed)
    }

    private func submission(_ body: [UInt8], _ id: UniqueIdentifier = .random(), on channel: Channel) -> Envelope {
        Envelope(.submit, app: queue.app, pairing: queue.pairing, id: id, channel: channel, body: body)
    }

    @Test("SES-49: a body above its limit is too large whatever it holds; below it, it must be a dictionary")
    func largeGarbage() throws {
        let primary = try simulation.app(.primary)
        _ = try simulation.app(.secondary)
        try primary.deliver(submission([UInt8](repeating: 7, count: 66_000), on: .userInfo))
        try primary.deliver(submission([7], on: .userInfo))
        #expect(primary.received(.failure).map(\.code) == [7009, 7008])
        #expect(primary.received(.failure).map(\.name) == ["too-large", "malformed"])
    }

    @Test(
        "DEL-33: a repeated submission is accepted again, whatever its body holds",
        arguments: [Channel.userInfo, .urgent, .context])
    func repeatedWithGarbage(channel: Channel) throws {
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        let id = UniqueIdentifier.random()
        let content: PropertyListDictionary = ["n": 1]
        for body in [try PropertyListWriter.write(content), [7], [UInt8](repeating: 7, count: 300_000)] {
            try primary.deliver(submission(body, id, on: channel))
        }
        #expect(primary.received(.accepted).map(\.id) == [id, id, id] && primary.received(.failure).isEmpty)
        let revision: UInt64? = channel == .context ? 1 : nil
        #expect(primary.received(.accepted).map(\.revision) == [revision, revision, revision])
        #expect(secondary.received(.delivery).count == 1)
    }

    @Test("DEL-33, SES-73: an accepted item is accepted again after its counterpart was removed, and a new one is not")
    func repeatedAfterRemoval() throws {
        let primary = try simulation.app(.primary)
        _ = try simulation.app(.secondary)
        let content: PropertyListDictionary = ["n": 1]
        let item = submission(try PropertyListWriter.write(content), on: .userInfo)
        try primary.deliver(item)
        simulation.simulator.endpoint(.secondary).remove(queue.app)
        simulation.scheduler.run()
        try primary.deliver(item)
        try primary.deliver(submission(try PropertyListWriter.write(content), on: .userInfo))
        #expect(primary.received(.accepted).map(\.id) == [item.id, item.id])
        #expect(primary.received(.failure).map(\.name) == ["not-installed"])
    }

    // MARK: queries

    private func query(_ command: String, on channel: Channel?, _ body: PropertyListDictionary = [:]) throws -> Envelope
    {
        try Envelope(
            .query, app: queue.app, pairing: queue.pairing, id: .random(), channel: channel, command: command
        ).with(body: body)
    }

    @Test("SES-54, SES-71: an apply on another channel or without its envelope, and a schema without one, are named")
    func incompleteBrought() throws {
        let primary = try simulation.app(.primary)
        let envelope: PropertyListDictionary = ["envelope": .data([1])]
        try primary.deliver(query("apply", on: .userInfo, envelope))
        try primary.deliver(query("apply", on: nil, envelope))
        try primary.deliver(query("apply", on: .configuration))
        try primary.deliver(query("schema", on: nil))
        #expect(primary.received(.answer).map(\.code) == [7008, 7008, 7008, 7008])
        #expect(primary.received(.answer).map(\.name) == ["channel", "unknown-command", "envelope", "schema"])
        #expect(primary.refusal == nil)
    }

    @Test(
        "SES-21: a query whose body does not read, or whose after is no number, is refused and not answered as if empty",
        arguments: ["outstanding", "cancel", "budget"])
    func malformedQueries(command: String) throws {
        let garbled = try simulation.app(.primary)
        var question = try query(command, on: .userInfo)
        question.body = [1, 2, 3]
        try garbled.deliver(question)
        #expect(garbled.refusal == "malformed" && garbled.received(.answer).isEmpty && garbled.isClosed)
        let other = try simulation.app(.primary)
        try other.deliver(query(command, on: .userInfo, ["after": "x"]))
        #expect(other.refusal == (command == "outstanding" ? "envelope" : nil))
    }
}
