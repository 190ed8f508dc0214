// Receivers of arrived messages (SES-34). Receivers may register late, one after the other: a message that none takes
// yet waits, in order and bounded, while the app is still starting; after that its sender learns at once that nobody
// handles it (SES-12).

import TandemBase
import TandemReactor
import TandemWire

/// The receivers of one host app and the messages that wait for them; confined to the session's scheduler.
final class MessageInbox {
    /// The kind of content that a receiver takes.
    enum Kind: Sendable {
        case dictionary
        case data
        case any
    }

    /// Which messages a receiver is for.
    struct Interest: Sendable {
        /// nil: those that no receiver of their own pairing takes.
        let pairing: UniqueIdentifier?
        private(set) var kind = Kind.any
        /// nil: those without topic, and those whose topic nobody takes.
        let topic: String?
    }

    private struct Receiver {
        let number: UInt64
        let interest: Interest
        let take: (ReceivedMessage) -> Void
        /// The session is over: no further message will come.
        let ended: () -> Void
    }

    private struct Waiting {
        let message: ReceivedMessage
        /// When its sender stops waiting.
        let deadline: MonotonicTime

        func expiry(_ startedAt: MonotonicTime?) -> MonotonicTime { startedAt.map { min($0, deadline) } ?? deadline }
    }

    private let scheduler: any Scheduler
    private let timer: DeadlineTimer
    private var receivers: [Receiver] = []
    private var waiting: [Waiting] = []
    private var nextNumber: UInt64 = 0
    /// When the app counts as started; nil before its activation and its first receiver or handler.
    private var startedAt: MonotonicTime?

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
        timer = DeadlineTimer(on: scheduler)
        timer.onDeadline = { [weak self] in self?.expire() }
    }

    /// Passes a message to its receivers, or queues it; answers it with a failure where neither is possible.
    func arrived(_ message: ReceivedMessage) {
        let (now, takers) = (scheduler.now, takers(of: message))
        guard takers.isEmpty else { return takers.forEach { $0.take(message) } }
        if let startedAt, now >= startedAt { return }  // dropping the message answers it
        guard message.isConfiguration || waiting.count < ReceivedMessage.waitingAtMost else {
            return message.refuseFull()
        }
        waiting.append(Waiting(message: message, deadline: now + (message.deadline ?? Limits.standardDeadline)))
        watch()
    }

    /// The app has registered no receiver yet, or has taken back all of them.
    var hasNoReceiver: Bool { receivers.isEmpty }

    /// Adds a receiver and passes it what waited for one like it, in order; returns its number.
    func add(
        _ interest: Interest, take: @escaping (ReceivedMessage) -> Void, ended: @escaping () -> Void
    ) -> UInt64 {
        let now = scheduler.now
        nextNumber += 1
        receivers.append(Receiver(number: nextNumber, interest: interest, take: take, ended: ended))
        let before = waiting
        waiting = []
        for waiting in before {
            let takers = takers(of: waiting.message)
            guard !takers.isEmpty else {
                self.waiting.append(waiting)
                continue
            }
            let message = waiting.message.remaining(waiting.deadline.since(now))
            takers.forEach { $0.take(message) }
        }
        watch()
        return nextNumber
    }

    /// The app is at its start, within which it registers all of its receivers.
    func starts() {
        startedAt = scheduler.now + Limits.startingTime
        watch()
    }

    /// Without any receiver the app is at its start again.
    func remove(_ number: UInt64) {
        receivers.removeAll { $0.number == number }
        if receivers.isEmpty { starts() }
    }

    /// Drops everything, which answers the messages that wait.
    func removeAll() {
        let leaving = receivers
        receivers = []
        waiting = []
        for receiver in leaving { receiver.ended() }
    }

    /// The connection is lost: requests can no longer be answered, and their senders have got an error.
    func forgetRequests() { waiting.removeAll { $0.message.wantsReply } }

    /// Limits the wait of messages that no receiver takes (SES-34).
    private func watch() {
        guard let next = waiting.map({ $0.expiry(startedAt) }).min() else { return }
        timer.watch(next)
    }

    /// Drops messages that have waited long enough, which answers them.
    private func expire() {
        let (now, startedAt) = (scheduler.now, startedAt)
        waiting.removeAll { $0.expiry(startedAt) <= now }
        watch()
    }

    private func takers(of message: ReceivedMessage) -> [Receiver] {
        receivers.filter { $0.interest.kind.takes(message.content) }
            .takers(through: message.pairing, of: message.topic) { ($0.interest.pairing, $0.interest.topic) }
    }
}

extension Array {
    /// The handlers that get an arrival with this topic, which came through a pairing (SES-53): those bound to the
    /// pairing before those of the default session, and in both those of the topic before those without one.
    func takers(
        through pairing: UniqueIdentifier, of topic: String?,
        by interest: (Element) -> (pairing: UniqueIdentifier?, topic: String?)
    ) -> [Element] {
        for pairing in [pairing, nil] as [UniqueIdentifier?] {
            for topic in topic == nil ? [nil] : [topic, nil] {
                let takers = filter { interest($0).pairing == pairing && interest($0).topic.isTopic(topic) }
                if !takers.isEmpty { return takers }
            }
        }
        return []
    }
}

extension String? {
    /// Whether both name the same topic, byte by byte, or none.
    func isTopic(_ other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.utf8.elementsEqual(other.utf8)
    }
}

extension MessageInbox.Kind {
    fileprivate func takes(_ content: ReceivedMessage.Content) -> Bool {
        switch (self, content) {
        case (.any, _), (.dictionary, .dictionary), (.data, .data): true
        case (.dictionary, .data), (.data, .dictionary): false
        }
    }
}

extension ReceivedMessage {
    /// Messages that wait at once for a receiver: an app registers its handlers within its first moments.
    package static var waitingAtMost: Int { 256 }

    /// The receiver's queue is full (bounded memory): the sender may try again later.
    package func refuseFull() {
        refuse(
            SessionError(
                .deliveryFailed, .inboxFull, reason: "the counterpart has too many unread messages",
                limit: ReceivedMessage.waitingAtMost, isRetryable: true))
    }
}
