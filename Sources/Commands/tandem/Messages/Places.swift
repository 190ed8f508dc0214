// `receive --count`: how much is still to be received. A place counts when what took it is done with, so that nothing that
// was printed goes without its answer.

import Synchronization

/// The places for what is received; usable from any thread.
final class Places: Sendable {
    private struct Full: Error {}

    private struct Left {
        /// Not taken; and taken or not, not done with.
        var free: Int
        var open: Int
    }

    private let left: Mutex<Left>
    private let ended = AsyncStream.makeStream(of: Void.self)

    init(_ count: Int) { left = Mutex(Left(free: count, open: count)) }

    /// Takes a place, or throws if there is none. A body that throws has taken none.
    func take(_ body: () throws -> Void) throws {
        try left.withLock { left in
            guard left.free > 0 else { throw Full() }
            left.free -= 1
        }
        do { try body() } catch {
            left.withLock { $0.free += 1 }
            throw error
        }
        let isLast = left.withLock { left in
            left.open -= 1
            return left.open == 0
        }
        if isLast { ended.continuation.finish() }
    }

    /// Returns when all places are taken, or when the caller's task is cancelled.
    func allTaken() async { for await _ in ended.stream {} }
}
