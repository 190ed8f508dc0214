// Peers that are silent, slow or do not read (LIM-3, LIM-4, LIM-6): each is closed in its own time, by a manual clock.

import TandemBase
import TandemDaemonTestSupport
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct SlowPeerTests {
    let simulation = Simulation()

    @Test func `LIM-4: who says nothing for 10 s is told too-slow and closed`() {
        let silent = simulation.connect(.primary)
        simulation.scheduler.advance(by: .milliseconds(9_900))
        #expect(!silent.isClosed)
        simulation.scheduler.advance(by: .seconds(3))
        #expect(silent.isClosed && silent.refusal == "too-slow")
    }

    @Test func `LIM-4: who says hello may then be silent for ever`() throws {
        let client = try simulation.greet(.primary)
        simulation.scheduler.advance(by: .seconds(3600))
        #expect(!client.isClosed)
    }

    @Test(arguments: [false, true])
    func `LIM-3: one byte a second is closed, before and after hello`(afterHello: Bool) throws {
        let slow = afterHello ? try simulation.app(.primary) : simulation.connect(.primary)
        let bytes =
            afterHello ? try simulation.message().frame().bytes.copied() : try Envelope(.ping).frame().bytes.copied()
        for byte in bytes.prefix(30) where !slow.isClosed {
            slow.stream.send([byte])
            simulation.scheduler.advance(by: .seconds(1))
        }
        simulation.scheduler.advance(by: .seconds(3))
        #expect(slow.isClosed && slow.refusal == "too-slow")
    }

    @Test func `LIM-3: a header that stays unfinished is closed after 10 s`() throws {
        let slow = try simulation.app(.primary)
        slow.stream.send([0, 0])
        simulation.scheduler.advance(by: .seconds(9))
        #expect(!slow.isClosed)
        simulation.scheduler.advance(by: .seconds(4))
        #expect(slow.isClosed)
    }

    private func largeMessage() throws -> Envelope {
        Envelope(
            .messageData, app: try ApplicationIdentifier("com.example.app"), pairing: simulation.pairing, id: .random(),
            body: [UInt8](repeating: 1, count: 60_000))
    }

    @Test func `LIM-6: senders to a full counterpart are held back for 1 s, then it is closed as a slow consumer`()
        throws
    {
        let caller = try simulation.app(.primary)
        let stuck = try simulation.app(.secondary)
        stuck.stream.pauseReading()
        for _ in 0..<100 { try caller.send(largeMessage()) }
        simulation.scheduler.run()
        #expect(!stuck.isClosed && caller.received(.failure).isEmpty)
        #expect(simulation.counter("relay.forwarded") < 30)
        simulation.scheduler.advance(by: .seconds(2))
        #expect(simulation.counter("relay.forwarded") > 60)
        stuck.stream.resumeReading()
        simulation.scheduler.run()
        #expect(stuck.isClosed)
        #expect(caller.received(.failure).first?.name == "slow-consumer")
        #expect(simulation.counter("relay.shed") > 0 && !caller.isClosed)
    }

    @Test func `LIM-17: a counterpart that reads again in time loses nothing`() throws {
        let caller = try simulation.app(.primary)
        let busy = try simulation.app(.secondary)
        busy.stream.pauseReading()
        for _ in 0..<200 { try caller.send(largeMessage()) }
        simulation.scheduler.advance(by: .milliseconds(900))
        busy.stream.resumeReading()
        simulation.scheduler.advance(by: .milliseconds(10))
        #expect(busy.received(.messageData).count == 200)
        #expect(caller.received(.failure).isEmpty && simulation.counter("relay.shed") == 0)
    }

    @Test func `THR-7: while one counterpart is stuck, other apps talk on`() throws {
        let caller = try simulation.app(.primary)
        let stuck = try simulation.app(.secondary)
        let others = (try simulation.app(.primary, "app.b"), try simulation.app(.secondary, "app.b"))
        stuck.stream.pauseReading()
        for _ in 0..<50 { try caller.send(largeMessage()) }
        simulation.scheduler.run()
        let request = try simulation.message(app: "app.b")
        try others.0.deliver(request)
        try others.1.deliver(request.answer("yes"))
        #expect(others.0.received(.reply).count == 1)
    }
}
