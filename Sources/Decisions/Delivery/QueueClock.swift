// The time by which items expire. It runs with the monotonic clock while the program runs, so that a jump of the wall
// clock expires nothing; across restarts it takes the wall clock's difference, and never runs backwards.

package import TandemBase

/// One reading of both clocks.
package struct Reading: Sendable, Equatable {
    package let monotonic: MonotonicTime
    package let wall: WallTime

    package init(monotonic: MonotonicTime, wall: WallTime) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// A queue's own time in milliseconds since the queue began.
struct QueueClock: Sendable, Equatable {
    /// What is stored: the queue's time and the wall clock's at one moment.
    struct Mark: Sendable, Equatable {
        var milliseconds: Int64
        var wall: Int64
    }

    private let start: Int64
    private let origin: MonotonicTime

    /// Goes on from the stored mark; the time switched off counts, as the wall clock tells it.
    init(resuming mark: Mark, at reading: Reading) {
        let (difference, overflow) = reading.wall.milliseconds.subtractingReportingOverflow(mark.wall)
        let elapsed = overflow ? 0 : max(0, difference)
        start = Self.sum(mark.milliseconds, elapsed)
        origin = reading.monotonic
    }

    func milliseconds(at time: MonotonicTime) -> Int64 {
        // Several times for each event: a Duration would be 128 bits wide on the way.
        guard time > origin else { return start }
        return Self.sum(start, Int64(clamping: time.nanoseconds - origin.nanoseconds) / 1_000_000)
    }

    func mark(at reading: Reading) -> Mark {
        Mark(milliseconds: milliseconds(at: reading.monotonic), wall: reading.wall.milliseconds)
    }

    /// Whether going on from this mark would tell another time than this clock: the wall clock was set meanwhile.
    func strays(from mark: Mark, at reading: Reading) -> Bool {
        let (elapsed, isFar) = milliseconds(at: reading.monotonic).subtractingReportingOverflow(mark.milliseconds)
        let (shown, isFarther) = reading.wall.milliseconds.subtractingReportingOverflow(mark.wall)
        let (difference, isFarthest) = shown.subtractingReportingOverflow(elapsed)
        return isFar || isFarther || isFarthest || difference.magnitude > 1000
    }

    /// The monotonic time at which the queue's time reaches `milliseconds`.
    func time(of milliseconds: Int64) -> MonotonicTime {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(start)
        let (nanoseconds, isFar) = max(0, difference).multipliedReportingOverflow(by: 1_000_000)
        let (time, isFarther) = origin.nanoseconds.addingReportingOverflow(
            UInt64(clamping: overflow || isFar ? .max : nanoseconds))
        return MonotonicTime(nanoseconds: isFarther ? .max : time)
    }

    static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? (right < 0 ? .min : .max) : sum
    }
}
