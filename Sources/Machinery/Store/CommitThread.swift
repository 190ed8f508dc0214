// The work of the store's thread: everything that was queued while a transaction ran goes into the next one, so that
// one fsync covers many commits. If a shared transaction does not fit on the disk each commit is tried alone, so that
// each gets its own verdict.

import CTandemSQLite
import Synchronization
import TandemFiles

/// The store's thread body; made, used and ended on that thread.
struct CommitThread {
    private typealias Commit = (
        changes: [RowChange], room: CommitRoom, completion: @Sendable (Result<Void, StoreError>) -> Void
    )

    private let connection: Connection
    private var reserve: Reserve
    private let statistics: StatisticsBox
    private var poison: StoreError?

    init(connection: Connection, statistics: StatisticsBox) {
        self.connection = connection
        self.statistics = statistics
        reserve = Reserve(of: connection.path)
        connection.logStep = reserve.size / 16
    }

    /// The log is moved into the file when it has this many pages; SQLite's own default is a thousand too. Fewer on a
    /// small disk, so that the reserve has room for them in the file.
    private var checkpointInterval: Int { min(1024, max(16, reserve.size / 8192)) }

    mutating func run(_ batch: [Work]) {
        var commits: [Commit] = []
        for work in batch {
            switch work {
            case .commit(let changes, let room, let completion):
                commits.append((changes, room, completion))
                continue
            case .findRoom(let completion):
                flush(&commits)
                completion(poison == nil && hasRoom && (reserve.hasRoomBeside() || hasFreePages))
            case .fetch(let range, let completion):
                flush(&commits)
                completion(fetch(range))
            case .refuse(let error, let completion):
                flush(&commits)
                statistics.count { $0.failures += 1 }
                completion(.failure(error))
            }
        }
        flush(&commits)
        checkpointIfDue()
    }

    private mutating func flush(_ commits: inout [Commit]) {
        guard !commits.isEmpty else { return }
        let group = commits
        commits = []
        let result = transact(group)
        if group.count > 1, case .failure(.full) = result {
            for commit in group { finish([commit], with: transact([commit])) }
        } else {
            finish(group, with: result)
        }
    }

    private func finish(_ group: [Commit], with result: Result<Void, StoreError>) {
        statistics.count { counts in
            if case .success = result { counts.commits += group.count } else { counts.failures += group.count }
        }
        for commit in group { commit.completion(result) }
    }

    private mutating func transact(_ group: [Commit]) -> Result<Void, StoreError> {
        if let poison { return .failure(poison) }
        // Without changes there is nothing to make durable: the completion only keeps its place in the order.
        if group.allSatisfy({ $0.changes.isEmpty }) { return .success(()) }
        let mayUseReserve = group.allSatisfy { $0.room == .reserve }
        // Space freed for commits that make room must not go to commits that fill it again.
        guard mayUseReserve || hasRoom else {
            return poison.map { .failure($0) } ?? .failure(.full(path: connection.path))
        }
        let first = attempt(group)
        guard case .failure(.full) = first else { return first }
        let second = makesRoom() ? attempt(group) : first
        guard case .failure(.full) = second, mayUseReserve else { return second }
        var last = second
        if reserve.release() {
            // An attempt that fails leaves its room to the log, which then could not be moved any more. A log that
            // needs more than the reserve would take all of it in vain.
            if connection.logBytes <= reserve.size { _ = makesRoom() }
            last = attempt(group)
            if case .failure(.full) = last, makesRoom() { last = attempt(group) }
        }
        guard case .failure(.full) = last, group.count == 1 else { return last }
        return commitInParts(group[0])
    }

    /// Makes room by removals for which the log has too little: what else the commit changes comes first, then the rows
    /// of each range some at a time, each part in the log's own place. Rows that a crash or a failure leaves behind
    /// have lost what referred to them.
    private mutating func commitInParts(_ commit: Commit) -> Result<Void, StoreError> {
        var removals: [RowRange] = []
        var others: [RowChange] = []
        for change in commit.changes {
            if case .deleteAll(let range) = change { removals.append(range) } else { others.append(change) }
        }
        guard !removals.isEmpty else { return .failure(.full(path: connection.path)) }
        if !others.isEmpty {
            guard case .success = attempt([(others, .reserve, commit.completion)]) else {
                return .failure(poison ?? .full(path: connection.path))
            }
        }
        let isRemoved = removals.allSatisfy { removeInParts($0) }
        if let poison { return .failure(poison) }
        return isRemoved || !others.isEmpty ? .success(()) : .failure(.full(path: connection.path))
    }

    /// Whether all rows of the range are gone.
    private mutating func removeInParts(_ range: RowRange) -> Bool {
        var rest: RowRange? = range
        while let range = rest {
            let next: [UInt8]?
            do throws(ResultCode) { next = try connection.key(after: rowsOfPart, in: range) } catch {
                _ = undo(after: error)
                return false
            }
            let part = RowRange(space: range.space, from: range.lower, to: next ?? range.upper)
            _ = makesRoom()
            guard case .success = attempt([([.deleteAll(part)], .reserve, { _ in })]) else { return false }
            rest = next.map { RowRange(space: range.space, from: $0, to: range.upper) }
        }
        return true
    }

    /// Rows whose removal takes an eighth of the reserve: each changes two pages of 4 KiB at most, its own and that of
    /// its long value. SQLite frees the further pages of a long value without writing them.
    private var rowsOfPart: Int { max(1, reserve.size / (8 * 2 * 4096)) }

    /// Whether ordinary commits may be tried. A log that could not be moved into the file must not grow beyond what the
    /// reserve has room for.
    private var hasRoom: Bool {
        mutating get {
            (connection.logPages < checkpointInterval || moveLog()) && (reserve.restore() || hasFreePages)
        }
    }

    /// Whether deletions have left as much room in the file as the reserve has.
    private var hasFreePages: Bool { connection.freeBytes >= reserve.size }

    private mutating func attempt(_ group: [Commit]) -> Result<Void, StoreError> {
        do throws(ResultCode) {
            try connection.transact { (statements) throws(ResultCode) in
                for commit in group {
                    for change in commit.changes { try statements.apply(change, on: connection) }
                }
            }
            statistics.count { $0.transactions += 1 }
            if !connection.fileNeedsLog { _ = moveLog() }
            return poison.map { .failure($0) } ?? .success(())
        } catch {
            return .failure(undo(after: error))
        }
    }

    /// A log that has grown until the disk was full has room for more commits in its own place.
    private mutating func makesRoom() -> Bool {
        // Once for each time that something was committed: the log then begins again in its own place.
        poison == nil && connection.logPages > 0 && moveLog()
    }

    /// Takes back what a failed transaction wrote. Only a full disk leaves the store usable.
    private mutating func undo(after failure: ResultCode) -> StoreError {
        do throws(ResultCode) {
            if connection.isInTransaction { try connection.statement("ROLLBACK").run() }
            if failure.primary == SQLITE_FULL { return .full(path: connection.path) }
        } catch {
            return poisoned(by: error)
        }
        return poisoned(by: failure)
    }

    private mutating func poisoned(by failure: ResultCode) -> StoreError {
        let error = StoreError.poisoned(path: connection.path, cause: failure.description)
        poison = error
        return error
    }

    private func fetch(_ range: RowRange) -> Result<[Row], StoreError> {
        if let poison { return .failure(poison) }
        do throws(StoreError) { return .success(try connection.rows(range)) } catch { return .failure(error) }
    }

    private mutating func checkpointIfDue() {
        if poison == nil, connection.logPages >= checkpointInterval { _ = moveLog() }
    }

    /// No room to move the log is not fatal: nothing is lost, and the next commit tries again.
    private mutating func moveLog() -> Bool {
        do throws(ResultCode) {
            try connection.checkpoint()
            return true
        } catch {
            if error.primary != SQLITE_FULL { _ = poisoned(by: error) }
            return false
        }
    }

    /// Closes the file in good order; what was committed is durable even if that fails. A store that has failed is left
    /// as it is.
    func close() { if poison == nil { try? connection.close() } }
}

// Queue of the store's thread: the commits in the order of submission, then some of the reads. A read between two
// commits would make each wait for a sync of its own. Commits are bounded by bytes: one that does not fit is refused in
// its turn, so that completions keep the order of submission even then.

/// One piece of work for the store's thread.
enum Work: Sendable {
    case commit([RowChange], CommitRoom, @Sendable (Result<Void, StoreError>) -> Void)
    case findRoom(@Sendable (Bool) -> Void)
    case fetch(RowRange, @Sendable (Result<[Row], StoreError>) -> Void)
    /// A commit that was not accepted; only its completion remains.
    case refuse(StoreError, @Sendable (Result<Void, StoreError>) -> Void)

    fileprivate var isRead: Bool {
        switch self {
        case .commit, .refuse: false
        case .fetch, .findRoom: true
        }
    }

    var weight: Int {
        if case .commit(let changes, _, _) = self { changes.reduce(0) { $0 + $1.weight } } else { 0 }
    }
}

/// The queue between any thread and the store's.
final class WorkQueue: Sendable {
    private struct State {
        var commits: [Work] = []
        var reads: [Work] = []
        var weight = 0
        var isClosed = false
    }

    /// The reads between two looks for commits (LIM-64).
    static var readsPerTurn: Int { 8 }

    /// The bytes of changes that may wait at once.
    let limit: Int
    private let path: String
    private let state = Mutex(State())
    private let wake = Semaphore()

    init(path: String, limit: Int) {
        self.path = path
        self.limit = limit
    }

    /// Adds the work; false if the queue is closed, in which case it never runs.
    func submit(_ work: Work) -> Bool {
        let weight = work.weight
        let wasEmpty = state.withLock { state -> Bool? in
            guard !state.isClosed else { return nil }
            let wasEmpty = state.commits.isEmpty && state.reads.isEmpty
            if work.isRead {
                state.reads.append(work)
            } else {
                state.commits.append(accepted(work, weight, in: &state))
            }
            return wasEmpty
        }
        if wasEmpty == true { wake.signal() }
        return wasEmpty != nil
    }

    private func accepted(_ work: Work, _ weight: Int, in state: inout State) -> Work {
        // A lone commit always fits: the channels' own limits bound it.
        if case .commit(_, _, let completion) = work, state.weight > 0, state.weight + weight > limit {
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

    /// All commits that wait, and behind them some reads; sleeps until there is something. Nil once the queue is closed
    /// and empty.
    func takeTurn() -> [Work]? {
        while true {
            let (taken, isClosed) = state.withLock { state in
                let taken = state.commits + state.reads.prefix(Self.readsPerTurn)
                state.commits = []
                state.reads.removeFirst(min(state.reads.count, Self.readsPerTurn))
                state.weight = 0
                return (taken, state.isClosed)
            }
            if !taken.isEmpty { return taken }
            if isClosed { return nil }
            wake.wait()
        }
    }
}
