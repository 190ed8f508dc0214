// Reachability as a callback, for code without tasks. The property and the sequence are in PairedSession.

extension PairedSession {
    /// Calls back with the reachability now and after each change, one call after the other, on a task of its own. A
    /// slow handler misses what is over, never how it ended; ``ReachabilityStatus/revision`` counts what it missed.
    /// - Returns: ends the calls when cancelled; they go on while it is not kept, until the session ends.
    @discardableResult
    public func onReachabilityChange(
        _ handler: @escaping @Sendable (ReachabilityStatus) -> Void
    ) -> StateObservation {
        let updates = reachabilityUpdates
        return StateObservation(Task { for await status in updates { handler(status) } })
    }
}

/// A handler's place; usable from any thread.
public final class StateObservation: Sendable {
    private let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) { self.task = task }

    /// Calls no more, except for a call that has begun.
    public func cancel() { task.cancel() }
}
