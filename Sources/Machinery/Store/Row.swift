// Rows of the store: bytes, ordered by space and key. The store knows no rule beyond key, range and order; the room
// that wrote a row decides its meaning.

/// One of at most 256 separate key spaces; services give them their meaning.
package struct RowSpace: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// A stored row. Keys are unique in a space and ordered as bytes.
package struct Row: Sendable, Equatable {
    package let space: RowSpace
    package let key: [UInt8]
    package let value: [UInt8]
    /// Whether its bytes are not those that were written; it has no value then (``RowRange/passesDamaged``).
    package let isDamaged: Bool

    package init(space: RowSpace, key: [UInt8], value: [UInt8], isDamaged: Bool = false) {
        self.space = space
        self.key = key
        self.value = value
        self.isDamaged = isDamaged
    }
}

/// One change of a commit; the changes of a commit take effect in order and together, or not at all. Removals on a full
/// disk are an exception (``CommitRoom/reserve``).
package enum RowChange: Sendable, Equatable {
    /// Writes the row, in place of any with the same space and key.
    case put(RowSpace, key: [UInt8], value: [UInt8])
    /// Removes the row if there is one.
    case delete(RowSpace, key: [UInt8])
    /// Removes every row of the range; its limit does not count.
    case deleteAll(RowRange)

    /// The change's share of the bounded queue: its bytes and a constant for bookkeeping.
    var weight: Int {
        switch self {
        case .put(_, let key, let value): 64 + key.count + value.count
        case .delete(_, let key): 64 + key.count
        case .deleteAll(let range): 64 + range.lower.count + (range.upper?.count ?? 0)
        }
    }
}

/// The rows of one space from `lower` to before `upper`, in the order of their keys.
package struct RowRange: Sendable, Equatable {
    package let space: RowSpace
    package let lower: [UInt8]
    /// The first key after the range; nil for the end of the space.
    package let upper: [UInt8]?
    package var limit: Int?
    /// Whether a row whose bytes are not those that were written is passed without its value. Otherwise it fails the
    /// whole read.
    package var passesDamaged = false

    package init(
        space: RowSpace, from lower: [UInt8] = [], to upper: [UInt8]? = nil, limit: Int? = nil
    ) {
        self.space = space
        self.lower = lower
        self.upper = upper
        self.limit = limit
    }

    /// The rest of a range with a limit, behind these rows of it; nil if they were the last.
    package func rest(after rows: [Row]) -> RowRange? {
        guard let last = rows.last, rows.count == limit else { return nil }
        var rest = RowRange(space: space, from: last.key + [0], to: upper, limit: limit)
        rest.passesDamaged = passesDamaged
        return rest
    }

    /// The rows whose key starts with `prefix`.
    package static func prefix(_ prefix: [UInt8], in space: RowSpace) -> RowRange {
        RowRange(space: space, from: prefix, to: successor(of: prefix))
    }

    /// The row with exactly this key.
    package static func key(_ key: [UInt8], in space: RowSpace) -> RowRange {
        RowRange(space: space, from: key, to: key + [0], limit: 1)
    }

    /// The smallest key above every key that starts with `prefix`; nil if there is none.
    private static func successor(of prefix: [UInt8]) -> [UInt8]? {
        guard let index = prefix.lastIndex(where: { $0 < .max }) else { return nil }
        return Array(prefix[..<index]) + [prefix[index] + 1]
    }
}

// A checksum for every row, so that a flipped bit is an error and never a value. SQLite itself checks structure, not
// content. FNV-1a over words of eight bytes, with a shift that brings the high half down: each step is a bijection, so
// any change within one word is certain to be found, and others almost. A long value has four such sums side by side,
// because each step of a sum waits for the one before it.

/// The 64-bit checksum of a row's space, key and value.
enum RowChecksum {
    private static let start: UInt64 = 0xCBF2_9CE4_8422_2325

    /// - Parameter isLong: whether the value is among the long ones (``LongValues``).
    static func of(
        space: UInt8, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isLong: Bool
    ) -> UInt64 {
        var hash = start
        mix(UInt64(space), into: &hash)
        mix(key, into: &hash)
        if isLong { mix(long: value, into: &hash) } else { mix(value, into: &hash) }
        return hash
    }

    static func of(space: UInt8, key: [UInt8], value: [UInt8], isLong: Bool) -> UInt64 {
        key.withUnsafeBytes { key in value.withUnsafeBytes { of(space: space, key: key, value: $0, isLong: isLong) } }
    }

    /// The number of bytes in the four sums goes in, too, and that of the rest.
    private static func mix(long bytes: UnsafeRawBufferPointer, into hash: inout UInt64) {
        var sums = (start, start &+ 1, start &+ 2, start &+ 3)
        let end = bytes.count & ~31
        for offset in stride(from: 0, to: end, by: 32) {
            func word(_ index: Int) -> UInt64 {
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset &+ 8 &* index, as: UInt64.self))
            }
            mix(word(0), into: &sums.0)
            mix(word(1), into: &sums.1)
            mix(word(2), into: &sums.2)
            mix(word(3), into: &sums.3)
        }
        for sum in [sums.0, sums.1, sums.2, sums.3] { mix(sum, into: &hash) }
        mix(UInt64(end), into: &hash)
        mix(UnsafeRawBufferPointer(rebasing: bytes[end...]), into: &hash)
    }

    /// The count goes in, too: what the last word lacks is zero.
    private static func mix(_ bytes: UnsafeRawBufferPointer, into hash: inout UInt64) {
        mix(UInt64(bytes.count), into: &hash)
        var offset = 0
        while offset + 8 <= bytes.count {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)), into: &hash)
            offset += 8
        }
        guard offset < bytes.count else { return }
        mix(bytes[offset...].reversed().reduce(0) { $0 << 8 | UInt64($1) }, into: &hash)
    }

    private static func mix(_ word: UInt64, into hash: inout UInt64) {
        hash = (hash ^ word) &* 0x100_0000_01B3
        hash ^= hash >> 32
    }
}

/// The space that a commit may use on a full disk.
package enum CommitRoom: Sendable {
    /// It stores new data: it is refused once the reserve is needed.
    case ordinary
    /// It makes room, or ends what would take it. If its removals of ranges are too large for a full disk they follow
    /// its other changes in parts, in their order: a crash between leaves the later ones.
    case reserve
}

/// Ordered rows, in the store's file or in memory (the simulator, tests on a manual clock). Completions come in the
/// order of submission, on any thread.
package protocol RowBackend: AnyObject, Sendable {
    /// The file, for messages.
    var path: String { get }

    /// Makes the changes durable together, or none of them.
    func commit(
        _ changes: [RowChange], room: CommitRoom, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void)

    /// Reads the rows after every commit submitted before.
    func fetch(_ range: RowRange, completion: @escaping @Sendable (Result<[Row], StoreError>) -> Void)

    /// Whether a disk that was full has room for ordinary commits again.
    func findRoom(completion: @escaping @Sendable (Bool) -> Void)
}

extension RowBackend {
    /// Makes the changes durable together, or none of them.
    package func commit(
        _ changes: [RowChange], completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) { commit(changes, room: .ordinary, completion: completion) }

    package func findRoom(completion: @escaping @Sendable (Bool) -> Void) { completion(true) }
}

extension Store: RowBackend {}
