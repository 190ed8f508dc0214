// Delivery of notices to observers: notices are queued in the order of what happened, and one thread at a time delivers
// them without a lock. An observer that sets a value queues a notice that follows the present one.

import Synchronization
public import TandemSettings

enum Notice {
    case changes(SettingChanges)
    case event(ConfigurationEvent)
}

final class NoticeQueue: Sendable {
    private struct State {
        var waiting: [Notice] = []
        var isDelivering = false
        var nextToken = 0
        var changeObservers: [Int: @Sendable (SettingChanges) -> Void] = [:]
        var eventObservers: [Int: @Sendable (ConfigurationEvent) -> Void] = [:]
    }

    private let state = Mutex(State())

    func add(_ notice: Notice) {
        if case .changes(let changes) = notice, changes.changes.isEmpty { return }
        state.withLock { $0.waiting.append(notice) }
    }

    /// Delivers what waits, unless another call is at it: then that one delivers this too.
    func deliver() {
        let isMine = state.withLock { state in
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        guard isMine else { return }
        while let (notice, observers) = next() {
            switch notice {
            case .changes(let changes): for observer in observers.changes { observer(changes) }
            case .event(let event): for observer in observers.events { observer(event) }
            }
        }
    }

    private typealias Observers = (
        changes: [@Sendable (SettingChanges) -> Void], events: [@Sendable (ConfigurationEvent) -> Void]
    )

    /// The next notice and who observes now; nil ends the delivery.
    private func next() -> (Notice, Observers)? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDelivering = false
                return nil
            }
            let inOrder = { (tokens: [Int]) in tokens.sorted() }
            let changes = inOrder(Array(state.changeObservers.keys)).compactMap { state.changeObservers[$0] }
            let events = inOrder(Array(state.eventObservers.keys)).compactMap { state.eventObservers[$0] }
            return (state.waiting.removeFirst(), (changes, events))
        }
    }

    func observe(_ observer: @escaping @Sendable (SettingChanges) -> Void) -> ConfigurationObservation {
        let token = newToken { $0.changeObservers[$1] = observer }
        return ConfigurationObservation { [weak self] in self?.state.withLock { $0.changeObservers[token] = nil } }
    }

    func observeEvents(_ observer: @escaping @Sendable (ConfigurationEvent) -> Void) -> ConfigurationObservation {
        let token = newToken { $0.eventObservers[$1] = observer }
        return ConfigurationObservation { [weak self] in self?.state.withLock { $0.eventObservers[token] = nil } }
    }

    private func newToken(_ add: (inout State, Int) -> Void) -> Int {
        state.withLock { state in
            state.nextToken += 1
            add(&state, state.nextToken)
            return state.nextToken
        }
    }
}

/// An observer's registration; observing ends with ``cancel()`` or when this is released, so that a configuration never keeps
/// alive what a closure belongs to.
public final class ConfigurationObservation: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    /// Ends the observation; a call that is under way may still finish.
    public func cancel() { end() }

    deinit { end() }
}

/// The batches of changes of a configuration from now on. The buffer is bounded: a slow consumer loses the oldest batches and
/// not the newest, and a snapshot always has the whole present state.
public struct ConfigurationUpdates: AsyncSequence, Sendable {
    public typealias Element = SettingChanges
    public typealias Failure = Never

    /// Batches kept for a consumer that is busy.
    public static let bufferLimit = 64

    private let stream: AsyncStream<SettingChanges>

    init(_ notices: NoticeQueue) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SettingChanges.self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
        let observation = notices.observe { continuation.yield($0) }
        continuation.onTermination = { _ in observation.cancel() }
        self.stream = stream
    }

    /// One reading of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<SettingChanges>.Iterator

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> SettingChanges? {
            await base.next(isolation: actor)
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }
}
