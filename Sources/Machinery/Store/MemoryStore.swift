// Rows in memory, for a simulator that keeps nothing and for tests on a manual clock: no file and no thread, but the
// same ranges and the same all-or-nothing commits as the store's. A test can make it fail, as a disk does.

import Synchronization
import TandemBase

/// Rows that live as long as the process.
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

/// The rows of one space, by key: a row costs the same to write whatever is kept. Their order is found when a range is
/// read, at a start and for a queue that is read back, and kept for the parts that follow.
private struct SpaceRows {
    /// An array would hash each of its bytes by itself.
    private struct Key: Hashable {
        let bytes: [UInt8]

        func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    private var values: [Key: [UInt8]] = [:]
    /// The keys in their order; nil since a key has come or gone.
    private var order: [Key]?

    mutating func put(_ key: [UInt8], _ value: [UInt8]) {
        if values.updateValue(value, forKey: Key(bytes: key)) == nil { order = nil }
    }

    mutating func remove(_ key: [UInt8]) { if values.removeValue(forKey: Key(bytes: key)) != nil { order = nil } }

    mutating func removeAll(in range: RowRange) { for key in keys(range) { remove(key.bytes) } }

    mutating func rows(_ range: RowRange) -> [Row] {
        let limit = range.limit.map { max(0, $0) } ?? .max
        return keys(range).prefix(limit).map { Row(space: range.space, key: $0.bytes, value: values[$0] ?? []) }
    }

    /// The keys between the bounds, in rising order.
    private mutating func keys(_ range: RowRange) -> ArraySlice<Key> {
        let lower = Key(bytes: range.lower)
        if range.upper == lower.bytes + [0] { return values[lower] == nil ? [] : [lower] }
        let keys = order ?? values.keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        order = keys
        let start = Self.index(of: lower.bytes, in: keys)
        return keys[start..<max(start, range.upper.map { Self.index(of: $0, in: keys) } ?? keys.count)]
    }

    /// The index of the first key that is not below.
    private static func index(of key: [UInt8], in keys: [Key]) -> Int {
        keys.partitioningIndex { !$0.bytes.lexicographicallyPrecedes(key) }
    }
}
