// Shared state of both directions of durable delivery: the pairings with their epochs and links, the budgets, the clock
// watch, and the outlets to the daemon around it.

import TandemBase
import TandemDelivery
import TandemOperations
import TandemReactor
import TandemStore
import TandemWire

/// Turns of one user's reads of the store: those for its apps are bounded (SES-69).
package struct ReadTurns {
    /// Calls back when one more read may begin, perhaps at once; ``end`` must follow.
    let begin: (@escaping () -> Void) -> Void
    let end: () -> Void

    /// Every read begins at once.
    package static var none: ReadTurns { ReadTurns(begin: { $0() }, end: {}) }
}

/// Resources that submissions and arrivals share; confined to its loop.
final class DeliveryEnvironment {
    let store: LoopStore
    let scheduler: any Scheduler
    private let sink: LogHandler
    private var paces = LogPaces.ofLinks
    let limits: (Channel) -> DeliveryLimits
    let budgets: ItemBudgets
    /// The user of this device who owns an app; nil if unknown.
    let userOf: (ApplicationIdentifier) -> UInt32?
    let clock: ClockWatch
    let patience: CommitPatience
    // Unchecked, because nothing is called while it is touched; each item uses it.
    @exclusivity(unchecked) private var epochs: [UniqueIdentifier: UInt64] = [:]
    /// The ready links.
    private var links: [UniqueIdentifier: DeliveryLink] = [:]
    private var sendFrame: (Envelope, UniqueIdentifier) -> Void = { _, _ in }
    private var queuedBytes: (UniqueIdentifier) -> Int = { _ in 0 }
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
        patience = CommitPatience(scheduler)
        sink = log
    }

    /// Logs what peers and apps cause, in its pace (LIM-54).
    func log(_ event: LogEvent) {
        if let line = paces.admit(event, at: scheduler.now) { sink(line) }
    }

    /// Logs that the store cannot read back the body of an item, which is neither sent nor given to a handler (DEL-32).
    func bodyIsUnreadable(_ error: StoreError, in key: QueueKey) {
        log(
            LogEvent(
                .error, "the body of an item cannot be read",
                fields: key.fields + [.text("reason", error.description)]))
    }

    var reading: ClockReading { scheduler.reading }

    // MARK: outlets

    func connect(
        send: @escaping (Envelope, UniqueIdentifier) -> Void, queuedBytes: @escaping (UniqueIdentifier) -> Int,
        onEvent: @escaping (DeliveryEvent) -> Void
    ) {
        sendFrame = send
        self.queuedBytes = queuedBytes
        self.onEvent = onEvent
    }

    /// Answers a marker of the peer's (DEL-27).
    func answer(_ ping: PingFrame, over pairing: UniqueIdentifier) { sendFrame(ping.answer.envelope, pairing) }

    func report(_ event: DeliveryEvent) { onEvent(event) }

    // MARK: pairings

    func epoch(of pairing: UniqueIdentifier) -> UInt64? { epochs[pairing] }

    /// - Returns: the epoch before; nil for a new pairing.
    func setEpoch(_ epoch: UInt64, of pairing: UniqueIdentifier) -> UInt64? {
        epochs.updateValue(epoch, forKey: pairing)
    }

    func removePairing(_ pairing: UniqueIdentifier) {
        epochs[pairing] = nil
        linkClosed(pairing)
    }

    // MARK: links

    /// - Parameter channels: those that both ends know.
    func linkOpened(_ pairing: UniqueIdentifier, channels: Set<Channel>) {
        let path = DeliveryLink.Path(
            send: { [sendFrame] in sendFrame($0, pairing) }, queuedBytes: { [queuedBytes] in queuedBytes(pairing) })
        links.updateValue(DeliveryLink(path, channels: channels, scheduler: scheduler), forKey: pairing)?.close()
    }

    func linkClosed(_ pairing: UniqueIdentifier) { links.removeValue(forKey: pairing)?.close() }

    /// The pairing's ready link.
    func link(_ pairing: UniqueIdentifier) -> DeliveryLink? { links[pairing] }

    /// Whether frames of this queue can be sent now.
    func isOpen(_ key: QueueKey) -> Bool { links[key.pairing]?.channels.contains(key.channel) ?? false }
}

/// Has the queues note the clocks in their headers: within a minute after the wall clock was set, every LIM-135, and at
/// an orderly stop (DEL-26). Confined to its loop.
final class ClockWatch {
    private static let pause = Duration.seconds(60)
    /// The time after which the queues note the clock again (LIM-135).
    private static let longest = Duration.seconds(600)

    private let scheduler: any Scheduler
    /// The clocks at the last look; nil before the first queue.
    private var last: ClockReading?
    private var notedAt: MonotonicTime
    private var actions: [(_ isAtOnce: Bool) -> Void] = []

    init(_ scheduler: any Scheduler) {
        self.scheduler = scheduler
        notedAt = scheduler.now
    }

    private var reading: ClockReading { scheduler.reading }

    /// - Parameter action: notes the clock in the headers of queues: at once, or in several turns of the loop.
    func whenDue(_ action: @escaping (_ isAtOnce: Bool) -> Void) { actions.append(action) }

    /// The queues note the clock.
    /// - Parameter isAtOnce: in this turn of the loop, because there may be no other.
    func note(isAtOnce: Bool) {
        notedAt = scheduler.now
        for action in actions { action(isAtOnce) }
    }

    /// Looks at the clock from the first queue on, once a minute.
    func watch() {
        guard last == nil else { return }
        last = reading
        schedule()
    }

    private func schedule() { scheduler.schedule(after: Self.pause) { [weak self] in self?.look() } }

    private func look() {
        let reading = reading
        if last?.wasSet(by: reading) == true || reading.monotonic.since(notedAt) >= Self.longest {
            note(isAtOnce: false)
        }
        last = reading
        schedule()
    }
}
