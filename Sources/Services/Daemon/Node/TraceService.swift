// Trace of a daemon (CTL-20): it notes and counts the steps of messages and items, and resumes the requests that follow
// them. The relay stops tracing messages some time after the last request that asked for them.

import TandemBase
import TandemOperations
import TandemReactor
import TandemWire

/// The trace of one daemon; confined to its loop.
final class TraceService {
    /// Messages are traced for this long after the last request that asked for them (LIM-35).
    private static var lease: Duration { .seconds(60) }
    /// Events in one answer (LIM-35).
    static var eventsAtOnce: Int { 256 }

    let log: TraceLog
    private let scheduler: any Scheduler
    /// Of durable items, by how far they came.
    private let counters: (accepted: Counter, sent: Counter, arrived: Counter, delivered: Counter, handled: Counter)
    private var followers: [Expectation<Void>] = [] {
        didSet { log.onEvent = followers.isEmpty ? nil : { [weak self] in self?.resumeFollowers() } }
    }
    private var isResuming = false
    private var leaseTimer: TimerToken?

    init(_ scheduler: any Scheduler, counters: Counters) {
        self.scheduler = scheduler
        self.counters = (
            counters.counter("items.accepted"), counters.counter("items.sent"), counters.counter("items.arrived"),
            counters.counter("items.delivered"), counters.counter("items.handled")
        )
        log = TraceLog(scheduler)
    }

    /// Notes a step of a durable item between an app and this device.
    func note(_ event: TraceEvent) {
        log.note(event)
        switch event.step {
        case .accepted: counters.accepted.add()
        case .sent: counters.sent.add()
        case .arrived: counters.arrived.add()
        case .delivered: counters.delivered.add()
        case .handled: counters.handled.add()
        case .stored, .answered, .ended, .failed, .acknowledged: break
        }
    }

    /// Notes a frame of a durable channel that this device sent to the peer or received from it.
    func note(_ envelope: Envelope, isSent: Bool) {
        guard let step = TraceEvent.Step(envelope.kind, isSent: isSent), let queue = try? envelope.queue() else {
            return
        }
        // The frames of the item's sender travel in the direction of the item; those of its receiver the other way.
        let isOfSender = envelope.kind == .item || envelope.kind == .gap || envelope.kind == .outcomeAck
        note(
            TraceEvent(
                step, id: envelope[.id], pairing: queue.pairing, app: queue.app, channel: queue.channel,
                sequence: envelope[.sequence], isOutbound: isSent == isOfSender, detail: detail(of: envelope)))
    }

    /// The outcome of an item; cut, because it is a peer's word.
    private func detail(of envelope: Envelope) -> String? {
        switch envelope.kind {
        case .outcome, .gap: (envelope[.name] as String?).map { $0.cutForAnswer() }
        default: nil
        }
    }

    // MARK: followers

    /// Returns at the end of the turn in which the next event comes, or when the time is over.
    func waitForEvent(atMost time: Duration) async {
        let event = Expectation<Void>(on: scheduler)
        followers.append(event)
        await event.value(within: time)
        followers.removeAll { $0 === event }
    }

    private func resumeFollowers() {
        guard !isResuming else { return }
        isResuming = true
        scheduler.atEndOfTurn { [self] in
            isResuming = false
            for follower in followers { follower.fulfil(()) }
        }
    }

    /// Traces the relay's messages from now on until the lease ends; or no longer.
    func setMessages(_ isOn: Bool, of relay: Relay) {
        if let leaseTimer { scheduler.cancel(leaseTimer) }
        leaseTimer = nil
        relay.trace = isOn ? log : nil
        guard isOn else { return }
        leaseTimer = scheduler.schedule(after: Self.lease) { [weak relay] in relay?.trace = nil }
    }
}

extension TraceEvent.Step {
    fileprivate init?(_ kind: FrameKind, isSent: Bool) {
        switch kind {
        case .item: self = isSent ? .sent : .arrived
        case .stored: self = .stored
        case .outcome, .gap: self = .ended
        case .outcomeAck: self = .acknowledged
        default: return nil
        }
    }
}
