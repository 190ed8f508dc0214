// Handovers of a session on its loop, with the timers of the callers that wait for them (SES-89).

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

    private let scheduler: any Scheduler
    private var handovers = Handovers<Caller>()

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

    /// The session ends.
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
