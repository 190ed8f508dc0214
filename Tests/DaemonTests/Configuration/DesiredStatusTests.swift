// The desired state as an operator reads it: the numbers of the list, and the words for one secondary.

import TandemBase
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
}
