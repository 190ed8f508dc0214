// The store as a loop's code sees it: commits that end on the loop, in the order of submission, as completions or for
// code that awaits them. It adds no queue and no rule of its own; what follows a commit may use everything that is
// confined to the loop. A loop that stops first drops the waiting completions.

package import TandemBase
package import TandemReactor

/// A store used from one scheduler's thread.
package final class LoopStore {
    package typealias Completion = (Result<Void, StoreError>) -> Void

    private let store: any RowBackend
    private let scheduler: any Scheduler
    /// Called when a commit has failed for good: the store can no longer make anything durable. On the scheduler's
    /// thread.
    package var whenPoisoned: ((StoreError) -> Void)?
    /// Called with the error when the disk is full, and with nil when it has room again; on the scheduler's thread.
    package var onSpaceChange: ((StoreError?) -> Void)?
    /// Called when ``isFailing`` has changed; on the scheduler's thread.
    package var onFailingChange: (() -> Void)?
    /// Called when a disk that is watched ends no commit, with the time since which it is so, and with nil once one has
    /// ended; on the scheduler's thread.
    package var onStallChange: ((ClockReading?) -> Void)?
    /// Whether the last commit that has ended failed, the disk is full, or it ends no commit.
    package var isFailing: Bool { failure != nil || fullDisk != nil || stalledSince != nil }
    /// Since when the disk ends no commit, though some are under way; nil while it ends them, or is not watched.
    package private(set) var stalledSince: ClockReading?
    /// Whether a disk that is watched has ended no commit for a while, and may still end one in time.
    package var mayBeStalled: Bool { watch?.isUndecided ?? false }
    private var watch: CommitWatch?
    /// Why the last commit that has ended failed; nil if it did not.
    package private(set) var failure: StoreError?
    /// The disk was full and has had no room since: what keeps something new is refused without a commit, so that it
    /// cannot fail together with what makes room. Unchecked, because it is only loaded and stored.
    @exclusivity(unchecked) package private(set) var fullDisk: StoreError?
    /// The file, for messages.
    package var path: String { store.path }
    /// A full disk is looked at this often (LIM-56).
    private static let pause = Duration.seconds(1)

    package init(_ store: any RowBackend, on scheduler: any Scheduler) {
        self.store = store
        self.scheduler = scheduler
    }

    /// Watches from now on whether the disk ends the commits that are under way; before the first of them.
    /// - Parameter patience: how long it may end none.
    package func watchDisk(for patience: Duration) {
        watch = CommitWatch(patience, on: scheduler) { [weak self] since in
            self?.change {
                self?.stalledSince = since
                self?.onStallChange?(since)
            }
        }
    }

    /// Makes the changes durable together, then calls `completion` on the scheduler's thread.
    package func commit(_ changes: [RowChange], room: CommitRoom = .ordinary, then completion: @escaping Completion) {
        let end = CommitEnd(of: self, completion)
        watch?.began()
        store.commit(changes, room: room) { [scheduler] result in scheduler.submit { end.run(result) } }
    }

    /// The end of a commit, on its way through the store's thread. ``LoopBound`` is generic and from another room: at
    /// each commit the program would look up its type, which costs more than the rest of this.
    ///
    /// `@unchecked`: the scheduler's thread makes it and runs it, which both check, and alone touches what it
    /// holds. The store's thread carries it; it may release the last copy, and a `deinit` then runs there.
    private struct CommitEnd: @unchecked Sendable {
        private let store: LoopStore
        private let completion: Completion

        init(of store: LoopStore, _ completion: @escaping Completion) {
            precondition(store.scheduler.isCurrent, "a commit from another thread than the scheduler's")
            (self.store, self.completion) = (store, completion)
        }

        func run(_ result: Result<Void, StoreError>) {
            precondition(store.scheduler.isCurrent, "a commit ends on another thread than the scheduler's")
            store.watch?.ends()
            store.note(result)
            completion(result)
        }
    }

    private func note(_ result: Result<Void, StoreError>) {
        guard case .failure(let error) = result else {
            if failure != nil { change { failure = nil } }
            return
        }
        if case .poisoned = error { whenPoisoned?(error) }
        change {
            failure = error
            guard case .full = error, fullDisk == nil else { return }
            fullDisk = error
            onSpaceChange?(error)
            lookForRoom()
        }
    }

    private func foundRoom() {
        change {
            fullDisk = nil
            onSpaceChange?(nil)
        }
    }

    private func change(_ body: () -> Void) {
        let wasFailing = isFailing
        body()
        if isFailing != wasFailing { onFailingChange?() }
    }

    private func lookForRoom() {
        scheduler.schedule(after: Self.pause) { [weak self] in
            guard let self else { return }
            let own = LoopBound(self, to: scheduler)
            store.findRoom { [scheduler] isThere in
                scheduler.submit { if isThere { own.value.foundRoom() } else { own.value.lookForRoom() } }
            }
        }
    }

    /// Reads the rows after every commit submitted before, then calls `completion` on the scheduler's thread.
    package func fetch(_ range: RowRange, then completion: @escaping (Result<[Row], StoreError>) -> Void) {
        let scheduler = scheduler
        let bound = LoopBound(completion, to: scheduler)
        store.fetch(range) { result in scheduler.submit { bound.value(result) } }
    }
}
