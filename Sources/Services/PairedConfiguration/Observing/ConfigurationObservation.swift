// Observing ends when somebody says so, or when nobody holds the observation any more: a closure is never kept alive by
// a configuration that outlives what the closure belongs to.

/// An observer's place; observing ends with ``cancel()`` or when this is released.
public final class ConfigurationObservation: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    /// Ends the observation; a call that is under way may still finish.
    public func cancel() { end() }

    deinit { end() }
}
