// Who gets a durable item. A handler may come late: until the first one for a channel is there the item stays here, and
// the daemon gives no further one of that queue, so what waits is bounded by the number of queues. A handler that names
// a topic gets the items of that topic; what no topic's handler takes is for those that name none.

import TandemBase
import TandemWire

/// The handlers of one host app and the items that wait for them; confined to the session's scheduler.
struct ItemInbox {
    /// Which items a handler takes.
    struct Interest: Sendable {
        let channels: Set<Channel>
        var pairing: UniqueIdentifier?
        var topic: String?
    }

    typealias Take = (DeliveredItem, HandlingToken) -> Void

    private struct Handler {
        let number: UInt64
        let interest: Interest
        let take: Take
    }

    private var handlers: [Handler] = []
    private var waiting: [(item: DeliveredItem, give: @Sendable (HandlingVerdict) -> Void)] = []
    private var nextNumber: UInt64 = 0

    /// Something waits for its first handler: `hasContentPending` of WCSession.
    var hasWaiting: Bool { !waiting.isEmpty }

    /// Hands the item to its handlers, keeps it for a later one, or rejects what the app's handlers do not want.
    mutating func arrived(_ item: DeliveredItem, give: @escaping @Sendable (HandlingVerdict) -> Void) {
        guard handlers.contains(where: { $0.interest.channels.contains(item.channel) }) else {
            waiting.removeAll { $0.item.name == item.name }
            return waiting.append((item, give))
        }
        let takers = takers(of: item)
        guard !takers.isEmpty else { return give(.rejected(.unhandled(item.facts.topic))) }
        let token = HandlingToken(handlers: takers.count, give: give)
        for handler in takers { handler.take(item, token) }
    }

    /// Adds a handler and hands it what waited; returns its number.
    mutating func add(_ interest: Interest, take: @escaping Take) -> UInt64 {
        nextNumber += 1
        handlers.append(Handler(number: nextNumber, interest: interest, take: take))
        let items = waiting
        waiting = []
        for (item, give) in items { arrived(item, give: give) }
        return nextNumber
    }

    mutating func remove(_ number: UInt64) { handlers.removeAll { $0.number == number } }

    mutating func removeAll() {
        handlers = []
        waiting = []
    }

    private func takers(of item: DeliveredItem) -> [Handler] {
        let all = handlers.filter { $0.interest.channels.contains(item.channel) }
        let bound = all.filter { $0.interest.pairing == item.facts.pairing }
        let candidates = bound.isEmpty ? all.filter { $0.interest.pairing == nil } : bound
        let named = candidates.filter { $0.interest.topic != nil && $0.interest.topic == item.facts.topic }
        return named.isEmpty ? candidates.filter { $0.interest.topic == nil } : named
    }
}
