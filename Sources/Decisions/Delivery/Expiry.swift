// Expiry of items (DEL-8): their time to live, the clock that counts it, the items for which it counts, and which of
// them have expired. Queue and ledger ask here (``ItemExpiry``): a queue withdraws an item whose time is over, a ledger
// ends it.

import TandemBase
import TandemWire

extension Channel {
    /// The time to live of an item that names none (LIM-16). The latest value of a channel never expires (DEL-19).
    private var lifetime: Duration? { properties.isLatestWins ? nil : .seconds(30 * 86_400) }

    /// When an item expires that is accepted now, in the queue's time: the end of that time if it never does.
    /// - Parameter lifetime: nil is the usual one.
    func expiry(of lifetime: Duration?, from now: Int64) -> Int64 {
        (lifetime ?? self.lifetime).map { QueueClock.end(of: $0, from: now) } ?? .max
    }
}

extension OutboundRecord {
    /// The time to live counts until the item ends or is being taken back.
    var deadline: Int64? { isUnfinished && withdrawal == nil ? expiresAt : nil }

    /// The rest of the time to live, which the `item` frame carries to the receiver; nil if it never ends.
    func remaining(at now: Int64) -> Duration? {
        expiresAt == .max ? nil : .milliseconds(QueueClock.passed(since: now, at: expiresAt))
    }
}

extension InboundRecord {
    /// An item with its handler does not expire; one that waits again does.
    var deadline: Int64? { phase == .waiting ? expiresAt : nil }

    /// When an item expires that arrives now with this rest of its time to live; nil if the sender named none.
    static func expiry(of remaining: Duration?, from now: Int64) -> Int64? {
        remaining.map { QueueClock.end(of: $0, from: now) }
    }

    /// The rest of a time to live once the bytes of the item's file have taken theirs; nil if the sender named none.
    package static func remaining(_ remaining: Duration?, after passed: Duration) -> Duration? {
        remaining.map { max(.zero, $0 - passed) }
    }

    /// The rest of the time to live; nil if the sender named none.
    func remaining(at now: Int64) -> Duration? {
        expiresAt.map { .milliseconds(QueueClock.passed(since: now, at: $0)) }
    }
}

// MARK: - clock

/// A queue's own time in milliseconds since the queue began, by which its items expire. It runs with the monotonic
/// clock while the program runs, so that a jump of the wall clock expires nothing. Across restarts it takes the wall
/// clock's difference where that can be true, and it never runs backwards.
struct QueueClock: Sendable, Equatable {
    /// The stored form: the queue's time and the wall clock's at one moment.
    struct Mark: Sendable, Equatable {
        let milliseconds: Int64
        let wall: Int64
    }

    /// No device is off for longer (LIM-135): a larger difference is that of a clock that was not set.
    private static let longestAbsence = Duration.seconds(3650 * 86_400).saturatingMilliseconds

    private var start: Int64
    private let origin: MonotonicTime

    /// Goes on from the stored mark; the time switched off counts, by the wall clock.
    init(resuming mark: Mark, at reading: ClockReading) {
        let wasSet = mark.wall >= WallTime.earliestStored.milliseconds
        let absence = Self.difference(reading.wall.milliseconds, mark.wall) ?? -1
        let isPlausible = wasSet && 0...Self.longestAbsence ~= absence
        start = Self.sum(mark.milliseconds, isPlausible ? absence : 0)
        origin = reading.monotonic
    }

    /// Something is stored of this time: the mark is older than that. A time much later is that of an earlier version,
    /// whose queues followed a clock that was not set: it counts for nothing, because it would end all that waits.
    mutating func raise(to milliseconds: Int64) {
        guard let difference = Self.difference(milliseconds, start), difference <= Self.longestAbsence else { return }
        start = max(start, milliseconds)
    }

    func milliseconds(at time: MonotonicTime) -> Int64 {
        // Several times for each event: a Duration would be 128 bits wide on the way.
        guard time > origin else { return start }
        return Self.sum(start, Int64(clamping: time.nanoseconds - origin.nanoseconds) / 1_000_000)
    }

    func mark(at reading: ClockReading) -> Mark {
        Mark(milliseconds: milliseconds(at: reading.monotonic), wall: reading.wall.milliseconds)
    }

    /// Whether the mark is older than a second.
    func hasPassed(_ mark: Mark, at reading: ClockReading) -> Bool {
        Self.difference(milliseconds(at: reading.monotonic), mark.milliseconds).map { $0 > 1000 } ?? true
    }

    /// Whether a clock that resumed from this mark would differ from this one: the wall clock was set meanwhile.
    func strays(from mark: Mark, at reading: ClockReading) -> Bool {
        guard let elapsed = Self.difference(milliseconds(at: reading.monotonic), mark.milliseconds),
            let shown = Self.difference(reading.wall.milliseconds, mark.wall),
            let difference = Self.difference(shown, elapsed)
        else { return true }
        return difference.magnitude > 1000
    }

    /// The queue's time at which a time to live is over that begins now.
    fileprivate static func end(of lifetime: Duration, from now: Int64) -> Int64 {
        sum(now, max(.zero, lifetime).saturatingMilliseconds)
    }

    /// The monotonic time at which the queue's time reaches `milliseconds`.
    func time(of milliseconds: Int64) -> MonotonicTime {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(start)
        let (nanoseconds, isFar) = max(0, difference).multipliedReportingOverflow(by: 1_000_000)
        let (time, isFarther) = origin.nanoseconds.addingReportingOverflow(
            UInt64(clamping: overflow || isFar ? .max : nanoseconds))
        return MonotonicTime(nanoseconds: isFarther ? .max : time)
    }

    /// The milliseconds from a time to a later one; 0 from one that is not earlier, and the largest number for what 64
    /// bits do not hold: a stored time may be any.
    static func passed(since earlier: Int64, at time: Int64) -> Int64 {
        time > earlier ? difference(time, earlier) ?? .max : 0
    }

    /// The time from the second to the first; nil beyond what 64 bits hold.
    private static func difference(_ time: Int64, _ other: Int64) -> Int64? {
        let (difference, overflow) = time.subtractingReportingOverflow(other)
        return overflow ? nil : difference
    }

    static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? (right < 0 ? .min : .max) : sum
    }
}

// MARK: - index

/// The times at which the items of a queue or ledger expire, as a heap: no event looks at all of them. An item
/// that ended earlier leaves a dead entry; dead entries go when they come to the top, or together when they are the
/// majority.
struct ItemExpiry: Sendable {
    private struct Entry: Sendable, Comparable {
        let time: Int64
        let ordinal: UInt64

        static func < (left: Self, right: Self) -> Bool { (left.time, left.ordinal) < (right.time, right.ordinal) }
    }

    private var heap = Heap<Entry>()

    /// The time of the entry at the top, dead or alive.
    var next: Int64? { heap.first?.time }

    /// Takes out an item whose time is over.
    /// - Parameter deadline: the present one of an item; nil if its time to live no longer counts.
    mutating func takeExpired(at now: Int64, deadline: (_ ordinal: UInt64) -> Int64?) -> UInt64? {
        while let next = heap.first, next.time <= now {
            heap.removeFirst()
            if deadline(next.ordinal) == next.time { return next.ordinal }
        }
        return nil
    }

    mutating func add(_ ordinal: UInt64, at time: Int64) {
        guard time < .max else { return }
        heap.insert(Entry(time: time, ordinal: ordinal))
    }

    /// Drops dead entries until the top is alive.
    /// - Parameter living: how many entries may be alive at most.
    mutating func prune(living: Int, deadline: (_ ordinal: UInt64) -> Int64?) {
        func isAlive(_ entry: Entry) -> Bool { deadline(entry.ordinal) == entry.time }
        if heap.count > 64, heap.count > 2 * living { heap.keep(only: isAlive) }
        while let first = heap.first, !isAlive(first) { heap.removeFirst() }
    }
}
