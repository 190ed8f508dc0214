// Which item expires first, without looking at all of them: a binary heap of times. An item that ended earlier leaves its entry
// behind; dead entries are dropped when they come to the top, or together when they are the greater part.

/// The times at which a queue's items expire.
struct ExpiryIndex: Sendable {
    struct Entry: Sendable {
        let time: Int64
        let ordinal: UInt64

        func isBefore(_ other: Entry) -> Bool { (time, ordinal) < (other.time, other.ordinal) }
    }

    private var heap: [Entry] = []

    /// The entry at the top, dead or alive.
    var first: Entry? { heap.first }

    mutating func add(_ ordinal: UInt64, at time: Int64) {
        heap.append(Entry(time: time, ordinal: ordinal))
        var index = heap.count - 1
        while index > 0, heap[index].isBefore(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Drops dead entries until the top is alive.
    /// - Parameter living: how many entries may be alive at most.
    mutating func settle(living: Int, isAlive: (Entry) -> Bool) {
        if heap.count > 64, heap.count > 2 * living {
            heap = heap.filter(isAlive)
            for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(from: index) }
        }
        while let first = heap.first, !isAlive(first) { removeFirst() }
    }

    mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        siftDown(from: 0)
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
                if heap[child].isBefore(heap[least]) { least = child }
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
