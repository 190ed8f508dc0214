// Timers as a binary heap ordered by deadline, then by the order they were made. A cancelled timer leaves its action at
// once (whatever it held is freed) and its heap entry when it reaches the top or when most entries are dead.

package import TandemBase

package struct TimerQueue {
    private struct Entry: Comparable {
        let deadline: UInt64
        let serial: UInt64

        static func < (left: Self, right: Self) -> Bool {
            left.deadline == right.deadline ? left.serial < right.serial : left.deadline < right.deadline
        }
    }

    private var heap = Heap<Entry>()
    private var actions: [UInt64: () -> Void] = [:]
    private var nextSerial: UInt64
    /// The first of the heap, once it has been found to be alive: a loop asks for it in every turn.
    private var liveFirst: UInt64?

    package init(nextSerial: UInt64 = 0) { self.nextSerial = nextSerial }

    /// The number of timers that will still run.
    package var count: Int { actions.count }

    package mutating func add(deadline: MonotonicTime, _ action: @escaping () -> Void) -> TimerToken {
        nextSerial += 1
        actions[nextSerial] = action
        heap.insert(Entry(deadline: deadline.nanoseconds, serial: nextSerial))
        return TimerToken(serial: nextSerial)
    }

    /// Takes the action out, for the caller to release: objects that it retains may call back in their `deinit`.
    package mutating func cancel(_ token: TimerToken) -> (() -> Void)? {
        let action = actions.removeValue(forKey: token.serial)
        if liveFirst == token.serial { liveFirst = nil }
        if heap.count > 64, heap.count > 2 * actions.count { heap.keep { actions[$0.serial] != nil } }
        return action
    }

    /// The earliest deadline of a timer that will still run.
    package mutating func nextDeadline() -> MonotonicTime? {
        while let first = heap.first {
            if first.serial == liveFirst || actions[first.serial] != nil {
                liveFirst = first.serial
                return MonotonicTime(nanoseconds: first.deadline)
            }
            heap.removeFirst()
        }
        return nil
    }

    /// The last timer that was made.
    package var last: TimerToken { TimerToken(serial: nextSerial) }

    /// Takes the action that is due first; nil if none is due.
    /// - Parameter last: timers that were made later are due the next time.
    package mutating func popDue(at now: MonotonicTime, madeUntil last: TimerToken? = nil) -> (() -> Void)? {
        guard let deadline = nextDeadline(), deadline <= now, let first = heap.first,
            first.serial <= last?.serial ?? .max
        else { return nil }
        heap.removeFirst()
        return actions.removeValue(forKey: first.serial)
    }

    /// Takes everything out, for the caller to let go of.
    package mutating func takeAll() -> [UInt64: () -> Void] {
        defer { self = TimerQueue(nextSerial: nextSerial) }
        return actions
    }
}
