// Messages on their way out: requests until their answer, notes (messages without a reply) as long as their failure can
// still be reported. Each completes exactly once: by its answer, its deadline or the loss of its way. While the daemon
// does not read, they wait in the connection's queue, where a deadline still ends them.

import Synchronization
import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// The open messages of one session; confined to its scheduler.
final class RequestTable {
    private let daemon: DaemonChannel
    private let scheduler: any Scheduler
    private let counts: SessionCounts
    private let timer: DeadlineTimer
    private var requests = PendingRequests<Completion<[UInt8]>>(capacity: Limits.openRequests)
    private var notes = PendingRequests<Completion<[UInt8]>>(capacity: Limits.openRequests)
    /// Notes that are queued for a daemon that does not read: bounded (LIM-7), because their callers need not wait.
    private var waitingNotes = 0

    init(daemon: DaemonChannel, scheduler: any Scheduler, counts: SessionCounts) {
        self.daemon = daemon
        self.scheduler = scheduler
        self.counts = counts
        timer = DeadlineTimer(on: scheduler)
        timer.onDeadline = { [weak self] in self?.expire() }
    }

    /// Some request waits for its answer.
    var hasRequests: Bool { requests.count > 0 }

    /// Sends a message that wants a reply.
    /// - Parameters:
    ///   - followsActive: sent by the default session: a switch ends it.
    ///   - reply: called once.
    func request(
        _ frame: Frame, _ id: UniqueIdentifier, to pairing: UniqueIdentifier, followsActive: Bool, timeout: Duration,
        reply: @escaping Completion<[UInt8]>
    ) {
        let deadline = scheduler.now + timeout
        guard requests.open(id, to: pairing, deadline: deadline, followsActive: followsActive, token: reply) else {
            return reply(.failure(.tooManyRequests(id)))
        }
        timer.watch(deadline)
        daemon.enqueue(
            Outgoing(id: id, frame: frame, follows: followsActive ? pairing : nil) { [weak self] in
                self?.renewed(frame, id)
            })
    }

    /// Sends a message without a reply. Beyond the capacity of the table a failure that comes back is not reported.
    /// - Parameters:
    ///   - given: called once, when the message was sent or never will be: 7001 `too-many-requests` while too many
    ///     wait for the daemon to read (LIM-7), 7012 for one that has waited beyond its deadline.
    ///   - laterFailure: called at most once, for a failure that comes back.
    func note(
        _ frame: Frame, _ id: UniqueIdentifier, to pairing: UniqueIdentifier, followsActive: Bool,
        given: @escaping Completion<[UInt8]>, laterFailure: ((SessionError) -> Void)?
    ) {
        // However many one turn brings, all leave at its end if the daemon reads.
        guard waitingNotes < Limits.openRequests || !daemon.isBlocked else {
            return given(.failure(.tooManyRequests(id)))
        }
        waitingNotes += 1
        let ended: Completion<[UInt8]> = { [weak self] result in
            self?.waitingNotes -= 1
            if case .failure = result { _ = self?.notes.abandoned(id) }
            given(result)
        }
        let deadline = scheduler.now + Limits.standardDeadline
        let counts = counts
        let laterFailure = laterFailure ?? { _ in counts.countUnobservedFailure() }
        let waiter: Completion<[UInt8]> = { if case .failure(let error) = $0 { laterFailure(error) } }
        _ = notes.open(id, to: pairing, deadline: deadline, token: waiter)
        timer.watch(deadline)
        daemon.enqueue(
            Outgoing(
                id: id, frame: frame, follows: followsActive ? pairing : nil, deadline: deadline,
                renewed: { [weak self] in self?.renewed(frame, until: deadline) ?? frame }, sent: ended))
    }

    /// The caller gives up: its request completes now, and an answer that still comes is dropped.
    func abandon(_ id: UniqueIdentifier) { requests.abandoned(id)?(.failure(.cancelled(id))) }

    func answered(_ id: UniqueIdentifier, from pairing: UniqueIdentifier, _ answer: Result<[UInt8], SessionError>) {
        if case .failure = answer, let note = notes.answered(id, from: pairing) { return note(answer) }
        guard let request = requests.answered(id, from: pairing) else { return counts.countLateReply() }
        request(answer)
    }

    // MARK: ends without an answer

    /// Fails everything: the daemon is lost, or the session ends.
    func failAll(_ error: SessionError) {
        let unsent = daemon.removeAllQueued()
        for outgoing in unsent { _ = notes.abandoned(outgoing.id) }
        for waiter in requests.closedAll() + notes.closedAll() + unsent.compactMap(\.sent) { waiter(.failure(error)) }
    }

    /// Fails every request to a pairing that is gone. Messages without reply stay: the daemon reports those that did
    /// not leave.
    func fail(to pairing: UniqueIdentifier, _ error: SessionError) {
        for waiter in requests.closed(pairing: pairing) { waiter(.failure(error)) }
    }

    /// Fails what the default session asked of a counterpart that it leaves, and what has not been sent. Notes that
    /// have left did not fail.
    func failFollowers(of pairing: UniqueIdentifier, _ error: SessionError) {
        let unsent = daemon.removeQueued(following: pairing)
        for outgoing in unsent { _ = notes.abandoned(outgoing.id) }
        for waiter in requests.left(pairing: pairing) + unsent.compactMap(\.sent) { waiter(.failure(error)) }
    }

    private func expire() {
        daemon.endDue()
        _ = notes.expired(now: scheduler.now)
        let late = requests.expired(now: scheduler.now)
        if let next = [requests.nextDeadline, notes.nextDeadline].compactMap(\.self).min() { timer.watch(next) }
        for waiter in late { waiter(.failure(.timedOut(nil))) }
    }

    /// After a wait the frame carries the time that its sender still waits; nil for a request that has ended.
    private func renewed(_ frame: Frame, _ id: UniqueIdentifier) -> Frame? {
        requests.deadline(of: id).map { renewed(frame, until: $0) }
    }

    private func renewed(_ frame: Frame, until deadline: MonotonicTime) -> Frame {
        guard deadline > scheduler.now, var envelope = try? Envelope(reading: frame) else { return frame }
        envelope[.deadline] = max(deadline.since(scheduler.now), Limits.deadline.lowerBound)
        return (try? envelope.frame()) ?? frame
    }
}

/// Counts of one session since it was opened, of events that would otherwise leave no trace (SES-9). A
/// developer sees from them that a deadline is too short before users do.
public struct SessionStatistics: Sendable, Equatable {
    /// Replies and failures that arrived after their message had ended: by its deadline, by a switch, or given up.
    public let lateReplies: UInt64
    /// Failures of messages without reply whose sender gave no handler for them.
    public let unobservedFailures: UInt64
}

/// The counters behind ``SessionStatistics``; usable from any thread.
final class SessionCounts: Sendable {
    private let lateReplies = Atomic<UInt64>(0)
    private let unobservedFailures = Atomic<UInt64>(0)

    func countLateReply() { lateReplies.wrappingAdd(1, ordering: .relaxed) }

    func countUnobservedFailure() { unobservedFailures.wrappingAdd(1, ordering: .relaxed) }

    var statistics: SessionStatistics {
        SessionStatistics(
            lateReplies: lateReplies.load(ordering: .relaxed),
            unobservedFailures: unobservedFailures.load(ordering: .relaxed)
        )
    }
}
