// Shared state of both directions of durable delivery: the pairings with their epochs and links, the budgets, the clock
// watch, and the outlets to the daemon around it.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemStore
import TandemWire

/// Resources that submissions and arrivals share; confined to its loop.
final class DeliveryEnvironment {
    let store: LoopStore
    let scheduler: any Scheduler
    let log: LogHandler
    let limits: (Channel) -> DeliveryLimits
    let budgets: ItemBudgets
    /// The user of this device who owns an app; nil if unknown.
    let userOf: (ApplicationIdentifier) -> UInt32?
    let clock: ClockWatch
    private var epochs: [UniqueIdentifier: UInt64] = [:]
    /// The pairings with a ready link, and the channels that both ends of it know.
    private var open: [UniqueIdentifier: Set<Channel>] = [:]
    private var sendFrame: (Envelope, UniqueIdentifier) -> Void = { _, _ in }
    private var onEvent: (DeliveryEvent) -> Void = { _ in }

    init(
        store: LoopStore, scheduler: any Scheduler, limits: @escaping (Channel) -> DeliveryLimits,
        budgets: ItemBudgets, userOf: @escaping (ApplicationIdentifier) -> UInt32?, log: @escaping LogHandler
    ) {
        self.store = store
        self.scheduler = scheduler
        self.limits = limits
        self.budgets = budgets
        self.userOf = userOf
        clock = ClockWatch(scheduler)
        self.log = log
    }

    var reading: ClockReading { clock.reading }

    // MARK: outlets

    func connect(
        send: @escaping (Envelope, UniqueIdentifier) -> Void, onEvent: @escaping (DeliveryEvent) -> Void
    ) {
        sendFrame = send
        self.onEvent = onEvent
    }

    /// Sends over the pairing's link; a frame for a pairing without a link is dropped, since opening one repeats it.
    func send(_ envelope: Envelope, over pairing: UniqueIdentifier) { sendFrame(envelope, pairing) }

    func report(_ event: DeliveryEvent) { onEvent(event) }

    // MARK: pairings

    func epoch(of pairing: UniqueIdentifier) -> UInt64? { epochs[pairing] }

    /// - Returns: the epoch before; nil for a new pairing.
    func setEpoch(_ epoch: UInt64, of pairing: UniqueIdentifier) -> UInt64? {
        epochs.updateValue(epoch, forKey: pairing)
    }

    func removePairing(_ pairing: UniqueIdentifier) {
        epochs[pairing] = nil
        open[pairing] = nil
    }

    func linkOpened(_ pairing: UniqueIdentifier, channels: Set<Channel>) { open[pairing] = channels }
    func linkClosed(_ pairing: UniqueIdentifier) { open[pairing] = nil }

    /// Whether frames of this queue can be sent now.
    func isOpen(_ key: QueueKey) -> Bool { open[key.pairing]?.contains(key.channel) ?? false }
}
