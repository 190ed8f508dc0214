// Broadcasts that leave together (SES-30): in their order, with what else the connection sends between them, and each
// judged as if it had left alone.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct BroadcastBatchTests {
    let simulation = Simulation(secondaries: 3)

    private func broadcast(_ text: String, app: String = "com.example.app") throws -> Envelope {
        var message = try simulation.message(text, app: app, wantsReply: false)
        message.pairing = .zero
        return message
    }

    private func counterparts(_ app: String = "com.example.app") throws -> [Client] {
        try (1...3).map { try simulation.app(.secondary, app, number: $0) }
    }

    @Test func `SES-14: broadcasts and messages of one turn arrive in the order they were sent`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let sent = try [
            broadcast("a"), simulation.message("b"), broadcast("c"), broadcast("d"), simulation.message("e"),
        ]
        for message in sent { try sender.send(message) }
        simulation.scheduler.run()
        #expect(counterparts[0].received(.message).map(\.id) == sent.map(\.id))
        for other in counterparts[1...] {
            #expect(other.received(.message).map(\.id) == [sent[0], sent[2], sent[3]].map(\.id))
        }
    }

    @Test func `SES-30: more broadcasts in a turn than leave together arrive whole and in order`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let sent = try (0..<9).map { _ in try broadcast("").asData(60_000) }
        for message in sent { try sender.send(message) }
        simulation.scheduler.run()
        for (counterpart, pairing) in zip(counterparts, simulation.simulator.pairings) {
            let expected = try sent.map { message in
                var message = message
                message.pairing = pairing
                return try message.frame()
            }
            #expect(counterpart.frames.suffix(9) == expected[...])
        }
        #expect(simulation.counter("relay.forwarded") == 27)
    }

    @Test func `SES-30: two connections and two apps that broadcast in one turn do not mix`() throws {
        let senders = try [
            simulation.app(.primary), simulation.app(.primary, receives: false), simulation.app(.primary, "app.b"),
        ]
        let (own, others) = (try counterparts(), try counterparts("app.b"))
        for text in ["1", "2"] {
            try senders[0].send(broadcast(text))
            try senders[1].send(broadcast(text))
            try senders[2].send(broadcast(text, app: "app.b"))
        }
        simulation.scheduler.run()
        #expect(own.allSatisfy { $0.received(.message).count == 4 })
        #expect(others.allSatisfy { $0.received(.message).count == 2 })
        #expect(senders.allSatisfy { $0.received(.failure).isEmpty })
    }

    @Test func `SES-30: a receiver that leaves in the same turn is named for each broadcast that it did not get`()
        throws
    {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let sent = try [broadcast("a"), broadcast("b")]
        for message in sent { try sender.send(message) }
        counterparts[1].disconnect()
        simulation.scheduler.run()
        let failures = sender.received(.failure)
        #expect(failures.map(\.id) == sent.map(\.id))
        #expect(failures.allSatisfy { $0.pairing == simulation.simulator.pairings[1] && $0.code == 7007 })
        #expect(counterparts[0].received(.message).count == 2 && counterparts[2].received(.message).count == 2)
    }

    @Test func `SES-30: what a sender broadcast before it left arrives`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        for text in ["a", "b"] { try sender.send(broadcast(text)) }
        sender.stream.closeAfterFlush(.closedHere)
        simulation.scheduler.run()
        #expect(counterparts.allSatisfy { $0.received(.message).count == 2 })
    }

    @Test func `SES-30: failures come before the answer to what the connection sends next, and in its order`() throws {
        let sender = try simulation.app(.primary)
        _ = try simulation.app(.secondary, number: 1)
        let (first, second) = (try broadcast("a"), try broadcast("b"))
        for message in [first, second, first, Envelope(.ping, id: .random())] { try sender.send(message) }
        try sender.deliver(Envelope(.hello).with(body: Hello.offer(software: "test").body))
        let answers = sender.envelopes.suffix(7)
        #expect(answers.map(\.kind) == [.failure, .failure, .failure, .failure, .failure, .pong, .refusal])
        let pairings = simulation.simulator.pairings.dropFirst().sorted()
        #expect(answers.prefix(5).map(\.pairing) == [pairings[0], pairings[0], pairings[1], pairings[1], .zero])
        #expect(answers.prefix(5).map(\.id) == [first, second, first, second, first].map(\.id))
        #expect(answers.prefix(5).last?.name == "duplicate-id")
    }

    @Test func `SES-10: a receiver's failure of any of the broadcasts finds the sender, once`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let sent = try [broadcast("a"), broadcast("b"), broadcast("c")]
        for message in sent { try sender.send(message) }
        simulation.scheduler.run()
        let error = SessionError(.deliveryFailed, name: "inbox-full", reason: "later")
        let pairing = simulation.simulator.pairings[2]
        for message in [sent[1], sent[1], sent[2]] {
            try counterparts[2].send(
                error.failure(app: #require(message.app), pairing: pairing, id: #require(message.id)))
        }
        simulation.scheduler.run()
        #expect(sender.received(.failure).map(\.id) == [sent[1].id, sent[2].id])
        #expect(simulation.counter("relay.stray") == 1)
    }

    @Test func `SES-18: what was broadcast in the turn of the stop has been accepted and leaves`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let (before, after) = (try broadcast("a"), try broadcast("b"))
        try sender.send(before)
        // In the turn in which it arrives.
        simulation.scheduler.atEndOfTurn {
            simulation.scheduler.schedule(after: .zero) { simulation.simulator.stop {} }
        }
        simulation.scheduler.run()
        try sender.deliver(after)
        #expect(counterparts.allSatisfy { $0.received(.message).map(\.id) == [before.id] })
    }
}

/// The same over links, where a test sees each write and says what has left.
@Suite struct BroadcastBatchLinkTests {
    let world = TwoDevices()

    /// A broadcast whose frame is about this long.
    private func broadcast(_ count: Int = 100) throws -> Envelope {
        Envelope(
            .messageData, app: try ApplicationIdentifier("com.example.app"), pairing: .zero, id: .random(),
            body: [UInt8](repeating: 1, count: count))
    }

    private func send(_ messages: [Envelope], from sender: Client) throws {
        for message in messages { try sender.send(message) }
        world.scheduler.run()
    }

    @Test func `SES-30: the broadcasts of a turn are one write for each receiver`() throws {
        let (sender, _, link) = try world.linkedApps()
        let sent = try (0..<20).map { _ in try broadcast() }
        try send(sent, from: sender)
        #expect(link.sent(.messageData).map(\.id) == sent.map(\.id))
        #expect(link.sent(.messageData).allSatisfy { $0.pairing == world.pairing })
        #expect(link.writes == 1)
    }

    @Test func `LIM-6: where the quota ends among them, exactly those fail that do not fit`() throws {
        let (sender, _, link) = try world.linkedApps()
        link.isStuck = true
        var room: Int { Limits.queuedBytes - link.queuedBytes }
        while room > 65_000 { try send([broadcast(60_000)], from: sender) }
        let sent = try [broadcast(room - 1000), broadcast(60_000), broadcast(100), broadcast(60_000)]
        let before = link.sent.count
        try send(sent, from: sender)
        #expect(link.sent[before...].map { try? Envelope(reading: $0).id } == [sent[0].id, sent[2].id])
        let failures = sender.received(.failure)
        #expect(failures.map(\.id) == [sent[1].id, sent[3].id])
        #expect(failures.allSatisfy { $0.name == "slow-consumer" && $0.pairing == world.pairing })
        #expect(link.overflows == 2)
        // Told once: those that failed do not fail again, and of the others none has left.
        world.linkDown()
        let lost = sender.received(.failure).dropFirst(2)
        #expect(lost.allSatisfy { $0.code == 7007 })
        #expect(lost.suffix(2).map(\.id) == [sent[0].id, sent[2].id])
        #expect(lost.count == before - link.sent(.application).count + 2)
    }

    @Test func `SES-11: of broadcasts that left together those fail that did not leave whole`() throws {
        let (sender, _, link) = try world.linkedApps()
        try send([broadcast()], from: sender)
        link.isStuck = true
        let sent = try [broadcast(10), broadcast(200), broadcast(30)]
        let first = try sent[0].frame().count
        let before = link.acceptedBytes
        try send(sent, from: sender)
        link.departedBytes = before + UInt64(first) + 1
        world.linkDown()
        #expect(sender.received(.failure).map(\.id) == [sent[1].id, sent[2].id])
        #expect(sender.received(.failure).allSatisfy { $0.code == 7007 })
    }

    @Test func `SES-3: of both kinds together a receiver gets the kind that it takes`() throws {
        try world.linkUp(capabilities: [.message])
        let sender = try world.devices.primary.app()
        _ = try world.devices.secondary.app()
        let link = try #require(world.links?.primary)
        var text = try world.message(wantsReply: false)
        text.pairing = .zero
        let data = try [broadcast(), broadcast()]
        try send([data[0], text, data[1]], from: sender)
        #expect(link.sent(.message).map(\.id) == [text.id] && link.sent(.messageData).isEmpty)
        #expect(sender.received(.failure).map(\.id) == data.map(\.id))
        #expect(sender.received(.failure).allSatisfy { $0.name == "unsupported-kind" })
    }

    @Test func `SES-30: who broadcasts much that reaches nobody gets every failure and stays connected`() throws {
        let many = Simulation(secondaries: 200)
        let sender = try many.app(.primary)
        for _ in 0..<120 {
            var message = try many.message("", wantsReply: false)
            message.pairing = .zero
            try sender.send(message)
        }
        many.scheduler.run()
        #expect(sender.received(.failure).count == 120 * 200)
        #expect(!sender.isClosed)
        #expect(many.counter("relay.shed") == 0)
    }
}
