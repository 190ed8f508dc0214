// Which deadlines may have passed, without looking at the others: deadlines of about the same second share a slot of a
// wheel. A deadline further off than one turn of the wheel is merely looked at once more in each turn.

import TandemBase

struct DeadlineWheel: Sendable {
    /// A slot is 2^30 ns, a little over a second; a turn is then 18 minutes, and no caller waits that long (LIM-8).
    private static var slotBits: UInt64 { 30 }
    private static var slotCount: UInt64 { 1024 }

    var slots = Array(repeating: Chain(), count: Int(DeadlineWheel.slotCount))
    /// The first slot, counted from time 0, that may hold a deadline that has passed.
    private var due: UInt64 = 0

    /// Where a deadline belongs. One that has passed goes where the next look finds it.
    func slot(of deadline: MonotonicTime) -> Int {
        Int(max(deadline.nanoseconds >> Self.slotBits, due) % Self.slotCount)
    }

    /// The slots that may hold passed deadlines, for one look now.
    mutating func dueSlots(now: MonotonicTime) -> some Sequence<Int> {
        let first = due
        due = max(due, now.nanoseconds >> Self.slotBits)
        return (first...min(due, first + Self.slotCount - 1)).lazy.map { Int($0 % Self.slotCount) }
    }
}
