// What waits for the store's thread, in the order it was submitted. Bounded by bytes: what does not fit is refused in
// its turn, so that completions keep the order of submissions even then.

import Synchronization
import TandemFiles

/// One piece of work for the store's thread.
enum Work: Sendable {
    case commit([RowChange], @Sendable (Result<Void, StoreError>) -> Void)
    case fetch(RowRange, @Sendable (Result<[Row], StoreError>) -> Void)
    /// A commit that was not accepted; only its completion remains.
    case refuse(StoreError, @Sendable (Result<Void, StoreError>) -> Void)

    var weight: Int {
        if case .commit(let changes, _) = self { changes.reduce(0) { $0 + $1.weight } } else { 0 }
    }
}

/// The queue between any thread and the store's.
final class WorkQueue: Sendable {
    private struct State {
        var waiting: [Work] = []
        var weight = 0
        var isClosed = false
    }

    /// The bytes of changes that may wait at once.
    let limit: Int
    private let path: String
    private let state = Mutex(State())
    private let wake = Semaphore()

    init(path: String, limit: Int) {
        self.path = path
        self.limit = limit
    }

    /// Adds the work; false if the queue is closed, in which case nobody will ever run it.
    func submit(_ work: Work) -> Bool {
        let weight = work.weight
        let wasEmpty = state.withLock { state -> Bool? in
            guard !state.isClosed else { return nil }
            let wasEmpty = state.waiting.isEmpty
            state.waiting.append(accepted(work, weight, in: &state))
            return wasEmpty
        }
        if wasEmpty == true { wake.signal() }
        return wasEmpty != nil
    }

    private func accepted(_ work: Work, _ weight: Int, in state: inout State) -> Work {
        // A lone commit always fits: the channels' own limits bound it.
        if case .commit(_, let completion) = work, state.weight > 0, state.weight + weight > limit {
            return .refuse(.overloaded(path: path, limit: limit), completion)
        }
        state.weight += weight
        return work
    }

    /// Accepts nothing more.
    func close() {
        state.withLock { $0.isClosed = true }
        wake.signal()
    }

    /// Everything that waits; sleeps until there is something. Nil once the queue is closed and empty.
    func takeAll() -> [Work]? {
        while true {
            let (taken, isClosed) = state.withLock { state in
                let taken = state.waiting
                state.waiting = []
                state.weight = 0
                return (taken, state.isClosed)
            }
            if !taken.isEmpty { return taken }
            if isClosed { return nil }
            wake.wait()
        }
    }
}
