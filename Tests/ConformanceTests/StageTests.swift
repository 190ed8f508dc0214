// Fairness of the suite towards correct daemons: how long a case waits in real time, and the answers of an app without
// the library.

import TandemBase
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@testable import TandemConformance

@Suite struct StageTests {
    /// A world in real time in which nothing runs; it remembers the limits of its waits.
    private final class StillWorld: World {
        let abilities: Set<Ability> = [.cut, .restart, .streamFaults]
        let pairings: [UniqueIdentifier] = []
        var now = MonotonicTime(nanoseconds: 0)
        var isLinkAllowed = true
        var streamFaults: FaultPlan?
        private(set) var limits: [Duration] = []
        var notes: [String] = []
        private let stream: (any ByteStream)?

        init(connecting stream: (any ByteStream)? = nil) { self.stream = stream }

        func app(at place: Place) throws -> App { throw Violation("no app runs here") }
        func end(_ app: App, _ ending: Ending) {}
        func connect(to place: Place) throws -> any ByteStream {
            guard let stream else { throw Violation("no daemon runs here") }
            return stream
        }
        func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
            limits.append(limit)
            return try condition()
        }
        func restart(_ place: Place, _ ending: Ending, meanwhile: (String) throws -> Void) throws {}
        func stop() {}
    }

    @Test func `SES-19: where a link has to come back, patience begins after the longest pause of a dialler`() throws {
        let world = StillWorld()
        let stage = Stage(world, seed: 1, length: .short, patience: .seconds(2))
        func limit(pauses: Duration = .zero) throws -> Duration {
            try stage.wait("nothing", pauses: pauses) { true }
            return try #require(world.limits.last)
        }
        #expect(try limit() == .seconds(2))
        stage.relink()
        #expect(try limit() == .seconds(32))
        world.now = MonotonicTime(nanoseconds: 20_000_000_000)
        #expect(try limit() == .seconds(12), "some of the pause is over")
        #expect(try limit(pauses: .seconds(15)) == .seconds(17), "other pauses pass at the same time")
        world.now = MonotonicTime(nanoseconds: 40_000_000_000)
        #expect(try limit() == .seconds(2))
        try stage.restart(.primary, .orderly)
        #expect(try limit() == .seconds(32))
        world.now = MonotonicTime(nanoseconds: 80_000_000_000)
        stage.endStreamFaults()
        #expect(try limit() == .seconds(2), "there were none")
        stage.cutLinks()
        #expect(try limit() == .seconds(32))
        world.streamFaults = FaultPlan.none
        stage.endStreamFaults()
        #expect(try limit() == .seconds(47), "SES-17: a stuck link is dead after 15 s")
    }

    @Test func `an error that is no violation is told with case, clause, seed and the daemons' last lines`() {
        struct Lost: Error, CustomStringConvertible { let description = "7014 deliveryFailed" }
        let world = StillWorld()
        world.notes = ["primary: it ends in the middle"]
        let each = Case("SES-23", "a reply comes") { _ in throw Lost() }
        let violation = #expect(throws: Violation.self) { try each.run(in: world, seed: 7, length: .short) }
        #expect(
            violation?.description
                == "SES-23: a reply comes, seed 7: 7014 deliveryFailed\nprimary: it ends in the middle")
    }

    @Test func `SES-17: an app without the library answers a ping, and a wait says when its connection has ended`()
        throws
    {
        let clock = ManualScheduler()
        let (near, far) = InProcessStream.pair(on: clock)
        let daemon = StreamRecorder()
        far.delegate = daemon
        far.start()
        let stage = Stage(StillWorld(connecting: near), seed: 1, length: .short)
        let app = try stage.rawApp(at: .primary)
        let ping = PingFrame(id: .random())
        far.send(try ping.frame().bytes)
        clock.advance(by: .milliseconds(1))
        let answer = try ping.answer.frame().bytes.copied()
        #expect(daemon.bytes == answer)
        #expect(try app.received(.ping).count == 1)

        far.send(try Envelope(.refusal, name: "slow-consumer").frame().bytes)
        far.closeAfterFlush(.closedHere)
        clock.advance(by: .milliseconds(1))
        let violation = #expect(throws: Violation.self) { try stage.wait("a reply") { false } }
        #expect(
            violation?.description
                == "in time: a reply; primary's connection has ended: closed-by-peer, refused as 'slow-consumer'")
    }
}
