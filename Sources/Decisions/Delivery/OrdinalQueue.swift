// Ordinals first in, first out, in constant time: removing from the front of an array would move all the rest.

struct OrdinalQueue: Sendable {
    private var items: [UInt64] = []
    private var head = 0

    init(_ items: [UInt64] = []) { self.items = items }

    var first: UInt64? { head < items.count ? items[head] : nil }

    /// All of them, in order.
    var all: ArraySlice<UInt64> { items[head...] }

    var count: Int { items.count - head }

    mutating func append(_ ordinal: UInt64) { items.append(ordinal) }

    /// Puts an ordinal where it belongs in a queue of rising ones; for rare events.
    mutating func insert(_ ordinal: UInt64) {
        items.insert(ordinal, at: items[head...].firstIndex { $0 > ordinal } ?? items.endIndex)
    }

    mutating func removeFirst() {
        head += 1
        guard head > 64, head * 2 > items.count else { return }
        items.removeFirst(head)
        head = 0
    }

    /// Takes one out, wherever it is; for rare events.
    mutating func remove(_ ordinal: UInt64) {
        if let place = items[head...].firstIndex(of: ordinal) { items.remove(at: place) }
    }

    /// Drops from the front what is no longer meant.
    mutating func dropFirst(where isDead: (UInt64) -> Bool) {
        while let first, isDead(first) { removeFirst() }
    }

    /// Keeps only what is still meant, if most is not.
    mutating func compact(living: Int, where isAlive: (UInt64) -> Bool) {
        guard count > 64, count > 2 * living else { return }
        self = OrdinalQueue(all.filter(isAlive))
    }
}
