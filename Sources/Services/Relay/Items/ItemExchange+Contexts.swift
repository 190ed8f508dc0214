// The latest contexts, as applications are told of them: what they last set, and what last came.

import TandemDelivery
package import TandemIdentity
import TandemReactor
import TandemStore
import TandemWire

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
    /// The contexts of an application in all pairings, in their order; one that was never set is not there.
    /// `completion` is called later.
    package func contexts(
        of app: ApplicationIdentifier, then completion: @escaping ([ContextStanding]) -> Void
    ) {
        let sent = outbound.filter { $0.key.app == app && $0.value.machine.context != nil }.keys
        let received = inbound.filter { $0.key.app == app && $0.value.machine.context != nil }.keys
        let places =
            sent.map { DeliveryRowKey(.sentContext, $0) } + received.map { DeliveryRowKey(.receivedContext, $0) }
        read(places.sorted { $0.queue.pairing < $1.queue.pairing }, [], then: completion)
    }

    private func read(
        _ places: [DeliveryRowKey], _ found: [ContextStanding], then completion: @escaping ([ContextStanding]) -> Void
    ) {
        guard let place = places.first else {
            scheduler.schedule(after: .zero) { completion(found) }
            return
        }
        context(at: place) { [weak self] standing in
            self?.read(Array(places.dropFirst()), found + (standing.map { [$0] } ?? []), then: completion)
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
                    return ([], [])
                }
            }
        }
    }
}
