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
    private var epochs: [UniqueIdentifier: UInt64] = [:]
    /// The pairings with a ready link, and the channels that both ends of it know.
    private var open: [UniqueIdentifier: Set<Channel>] = [:]
    /// How far the wall clock was ahead of the monotonic one when the queues last noted it; nil before the first queue.
    private var clockOffset: Int64?
    private var clockWasSet: [(ClockReading) -> Void] = []
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
        self.log = log
    }

    var reading: ClockReading { ClockReading(monotonic: scheduler.now, wall: scheduler.wallNow) }

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

    // MARK: the clock

    /// - Parameter clockWasSet: called when the wall clock was set while there are queues.
    func whenClockSet(_ clockWasSet: @escaping (ClockReading) -> Void) { self.clockWasSet.append(clockWasSet) }

    /// Watches the clock from the first queue on, once a minute.
    func watchClock() {
        guard clockOffset == nil else { return }
        clockOffset = Self.offset(reading)
        scheduleClock()
    }

    private func scheduleClock() {
        scheduler.schedule(after: .seconds(60)) { [weak self] in self?.noteClock() }
    }

    private func noteClock() {
        let reading = reading
        let offset = Self.offset(reading)
        if (offset - (clockOffset ?? offset)).magnitude > 1000 { for note in clockWasSet { note(reading) } }
        clockOffset = offset
        scheduleClock()
    }

    private static func offset(_ reading: ClockReading) -> Int64 {
        // Wall clocks are some 2 to the power of 41; one that is not does not overflow here.
        max(-(1 << 60), min(1 << 60, reading.wall.milliseconds)) - Int64(reading.monotonic.nanoseconds / 1_000_000)
    }
}
