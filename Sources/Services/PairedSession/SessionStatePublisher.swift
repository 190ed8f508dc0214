// Published state of a session: the loop writes it, every other thread reads it. Watchers wake up and then read the
// newest state: a reader that was away sees it once, never a backlog and never an older one.

import Synchronization
import TandemBase
package import TandemSession

/// One step of a session's life, in order.
package enum SessionEvent: Sendable {
    case activation(ActivationState)
    /// How a call of `activate` by a layer above ended.
    case asked(Result<Void, SessionError>)
    case refused(SessionError)
    /// The daemon has answered what a layer above asked after an activation, which names it by this number.
    case learned(Int)
    /// Pairings or reachability may have changed.
    case state
}

/// Completes one call: its value, or why there is none.
package typealias Completion<Value> = (Result<Value, SessionError>) -> Void

/// The latest snapshot and its watchers; usable from any thread.
final class SessionStatePublisher: Sendable {
    private struct Contents {
        var snapshot: SessionSnapshot
        var history: ReachabilityHistory
        var watchers: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var nextWatcher: UInt64 = 0
        var isFinished = false
    }

    private let contents: Mutex<Contents>

    init(_ machine: borrowing ClientSession, _ now: ClockReading) {
        var history = ReachabilityHistory()
        let snapshot = SessionSnapshot(machine, now, &history)
        contents = Mutex(Contents(snapshot: snapshot, history: history))
    }

    var snapshot: SessionSnapshot { contents.withLock { $0.snapshot } }

    /// Whether the session is over.
    var isFinished: Bool { contents.withLock { $0.isFinished } }

    /// Replaces the state and wakes the watchers if it differs.
    /// - Parameter passing: the activation state that a switch passes through.
    func publish(
        _ machine: borrowing ClientSession, _ now: ClockReading, passing: ActivationState?,
        _ contexts: [UniqueIdentifier: ContextPair], hasContentPending: Bool
    ) {
        // Only the loop writes, so that nothing changes between the two critical sections.
        var history = contents.withLock { $0.history }
        let new = SessionSnapshot(
            machine, now, &history, passing: passing, contexts: contexts, hasContentPending: hasContentPending)
        let newHistory = history
        let watchers = contents.withLock { contents in
            let isNew = contents.snapshot != new
            (contents.snapshot, contents.history) = (new, newHistory)
            return isNew ? Array(contents.watchers.values) : []
        }
        for watcher in watchers { watcher.yield() }
    }

    /// Replaces only the contexts and wakes the watchers: after a start the daemon sends those of a thousand devices
    /// one by one, and a whole snapshot for each would cost too much.
    func publishContexts(_ contexts: [UniqueIdentifier: ContextPair]) {
        let watchers = contents.withLock { contents in
            contents.snapshot.contexts = contexts
            return Array(contents.watchers.values)
        }
        for watcher in watchers { watcher.yield() }
    }

    /// One wake-up now and one after later changes; wake-ups that were not taken become one.
    func wakeUps() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = contents.withLock { contents -> UInt64? in
            guard !contents.isFinished else { return nil }
            contents.nextWatcher += 1
            contents.watchers[contents.nextWatcher] = continuation
            return contents.nextWatcher
        }
        continuation.yield()
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.contents.withLock { _ = $0.watchers.removeValue(forKey: number) }
        }
        return stream
    }

    /// Ends all watches, after a last wake-up.
    func finish() {
        let watchers = contents.withLock { contents in
            defer { contents.watchers = [:] }
            contents.isFinished = true
            return Array(contents.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}

/// The values of one aspect of a session's state: the one now, then each change. A slow reader misses values in
/// between, never the newest. Ends when the session ends.
public struct StateUpdates<Element: Sendable & Equatable>: AsyncSequence, Sendable {
    public typealias Failure = Never

    let states: SessionStatePublisher
    let read: @Sendable (SessionSnapshot) -> Element

    init(_ states: SessionStatePublisher, _ read: @escaping @Sendable (SessionSnapshot) -> Element) {
        self.states = states
        self.read = read
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(states: states, read: read, wakeUps: states.wakeUps().makeAsyncIterator())
    }

    /// One reading of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        let states: SessionStatePublisher
        let read: @Sendable (SessionSnapshot) -> Element
        fileprivate var wakeUps: AsyncStream<Void>.Iterator
        fileprivate var last: Element?

        public mutating func next() async -> Element? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while await wakeUps.next(isolation: actor) != nil {
                let value = read(states.snapshot)
                guard value != last else { continue }
                last = value
                return value
            }
            return nil
        }
    }
}

/// Watches a state for a handler; usable from any thread.
public final class StateObservation: Sendable {
    private let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) { self.task = task }

    /// Calls no more, except for a call that has begun.
    public func cancel() { task.cancel() }
}
