// Wait of a process that is about to exit, until its daemon has what the process handed over (SES-89).

import TandemBase
import TandemSession
public import TandemWire

extension PairedSession {
    /// Waits until nothing that this process submitted before the call is left in it: this device's daemon has accepted
    /// each user info, urgent item, context and file, or the item has failed (SES-89).
    ///
    /// A process may exit then: what was accepted is on this device's disk, and is delivered by the daemon
    /// (``AcknowledgementLevel/accepted``). It need not have reached the other device, which
    /// ``Transfer/reached(_:)`` tells, and nothing is said about messages. An item that failed is reported where it was
    /// submitted. A call that returns when its item is accepted needs no wait; a file that was begun
    /// (``beginFileTransfer(_:metadata:options:)``) and calls in other tasks do. All sessions that share a connection
    /// are drained together.
    /// - Parameter timeout: how long this caller waits, 1 ms to 600 s (LIM-8); nil: as long as its task is not
    ///   cancelled. Without a daemon the wait goes on, because what was not accepted is submitted to the next one.
    /// - Throws: 7008 `timeout` for one out of its range; 7012 after the timeout; 7001 `cancelled`; 7004 `ended`.
    public func drained(timeout: Duration? = nil) async throws(SessionError) {
        if let timeout, !Limits.deadline.contains(timeout) {
            throw SessionError(.badArgument(.timeout), messageID: nil)
        }
        let number = UInt64.random(in: .min ... .max)
        try await core.result(cancel: { $0.stopDraining(number, .cancelled(nil)) }) { core, completion in
            core.drained(waiter: number, within: timeout, completion)
        }
    }
}

extension SessionActor {
    /// Waits as ``PairedSession/drained(timeout:)`` does.
    /// - Parameter completion: called once; at once if nothing is left.
    package func drained(
        waiter number: UInt64 = .random(in: .min ... .max), within timeout: Duration?,
        _ completion: @escaping Completion<Void>
    ) {
        if hasEnded { return completion(.failure(SessionError(.ended, messageID: nil))) }
        guard transfers.waitForHandovers(number, completion), let timeout else { return }
        schedule(after: timeout) { $0.stopDraining(number, .notDrained) }
    }

    /// A caller of `drained` waits no longer; what it waited for goes on.
    func stopDraining(_ number: UInt64, _ error: SessionError) {
        transfers.stopWaitingForHandovers(number, error)
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
