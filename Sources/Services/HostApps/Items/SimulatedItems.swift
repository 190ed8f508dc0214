// The durable channels of simulated devices: an exchange for each, kept in memory, and joined by calls where real devices
// have a link. The rules and the machines are those of a daemon; only what a restart would need is missing.

import TandemDelivery
import TandemIdentity
import TandemLog
import TandemReactor
import TandemRelay
import TandemStore
import TandemWire

/// One simulated device's durable items; confined to its loop.
final class SimulatedItems {
    let channels: DurableChannels
    private let exchange: ItemExchange
    private let scheduler: any Scheduler
    private let log: LogHandler
    /// The other device of each pairing. The simulator keeps all devices.
    private var peers: [UniqueIdentifier: Peer] = [:]

    private struct Peer {
        weak var items: SimulatedItems?
    }

    init(endpoint: LocalEndpoint, scheduler: any Scheduler, log: @escaping LogHandler) {
        exchange = ItemExchange(
            store: LoopStore(MemoryStore(), on: scheduler), scheduler: scheduler,
            channels: [.context, .userInfo, .urgent],
            log: log)
        channels = DurableChannels(exchange: exchange, endpoint: endpoint)
        self.scheduler = scheduler
        self.log = log
        exchange.delegate = self
    }

    /// Joins two devices by a pairing; once, before any app is there.
    static func join(_ pairing: UniqueIdentifier, _ first: SimulatedItems, _ second: SimulatedItems) {
        for (own, other) in [(first, second), (second, first)] {
            own.peers[pairing] = Peer(items: other)
            own.exchange.setPairing(pairing, epoch: 1)
        }
        first.exchange.linkOpened(pairing, received: [])
        second.exchange.linkOpened(pairing, received: [])
    }
}

extension SimulatedItems: ItemExchangeDelegate {
    func exchange(_ exchange: ItemExchange, send envelope: Envelope, over pairing: UniqueIdentifier) {
        let peer = peers[pairing]?.items
        // In a later turn, in order, as from a link.
        scheduler.schedule(after: .zero) { [log] in
            guard let peer, !peer.exchange.receive(envelope) else { return }
            log(
                LogEvent(
                    .error, "a simulated device does not take an item's frame", .text("kind", envelope.kind.rawValue)))
        }
    }

    func exchange(_ exchange: ItemExchange, received item: ReceivedItem) { channels.received(item) }

    func exchange(_ exchange: ItemExchange, item id: UniqueIdentifier, storedIn queue: QueueKey) {
        channels.stored(id, in: queue)
    }

    func exchange(
        _ exchange: ItemExchange, item id: UniqueIdentifier, in queue: QueueKey, ended outcome: Outcome, code: Int64?
    ) {
        channels.ended(id, in: queue, outcome, code: code)
    }

    func exchange(_ exchange: ItemExchange, changed context: ContextStanding) { channels.contextChanged(context) }

    func exchange(_ exchange: ItemExchange, needsEpochOf pairing: UniqueIdentifier) { contradiction(pairing) }

    func exchange(_ exchange: ItemExchange, violationBy pairing: UniqueIdentifier) { contradiction(pairing) }

    /// Nothing here is ever restored from a backup.
    private func contradiction(_ pairing: UniqueIdentifier) {
        log(LogEvent(.error, "two simulated devices contradict each other", .text("pairing", "\(pairing)")))
    }
}
