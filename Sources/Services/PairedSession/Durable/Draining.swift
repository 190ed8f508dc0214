// Wait of a process that is about to exit, until its daemon has what the process handed over (SES-89).

public import TandemWire

extension PairedSession {
    /// Waits until nothing that was submitted before the call over this session's connection is left in the process:
    /// this device's daemon has accepted each user info, urgent item, context and file, or the item has failed
    /// (SES-89). It also waits until no ``Transfer/cancel()`` that began before the call is pending (SES-84), or the
    /// daemon has refused the app for good.
    ///
    /// A process may exit then: what was accepted is on this device's disk, and is delivered by the daemon
    /// (``AcknowledgementLevel/accepted``). It need not have reached the other device, which
    /// ``Transfer/reached(_:)`` tells. An item that failed is reported where it was submitted.
    ///
    /// Only a call that has begun counts. A call in another task may not have: await that task first. A call that
    /// returns when its item is accepted needs no wait; a file that was begun
    /// (``beginFileTransfer(_:metadata:options:)``) does. Messages do not count, and
    /// ``deliver(_:topic:timeout:ifUnreachable:)`` counts only once it has queued its content. Sessions from
    /// `session(for:)` share a connection and are drained together; a session that was made by `init` is drained by
    /// itself.
    ///
    /// An edit of a synced setting counts from the edit on, as soon as the session has activated: the wait includes the
    /// item that brings it to the counterpart.
    ///
    /// After a lost daemon, what was not accepted is submitted again once an installed configuration has loaded
    /// (SES-70). Code that the load calls, such as an observer of the values, must not block on this wait: it would
    /// wait for itself until its timeout. Nor may an observer or a hook of a configuration with synced settings: the
    /// library looks at edits on the thread that calls it, and such a wait goes on without them after 30 s (LIM-8).
    /// - Parameter timeout: how long this caller waits, 1 ms to 600 s (LIM-8); nil: as long as its task is not
    ///   cancelled. Without a daemon the wait goes on, because what was not accepted is submitted to the next one.
    /// - Throws: 7008 `timeout` for one out of its range; 7012 after the timeout; 7001 `cancelled`; 7004 `ended`.
    public func drained(timeout: Duration? = nil) async throws(SessionError) {
        if let timeout, !Limits.deadline.contains(timeout) {
            throw SessionError(.badArgument(.timeout), messageID: nil)
        }
        let caller = UInt64.random(in: .min ... .max)
        try await core.result(cancel: { $0.handovers.stopWaiting(caller, .cancelled(nil)) }) { core, completion in
            core.drained(caller: caller, within: timeout, completion)
        }
    }
}

extension SessionActor {
    /// Waits as ``PairedSession/drained(timeout:)`` does.
    /// - Parameter completion: called once; at once if nothing is left.
    package func drained(
        caller: UInt64 = .random(in: .min ... .max), within timeout: Duration?,
        _ completion: @escaping Completion<Void>
    ) {
        if hasEnded { return completion(.failure(SessionError(.ended, messageID: nil))) }
        handovers.wait(caller, within: timeout, completion)
    }

    // MARK: edits of synced settings, by numbers of the caller's

    /// Counts an edit that becomes an item later, from now on.
    package func begin(edit: UInt64) { if !hasEnded { handovers.begin(edit: edit) } }

    /// There is nothing to submit for these edits.
    package func end(edits: [UInt64]) { for edit in edits { handovers.end(edit: edit) } }

    /// As ``submit(_:accepted:)``, of the body that has these edits; without any it is any item.
    package func submit(
        _ submission: Submission, with edits: [UInt64], accepted: @escaping Completion<Acceptance>
    ) {
        for edit in edits { handovers.submits(edit: edit) }
        submit(submission) { [handovers] result in
            accepted(result)
            for edit in edits { handovers.end(edit: edit) }
        }
    }
}
