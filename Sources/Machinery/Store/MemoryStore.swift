// Rows in memory, for a simulator that keeps nothing and for tests on a manual clock: no file, no thread, the same
// order and the same all-or-nothing commits as the store's. A test can make it fail, as a disk does.

import Synchronization

/// Ordered rows that live as long as the process.
package final class MemoryStore: RowBackend {
    private struct State {
        var spaces: [RowSpace: SpaceRows] = [:]
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

    private static func apply(_ change: RowChange, to spaces: inout [RowSpace: SpaceRows]) {
        switch change {
        case .put(let space, let key, let value): spaces[space, default: SpaceRows()].put(key, value)
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

/// The rows of one space. They are sorted when a range is read, which happens at a start and for a single key; a commit
/// costs the same whatever is kept.
private struct SpaceRows {
    /// An array would hash each of its bytes by itself.
    private struct Key: Hashable {
        let bytes: [UInt8]

        func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    private var values: [Key: [UInt8]] = [:]

    mutating func put(_ key: [UInt8], _ value: [UInt8]) { values[Key(bytes: key)] = value }

    mutating func remove(_ key: [UInt8]) { values[Key(bytes: key)] = nil }

    mutating func removeAll(in range: RowRange) { for key in keys(range) { values[key] = nil } }

    func rows(_ range: RowRange) -> [Row] {
        let chosen = keys(range).prefix(range.limit.map { max(0, $0) } ?? .max)
        return chosen.map { Row(space: range.space, key: $0.bytes, value: values[$0] ?? []) }
    }

    /// The keys of the range in its order, without its limit.
    private func keys(_ range: RowRange) -> [Key] {
        let lower = Key(bytes: range.lower)
        if range == .key(lower.bytes, in: range.space) { return values[lower] == nil ? [] : [lower] }
        let found = values.keys.filter { key in
            !key.bytes.lexicographicallyPrecedes(range.lower)
                && range.upper.map(key.bytes.lexicographicallyPrecedes) ?? true
        }
        return found.sorted { range.descending != $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }
}
