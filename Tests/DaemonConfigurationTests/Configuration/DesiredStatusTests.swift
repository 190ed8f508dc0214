// The desired state as an operator reads it: the numbers of the list, and the words for one secondary.

import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite struct DesiredStatusTests {
    @Test("CFG-34, CTL-24: a secondary whose lifetime is over does not count as one that has it applied")
    func lifetimeIsOver() throws {
        let primary = try OnePrimary()
        primary.link()
        let envelope = try primary.envelope(1, lifetime: 100)
        #expect(primary.apply(envelope) == nil)
        primary.receive(try primary.applied(envelope, counter: 1))
        #expect(primary.appliedCount == 1)
        primary.scheduler.advance(by: .seconds(101))
        let row = try #require(primary.listed.first)
        #expect(row["applied"] == 0 && row["lapsed"] == 1 && row["secondaries"] == 1 && row["drifted"] == 0)
        #expect(row["drift"] == nil, "that is the word of one secondary's row, a boolean (CTL-23)")
    }

    @Test("CTL-24, CTL-25: a secondary counts from when it has announced the app, and gets the configuration then")
    func withoutTheApp() throws {
        let primary = try OnePrimary()
        primary.isAnnounced = false
        primary.link()
        let envelope = try primary.envelope(1)
        var outcome: ApplyOutcome?
        primary.begin(envelope) { outcome = $0 }
        primary.scheduler.advance(by: .milliseconds(1))
        guard case .results(let results, _) = outcome else { throw Unexpected("\(String(describing: outcome))") }
        #expect(results.map(\.awaitsApplication) == [true])
        primary.receive(try primary.applied(envelope, counter: 1, verdict: .waitingForKey))
        var row = try #require(primary.listed.first)
        #expect(row["secondaries"] == 0 && row["noApp"] == 1 && row["applied"] == 0)
        let before = primary.waiting
        primary.announce()
        row = try #require(primary.listed.first)
        #expect(row["secondaries"] == 1 && row["noApp"] == nil)
        #expect(primary.waiting != before && !primary.waiting.isEmpty, "CFG-72")
        primary.receive(try primary.applied(envelope, counter: 2))
        #expect(primary.appliedCount == 1)
    }

    @Test("CFG-76, CTL-23: what a secondary reports counts whether it has announced the app or not")
    func reportsWithoutTheApp() throws {
        let primary = try OnePrimary()
        primary.isAnnounced = false
        primary.link()
        let envelope = try primary.envelope(1)
        #expect(primary.apply(envelope) == nil)
        primary.receive(try primary.applied(envelope, counter: 1))
        let row = try #require(primary.listed.first)
        #expect(row["secondaries"] == 1 && row["applied"] == 1 && row["noApp"] == nil)
    }

    @Test("CTL-23, CTL-25: a secondary without the app that has drifted is drift for `apply`, too, and not `no-app`")
    func driftWithoutTheApp() throws {
        let primary = try OnePrimary()
        primary.link()
        primary.announceAnotherKey()
        let envelope = try primary.envelope(1)
        #expect(primary.apply(envelope) == nil)
        primary.receive(try primary.applied(envelope, counter: 1))
        #expect(primary.appliedCount == 1)
        primary.announceAnotherKey()
        primary.isAnnounced = false
        let row = try #require(primary.listed.first)
        #expect(row["drifted"] == 1 && row["secondaries"] == 1 && row["noApp"] == nil)
        var outcome: ApplyOutcome?
        primary.begin(envelope) { outcome = $0 }
        primary.scheduler.advance(by: .milliseconds(1))
        guard case .results(let results, _) = outcome else { throw Unexpected("\(String(describing: outcome))") }
        #expect(results.map(\.awaitsApplication) == [false])
    }
}
