// The store as a loop's code sees it: commits that end on the loop, in the order of submission, as completions or for
// code that awaits them. It adds no queue and no rule of its own; what follows a commit may use everything that is
// confined to the loop. A loop that stops first drops whoever waits.

package import TandemReactor

/// A store used from one scheduler's thread.
package final class LoopStore {
    package typealias Completion = (Result<Void, StoreError>) -> Void

    private let store: any RowBackend
    private let scheduler: any Scheduler
    /// Told when a commit has failed for good: the store can promise nothing any more. On the scheduler's thread.
    package var whenPoisoned: ((StoreError) -> Void)?
    /// Whether the last commit that has ended failed.
    package private(set) var isFailing = false

    package init(_ store: any RowBackend, on scheduler: any Scheduler) {
        self.store = store
        self.scheduler = scheduler
    }

    /// Makes the changes durable together, then calls `completion` on the scheduler's thread.
    package func commit(_ changes: [RowChange], then completion: @escaping Completion) {
        let scheduler = scheduler
        let bound = LoopBound(completion, to: scheduler)
        let own = LoopBound(self, to: scheduler)
        store.commit(changes) { result in
            scheduler.submit {
                if case .failure(let error) = result, case .poisoned = error { own.value.whenPoisoned?(error) }
                if case .success = result { own.value.isFailing = false } else { own.value.isFailing = true }
                bound.value(result)
            }
        }
    }

    /// Makes the changes durable together; for code that runs on the scheduler's thread.
    package func commit(_ changes: [RowChange]) async throws(StoreError) {
        // Unsafe, because a scheduler that stops drops the completion, as documented.
        let result = await withUnsafeContinuation { continuation in
            commit(changes) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Reads the rows after every commit submitted before; for code that runs on the scheduler's thread.
    package func fetch(_ range: RowRange) async throws(StoreError) -> [Row] {
        let result = await withUnsafeContinuation { continuation in
            fetch(range) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Reads the rows after every commit submitted before, then calls `completion` on the scheduler's thread.
    package func fetch(_ range: RowRange, then completion: @escaping (Result<[Row], StoreError>) -> Void) {
        let scheduler = scheduler
        let bound = LoopBound(completion, to: scheduler)
        store.fetch(range) { result in scheduler.submit { bound.value(result) } }
    }
}
