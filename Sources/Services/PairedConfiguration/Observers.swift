// Observers of a configuration or of a store of preferences, and their registrations.

import Synchronization

/// The observers of one thing; any thread.
final class Observers<Notice: Sendable>: Sendable {
    private struct State {
        /// In the order of their tokens.
        var observers: [(token: Int, call: @Sendable (Notice) -> Void)] = []
        var nextToken = 0
    }

    private let state = Mutex(State())

    func add(_ call: @escaping @Sendable (Notice) -> Void) -> ConfigurationObservation {
        let token = state.withLock { state in
            state.nextToken += 1
            state.observers.append((state.nextToken, call))
            return state.nextToken
        }
        return ConfigurationObservation { [weak self] in
            let ended = self?.state.withLock { state in
                state.observers.firstIndex { $0.token == token }.map { state.observers.remove(at: $0) }
            }
            // Released without the lock: what the closure alone kept may end observations of its own.
            withExtendedLifetime(ended) {}
        }
    }

    /// Those that are there now, to be called without a lock: one that is added meanwhile sees the next notice only.
    var calls: [@Sendable (Notice) -> Void] { state.withLock { $0.observers.map(\.call) } }

    func notify(_ notice: Notice) {
        for call in calls { call(notice) }
    }
}

/// An observer's registration; observing ends with ``cancel()`` or when this is released, so that a configuration never
/// keeps alive what a closure belongs to.
public final class ConfigurationObservation: Sendable {
    private let end: @Sendable () -> Void

    /// A registration; an app's own ``PreferenceStore`` makes one.
    /// - Parameter end: ends the observation; called once or more often.
    public init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    /// Ends the observation; a call that is under way may still finish.
    public func cancel() { end() }

    deinit { end() }
}
