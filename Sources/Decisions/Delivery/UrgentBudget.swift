// The number of urgent items that an application may send to one device in a day, a day being 24 hours of its queue's
// time from the first one. The queue decides the fate of an item over budget.

import TandemWire

/// The urgent items of a day that are spent.
package struct UrgentBudget: Sendable, Equatable {
    private static let day: Int64 = 24 * 3600 * 1000

    /// Spent in the day that began at `start`.
    private var used = 0
    /// The queue's time of the day's first item; nil before it.
    private(set) var start: Int64?

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

    /// The items left of the day.
    func allowance(at now: Int64, limit: Int) -> BudgetAnswer {
        let day = current(at: now)
        let reset = day.start.map { max(0, QueueClock.sum($0, Self.day) - now) } ?? 0
        return BudgetAnswer(remaining: max(0, limit - day.used), limit: limit, resets: .milliseconds(reset))
    }

    /// Whether a day has begun that is not over.
    func isRunning(at now: Int64) -> Bool { current(at: now).start != nil }

    /// A day that begins later is that of an earlier version, whose queue followed a clock that was not set.
    private func current(at now: Int64) -> UrgentBudget {
        guard let start, start > now || now >= QueueClock.sum(start, Self.day) else { return self }
        return UrgentBudget()
    }

    var stored: [UInt8] {
        var record = RecordWriter()
        record.add(.used, Int64(used))
        record.add(.start, start)
        return record.bytes
    }

    init(stored: [UInt8]) throws(DeliveryRecordError) {
        var fields = try RecordReader(stored, of: .urgentBudget)
        self.init()
        used = try fields.count(.used)
        start = try fields.integer(.start)
        try fields.finish()
    }
}
