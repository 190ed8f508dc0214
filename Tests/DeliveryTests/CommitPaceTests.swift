// When a queue's commit begins within a turn.

import TandemBase
import TandemDelivery
import Testing

@Suite struct CommitPaceTests {
    private func time(_ microseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000 + microseconds * 1000)
    }

    /// The pace after a commit of a thousand microseconds, which ended at 1000.
    private func pace() -> CommitPace {
        var pace = CommitPace()
        pace.commitBegins(at: time(0))
        pace.commitEnded(at: time(1000))
        return pace
    }

    /// Whether a commit is due when changes come at these times.
    private func due(_ pace: inout CommitPace, _ times: UInt64...) -> [Bool] { times.map { pace.isDue(at: time($0)) } }

    @Test func changesGatherForHalfTheTimeOfTheLastCommit() {
        var pace = pace()
        let first = due(&pace, 2000, 2499, 2500)
        pace.commitBegins(at: time(2500))
        pace.commitEnded(at: time(2600))
        let second = due(&pace, 3000, 3049, 3050)
        #expect(first == [false, false, true])
        #expect(second == [false, false, true], "the next ones gather from their own beginning")
    }

    @Test func theFirstCommitWaitsForTheEndOfItsTurn() {
        var pace = CommitPace()
        let isDue = due(&pace, 0, 1_000_000)
        #expect(isDue == [false, false])
    }

    @Test func aClockThatStandsStillMakesNoCommitEarly() {
        var pace = CommitPace()
        pace.commitBegins(at: time(0))
        pace.commitEnded(at: time(0))
        let isDue = due(&pace, 5, 5)
        #expect(isDue == [false, false])
    }
}
