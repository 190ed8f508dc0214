// Durable items between exchange, links, host apps and carrier.

package import TandemBase
package import TandemDelivery
import TandemPairing
import TandemStore
package import TandemWire

extension Node: ItemExchangeDelegate {
    package func exchange(_ exchange: ItemExchange, send envelope: Envelope, over pairing: UniqueIdentifier) {
        guard let link = context.links[pairing] else { return }
        note(envelope, isSent: true)
        link.send(envelope)
    }

    package func exchange(_ exchange: ItemExchange, received item: ReceivedItem) {
        switch item.queue.channel {
        case .configuration: carrier.received(item)
        case .context, .userInfo, .urgent, .file: local.items?.received(item)
        }
    }

    package func exchange(
        _ exchange: ItemExchange, item id: UniqueIdentifier, in queue: QueueKey, ended outcome: Outcome,
        _ refusal: ItemRefusal?
    ) {
        switch queue.channel {
        case .configuration: carrier.ended(id, outcome)
        case .context, .userInfo, .urgent, .file: local.items?.ended(id, in: queue, outcome, refusal)
        }
    }

    package func exchange(_ exchange: ItemExchange, item id: UniqueIdentifier, storedIn queue: QueueKey) {
        if queue.channel != .configuration { local.items?.stored(id, in: queue) }
    }

    package func exchange(
        _ exchange: ItemExchange, releasedFileOf id: UniqueIdentifier, in queue: QueueKey,
        _ direction: DeliveryDirection
    ) {
        files.released(id, in: queue, direction)
    }

    package func exchange(_ exchange: ItemExchange, changed context: ContextStanding) {
        local.items?.contextChanged(context)
    }

    package func exchange(_ exchange: ItemExchange, needsEpochOf pairing: UniqueIdentifier) {
        log(LogEvent(.warning, "one of the stores was restored, a new epoch begins", .text("pairing", "\(pairing)")))
        registry.perform(
            { [self] next in
                let changes = next.beginEpoch(pairing).map(\.rowChange)
                let epoch = next[pairing]?.epoch
                return (
                    changes,
                    { [self] in
                        if let epoch { exchange.setPairing(pairing, epoch: epoch) }
                        context.links.end(pairing, .replaced)
                    }
                )
            },
            failure: { [self] in report($0) })
    }

    package func exchange(_ exchange: ItemExchange, violationBy pairing: UniqueIdentifier) {
        context.links[pairing]?.refuse(.unexpected, "an acknowledgement of what was never sent")
    }
}
