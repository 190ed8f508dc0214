// The two kinds of time, as two types, so that neither can be taken for the other. Deadlines, intervals and elapsed
// time use MonotonicTime. WallTime is for the expiry of signed things, for the time that a device was off, and for
// people. Neither reads a clock: shells pass them in.

/// A point on the machine's monotonic clock, in nanoseconds since an arbitrary origin (boot). Never sent to a peer.
public struct MonotonicTime: Sendable, Hashable, Comparable {
    /// Nanoseconds since the origin.
    public let nanoseconds: UInt64

    /// The point that many nanoseconds after the origin.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The point that lies `duration` later; saturates at the ends of the range.
    public static func + (time: Self, duration: Duration) -> Self {
        let difference = duration.saturatingNanoseconds
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(difference.magnitude)
        if difference >= 0 { return Self(nanoseconds: overflow ? .max : sum) }
        return Self(nanoseconds: time.nanoseconds > difference.magnitude ? time.nanoseconds - difference.magnitude : 0)
    }

    /// The point that lies so many milliseconds later; saturates at the end of the range.
    package func adding(milliseconds: UInt32) -> Self {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(UInt64(milliseconds) * 1_000_000)
        return Self(nanoseconds: overflow ? .max : sum)
    }

    /// The time from `earlier` to this point; zero if `earlier` is later.
    public func since(_ earlier: Self) -> Duration {
        guard self > earlier else { return .zero }
        return .nanoseconds(Int64(clamping: nanoseconds - earlier.nanoseconds))
    }
}

/// A point on the wall clock, in milliseconds since 1970-01-01 00:00:00 UTC.
public struct WallTime: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970, negative before it.
    public let milliseconds: Int64

    /// The point that many milliseconds after 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The day on which this version was made (CFG-33). A clock that shows an earlier time has not been set.
    package static let earliestPlausible = WallTime(seconds: 1_795_219_200)

    /// The day of the first version, which never moves: a time that is stored and earlier is that of a clock that was
    /// not set.
    package static let earliestStored = WallTime(seconds: 1_795_219_200)

    /// The point this many seconds after 1970; saturates at the end of the range.
    public init(seconds: UInt64) {
        let (product, overflow) = Int64(clamping: seconds).multipliedReportingOverflow(by: 1000)
        milliseconds = overflow ? .max : product
    }

    /// Whole seconds since 1970, rounded down; 0 before it.
    public var seconds: UInt64 { milliseconds < 0 ? 0 : UInt64(milliseconds / 1000) }

    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// The point that lies `duration` later; saturates at the ends of the range.
    public static func + (time: Self, duration: Duration) -> Self {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(duration.saturatingNanoseconds / 1_000_000)
        return Self(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// The time from `earlier` to this point, negative if `earlier` is later; held to the range of Int64.
    package func since(_ earlier: Self) -> Duration {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return .milliseconds(overflow ? (self < earlier ? .min : .max) : difference)
    }
}

/// One reading of both clocks.
package struct ClockReading: Sendable, Equatable {
    package let monotonic: MonotonicTime
    package let wall: WallTime

    package init(monotonic: MonotonicTime, wall: WallTime) {
        self.monotonic = monotonic
        self.wall = wall
    }

    /// How far this wall clock, had it run on with the monotonic one, is ahead of a later reading's; negative if it is
    /// behind.
    package func lead(over later: Self) -> Duration {
        (wall + later.monotonic.since(monotonic)).since(later.wall)
    }

    /// Whether the wall clock was set by more than a second since. Less may lie between the readings of the two clocks:
    /// a turn reads the monotonic one once.
    package func wasSet(by later: Self) -> Bool {
        let lead = lead(over: later)
        return lead > .seconds(1) || lead < .seconds(-1)
    }
}

extension Duration {
    /// The duration in nanoseconds, held to the range of Int64.
    ///
    /// Not by ``components``: it traps for a duration whose seconds do not fit Int64, as `.seconds(1e19)`.
    public var saturatingNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

    /// The duration in whole milliseconds, held to the range of Int64.
    public var saturatingMilliseconds: Int64 { saturatingNanoseconds / 1_000_000 }
}

// The one text form of wall time: ISO 8601 in UTC with a Z, to the second, as logs, status and expiry lines show it.

extension WallTime: CustomStringConvertible {
    /// `2026-11-21T09:30:00Z`.
    public var description: String {
        let seconds = milliseconds.floored(by: 1000)
        let day = seconds.floored(by: 86_400)
        let time = seconds - day * 86_400
        let date = CivilDate(daysSince1970: day)
        return "\(date.year)-\(Self.two(date.month))-\(Self.two(date.day))"
            + "T\(Self.two(time / 3600)):\(Self.two(time / 60 % 60)):\(Self.two(time % 60))Z"
    }

    private static func two(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
}
