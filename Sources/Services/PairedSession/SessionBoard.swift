// Where the loop writes the session's state and every other thread reads it. Watchers are woken and then read what is
// true at that moment: a reader that was away sees the newest state once, never a backlog and never an older one.

import Synchronization

/// The latest snapshot and its watchers; usable from any thread.
final class SessionBoard: Sendable {
    private struct Contents {
        var snapshot: SessionSnapshot
        var watchers: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var nextWatcher: UInt64 = 0
        var isFinished = false
    }

    private let contents: Mutex<Contents>

    init(_ snapshot: SessionSnapshot) { contents = Mutex(Contents(snapshot: snapshot)) }

    var snapshot: SessionSnapshot { contents.withLock { $0.snapshot } }

    /// Replaces the state and wakes the watchers if it differs.
    func publish(_ snapshot: SessionSnapshot) {
        let watchers = contents.withLock { contents in
            let isNew = contents.snapshot != snapshot
            contents.snapshot = snapshot
            return isNew ? Array(contents.watchers.values) : []
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

    let board: SessionBoard
    let read: @Sendable (SessionSnapshot) -> Element

    init(_ board: SessionBoard, _ read: @escaping @Sendable (SessionSnapshot) -> Element) {
        self.board = board
        self.read = read
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(board: board, read: read, wakeUps: board.wakeUps().makeAsyncIterator())
    }

    /// One reading of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        let board: SessionBoard
        let read: @Sendable (SessionSnapshot) -> Element
        var wakeUps: AsyncStream<Void>.Iterator
        var last: Element?

        public mutating func next() async -> Element? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while await wakeUps.next(isolation: actor) != nil {
                let value = read(board.snapshot)
                guard value != last else { continue }
                last = value
                return value
            }
            return nil
        }
    }
}
