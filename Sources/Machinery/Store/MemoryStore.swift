// Rows in memory, for a simulator that keeps nothing and for tests on a manual clock: no file, no thread, the same
// order and the same all-or-nothing commits as the store's. A test can make it fail, as a disk does.

import Synchronization

/// Ordered rows that live as long as the process.
package final class MemoryStore: RowBackend {
    private struct State {
        var spaces: [RowSpace: SortedRows] = [:]
        var failures: [StoreError] = []
        var commits = 0
    }

    private let state = Mutex(State())

    package let path = "in memory"

    package init() {}

    /// The next commits fail with these errors, one each, and change nothing.
    package func failNext(_ errors: [StoreError]) { state.withLock { $0.failures += errors } }

    /// Commits that changed something.
    package var commits: Int { state.withLock { $0.commits } }

    package func commit(
        _ changes: [RowChange], room: CommitRoom, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let failure = state.withLock { state -> StoreError? in
            guard !changes.isEmpty else { return nil }
            guard state.failures.isEmpty else { return state.failures.removeFirst() }
            for change in changes { Self.apply(change, to: &state.spaces) }
            state.commits += 1
            return nil
        }
        completion(failure.map { .failure($0) } ?? .success(()))
    }

    private static func apply(_ change: RowChange, to spaces: inout [RowSpace: SortedRows]) {
        switch change {
        case .put(let space, let key, let value): spaces[space, default: SortedRows()].put(key, value)
        case .delete(let space, let key): spaces[space]?.remove(key)
        case .deleteAll(let range): spaces[range.space]?.removeAll(in: range)
        }
    }

    package func fetch(_ range: RowRange, completion: @escaping @Sendable (Result<[Row], StoreError>) -> Void) {
        completion(.success(read(range)))
    }

    /// The rows of the range.
    package func read(_ range: RowRange) -> [Row] {
        state.withLock { $0.spaces[range.space]?.rows(range) ?? [] }
    }
}

/// The rows of one space in the order of their keys.
private struct SortedRows {
    private var rows: [(key: [UInt8], value: [UInt8])] = []

    /// The index of the first row whose key is not below.
    private func index(of key: [UInt8]) -> Int {
        var (low, high) = (0, rows.count)
        // Most rows come behind all others.
        if let last = rows.last?.key, last.lexicographicallyPrecedes(key) { return high }
        while low < high {
            let middle = low + (high - low) / 2
            if rows[middle].key.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func holds(_ key: [UInt8], at index: Int) -> Bool { index < rows.count && rows[index].key == key }

    mutating func put(_ key: [UInt8], _ value: [UInt8]) {
        let index = index(of: key)
        if holds(key, at: index) { rows[index].value = value } else { rows.insert((key, value), at: index) }
    }

    mutating func remove(_ key: [UInt8]) {
        let index = index(of: key)
        if holds(key, at: index) { rows.remove(at: index) }
    }

    private func indices(_ range: RowRange) -> Range<Int> {
        let start = index(of: range.lower)
        return start..<max(start, range.upper.map { index(of: $0) } ?? rows.count)
    }

    mutating func removeAll(in range: RowRange) { rows.removeSubrange(indices(range)) }

    func rows(_ range: RowRange) -> [Row] {
        let found = rows[indices(range)]
        let limit = range.limit.map { max(0, $0) } ?? .max
        let chosen = range.descending ? Array(found.reversed().prefix(limit)) : Array(found.prefix(limit))
        return chosen.map { Row(space: range.space, key: $0.key, value: $0.value) }
    }
}
