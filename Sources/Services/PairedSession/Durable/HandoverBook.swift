// Handovers of a session on its loop, edits of synced settings among them, with the timers of the callers that wait for
// them (SES-89).

import TandemReactor
import TandemSession
import TandemWire

/// The open handovers of a session, and the callers that wait for them (SES-89); confined to the session's loop.
final class HandoverBook {
    private struct Caller {
        /// Ends its wait; nil: it waits as long as its task.
        let timer: TimerToken?
        let completion: Completion<Void>
    }

    /// An edit of a synced setting that its library has not looked at yet, or whose body is on its way.
    private struct Edit {
        let number: UInt64
        /// Runs until the library has looked.
        var timer = PendingTimer()
    }

    private let scheduler: any Scheduler
    private var handovers = Handovers<Caller>()
    private var edits: [UInt64: Edit] = [:]

    init(scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Counts a handover until its completion, which is called once.
    func track<Value>(_ completion: @escaping Completion<Value>) -> Completion<Value> {
        let number = handovers.begin()
        return { [weak self] result in
            completion(result)
            self?.ended(number)
        }
    }

    private func ended(_ number: UInt64) {
        for caller in handovers.ended(number) { complete(caller, .success(())) }
    }

    /// Counts an edit of a synced setting from the edit on; the library looks at it on another thread. Code that blocks
    /// that thread on the wait would wait for itself, so that an edit counts for the time of LIM-8 without a look.
    /// - Parameter edit: a number that no other edit has.
    func begin(edit: UInt64) {
        var begun = Edit(number: handovers.begin())
        begun.timer.token = scheduler.schedule(after: Limits.standardDeadline) { [weak self] in self?.end(edit: edit) }
        edits[edit] = begun
    }

    /// The library has looked, and submits the body that has the edit.
    func submits(edit: UInt64) { edits[edit]?.timer.cancel(on: scheduler) }

    /// The daemon has accepted the body or refused it, or there is nothing to submit.
    func end(edit: UInt64) {
        guard var over = edits.removeValue(forKey: edit) else { return }
        over.timer.cancel(on: scheduler)
        ended(over.number)
    }

    /// Waits until the handovers that are open now have ended.
    /// - Parameters:
    ///   - timeout: ends the wait with 7012; nil: nothing does.
    ///   - completion: called once; at once if none is open.
    func wait(_ caller: UInt64, within timeout: Duration?, _ completion: @escaping Completion<Void>) {
        let timer = timeout.map { timeout in
            scheduler.schedule(after: timeout) { [weak self] in self?.stopWaiting(caller, .notDrained) }
        }
        let waiting = Caller(timer: timer, completion: completion)
        if !handovers.wait(caller, token: waiting) { complete(waiting, .success(())) }
    }

    /// A caller waits no longer; what it waited for goes on.
    func stopWaiting(_ caller: UInt64, _ error: SessionError) {
        if let waiting = handovers.stopWaiting(caller) { complete(waiting, .failure(error)) }
    }

    func failAll(_ error: SessionError) {
        for waiting in handovers.stopWaiting() { complete(waiting, .failure(error)) }
    }

    private func complete(_ caller: Caller, _ result: Result<Void, SessionError>) {
        if let timer = caller.timer { scheduler.cancel(timer) }
        caller.completion(result)
    }
}

extension SessionError {
    /// The caller's time is over, and the daemon has not accepted everything (SES-89).
    fileprivate static var notDrained: SessionError {
        SessionError(
            .messageReplyTimedOut, reason: "the daemon has not accepted everything in time; is it running?",
            messageID: nil, isRetryable: true)
    }
}
