// One message to every pairing (SES-30): what each receiver gets are the sender's bytes with its own pairing in place
// of the sixteen zeros, and what cannot be delivered is said for each pairing.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct BroadcastTests {
    let simulation = Simulation(secondaries: 4)

    private func broadcast(_ text: String = "to all", id: UniqueIdentifier = .random()) throws -> Envelope {
        var message = try simulation.message(text, id: id, wantsReply: false)
        message.pairing = .zero
        return message
    }

    private func counterparts() throws -> [Client] {
        try (1...4).map { try simulation.app(.secondary, number: $0) }
    }

    @Test func `SES-30: every counterpart gets the sender's bytes with its own pairing in them`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let message = try broadcast()
        try sender.deliver(message)
        for (counterpart, pairing) in zip(counterparts, simulation.simulator.pairings) {
            var expected = message
            expected.pairing = pairing
            #expect(counterpart.frames.last == (try expected.frame()))
        }
        #expect(sender.received(.failure).isEmpty)
        #expect(simulation.counter("relay.forwarded") == 4)
    }

    @Test func `SES-30: bytes and extensions pass too, and nothing but the sixteen bytes changes`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        var message = try broadcast().asData(65_536)
        message.extensions = ["x-trace": "4bf92f3577b34da6"]
        try sender.deliver(message)
        for (counterpart, pairing) in zip(counterparts, simulation.simulator.pairings) {
            message.pairing = pairing
            #expect(counterpart.frames.last == (try message.frame()))
        }
    }

    @Test(arguments: [3, 5, 8])
    func `SES-30: a writing that is not ours keeps its shape for every counterpart`(offsetSize: Int) throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        var message = try broadcast()
        func frame() throws -> Frame {
            try Frame(payload: Bytes.widened(message.frame().payload.copied(), offsetSize: offsetSize))
        }
        sender.stream.send(try frame().bytes)
        simulation.scheduler.run()
        for (counterpart, pairing) in zip(counterparts, simulation.simulator.pairings) {
            message.pairing = pairing
            #expect(counterpart.frames.last == (try frame()))
        }
        #expect(sender.received(.failure).isEmpty)
    }

    @Test func `SES-30: each pairing that cannot take it is named in a failure before the next frame is taken`() throws
    {
        let sender = try simulation.app(.primary)
        _ = try simulation.app(.secondary, number: 2)
        try simulation.app(.secondary, number: 3).disconnect()
        simulation.scheduler.run()
        let message = try broadcast()
        try sender.send(message)
        try sender.deliver(Envelope(.ping, id: message.id))
        let pairings = simulation.simulator.pairings
        let failures = sender.received(.failure)
        #expect(failures.allSatisfy { $0.id == message.id })
        let names = Dictionary(uniqueKeysWithValues: failures.map { ($0.pairing, $0.name) })
        #expect(
            names == [pairings[0]: "not-installed", pairings[2]: "counterpart-absent", pairings[3]: "not-installed"])
        #expect(sender.envelopes.last?.kind == .pong)
    }

    @Test func `SES-30: a secondary's app broadcasts to its primary`() throws {
        let app = try simulation.app(.primary)
        let sender = try simulation.app(.secondary, number: 2)
        try sender.deliver(broadcast())
        #expect(app.received(.message).map(\.pairing) == [simulation.simulator.pairings[1]])
    }

    @Test func `SES-30: a receiver's failure reaches the sender once; a stranger's is dropped`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let message = try broadcast()
        try sender.deliver(message)
        let pairings = simulation.simulator.pairings
        let error = SessionError(.deliveryFailed, name: "inbox-full", reason: "later")
        let app = try #require(message.app)
        let failure = try error.failure(app: app, pairing: pairings[0], id: #require(message.id))
        for _ in 0..<2 { try counterparts[0].send(failure) }
        try counterparts[1].send(failure)
        simulation.scheduler.run()
        #expect(sender.received(.failure).map(\.pairing) == [pairings[0]])
        #expect(try sender.onlyFailure().name == "inbox-full")
        #expect(simulation.counter("relay.stray") == 2)
    }

    @Test func `SES-68: a padded broadcast fails, and of a padded failure the sender hears the name`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        var large = try broadcast()
        try large.pad(to: Limits.messageBody + Limits.envelope + 1)
        let message = try broadcast()
        for broadcast in [large, message] { try sender.send(broadcast) }
        simulation.scheduler.run()
        #expect(try sender.onlyFailure().name == "too-large")
        let error = SessionError(.deliveryFailed, name: "inbox-full", reason: "later")
        let (app, id) = (try #require(message.app), try #require(message.id))
        var failure = try error.failure(app: app, pairing: simulation.simulator.pairings[0], id: id)
        try failure.pad(to: Limits.frame)
        try counterparts[0].send(failure)
        simulation.scheduler.run()
        let last = try #require(sender.received(.failure).last)
        #expect(last.name == "reply-too-large" && last.id == id && last.pairing == simulation.simulator.pairings[0])
        #expect(counterparts.allSatisfy { $0.received(.message).count == 1 })
    }

    @Test func `SES-30: what is wrong with it for all is one failure with the zero pairing`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let message = try broadcast()
        try sender.send(message)
        try sender.send(message)
        try sender.deliver(broadcast().asData(65_537))
        let failures = sender.received(.failure)
        #expect(failures.map(\.name) == ["duplicate-id", "too-large"])
        #expect(failures.allSatisfy { $0.pairing == .zero })
        #expect(counterparts.allSatisfy { $0.received(.message).count == 1 })
    }

    @Test func `SES-30: a broadcast named as an open request is refused, and the request is answered`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        let request = try simulation.message()
        try sender.send(request)
        try sender.deliver(broadcast(id: #require(request.id)))
        #expect(try sender.onlyFailure().name == "duplicate-id")
        #expect(sender.received(.failure).first?.pairing == .zero)
        #expect(counterparts.map { $0.received(.message).count } == [1, 0, 0, 0])
        try counterparts[0].send(request.answer("still wanted"))
        simulation.scheduler.run()
        #expect(sender.received(.reply).map(\.id) == [request.id])
    }

    @Test func `SES-30: a value that shares the bytes of the pairing cannot be broadcast`() throws {
        let sender = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        try sender.deliver(broadcast().asData(16, of: 0))
        #expect(try sender.onlyFailure().name == "shared-pairing")
        #expect(counterpart.received(.messageData).isEmpty)
    }

    @Test func `SES-30: with a reply wanted the zero pairing is no pairing`() throws {
        let sender = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        var message = try simulation.message()
        message.pairing = .zero
        try sender.deliver(message)
        #expect(try sender.onlyFailure().name == "not-paired")
        #expect(counterpart.received(.message).isEmpty)
    }

    @Test func `LIM-6: a receiver that does not read is failed by name, and the others get everything`() throws {
        let sender = try simulation.app(.primary)
        let others = try (1...3).map { try simulation.app(.secondary, number: $0) }
        let stuck = try simulation.app(.secondary, number: 4)
        stuck.stream.pauseReading()
        for _ in 0..<80 {
            try sender.send(broadcast().asData(65_536))
            simulation.scheduler.advance(by: .seconds(2))
        }
        #expect(others.allSatisfy { $0.received(.messageData).count == 80 })
        let failures = sender.received(.failure)
        #expect(failures.first?.name == "slow-consumer")
        #expect(failures.allSatisfy { $0.pairing == simulation.simulator.pairings[3] })
    }

    @Test func `SES-18: a relay that stops broadcasts nothing`() throws {
        let sender = try simulation.app(.primary)
        let counterparts = try counterparts()
        try counterparts[0].send(simulation.message())
        simulation.scheduler.run()
        simulation.simulator.stop {}
        try sender.deliver(broadcast())
        #expect(sender.received(.failure).last?.name == "stopping")
        #expect(counterparts.allSatisfy { $0.received(.message).isEmpty })
    }
}

/// Broadcasts over links (SES-30): the other device sees an ordinary message, and may not broadcast itself.
@Suite struct BroadcastLinkTests {
    let world = TwoDevices()

    private func broadcast() throws -> Envelope {
        var message = try world.message(wantsReply: false)
        message.pairing = .zero
        return message
    }

    @Test func `SES-30: over a link goes an ordinary message of the pairing`() throws {
        let (sender, counterpart, link) = try world.linkedApps()
        var message = try broadcast()
        try sender.deliver(message)
        message.pairing = world.pairing
        #expect(link.sent.last == (try message.frame()))
        #expect(counterpart.frames.last == (try message.frame()))
    }

    @Test func `SES-11: what did not leave on a lost link fails as 7007 for its pairing`() throws {
        let (sender, _, link) = try world.linkedApps()
        try sender.deliver(broadcast())
        link.isStuck = true
        let unsent = try broadcast()
        try sender.deliver(unsent)
        world.linkDown()
        #expect(sender.received(.failure).map(\.id) == [unsent.id])
        #expect(sender.received(.failure).map(\.code) == [7007])
        #expect(sender.received(.failure).map(\.pairing) == [world.pairing])
    }

    @Test func `SES-30 FRM-13: a peer may not broadcast over a link`() throws {
        try world.linkUp()
        let app = try world.devices.primary.app()
        let frame = try broadcast().frame()
        #expect(try world.links?.primary.port?.receive(frame, Envelope(reading: frame)) == .notYours)
        world.scheduler.run()
        #expect(app.received(.message).isEmpty)
    }

    @Test func `SES-30: without any pairing it is 7005`() throws {
        let device = TestDevice(.primary)
        let sender = try device.app()
        try sender.deliver(broadcast())
        #expect(try sender.onlyFailure().code == .deviceNotPaired)
    }
}
