// The ends of items that were told here last. A daemon tells an end again when the word that it was heard was lost with a
// connection; this process has told it by then, and tells each once.

import TandemBase
import TandemWire

/// The last ends, as many as a daemon keeps until they are heard (LIM-24); confined to the session's scheduler.
struct ToldEnds {
    static var capacity: Int { Limits.unheardEnds }

    /// Two pairings may have items of one identifier.
    private struct Item: Hashable {
        let pairing: UniqueIdentifier
        let id: UniqueIdentifier
    }

    private var all: Set<Item> = []
    private var order: [Item] = []
    private var oldest = 0

    /// Remembers the item's end, and forgets the oldest if there are too many; false if it is remembered already.
    mutating func insert(_ id: UniqueIdentifier, of pairing: UniqueIdentifier) -> Bool {
        let item = Item(pairing: pairing, id: id)
        guard all.insert(item).inserted else { return false }
        guard order.count == Self.capacity else {
            order.append(item)
            return true
        }
        all.remove(order[oldest])
        order[oldest] = item
        oldest = (oldest + 1) % Self.capacity
        return true
    }
}
