// The durable channels of all pairings: it gives events to the Delivery room's machines, commits what they answer, and
// turns their effects into frames. The rules are theirs, the bytes in the store are theirs; who handles an item is the
// delegate's.

package import TandemBase
package import TandemDelivery
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
    let limits: (Channel) -> DeliveryLimits
    var budgets: ItemBudgets
    /// The queues that had no room for what came last.
    var full: Set<QueueKey> = []
    /// The user of this device who owns an app; nil if nobody is known.
    package var userOf: (ApplicationIdentifier) -> UInt32? = { _ in nil }
    var outbound: [QueueKey: OutboundLane] = [:]
    var inbound: [QueueKey: InboundLane] = [:]
    /// What hello may tell: the highest sequence whose commit is done.
    var committed: [QueueKey: UInt64] = [:]
    /// The pairings known, and their epochs.
    private var epochs: [UniqueIdentifier: UInt64] = [:]
    /// The pairings with a ready link, and the channels that both ends of it know.
    var open: [UniqueIdentifier: Set<Channel>] = [:]
    /// The applications that take items now, and from which channels.
    var consumers: [ApplicationIdentifier: Set<Channel>] = [:]
    /// Contexts that came and were not newer than what was there (DEL-20).
    let staleContexts: Counter
    /// How far the wall clock was ahead of the monotonic one when the queues last noted it.
    var clockOffset: Int64?

    package init(
        store: LoopStore, scheduler: any Scheduler, channels: Set<Channel> = Set(Channel.allCases),
        limits: @escaping (Channel) -> DeliveryLimits = DeliveryLimits.standard,
        budgets: ItemBudgetLimits = ItemBudgetLimits(), counters: Counters = Counters(),
        log: @escaping LogHandler = { _ in }
    ) {
        staleContexts = counters.counter("contexts.stale")
        self.store = store
        self.channels = channels
        self.limits = limits
        self.budgets = ItemBudgets(budgets)
        self.scheduler = scheduler
        self.log = log
    }

    var reading: Reading { Reading(monotonic: scheduler.now, wall: scheduler.wallNow) }

    // MARK: pairings

    /// A pairing exists in this epoch. Another epoch than before starts its numbering anew.
    package func setPairing(_ pairing: UniqueIdentifier, epoch: UInt64) {
        let before = epochs.updateValue(epoch, forKey: pairing)
        guard let before, before != epoch else { return }
        for (key, lane) in outbound where key.pairing == pairing { lane.perform { [unowned self] in catchUp(&$0) } }
        for (key, lane) in inbound where key.pairing == pairing {
            committed[key] = 0
            lane.perform { [unowned self] in catchUp(&$0) }
        }
    }

    /// A pairing is gone: its queues go with it. The caller commits ``removal(of:)``.
    package func removePairing(_ pairing: UniqueIdentifier) {
        epochs[pairing] = nil
        open[pairing] = nil
        for key in Array(outbound.keys) where key.pairing == pairing { outbound.removeValue(forKey: key)?.end() }
        for key in Array(inbound.keys) where key.pairing == pairing { inbound.removeValue(forKey: key)?.end() }
        committed = committed.filter { $0.key.pairing != pairing }
        budgets.remove(pairing)
        full = full.filter { $0.pairing != pairing }
    }

    /// The rows to delete together with a pairing.
    package static func removal(of pairing: UniqueIdentifier) -> [RowChange] {
        DeliveryTable.allCases.map { .deleteAll(.prefix(QueueKey.prefix(of: pairing), in: $0.space)) }
    }

    func epoch(of pairing: UniqueIdentifier) -> UInt64? { epochs[pairing] }

    /// Whether frames of this queue can go out now.
    func isOpen(_ key: QueueKey) -> Bool { open[key.pairing]?.contains(key.channel) ?? false }

    /// The outbound queues of an application in a pairing.
    func lanes(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> [OutboundLane] {
        Channel.allCases.compactMap { outbound[QueueKey(pairing: pairing, app: app, channel: $0)] }
    }

    // MARK: the clock

    /// Lets the queues go on from their own time if the wall clock was set; once a minute while there are any.
    func noteClock() {
        guard clockOffset != nil else { return }
        let reading = reading
        let offset = Self.offset(reading)
        if (offset - (clockOffset ?? offset)).magnitude > 1000 {
            for lane in outbound.values { lane.perform { $0.noteClock(at: reading).answer } }
            for lane in inbound.values { lane.perform { $0.noteClock(at: reading).answer } }
        }
        clockOffset = offset
        scheduler.schedule(after: .seconds(60)) { [weak self] in self?.noteClock() }
    }

    /// Begins to watch the clock, with the first queue.
    func watchClock() {
        guard clockOffset == nil else { return }
        clockOffset = Self.offset(reading)
        scheduler.schedule(after: .seconds(60)) { [weak self] in self?.noteClock() }
    }

    private static func offset(_ reading: Reading) -> Int64 {
        // Wall clocks are some 2 to the power of 41; one that is not does not overflow here.
        max(-(1 << 60), min(1 << 60, reading.wall.milliseconds)) - Int64(reading.monotonic.nanoseconds / 1_000_000)
    }
}

extension OutboundTransition {
    var answer: LaneAnswer<OutboundEffect> { LaneAnswer(changes: changes, effects: effects) }
}

extension InboundTransition {
    var answer: LaneAnswer<InboundEffect> { LaneAnswer(changes: changes, effects: effects, atOnce: atOnce) }
}
