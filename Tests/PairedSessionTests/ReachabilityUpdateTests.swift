// SES-35: what a host app sees of reachability: level, reason, since, and a revision that says how much was missed.

import PairedSession
import TandemBase
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct ReachabilityUpdateTests {
    private let fixture: SessionFixture

    init() throws {
        fixture = try SessionFixture()
        fixture.daemon.pair()
        fixture.activate()
    }

    /// The daemon sees a change and tells it.
    private func change(_ level: ReachabilityLevel, _ reason: ReachabilityReason, steps: UInt64 = 1) {
        fixture.daemon.situation.pairings[0].level = level
        fixture.daemon.situation.pairings[0].reason = reason
        fixture.daemon.situation.pairings[0].changes += steps
        fixture.daemon.situation.pairings[0].since = fixture.scheduler.now
        fixture.tellSituation()
    }

    @Test("SES-35: each change is one revision; what does not change keeps the status as it is")
    func revisions() throws {
        let first = fixture.session.reachability
        #expect(first.isImmediate)
        fixture.tellSituation()
        #expect(fixture.session.reachability == first)
        fixture.scheduler.advance(by: .seconds(3))
        change(.background, .counterpartAbsent)
        let second = fixture.session.reachability
        #expect(second.level == .background && second.revision == first.revision + 1 && second.since > first.since)
        #expect(first.description == "immediate" && second.description == "background (counterpart-absent)")
    }

    @Test("SES-35: a flap that the daemon coalesced counts, though it ended as it began")
    func coalescedByTheDaemon() throws {
        let first = fixture.session.reachability
        change(.immediate, .none, steps: 2)
        #expect(fixture.session.reachability.isImmediate)
        #expect(fixture.session.reachability.revision == first.revision + 2)
    }

    @Test("SES-35: a reader that was away ends on the true state and sees how much it missed")
    func slowReader() async throws {
        var reader = fixture.session.reachabilityUpdates.makeAsyncIterator()
        let first = try #require(await reader.next())
        for _ in 0..<20 {
            fixture.scheduler.advance(by: .milliseconds(25))
            change(.unreachable, .noLink)
            fixture.scheduler.advance(by: .milliseconds(25))
            change(.immediate, .none)
        }
        change(.unreachable, .noHeartbeat)
        let last = try #require(await reader.next())
        #expect(last.level == .unreachable && last.reason == .noHeartbeat && last.revision == first.revision + 41)
    }

    @Test("SES-35: a handler is called with the state now and ends on the true one")
    func handler() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: ReachabilityStatus.self)
        let observation = fixture.session.onReachabilityChange { continuation.yield($0) }
        var statuses = stream.makeAsyncIterator()
        #expect(await statuses.next()?.isImmediate == true)
        change(.background, .counterpartAbsent)
        #expect(await statuses.next()?.reason == .counterpartAbsent)
        observation.cancel()
    }

    @Test("SES-35: the revision grows over a lost daemon whose count begins again, and over a switch")
    func neverFalls() throws {
        change(.background, .counterpartAbsent, steps: 70)
        let before = fixture.session.reachability
        fixture.cut()
        let lost = fixture.session.reachability
        #expect(lost.reason == .noDaemon && lost.revision == before.revision + 1)
        fixture.daemon.situation.pairings[0].changes = 3
        fixture.scheduler.advance(by: .seconds(1))
        let back = fixture.session.reachability
        #expect(back.reason == .counterpartAbsent && back.revision == lost.revision + 1)
        fixture.daemon.situation.active = fixture.daemon.pair()
        fixture.tellSituation()
        #expect(fixture.session.reachability.isImmediate)
        #expect(fixture.session.reachability.revision == back.revision + 1)
    }

    @Test("SES-17: a daemon that goes silent is seen within three heartbeats, without a closed connection")
    func silentDaemon() throws {
        fixture.scheduler.advance(by: .milliseconds(14_999))
        #expect(fixture.session.reachability.isImmediate)
        fixture.daemon.isRunning = false
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(fixture.session.reachability.reason == .noDaemon)
        #expect(fixture.session.activationState == .notActivated)
    }

    @Test("SES-7: what the other side says of the way back is told beside the level here")
    func seen() throws {
        #expect(fixture.session.pairedDevice?.seenByCounterpart == nil)
        fixture.daemon.situation.pairings[0].seen = .background
        fixture.tellSituation()
        #expect(fixture.session.pairedDevice?.seenByCounterpart == .background)
        #expect(fixture.session.reachability.isImmediate)
    }
}
