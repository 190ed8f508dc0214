// The durable channels of all pairings: it gives events to the Delivery room's machines, commits what they answer, and turns
// their effects into frames. The rules are theirs, the bytes in the store are theirs; who handles an item is the delegate's.

package import TandemDelivery
package import TandemIdentity
package import TandemLog
package import TandemReactor
package import TandemStore
package import TandemWire

/// Sends and receives durable items; confined to its loop.
package final class ItemExchange {
    typealias OutboundLane = Lane<OutboundQueue, OutboundEffect>
    typealias InboundLane = Lane<InboundLedger, InboundEffect>

    package weak var delegate: (any ItemExchangeDelegate)?
    let store: LoopStore
    let scheduler: any Scheduler
    let log: LogHandler
    /// The channels that this device takes part in; a frame of another one is refused, so that a peer cannot fill it.
    let channels: Set<Channel>
    var outbound: [QueueKey: OutboundLane] = [:]
    var inbound: [QueueKey: InboundLane] = [:]
    /// What hello may tell: the highest sequence whose commit is done.
    var committed: [QueueKey: UInt64] = [:]
    /// The pairings known, and their epochs.
    private var epochs: [UniqueIdentifier: UInt64] = [:]
    /// The pairings with a ready link.
    var open: Set<UniqueIdentifier> = []

    package init(
        store: LoopStore, scheduler: any Scheduler, channels: Set<Channel> = [.configuration],
        log: @escaping LogHandler = { _ in }
    ) {
        self.store = store
        self.channels = channels
        self.scheduler = scheduler
        self.log = log
    }

    var reading: Reading { Reading(monotonic: scheduler.now, wall: scheduler.wallNow) }

    // MARK: pairings

    /// A pairing exists in this epoch. Another epoch than before starts its numbering anew.
    package func setPairing(_ pairing: UniqueIdentifier, epoch: UInt64) {
        let before = epochs.updateValue(epoch, forKey: pairing)
        guard let before, before != epoch else { return }
        let reading = reading
        for (key, lane) in outbound where key.pairing == pairing {
            lane.perform { $0.startEpoch(epoch, at: reading).answer }
        }
        for (key, lane) in inbound where key.pairing == pairing {
            committed[key] = 0
            lane.perform { $0.startEpoch(epoch, at: reading).answer }
        }
    }

    /// A pairing is gone: its queues go with it. The caller commits ``removal(of:)``.
    package func removePairing(_ pairing: UniqueIdentifier) {
        epochs[pairing] = nil
        open.remove(pairing)
        for key in Array(outbound.keys) where key.pairing == pairing { outbound.removeValue(forKey: key)?.end() }
        for key in Array(inbound.keys) where key.pairing == pairing { inbound.removeValue(forKey: key)?.end() }
        committed = committed.filter { $0.key.pairing != pairing }
    }

    /// The rows to delete together with a pairing.
    package static func removal(of pairing: UniqueIdentifier) -> [RowChange] {
        DeliveryTable.allCases.map { .deleteAll(.prefix(QueueKey.prefix(of: pairing), in: $0.space)) }
    }

    func epoch(of pairing: UniqueIdentifier) -> UInt64? { epochs[pairing] }

    // MARK: submitting

    /// Accepts an item for the peer; `completion` is called when it is durable here.
    package func submit(
        _ item: OutboundItem, to key: QueueKey, then completion: @escaping (Result<Void, StoreError>) -> Void
    ) throws(DeliveryError) {
        let reading = reading
        var refusal: DeliveryError?
        var isLate = false
        outboundLane(key).perform(
            { queue in
                do throws(DeliveryError) {
                    return try queue.enqueue(item, at: reading).answer
                } catch {
                    refusal = error
                    return ([], [])
                }
            },
            then: { result in
                // A queue that was being read back judges later than this call returns.
                if refusal == nil { completion(result) } else if isLate { completion(.failure(.full(path: ""))) }
            })
        isLate = true
        if let refusal { throw refusal }
    }

    /// The handler has taken a received item.
    package func handled(_ ordinal: UInt64, in key: QueueKey) {
        let reading = reading
        inbound[key]?.perform { $0.handled(ordinal, at: reading).answer }
    }

    /// The handler could not take a received item: it comes again after a pause.
    package func failed(_ ordinal: UInt64, in key: QueueKey) {
        let reading = reading
        inbound[key]?.perform { $0.failed(ordinal, at: reading).answer }
    }

    // MARK: what is there

    /// The outbound queues with their machine, for status.
    package var queues: [(key: QueueKey, count: Int, bytes: Int, oldest: Int64?)] {
        let reading = reading
        return outbound.map {
            ($0.key, $0.value.machine.count, $0.value.machine.bytes, $0.value.machine.oldestAge(at: reading))
        }
        .sorted { ($0.0.pairing, $0.0.app) < ($1.0.pairing, $1.0.app) }
    }

    /// The highest sequences stored in order from the peer, and given to it (SES-2).
    package func positions(
        of pairing: UniqueIdentifier
    ) -> (received: [(key: QueueKey, sequence: UInt64)], sent: [(key: QueueKey, sequence: UInt64)]) {
        let received = committed.filter { $0.key.pairing == pairing && $0.value > 0 }.map { ($0.key, $0.value) }
        let sent = outbound.filter { $0.key.pairing == pairing && $0.value.machine.lastSent > 0 }
            .map { ($0.key, $0.value.machine.lastSent) }
        return (received.sorted { $0.0.app < $1.0.app }, sent.sorted { $0.0.app < $1.0.app })
    }
}

extension OutboundTransition {
    var answer: (changes: [DeliveryChange], effects: [OutboundEffect]) { (changes, effects) }
}

extension InboundTransition {
    var answer: (changes: [DeliveryChange], effects: [InboundEffect]) { (changes, effects) }
}
