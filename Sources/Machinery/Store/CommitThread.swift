// The work of the store's thread: everything that was queued while a transaction ran goes into the next one, so that
// one fsync covers many commits. If a shared transaction does not fit on the disk each commit is tried alone, so that
// each gets its own verdict.

import CTandemSQLite
import Synchronization

/// The store's thread body; made, used and ended on that thread.
struct CommitThread {
    private typealias Commit = (changes: [RowChange], completion: @Sendable (Result<Void, StoreError>) -> Void)

    private let connection: Connection
    private let statistics: StatisticsBox
    private var poison: StoreError?

    init(connection: Connection, statistics: StatisticsBox) {
        self.connection = connection
        self.statistics = statistics
    }

    /// The log is moved into the file when it has this many pages; SQLite's own default is a thousand too.
    private static var checkpointInterval: Int { 1024 }

    mutating func run(_ batch: [Work]) {
        var commits: [Commit] = []
        for work in batch {
            switch work {
            case .commit(let changes, let completion):
                commits.append((changes, completion))
                continue
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
        let first = attempt(group)
        guard case .failure(.full) = first, makesRoom() else { return first }
        return attempt(group)
    }

    private mutating func attempt(_ group: [Commit]) -> Result<Void, StoreError> {
        do throws(ResultCode) {
            try write(group)
            statistics.count { $0.transactions += 1 }
            return .success(())
        } catch {
            return .failure(undo(after: error))
        }
    }

    /// A log that has grown until the disk was full has room for more commits in its own place.
    private mutating func makesRoom() -> Bool {
        guard poison == nil, connection.logPages > 0 else { return false }
        do throws(ResultCode) {
            try connection.makeRoom()
            return true
        } catch {
            if error.primary != SQLITE_FULL { _ = poisoned(by: error) }
            return false
        }
    }

    private func write(_ group: [Commit]) throws(ResultCode) {
        let statements = try connection.writing()
        try statements.transact { () throws(ResultCode) in
            for commit in group {
                for change in commit.changes { try statements.apply(change) }
            }
        }
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
        guard poison == nil, connection.logPages >= Self.checkpointInterval else { return }
        do throws(ResultCode) { try connection.checkpoint() } catch {
            // No room to move the log is not fatal: nothing is lost, and the next commit tries again.
            if error.primary != SQLITE_FULL { _ = poisoned(by: error) }
        }
    }

    /// Closes the file in good order; what was committed is durable even if that fails.
    func close() { try? connection.close() }
}
