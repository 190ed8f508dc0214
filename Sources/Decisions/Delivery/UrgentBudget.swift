// How many urgent items an application may send to one device: a number for each day, a day being 24 hours of its queue's time
// from the first one. It counts and tells; what becomes of an item over budget is decided elsewhere.

/// What of a day's urgent items is spent.
package struct UrgentBudget: Sendable, Equatable {
    static let day: Int64 = 24 * 3600 * 1000

    /// Spent in the day that began at `start`.
    package internal(set) var used = 0
    /// The queue's time of the day's first item; nil before it.
    package internal(set) var start: Int64?

    package init() {}

    /// Takes one of the day's items.
    /// - Returns: false if none is left; nothing has changed then.
    mutating func take(at now: Int64, limit: Int) -> Bool {
        var next = current(at: now)
        guard next.used < limit else { return false }
        next.used += 1
        next.start = next.start ?? now
        self = next
        return true
    }

    /// How many are left of the day.
    func remaining(at now: Int64, limit: Int) -> Int { max(0, limit - current(at: now).used) }

    /// Milliseconds until the day is over; 0 if none has begun.
    func reset(at now: Int64) -> Int64 {
        current(at: now).start.map { max(0, QueueClock.sum($0, Self.day) - now) } ?? 0
    }

    private func current(at now: Int64) -> UrgentBudget {
        guard let start, now >= QueueClock.sum(start, Self.day) else { return self }
        return UrgentBudget()
    }
}

/// What of an application's urgent items is left today.
package struct UrgentBudgetReading: Sendable, Equatable {
    package let remaining: Int
    package let limit: Int
    /// Time until the day is over; zero if none has begun.
    package let reset: Duration

    package init(remaining: Int, limit: Int, reset: Duration) {
        self.remaining = remaining
        self.limit = limit
        self.reset = reset
    }
}
