// Deliveries of broadcasts (SES-30), so that a receiver's failure reaches the sender, once, and only from a connection
// that received the message (SES-10). Broadcasts that left together share one list of receivers, and each stores only
// its position among them: a delivery costs no hashing and no memory of its own. The ledger is bounded by deliveries; a
// broadcast without receivers counts as one. It evicts the oldest first, and drops later failures of what it evicted.

package import TandemBase

/// The broadcasts of one relay whose failures can still be reported.
package struct BroadcastLedger: ~Copyable, Sendable {
    /// Frames written to one receiver.
    package struct Delivery: Sendable, Equatable {
        package let pairing: UniqueIdentifier
        package let destination: ConnectionNumber
        /// Bytes written to the destination's channel before the first of these frames; nil if the channel does not
        /// count.
        package let startOffset: UInt64?

        package init(pairing: UniqueIdentifier, destination: ConnectionNumber, startOffset: UInt64?) {
            self.pairing = pairing
            self.destination = destination
            self.startOffset = startOffset
        }
    }

    /// One of the broadcasts that left together.
    package struct Message: Sendable {
        package let id: UniqueIdentifier
        package let deadline: MonotonicTime
        /// The bytes of its frame.
        package let count: Int
        /// To receivers of this message alone, not of the others.
        package var deliveries: [Delivery] = []

        package init(id: UniqueIdentifier, deadline: MonotonicTime, count: Int) {
            self.id = id
            self.deadline = deadline
            self.count = count
        }
    }

    /// A failed delivery, with the sender of the broadcast.
    package struct Failure: Sendable, Equatable {
        package let id: UniqueIdentifier
        package let app: ApplicationIdentifier
        package let pairing: UniqueIdentifier
        package let origin: ConnectionNumber
    }

    private struct Broadcast {
        let app: ApplicationIdentifier
        let origin: ConnectionNumber
        let message: Message
        /// The bytes of the frames from the first that left together to the end of this one.
        let end: Int
        /// To receivers of all messages that left together; one shared list.
        let shared: [Delivery]
        /// Indices of deliveries that have failed already.
        var failed: Set<Int> = []

        /// Indices begin with the shared deliveries.
        var count: Int { shared.count + message.deliveries.count }

        /// Its share of the ledger's capacity.
        var weight: Int { max(1, count) }

        func delivery(_ index: Int) -> Delivery {
            index < shared.count ? shared[index] : message.deliveries[index - shared.count]
        }

        /// Offset of the frame's end in the bytes written to the destination's channel.
        func endOffset(_ index: Int) -> UInt64? {
            let count = index < shared.count ? end : message.count
            return delivery(index).startOffset.map { $0 + UInt64(count) }
        }

        func index(of pairing: UniqueIdentifier, to destination: ConnectionNumber) -> Int? {
            (0..<count).first { delivery($0).destination == destination && delivery($0).pairing == pairing }
        }
    }

    private var broadcasts: [UniqueIdentifier: Broadcast] = [:]
    /// Oldest first, each with its sender, so that those of one sender are found without a look at the others.
    private var order: [(id: UniqueIdentifier, origin: ConnectionNumber)] = []
    private var weight = 0
    /// How many each sender has: most connections that leave have sent none.
    private var senders: [ConnectionNumber: Int] = [:]
    private let capacity: Int
    /// The length of the longest burst so far: a delivery ends at most this far behind its start.
    private var longest: UInt64 = 0
    /// Broadcasts that ``closed(_:departed:last:)`` has examined: the work done, for tests that bound it.
    package private(set) var looks = 0

    /// - Parameter capacity: deliveries to remember (LIM-21); a single broadcast may be larger.
    package init(capacity: Int) { self.capacity = capacity }

    package var count: Int { broadcasts.count }

    package func contains(_ id: UniqueIdentifier) -> Bool { broadcasts[id] != nil }

    /// Remembers broadcasts that left together, in this order, under identifiers that are new.
    /// - Parameter deliveries: to receivers of all of them.
    package mutating func record(
        _ messages: [Message], app: ApplicationIdentifier, origin: ConnectionNumber, deliveries: [Delivery]
    ) {
        var end = 0
        for message in messages {
            precondition(broadcasts[message.id] == nil, "the caller has asked whether the identifier is new")
            end += message.count
            let broadcast = Broadcast(app: app, origin: origin, message: message, end: end, shared: deliveries)
            broadcasts[message.id] = broadcast
            order.append((message.id, origin))
            weight += broadcast.weight
            senders[origin, default: 0] += 1
        }
        longest = max(longest, UInt64(end))
        forgetOldest()
    }

    /// The delivery that a `failure` from this connection ends; nil if there was none to it, or it has failed already.
    package mutating func failed(
        _ id: UniqueIdentifier, app: ApplicationIdentifier, pairing: UniqueIdentifier, by connection: ConnectionNumber
    ) -> Failure? {
        guard broadcasts[id]?.app == app, let index = broadcasts[id]?.index(of: pairing, to: connection),
            broadcasts[id]?.failed.insert(index).inserted == true, let origin = broadcasts[id]?.origin
        else { return nil }
        return Failure(id: id, app: app, pairing: pairing, origin: origin)
    }

    /// A connection is gone: what it sent is forgotten, and the deliveries to it that certainly did not leave are
    /// returned, oldest first.
    /// - Parameters:
    ///   - departed: how many of the bytes written to it may have left; nil if that is unknown.
    ///   - last: the end of the last delivery to it. If that may have left, as on most links that end, no delivery is
    ///     looked at: the ledger can have tens of thousands.
    package mutating func closed(
        _ connection: ConnectionNumber, departed: UInt64?, last: UInt64 = .max
    ) -> [Failure] {
        if senders[connection] != nil { forget(of: connection) }
        guard let departed, departed < last else { return [] }
        var failures: [Failure] = []
        // From the newest back. Deliveries to one connection start in ascending order, so the first one that certainly
        // left ends the search.
        search: for (id, _) in order.reversed() {
            guard let broadcast = broadcasts[id] else { continue }
            looks += 1
            for index in (0..<broadcast.count).reversed() where broadcast.delivery(index).destination == connection {
                let delivery = broadcast.delivery(index)
                if let start = delivery.startOffset, start + longest <= departed { break search }
                guard !broadcast.failed.contains(index), let end = broadcast.endOffset(index), end > departed else {
                    continue
                }
                let pairing = delivery.pairing
                failures.append(Failure(id: id, app: broadcast.app, pairing: pairing, origin: broadcast.origin))
            }
        }
        return failures.reversed()
    }

    /// Drops the broadcasts whose deadline has passed.
    package mutating func expire(now: MonotonicTime) {
        let gone = broadcasts.filter { $0.value.message.deadline <= now }
        guard !gone.isEmpty else { return }
        for (id, broadcast) in gone { remove(id, broadcast) }
        order.removeAll { broadcasts[$0.id] == nil }
    }

    /// Looks at the broadcasts of this sender alone: one user's connections that send one and close must not cost a
    /// look at all that the ledger has.
    private mutating func forget(of sender: ConnectionNumber) {
        for (id, origin) in order where origin == sender {
            looks += 1
            if let broadcast = broadcasts[id] { remove(id, broadcast) }
        }
        order.removeAll { $0.origin == sender }
    }

    /// Half of what there is, so that the list moves seldom; the newest stays.
    private mutating func forgetOldest() {
        guard weight > capacity else { return }
        var gone = 0
        while weight > capacity / 2, gone < order.count - 1 {
            let id = order[gone].id
            if let broadcast = broadcasts[id] { remove(id, broadcast) }
            gone += 1
        }
        order.removeFirst(gone)
    }

    private mutating func remove(_ id: UniqueIdentifier, _ broadcast: Broadcast) {
        broadcasts[id] = nil
        weight -= broadcast.weight
        let left = (senders[broadcast.origin] ?? 1) - 1
        senders[broadcast.origin] = left > 0 ? left : nil
    }
}

/// A connection of this daemon: a local socket or a device link. Numbers are never used twice.
package struct ConnectionNumber: Sendable, Hashable, Comparable {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}
