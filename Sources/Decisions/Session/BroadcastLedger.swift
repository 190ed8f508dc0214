// To whom broadcasts were delivered (SES-30), so that a receiver's failure finds the sender, once, and only from a
// connection that got the message (SES-10). A broadcast costs one entry and each delivery 40 bytes of it: no hashing for a
// delivery. It is bounded by deliveries; the oldest broadcast is forgotten first, and its failures with it.

package import TandemIdentity

/// The broadcasts of one relay whose failures can still be told.
package struct BroadcastLedger: Sendable {
    /// A frame given to one receiver.
    package struct Delivery: Sendable, Equatable {
        package let pairing: UniqueIdentifier
        package let destination: ConnectionNumber
        /// Bytes given to the destination's channel up to this frame's last byte; nil if nobody asks what has left.
        package let endOffset: UInt64?

        package init(pairing: UniqueIdentifier, destination: ConnectionNumber, endOffset: UInt64?) {
            self.pairing = pairing
            self.destination = destination
            self.endOffset = endOffset
        }
    }

    /// A delivery that failed, and who sent the broadcast.
    package struct Failure: Sendable, Equatable {
        package let id: UniqueIdentifier
        package let app: ApplicationIdentifier
        package let pairing: UniqueIdentifier
        package let origin: ConnectionNumber
    }

    private struct Broadcast {
        let app: ApplicationIdentifier
        let origin: ConnectionNumber
        let deadline: MonotonicTime
        /// nil: it has failed already.
        var deliveries: [Delivery?]
    }

    private var broadcasts: [UniqueIdentifier: Broadcast] = [:]
    private var order: [UniqueIdentifier] = []  // oldest first; may name what is gone
    private var deliveryCount = 0
    private let capacity: Int

    /// - Parameter capacity: deliveries to remember (LIM-21); a single broadcast may be larger.
    package init(capacity: Int) { self.capacity = capacity }

    package var count: Int { broadcasts.count }

    /// Whether the identifier is that of a broadcast that is remembered.
    package func contains(_ id: UniqueIdentifier) -> Bool { broadcasts[id] != nil }

    /// Remembers a broadcast under an identifier that is new.
    package mutating func record(
        _ id: UniqueIdentifier, app: ApplicationIdentifier, origin: ConnectionNumber, deadline: MonotonicTime,
        deliveries: [Delivery]
    ) {
        precondition(broadcasts[id] == nil, "the caller has asked whether the identifier is new")
        deliveryCount += deliveries.count
        broadcasts[id] = Broadcast(app: app, origin: origin, deadline: deadline, deliveries: deliveries)
        order.append(id)
        forgetOldest()
    }

    /// The delivery that a `failure` from this connection ends; nil if there was none to it, or it has failed already.
    package mutating func failed(
        _ id: UniqueIdentifier, app: ApplicationIdentifier, pairing: UniqueIdentifier, by connection: ConnectionNumber
    ) -> Failure? {
        guard let broadcast = broadcasts[id], broadcast.app == app,
            let place = broadcast.deliveries.firstIndex(where: {
                $0?.destination == connection && $0?.pairing == pairing
            })
        else { return nil }
        broadcasts[id]?.deliveries[place] = nil
        return Failure(id: id, app: app, pairing: pairing, origin: broadcast.origin)
    }

    /// A connection is gone: what it sent is forgotten, and the deliveries to it that certainly did not leave are
    /// returned, oldest first.
    /// - Parameter departed: how many of the bytes given to it may have left; nil if nobody can say.
    package mutating func closed(_ connection: ConnectionNumber, departed: UInt64?) -> [Failure] {
        forget { $0.origin == connection }
        guard let departed else { return [] }
        var failures: [Failure] = []
        for id in order {
            guard let broadcast = broadcasts[id] else { continue }
            for case let delivery? in broadcast.deliveries where delivery.destination == connection {
                guard let end = delivery.endOffset, end > departed else { continue }
                failures.append(
                    Failure(id: id, app: broadcast.app, pairing: delivery.pairing, origin: broadcast.origin))
            }
        }
        return failures
    }

    /// Forgets the broadcasts whose sender does not wait any more.
    package mutating func expire(now: MonotonicTime) { forget { $0.deadline <= now } }

    private mutating func forget(where condition: (Broadcast) -> Bool) {
        let gone = broadcasts.filter { condition($0.value) }
        guard !gone.isEmpty else { return }
        for (id, broadcast) in gone { remove(id, broadcast) }
        order.removeAll { broadcasts[$0] == nil }
    }

    /// Half of what there is, so that the list moves seldom; the newest stays.
    private mutating func forgetOldest() {
        guard deliveryCount > capacity else { return }
        var gone = 0
        while deliveryCount > capacity / 2, gone < order.count - 1 {
            if let broadcast = broadcasts[order[gone]] { remove(order[gone], broadcast) }
            gone += 1
        }
        order.removeFirst(gone)
    }

    private mutating func remove(_ id: UniqueIdentifier, _ broadcast: Broadcast) {
        broadcasts[id] = nil
        deliveryCount -= broadcast.deliveries.count
    }
}
