// Rows in memory behind a disk that a test fills, stops or breaks.

import Synchronization
import TandemBase
import TandemDaemon
package import TandemStore
import TandemTestSupport

/// Rows in memory behind a disk that can be full, or slow.
package final class UnwillingStore: RowBackend {
    private struct State {
        var isFull = false
        var isBusy = false
        var isBroken = false
        var hasReserve = false
        var damagedSpace: RowSpace?
        var unreadSpace: RowSpace?
        var holdsCommits = false
        var holdsFetches = false
        var commits = 0
        var held: [@Sendable () -> Void] = []
    }

    package let path = "disk"
    package let memory = MemoryStore()
    private let state = Mutex(State())

    package init() {}

    package var isFull: Bool {
        get { state.withLock { $0.isFull } }
        set { state.withLock { $0.isFull = newValue } }
    }

    /// A sync has failed: nobody knows what is on the disk, and the store takes nothing more.
    package var isBroken: Bool {
        get { state.withLock { $0.isBroken } }
        set { state.withLock { $0.isBroken = newValue } }
    }

    private var broken: StoreError { .poisoned(path: path, cause: "disk I/O error") }

    /// The store's queue has no room.
    package var isBusy: Bool {
        get { state.withLock { $0.isBusy } }
        set { state.withLock { $0.isBusy = newValue } }
    }

    /// Whether a full disk still takes the commits that make room.
    package var hasReserve: Bool {
        get { state.withLock { $0.hasReserve } }
        set { state.withLock { $0.hasReserve = newValue } }
    }

    /// Rows of this space are not those that were written.
    package func damage(_ space: RowSpace?) { state.withLock { $0.damagedSpace = space } }

    /// Reading rows of this space fails at the disk.
    package func failReads(of space: RowSpace?) { state.withLock { $0.unreadSpace = space } }

    package func findRoom(completion: @escaping @Sendable (Bool) -> Void) { completion(!isFull) }

    /// Commits that were asked for, to the disk or in vain.
    package var commits: Int { state.withLock { $0.commits } }

    /// The jobs that the disk has held up.
    package var heldCount: Int { state.withLock { $0.held.count } }

    package func hold(commits: Bool = false, fetches: Bool = false) {
        state.withLock { ($0.holdsCommits, $0.holdsFetches) = (commits, fetches) }
    }

    /// The disk does the first of what it has held up.
    package func doOne() {
        let job = state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() }
        job?()
    }

    /// The disk goes on with what it has held up.
    package func goOn() {
        hold()
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for job in held { job() }
    }

    package func commit(
        _ changes: [RowChange], room: CommitRoom, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let isHeld = state.withLock { state in
            state.commits += 1
            if state.holdsCommits { state.held.append { self.write(changes, room, completion) } }
            return state.holdsCommits
        }
        if !isHeld { write(changes, room, completion) }
    }

    private func write(
        _ changes: [RowChange], _ room: CommitRoom,
        _ completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        if isBroken { return completion(.failure(broken)) }
        if isBusy { return completion(.failure(.overloaded(path: path, limit: 1))) }
        if isFull, !changes.isEmpty, room == .ordinary || !hasReserve {
            return completion(.failure(.full(path: path)))
        }
        memory.commit(changes, completion: completion)
    }

    package func fetch(_ range: RowRange, completion: @escaping @Sendable (Result<[Row], StoreError>) -> Void) {
        let isHeld = state.withLock { state in
            if state.holdsFetches { state.held.append { self.memory.fetch(range, completion: completion) } }
            return state.holdsFetches
        }
        if isBroken { return completion(.failure(broken)) }
        if state.withLock({ $0.damagedSpace }) == range.space {
            return completion(.failure(.corruptRow(path: path, space: range.space.rawValue, key: range.lower)))
        }
        if state.withLock({ $0.unreadSpace }) == range.space {
            return completion(.failure(.unavailable(path: path, detail: "disk I/O error")))
        }
        if !isHeld { memory.fetch(range, completion: completion) }
    }
}
