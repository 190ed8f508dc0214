// Contexts and user infos by Apple's names. The calls return at once, as Apple's do; the delegate learns the result.

public import Foundation
import PairedSession
import Synchronization
import TandemBase
import TandemFiles
import TandemPropertyList
import TandemWire

extension WCSession {
    // MARK: contexts

    /// Replaces the context for the counterpart; the newest one is delivered when the counterpart can be reached. One
    /// that equals the last is not sent again.
    /// - Throws: ``WCError`` if it can be seen at once that it cannot be sent.
    public func updateApplicationContext(_ applicationContext: [String: Any]) throws {
        let session = try ready()
        let content = OutgoingContent(foundation: applicationContext)
        let submission = Submission(.context, to: nil, content)
        if let error = session.obstacle(to: submission) { throw WCError(error) }
        unansweredContext.withLock { $0 = UnansweredContext(submission, for: device?.pairing) }
        session.core.run { [weak self] core in
            core.submit(submission) { result in
                self?.unansweredContext.withLock { if $0?.id == submission.id { $0 = nil } }
                // Apple's call has no later error: it is not lost, it is in the log.
                guard case .failure(let error) = result else { return }
                PairedLog.write(LogEvent(.error, "the context was not sent", .text("reason", "\(error)")))
            }
        }
    }

    /// The context that was handed over last; empty if none was. If the daemon refuses it, it is again the last one
    /// that was accepted.
    public var applicationContext: [String: Any] {
        let unanswered = unansweredContext.withLock { $0 }?.context(for: device?.pairing)
        return (unanswered ?? counterpart?.applicationContext)?.foundationValue ?? [:]
    }

    /// The context that was received last; empty if never.
    public var receivedApplicationContext: [String: Any] {
        counterpart?.receivedApplicationContext?.foundationValue ?? [:]
    }

    // MARK: user infos

    /// Queues a dictionary for the counterpart: each arrives once, in order.
    /// - Returns: the transfer; `session(_:didFinish:error:)` tells its end, at the next launch if this process is
    ///   gone.
    @discardableResult
    public func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
        queue(userInfo, on: .userInfo)
    }

    /// Queues a dictionary for what the counterpart shows at a glance: within the day's budget it passes the others.
    @discardableResult
    public func transferCurrentComplicationUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
        queue(userInfo, on: .urgent)
    }

    /// Urgent user infos that may still pass the others today: known at activation, again a moment after each of them,
    /// and when the day is over. 0 without a pairing.
    public var remainingComplicationUserInfoTransfers: Int {
        urgentBudget.remaining(for: device?.pairing)
    }

    /// User infos that have not been stored on the other device, cancelled or given up.
    public var outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] { userInfos.outstanding }

    private func queue(_ userInfo: [String: Any], on channel: Channel) -> WCSessionUserInfoTransfer {
        let submission = Submission(channel, to: nil, OutgoingContent(foundation: userInfo))
        let id = submission.id
        let transfer = WCSessionUserInfoTransfer(id: id, userInfo: userInfo, isCurrent: channel == .urgent) {
            [weak self] in self?.takeBack(id, on: channel)
        }
        do throws(WCError) {
            let session = try ready()
            if let error = session.obstacle(to: submission) { throw WCError(error) }
            userInfos.add(transfer)
            session.core.run { [weak self] core in
                core.transfer(submission) { result in
                    switch result {
                    case .success(let accepted):
                        if channel == .urgent { self?.becameCurrent(transfer, for: accepted.pairing) }
                    case .failure(let error): self?.finished(id, Self.shown(error))
                    }
                    if channel == .urgent { self?.urgentBudget.learn(from: core) }
                }
            }
        } catch {
            userInfos.add(transfer)
            finished(id, error.underlyingError)
        }
        return transfer
    }

    /// The daemon has accepted an urgent item. Of those for one device the newest accepted one is current: one that is
    /// refused leaves the others as they are.
    private func becameCurrent(_ transfer: WCSessionUserInfoTransfer, for pairing: UniqueIdentifier) {
        let former = currentUrgent.withLock { current in
            defer { current[pairing] = [transfer.id] }
            return current[pairing] ?? []
        }
        for id in former { userInfos[id]?.replaced() }
    }

    /// Takes an item back, in any phase.
    /// - Parameter pairing: of an item that a former process queued.
    func takeBack(_ id: UniqueIdentifier, on channel: Channel, in pairing: UniqueIdentifier? = nil) {
        pairedSession?.core.run { $0.takeBack(id, on: channel, in: pairing) }
    }

    /// The error of an item that the daemon never accepted: a caller that takes one back learns the same in every phase
    /// of it.
    static func shown(_ error: SessionError) -> SessionError? {
        error.isNamed(.cancelled) ? TransferOutcome.cancelled.error : error
    }

    // MARK: before the process exits

    /// Blocks the calling thread until the process is drained, as the async form does. It may be called in a delegate's
    /// method: callbacks that become due meanwhile come after that method returns.
    ///
    /// The session works on a thread of its own, which calls the app only where the app has asked for that, such as
    /// `PairedSessionOptions.onMissingDaemon`. On that thread the answer is false at once: nothing could end the wait.
    @available(*, noasync, message: "write 'await'")
    public func drained(timeout: TimeInterval) -> Bool {
        if pairedSession?.core.isCurrent == true { return false }
        let ended = Semaphore()
        let isDrained = Mutex(false)
        drained(within: timeout) { result in
            isDrained.withLock { $0 = result }
            ended.signal()
        }
        ended.wait()
        return isDrained.withLock { $0 }
    }

    /// Waits until nothing that this process handed over before the call is left in it: this device's daemon has
    /// accepted each user info, context and file, or the item has failed (SES-89). It also waits until no `cancel()`
    /// that began before the call is pending (SES-84), or the daemon has refused the app for good. A process that exits
    /// before that can lose what it has just handed over. A call in another task or thread counts once it has returned.
    /// An edit of a synced setting of the installed configuration counts, too.
    ///
    /// The daemon has on disk what it has accepted, and delivers it without this process. It need not have reached the
    /// other device: `session(_:didFinish:error:)` reports that, in the next process if this one is gone. Messages are
    /// not waited for. The callback of a transfer that failed is queued when the wait ends; a context has none, and its
    /// failure is an error in the log (``/PairedSession/PairedLog``).
    ///
    /// After a lost daemon, what was not accepted is submitted again once an installed configuration has loaded
    /// (SES-70). Code that the load calls, such as an observer of the values, must not block on this wait: it would
    /// wait for itself until its timeout. Nor may an observer or a hook of a configuration with synced settings: the
    /// library looks at edits on the thread that calls it, and such a wait goes on without them after 30 s (LIM-8).
    /// - Parameter timeout: in seconds, at most 600 (LIM-8); without a daemon the wait goes on for so long.
    /// - Returns: false if the time is over, or the session was ended.
    public func drained(timeout: TimeInterval) async -> Bool {
        await withCheckedContinuation { continuation in
            drained(within: timeout) { continuation.resume(returning: $0) }
        }
    }

    private func drained(within timeout: TimeInterval, _ completion: @escaping @Sendable (Bool) -> Void) {
        // Without a session everything has failed.
        guard let session = pairedSession else { return completion(true) }
        let longest = Double(Limits.deadlineMilliseconds) / 1_000
        // Zero also for what is no number.
        let time = Duration.seconds(timeout > 0 ? min(timeout, longest) : 0)
        session.core.run { core in core.drained(within: time) { completion($0.isSuccess) } }
    }

    // MARK: what comes of them

    /// A step of an item, of a former process's too.
    func happened(_ event: TransferEvent) {
        let (error, isLast): (SessionError?, Bool) =
            switch event.step {
            case .stored: (nil, false)
            case .finished(let outcome): (outcome.error, true)
            }
        switch event.channel.content {
        case .file: fileFinished(event.id, error, isLast: isLast)
        case .userInfo: finished(event.id, error, isLast: isLast)
        // The next context takes its place.
        case .context, .settings, nil: return
        }
        guard isLast else { return }
        // Behind the delegate's method, which may have been queued when the item was stored (SES-85).
        deliver { session, _ in session.pairedSession?.core.run { $0.acknowledgeEnd(of: event.item) } }
    }

    private func finished(_ id: UniqueIdentifier, _ error: SessionError?, isLast: Bool = true) {
        let former = { WCSessionUserInfoTransfer(id: id, userInfo: [:], isCurrent: false) {} }
        guard let transfer = userInfos.end(id, isLast: isLast, former: former) else { return }
        deliver { $1.session($0, didFinish: transfer, error: error.map { WCError($0) }) }
    }

    /// Asks the daemon what it keeps of former processes: their transfers, and the rest of the budget. It sends the
    /// contexts ahead of its answers (SES-62). Once every question has its answer, or will have none, the session
    /// reports that.
    func learn(from core: isolated SessionActor, in round: Int) {
        var open = Transfer.Kind.allCases.count + 1
        let answered = { [weak core] in
            open -= 1
            if open == 0 { core?.assumeIsolated { $0.report(.learned(round)) } }
        }
        urgentBudget.learn(from: core, then: answered)
        for kind in Transfer.Kind.allCases {
            // Each page when it comes: the ends of its items come behind it, perhaps before the next page.
            let page = { [weak self] (items: [OutstandingTransfer]) in items.forEach { self?.learned($0) } }
            core.outstanding(kind, to: nil, page: page) { _ in answered() }
        }
    }

    private func learned(_ item: OutstandingTransfer) {
        switch item.kind {
        case .file: fileLearned(item)
        case .userInfo, .urgent: userInfoLearned(item)
        }
    }

    private func userInfoLearned(_ item: OutstandingTransfer) {
        guard item.state == .accepted else {
            // The item may have been stored while this process had no connection: no frame reports that later.
            if userInfos.isOutstanding(item.id) { finished(item.id, nil, isLast: false) }
            return
        }
        // Without a body it has ended while the daemon made the list, and no end of it follows.
        guard userInfos.isNew(item.id), let body = item.body else { return }
        let values = try? PropertyListReader.readDictionary(body)
        let channel: Channel = item.kind == .urgent ? .urgent : .userInfo
        userInfos.add(
            WCSessionUserInfoTransfer(
                id: item.id, userInfo: values?.foundationValue ?? [:], isCurrent: item.isCurrent
            ) { [weak self] in self?.takeBack(item.id, on: channel, in: item.pairing) })
        if item.isCurrent { currentUrgent.withLock { $0[item.pairing, default: []].append(item.id) } }
    }

    // MARK: receiving

    func arrived(_ item: DeliveredItem, _ token: HandlingToken) {
        deliverArrival(from: item.facts.pairing) { session, delegate in
            UnhandledReport.reset()
            switch item.channel.content {
            case .file: session.fileArrived(item, session, delegate)
            case .context: delegate.session(session, didReceiveApplicationContext: item.content.foundationValue)
            case .userInfo: delegate.session(session, didReceiveUserInfo: item.content.foundationValue)
            case .settings, nil: UnhandledReport.set()
            }
            if UnhandledReport.isSet { token.threw(.rejected(.unhandled)) } else { token.returned() }
        }
    }
}

/// The context that was handed over last, until the daemon has answered: an app that adds a key to what it sent last
/// must not lose the key that it added a moment before.
struct UnansweredContext: Sendable {
    let id: UniqueIdentifier
    private let pairing: UniqueIdentifier?
    private let body: [UInt8]

    init(_ submission: Submission, for pairing: UniqueIdentifier?) {
        (id, self.pairing, body) = (submission.id, pairing, submission.content.body)
    }

    /// The context; nil if it went to another counterpart.
    func context(for pairing: UniqueIdentifier?) -> PropertyListDictionary? {
        pairing == self.pairing ? try? PropertyListReader.readDictionary(body) : nil
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}

/// The rest of the day's urgent user infos, as the daemon said last. The daemon is asked again when the day is over, so
/// that the number recovers in an app that waits for that; usable from any thread.
final class UrgentBudget: Sendable {
    private struct State {
        var remaining = 0
        /// The pairing whose budget it is; nil before the first answer.
        var pairing: UniqueIdentifier?
        /// The number of the last question: only its answer counts, and decides when the next one is due.
        var question = 0
    }

    /// The wait after a question without an answer, and the longest one: a day.
    private static let retry = Duration.seconds(60)
    private static let longest = Duration.seconds(24 * 3600)

    private let state = Mutex(State())

    /// The rest of the budget of a pairing; 0 without one, and of another than the daemon has answered for.
    func remaining(for pairing: UniqueIdentifier?) -> Int {
        state.withLock { pairing != nil && $0.pairing == pairing ? $0.remaining : 0 }
    }

    /// Asks for the budget of the active pairing.
    /// - Parameter done: called once, with or without an answer.
    func learn(from core: isolated SessionActor, then done: @escaping () -> Void = {}) {
        let question = state.withLock { state in
            state.question += 1
            return state.question
        }
        let pairing = core.activePairing
        core.urgentBudget(of: nil) { [weak self, weak core] result in
            let answer = (try? result.get()).map { BudgetAnswer($0.body) }
            if let core { self?.answered(question, answer, of: pairing, from: core) }
            done()
        }
    }

    private func answered(
        _ question: Int, _ answer: BudgetAnswer?, of pairing: UniqueIdentifier?, from core: SessionActor
    ) {
        let isNewest = state.withLock { state in
            guard state.question == question else { return false }
            if let answer { (state.remaining, state.pairing) = (answer.remaining, pairing) }
            return true
        }
        core.assumeIsolated { core in
            // Without a daemon the next activation asks, and without a pairing the next counterpart is asked about.
            guard isNewest, core.activePairing != nil else { return }
            let wait = answer.map { min($0.resets, Self.longest) } ?? Self.retry
            guard wait > .zero else { return }
            core.schedule(after: wait) { [weak self] core in
                guard let self, state.withLock({ $0.question == question }) else { return }
                learn(from: core)
            }
        }
    }
}

/// A user info that was queued by ``WCSession/transferUserInfo(_:)`` or
/// ``WCSession/transferCurrentComplicationUserInfo(_:)``.
///
/// An app that puts a mutable object (`NSMutableArray`) into the user info must not change it afterwards.
///
/// `@unchecked`: the mutex `isCurrent` and that of `TransferCourse` protect what changes; all other properties are
/// constants.
public final class WCSessionUserInfoTransfer: NSObject, BookedTransfer, @unchecked Sendable {
    /// The queued user info. Empty for an item of a former process that the other device has stored: its content is
    /// gone from this one. Such an item may finish a second time, once in each process.
    public let userInfo: [String: Any]
    let id: UniqueIdentifier
    let course: TransferCourse
    private let isCurrent: Mutex<Bool>

    init(
        id: UniqueIdentifier, userInfo: [String: Any], isCurrent: Bool, cancel: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.userInfo = userInfo
        course = TransferCourse(takeBack: cancel)
        self.isCurrent = Mutex(isCurrent)
    }

    /// The newest of the items for the complication of one device.
    public var isCurrentComplicationInfo: Bool { isCurrent.withLock { $0 } }

    /// Neither stored on the other device, nor failed, nor cancelled.
    public var isTransferring: Bool { course.isOpen }

    /// Takes the item back if no handler on the other device has it; `session(_:didFinish:error:)` tells how it ended.
    /// Until then it is transferring, also when the other device has stored it.
    public func cancel() { course.cancel() }

    /// A newer item for the complication of its device was accepted.
    func replaced() { isCurrent.withLock { $0 = false } }
}
