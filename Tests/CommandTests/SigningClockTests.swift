// The warning of commands that sign under a clock that was never set.

import TandemBase
import Testing

@testable import tandem

@Suite struct SigningClockTests {
    @Test("CFG-33: a clock before the build's date is named with what it shows, and a later one is not")
    func warning() throws {
        let text = try #require(SigningClock.warning(at: WallTime(seconds: 100)))
        #expect(text.contains("the clock shows 1970-01-01T00:01:40Z and is probably not set"))
        let earliest = WallTime.earliestPlausible
        #expect(SigningClock.warning(at: earliest + .milliseconds(-1)) != nil)
        #expect(SigningClock.warning(at: earliest) == nil)
    }
}
