// The wall clocks at the two ends of a link (CTL-10, SES-86). A clock that an end has told goes on from there with the
// monotonic time of its reader, because a link may last for months and a device without a battery clock sets its own
// some seconds after it has linked. A reader sees its own clock being set; its peer has to tell.

import TandemBase

/// The clocks of a link's ends, as each has last told its own; confined to the loop's thread.
struct LinkClocks {
    /// Time after which this end tells its clock again (SES-86): crystals drift by minutes in months, and a time
    /// service may correct a clock without setting it.
    private static var repetition: Duration { .seconds(3600) }

    /// The clock that this end has told, and when.
    private var own: ClockReading
    /// The clock that the peer has told, and when that came here; nil if it has told none.
    private var peer: ClockReading?

    init(told own: ClockReading, heard peer: ClockReading?) {
        self.own = own
        self.peer = peer
    }

    /// How far the peer's clock is ahead of ours, as near as one way of a frame tells; nil if it has told none.
    func skew(at reading: ClockReading) -> Duration? { peer?.lead(over: reading) }

    mutating func heard(_ clock: WallTime, at now: MonotonicTime) {
        peer = ClockReading(monotonic: now, wall: clock)
    }

    /// The clock that the peer has to be told now, because it was set or was told long ago; nil if there is no need.
    /// The caller sends what it gets.
    mutating func takeOwed(at reading: ClockReading) -> WallTime? {
        guard own.wasSet(by: reading) || reading.monotonic.since(own.monotonic) >= Self.repetition else { return nil }
        own = reading
        return reading.wall
    }
}
