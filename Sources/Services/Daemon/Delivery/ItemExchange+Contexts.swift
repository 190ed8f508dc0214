// The latest contexts, as applications are told of them: what they last set, and what last came.

package import TandemBase
import TandemDelivery
import TandemReactor
import TandemStore
package import TandemWire

/// A context as it stands.
package struct ContextStanding: Sendable, Equatable {
    package enum Side: String, Sendable, Hashable {
        case sent
        case received
    }

    package let pairing: UniqueIdentifier
    package let app: ApplicationIdentifier
    package let side: Side
    package let revision: UInt64
    package let body: [UInt8]
}

extension ItemExchange {
    /// The revisions of all contexts that there are, by pairing and application: the last one set here, and the last one that
    /// came and was applied.
    package var contextRevisions: [(key: QueueKey, sent: UInt64?, received: UInt64?)] {
        let sent = outbound.compactMapValues { $0.machine.context?.revision }
        let received = inbound.compactMapValues { $0.machine.context?.revision }
        let keys = Set(sent.keys).union(received.keys)
        return keys.sorted { ($0.app, $0.pairing) < ($1.app, $1.pairing) }.map { ($0, sent[$0], received[$0]) }
    }

    /// The contexts of an application in all pairings, one after the other; one that was never set is not there.
    /// - Parameter each: called later for each of them; the next one is read when it calls `next`.
    package func contexts(
        of app: ApplicationIdentifier,
        each: @escaping (_ context: ContextStanding, _ next: @escaping () -> Void) -> Void
    ) {
        let sent = outbound.filter { $0.key.app == app && $0.value.machine.context != nil }.keys
        let received = inbound.filter { $0.key.app == app && $0.value.machine.context != nil }.keys
        let places =
            sent.map { DeliveryRowKey(.sentContext, $0) } + received.map { DeliveryRowKey(.receivedContext, $0) }
        read(places.sorted { $0.queue.pairing < $1.queue.pairing }[...], each)
    }

    private func read(
        _ places: ArraySlice<DeliveryRowKey>,
        _ each: @escaping (_ context: ContextStanding, _ next: @escaping () -> Void) -> Void
    ) {
        guard let place = places.first else { return }
        context(at: place) { [weak self] standing in
            let next = { [weak self] in self?.read(places.dropFirst(), each) ?? () }
            if let standing { each(standing, next) } else { next() }
        }
    }

    private func context(at place: DeliveryRowKey, then done: @escaping (ContextStanding?) -> Void) {
        store.fetch(.key(place.bytes, in: place.table.space)) { result in
            let row = (try? result.get())?.first
            let key = place.queue
            switch row.flatMap({ try? DeliveryValue(place, bytes: $0.value) }) {
            case .sentContext(let context, let body):
                done(
                    ContextStanding(
                        pairing: key.pairing, app: key.app, side: .sent, revision: context.revision, body: body))
            case .receivedContext(let context, let body):
                done(
                    ContextStanding(
                        pairing: key.pairing, app: key.app, side: .received, revision: context.revision, body: body))
            default: done(nil)
            }
        }
    }

    /// Tells of a context that has changed.
    func told(_ key: QueueKey, _ side: ContextStanding.Side, _ revision: UInt64, _ body: [UInt8]) {
        delegate?.exchange(
            self,
            changed: ContextStanding(pairing: key.pairing, app: key.app, side: side, revision: revision, body: body))
    }

    /// Gives the last context to its queue again: with its epoch the peer may have lost it.
    func setContextAgain(_ key: QueueKey) {
        context(at: DeliveryRowKey(.sentContext, key)) { [weak self] standing in
            guard let self, let standing, let lane = outbound[key] else { return }
            let reading = reading
            lane.perform { queue in
                // A full queue of contexts holds newer ones.
                do throws(DeliveryError) {
                    return try queue.setContextAgain(.random(), body: standing.body, at: reading).answer
                } catch {
                    return LaneAnswer()
                }
            }
        }
    }
}
