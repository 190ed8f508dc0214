// Ends of items that an app has not confirmed, on a device whose disk is slow or full: each is reported, none without
// end, and none before it is durable.

import TandemBase
import TandemDaemonTestSupport
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

struct MissedOutcomesTests {
    private let device: OneDevice

    init() throws { device = try OneDevice() }

    private func follow(_ ids: [UniqueIdentifier], from app: Client) throws {
        try app.deliver(device.queue.query("subscribe", for: ids))
    }

    /// Items that were submitted by an app which has gone, and handled by the peer then.
    private func endedItems(_ count: Int) throws -> [UniqueIdentifier] {
        let ids = (0..<count).map { _ in UniqueIdentifier.random() }
        let app = try device.simulation.app(.primary, receives: false)
        for id in ids { try device.submit(id, from: app) }
        device.run()
        app.disconnect()
        device.run()
        try device.handleAll(count)
        return ids
    }

    @Test("DEL-16: a page of ends that a full disk does not forget is not told in a circle, and the next one follows")
    func fullDisk() throws {
        let ids = try endedItems(300)
        let app = try device.simulation.app(.primary)
        #expect(app.received(.finished).map(\.id) == Array(ids.prefix(256)))
        device.store.isFull = true
        app.onFrame = { client, _, envelope in
            if envelope.kind == .finished { try? client.send(envelope.acknowledgement) }
        }
        for end in app.received(.finished) { try app.send(end.acknowledgement) }
        let before = device.store.commits
        device.run()
        device.simulation.scheduler.advance(by: .seconds(10))
        #expect(device.store.commits - before <= 30, "a full disk is not asked all the time")
        #expect(app.received(.finished).count <= 300 + 256)
        device.store.isFull = false
        device.simulation.scheduler.advance(by: .seconds(5))
        #expect(Set(app.received(.finished).map(\.id)) == Set(ids), "each is told")
        app.disconnect()
        device.run()
        #expect(try device.simulation.app(.primary).received(.finished).isEmpty, "all are forgotten")
    }

    @Test("SES-56: an end that becomes durable with the question of a connection is told to that one alone")
    func withTheQuestion() throws {
        let id = UniqueIdentifier.random()
        let first = try device.simulation.app(.primary, receives: false)
        try device.submit(id, from: first)
        device.run()
        first.disconnect()
        device.run()
        let receiving = try device.simulation.app(.primary)
        let asking = try device.simulation.app(.primary, receives: false)
        device.store.hold(commits: true)
        try device.submit(from: asking)
        device.run()
        device.handled(1...1)
        try follow([id], from: asking)
        device.store.goOn()
        device.run()
        #expect(asking.received(.finished).map(\.id) == [id] && receiving.received(.finished).isEmpty)
    }

    @Test("SES-56: of ends that were told as they came as many are remembered as are told ahead, and no more")
    func toldAsTheyCome() throws {
        let app = try device.simulation.app(.primary)
        let ids = (0..<300).map { _ in UniqueIdentifier.random() }
        for id in ids { try device.submit(id, from: app) }
        device.run()
        try device.handleAll(ids.count)
        #expect(app.received(.finished).map(\.id) == ids)
        try follow(ids, from: app)
        // The others come twice: this process tells each once, whatever it hears (SES-50).
        #expect(app.received(.finished).map(\.id) == ids + ids.dropFirst(256))
    }

    @Test("SES-56: the answer to a question for items comes behind the word of what had ended before it")
    func behindTheEffects() throws {
        let app = try device.simulation.app(.primary, receives: false)
        let ids = [UniqueIdentifier.random(), .random()]
        try device.submit(ids[0], from: app)
        device.run()
        // The end is known and not yet durable, and shares a commit with the question.
        device.store.hold(commits: true)
        try device.submit(from: app)
        device.run()
        device.handled(1...1)
        try follow(ids, from: app)
        #expect(app.received(.answer).isEmpty && app.received(.finished).isEmpty)
        device.store.goOn()
        device.run()
        #expect(app.received(.finished).map(\.id) == [ids[0]], "once")
        #expect(try app.received(.answer).map { try $0.dictionaryBody()["unknown"] } == [[.data(ids[1].bytes)]])
        let kinds = app.envelopes.map(\.kind)
        #expect(kinds.firstIndex(of: .finished) ?? .max < kinds.firstIndex(of: .answer) ?? 0)
    }

    @Test("SES-56: while the disk cannot tell what is durable a question for items is refused by name")
    func cannotTell() throws {
        let app = try device.simulation.app(.primary, receives: false)
        device.store.isFull = true
        let id = UniqueIdentifier.random()
        try device.submit(id, from: app)
        try follow([id], from: app)
        #expect(app.received(.answer).map(\.name) == ["store"])
        #expect(app.received(.failure).map(\.code) == [7015])
    }
}
