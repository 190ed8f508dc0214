// Following a daemon's trace (CTL-20): who waits for the next event, and how long messages are traced. It forgets a
// follower that does not come back, so that the relay pays for nobody.

import TandemReactor

/// Who waits for the next events, and until when messages are traced; confined to the node's loop.
final class Tracing {
    /// Messages are traced for this long after the last request that asked for them (LIM-35).
    static var lease: Duration { .seconds(60) }
    /// Events in one answer (LIM-35).
    static var eventsAtOnce: Int { 256 }

    let log: TraceLog
    private let scheduler: any Scheduler
    private var waiting: [(number: Int, answer: () -> Void)] = []
    private var lastNumber = 0
    private var isTelling = false
    private var leaseTimer: TimerToken?

    init(_ scheduler: any Scheduler) {
        self.scheduler = scheduler
        log = TraceLog(scheduler)
        log.onEvent = { [weak self] in self?.eventCame() }
    }

    /// Calls back once: at the end of the turn in which the next event comes, or when the time is over.
    func wait(_ time: Duration, then answer: @escaping () -> Void) {
        lastNumber += 1
        let number = lastNumber
        waiting.append((number, answer))
        scheduler.schedule(after: time) { [weak self] in
            guard let self, let place = waiting.firstIndex(where: { $0.number == number }) else { return }
            waiting.remove(at: place).answer()
        }
    }

    private func eventCame() {
        guard !waiting.isEmpty, !isTelling else { return }
        isTelling = true
        scheduler.atEndOfTurn { [self] in
            isTelling = false
            let told = waiting
            waiting = []
            for follower in told { follower.answer() }
        }
    }

    /// Traces the relay's messages from now on, for as long as somebody asks again; or not any more.
    func setMessages(_ isOn: Bool, of relay: Relay) {
        if let leaseTimer { scheduler.cancel(leaseTimer) }
        leaseTimer = nil
        relay.trace = isOn ? log : nil
        guard isOn else { return }
        leaseTimer = scheduler.schedule(after: Self.lease) { [weak relay] in relay?.trace = nil }
    }
}
