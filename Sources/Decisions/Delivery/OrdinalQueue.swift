// Ordinals in an order, for queues of thousands of items.

/// Ordinals first in, first out, in constant time: removing from the front of an array would move all the rest.
struct OrdinalQueue: Sendable {
    private var items: [UInt64] = []
    private var head = 0

    private init(_ items: [UInt64]) { self.items = items }

    init() {}

    var first: UInt64? { head < items.count ? items[head] : nil }

    /// All of them, in order.
    var all: ArraySlice<UInt64> { items[head...] }

    var count: Int { items.count - head }

    mutating func append(_ ordinal: UInt64) { items.append(ordinal) }

    /// Inserts an ordinal into a queue of rising ones; slow unless it goes to the end.
    mutating func insert(_ ordinal: UInt64) {
        if items.last ?? 0 < ordinal { return append(ordinal) }
        items.insert(ordinal, at: items[head...].firstIndex { $0 > ordinal } ?? items.endIndex)
    }

    mutating func removeFirst() {
        head += 1
        guard head > 64, head * 2 > items.count else { return }
        items.removeFirst(head)
        head = 0
    }

    /// Removes one from anywhere; slow.
    mutating func remove(_ ordinal: UInt64) {
        if let index = items[head...].firstIndex(of: ordinal) { items.remove(at: index) }
    }

    /// Drops stale ordinals: those at the front, and all of them once most are stale.
    /// - Parameter living: how many may be alive at most.
    mutating func prune(living: Int, isAlive: (UInt64) -> Bool) {
        while let first, !isAlive(first) { removeFirst() }
        guard count > 64, count > 2 * living else { return }
        self = OrdinalQueue(all.filter(isAlive))
    }
}

/// The dead letters of a queue: items that failed too often and wait, with their bodies, for an operator. Bounded: the oldest is
/// dropped first (LIM-25).
struct DeadLetters: Sendable {
    private var order = OrdinalQueue()
    /// Bytes of their bodies.
    private(set) var bytes = 0

    /// In order of acceptance or arrival.
    var ordinals: ArraySlice<UInt64> { order.all }

    mutating func add(_ ordinal: UInt64, size: Int) {
        order.insert(ordinal)
        bytes += size
    }

    mutating func remove(_ ordinal: UInt64, size: Int) {
        order.remove(ordinal)
        bytes -= size
    }

    /// The oldest one if there are more than the limits allow.
    func excess(over limits: DeliveryLimits) -> UInt64? {
        order.count > limits.deadLetters || bytes > limits.bytes ? order.first : nil
    }
}
