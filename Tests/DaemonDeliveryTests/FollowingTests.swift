// Items whose submitter comes back on another connection (SES-56), as host apps meet it on their socket.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

struct FollowingTests {
    private let simulation = Simulation()
    private let queue: QueueKey
    private var app: ApplicationIdentifier { queue.app }

    init() throws { queue = try simulation.queue() }

    private func submit(from client: Client) throws -> UniqueIdentifier {
        let id = UniqueIdentifier.random()
        let item = Envelope(.submit, app: app, pairing: simulation.pairing, id: id, channel: .userInfo)
        try client.deliver(item.with(body: ["n": 1]))
        return id
    }

    private func follow(_ ids: [UniqueIdentifier], from client: Client) throws -> PropertyListDictionary {
        try client.deliver(queue.query("subscribe", for: ids))
        return try #require(client.received(.answer).last).dictionaryBody()
    }

    private func handle(from client: Client) throws {
        try client.deliver(#require(client.received(.delivery).last).verdict())
    }

    @Test("SES-56: a connection that does not receive is told the end of what it submitted on a former one")
    func endsLater() throws {
        let secondary = try simulation.app(.secondary)
        let first = try simulation.app(.primary, receives: false)
        let id = try submit(from: first)
        first.disconnect()
        simulation.scheduler.run()
        let second = try simulation.app(.primary, receives: false)
        #expect(try follow([id], from: second) == ["unknown": []])
        #expect(second.received(.progress).map(\.name) == ["stored"], "what it missed")
        try handle(from: secondary)
        #expect(second.received(.finished).map(\.id) == [id])
    }

    @Test("LIM-40, SES-56: 512 items may be named in one question, and one more is refused")
    func mostItems() throws {
        let app = try simulation.app(.primary, receives: false)
        let ids = (0..<513).map { _ in UniqueIdentifier.random() }
        #expect(try follow(Array(ids.dropLast()), from: app)["unknown"]?.arrayValue?.count == 512)
        try app.deliver(queue.query("subscribe", for: ids))
        #expect(app.received(.answer).last?.name == "items")
    }

    @Test("SES-56, DEL-33: what ended meanwhile is told at once, also what was confirmed elsewhere")
    func endedBefore() throws {
        let secondary = try simulation.app(.secondary)
        let first = try simulation.app(.primary, receives: false)
        let id = try submit(from: first)
        first.disconnect()
        simulation.scheduler.run()
        try handle(from: secondary)
        let second = try simulation.app(.primary, receives: false)
        #expect(second.received(.finished).isEmpty)
        let other = UniqueIdentifier.random()
        #expect(try follow([id, other], from: second) == ["unknown": [.data(other.bytes)]])
        #expect(second.received(.finished).map(\.id) == [id])
        try second.deliver(
            Envelope(.finishedAck, app: app, pairing: simulation.pairing, id: id, channel: .userInfo))
        #expect(try follow([id], from: second) == ["unknown": []])
        #expect(second.received(.finished).map(\.id) == [id, id])
    }

    @Test("SES-56: the receiving connection hears an end once, whether it asks or not")
    func receiving() throws {
        let secondary = try simulation.app(.secondary)
        let first = try simulation.app(.primary)
        let id = try submit(from: first)
        first.disconnect()
        simulation.scheduler.run()
        try handle(from: secondary)
        let second = try simulation.app(.primary)
        _ = try follow([id], from: second)
        #expect(second.received(.finished).map(\.id) == [id])
    }

    @Test("SES-50: ends of one identifier in two pairings are two ends, each told once")
    func oneIdentifierTwice() throws {
        let simulation = Simulation(secondaries: 2)
        let id = UniqueIdentifier.random()
        let secondaries = [try simulation.app(.secondary, number: 1), try simulation.app(.secondary, number: 2)]
        let first = try simulation.app(.primary, receives: false)
        for pairing in simulation.simulator.pairings {
            let item = Envelope(.submit, app: app, pairing: pairing, id: id, channel: .userInfo)
            try first.send(item.with(body: ["n": 1]))
        }
        simulation.scheduler.run()
        first.disconnect()
        simulation.scheduler.run()
        for (secondary, pairing) in zip(secondaries, simulation.simulator.pairings) {
            try secondary.send(
                Envelope(.verdict, app: app, pairing: pairing, id: id, channel: .userInfo, name: "handled"))
        }
        simulation.scheduler.run()
        let second = try simulation.app(.primary)
        for pairing in simulation.simulator.pairings {
            try second.deliver(Envelope(.finishedAck, app: app, pairing: pairing, id: id, channel: .userInfo))
        }
        #expect(second.received(.finished).count == 2)
    }

    @Test("SES-56: items that are none, or too many, are refused by name")
    func malformed() throws {
        try simulation.app(.secondary).disconnect()
        let client = try simulation.app(.primary)
        let question = queue.query("subscribe")
        let many = (0...512).map { _ in PropertyListValue.data(UniqueIdentifier.random().bytes) }
        let bodies: [PropertyListDictionary] = [[:], ["items": 1], ["items": [.data([1])]], ["items": .array(many)]]
        for body in bodies { try client.deliver(question.with(body: body)) }
        #expect(client.received(.answer).map(\.name) == ["items", "items", "items", "items"])
    }
}
