// Numbers first in, first out, in constant time: removing from the front of an array would move all the rest.

struct OrdinalQueue: Sendable {
    private var items: [UInt64] = []
    private var head = 0

    init(_ items: [UInt64] = []) { self.items = items }

    var first: UInt64? { head < items.count ? items[head] : nil }

    mutating func append(_ ordinal: UInt64) { items.append(ordinal) }

    mutating func removeFirst() {
        head += 1
        guard head > 64, head * 2 > items.count else { return }
        items.removeFirst(head)
        head = 0
    }
}
