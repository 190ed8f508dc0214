// Timers as a binary heap ordered by deadline, then by the order they were made. A cancelled timer leaves its action at
// once (whatever it held is freed) and its heap entry when it reaches the top or when most entries are dead.

package import TandemBase

package struct TimerQueue {
    private struct Entry {
        let deadline: UInt64
        let serial: UInt64

        func isBefore(_ other: Entry) -> Bool {
            deadline == other.deadline ? serial < other.serial : deadline < other.deadline
        }
    }

    private var heap: [Entry] = []
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
        heap.append(Entry(deadline: deadline.nanoseconds, serial: nextSerial))
        siftUp(from: heap.count - 1)
        return TimerToken(serial: nextSerial)
    }

    /// Takes the action out, for the caller to release: objects that it retains may call back in their `deinit`.
    package mutating func cancel(_ token: TimerToken) -> (() -> Void)? {
        let action = actions.removeValue(forKey: token.serial)
        if liveFirst == token.serial { liveFirst = nil }
        if heap.count > 64, heap.count > 2 * actions.count { compact() }
        return action
    }

    /// The earliest deadline of a timer that will still run.
    package mutating func nextDeadline() -> MonotonicTime? {
        while let first = heap.first {
            if first.serial == liveFirst || actions[first.serial] != nil {
                liveFirst = first.serial
                return MonotonicTime(nanoseconds: first.deadline)
            }
            removeFirst()
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
        removeFirst()
        return actions.removeValue(forKey: first.serial)
    }

    /// Takes everything out, for the caller to let go of.
    package mutating func takeAll() -> [UInt64: () -> Void] {
        defer { self = TimerQueue(nextSerial: nextSerial) }
        return actions
    }

    private mutating func compact() {
        heap = heap.filter { actions[$0.serial] != nil }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(from: index) }
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        siftDown(from: 0)
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].isBefore(heap[parent]) else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        let moved = heap[start]
        var index = start
        while 2 * index + 1 < heap.count {
            var least = 2 * index + 1
            if least + 1 < heap.count, heap[least + 1].isBefore(heap[least]) { least += 1 }
            guard heap[least].isBefore(moved) else { break }
            heap[index] = heap[least]
            index = least
        }
        heap[index] = moved
    }
}
