// The order of dictionary keys (FRM-6 j): that of their Unicode scalars, which is that of their UTF-8 bytes, read from
// the stored bytes without making strings. A dictionary written in that order is proved unique by looking at
// neighbours. If one is not, each key object of the whole property list gets a rank, sorted once: then any number of
// dictionaries that share long keys costs comparisons of integers.

struct KeyOrder {
    /// For each object its rank among the keys, equal texts sharing one; empty if comparing neighbours was enough.
    private(set) var ranks: [Int] = []

    private enum Finding {
        case ascending, unsorted
        case unfit(object: Int)
    }

    /// Checks keys and marks the dictionaries that are in order.
    init(
        _ entries: inout MutableSpan<ObjectEntry>, _ bytes: RawSpan, _ table: ObjectTable
    ) throws(PropertyListError) {
        var isRanked = false
        for object in entries.indices where entries[object].kind == .dictionary {
            switch Self.finding(entries[object], entries.span, bytes, table) {
            case .ascending: entries[object].isFit = true
            case .unsorted: isRanked = true
            case .unfit(let key):
                let location = PropertyListError.Location.object(key, byte: table.offset(of: key, in: bytes))
                throw PropertyListError(entries[key].keyFault(in: bytes), at: location)
            }
        }
        if isRanked { try rank(entries.span, bytes, table) }
    }

    @inline(__always)
    private static func finding(
        _ dictionary: ObjectEntry, _ entries: Span<ObjectEntry>, _ bytes: RawSpan, _ table: ObjectTable
    ) -> Finding {
        let keys = bytes.extracting(dictionary.content..<dictionary.content + dictionary.count * table.referenceSize)
        switch table.referenceSize {
        case 1: return finding(keys, size: 1, entries, bytes)
        case 2: return finding(keys, size: 2, entries, bytes)
        default: return finding(keys, size: table.referenceSize, entries, bytes)
        }
    }

    @inline(__always)
    private static func finding(
        _ keys: RawSpan, size: Int, _ entries: Span<ObjectEntry>, _ bytes: RawSpan
    ) -> Finding {
        var isAscending = true
        var (last, lastStart, offset) = (0, 0 as UInt64, 0)
        while offset < keys.byteCount {
            let key = Int(truncatingIfNeeded: keys.reference(at: offset, size: size))
            // Mostly the first characters decide. They are no 0, so that a shorter key is before what it begins.
            let start = entries[key].start
            if start <= lastStart {
                guard entries[key].isKey else { return .unfit(object: key) }
                isAscending = isAscending && (offset == 0 || entries[last].compare(entries[key], in: bytes) < 0)
            }
            (last, lastStart) = (key, start == 0 ? .max : start)
            offset &+= size
        }
        return isAscending ? .ascending : .unsorted
    }

    /// Ranks all keys and finds the dictionary that has one twice.
    private mutating func rank(
        _ entries: Span<ObjectEntry>, _ bytes: RawSpan, _ table: ObjectTable
    ) throws(PropertyListError) {
        rankKeys(entries, bytes, table)
        var own: [Int] = []
        for object in entries.indices where entries[object].kind == .dictionary && !entries[object].isFit {
            own.removeAll(keepingCapacity: true)
            for index in 0..<entries[object].count {
                own.append(ranks[table.reference(index, of: entries[object], in: bytes)])
            }
            own.sort()
            for index in own.indices.dropFirst() where own[index] == own[index - 1] {
                throw PropertyListError(
                    .duplicateKey, at: .object(object, byte: table.offset(of: object, in: bytes)))
            }
        }
    }

    private mutating func rankKeys(_ entries: Span<ObjectEntry>, _ bytes: RawSpan, _ table: ObjectTable) {
        ranks = Array(repeating: -1, count: entries.count)
        var keys: [(weight: UInt64, object: Int)] = []
        for object in entries.indices where entries[object].kind == .dictionary {
            for index in 0..<entries[object].count {
                let key = table.reference(index, of: entries[object], in: bytes)
                guard ranks[key] < 0 else { continue }
                ranks[key] = 0
                keys.append((entries[key].weight(in: bytes), key))
            }
        }
        keys.sort { left, right in
            left.weight != right.weight
                ? left.weight < right.weight
                : entries[left.object].compare(entries[right.object], in: bytes) < 0
        }
        var rank = 0
        for index in keys.indices.dropFirst() {
            let (last, key) = (keys[index - 1], keys[index])
            let isEqual =
                last.weight == key.weight && entries[last.object].compare(entries[key.object], in: bytes) == 0
            if !isEqual { rank += 1 }
            ranks[key.object] = rank
        }
    }
}

/// A key and its value. No tuple: what becomes of one when it is destroyed is left to the runtime.
package struct PropertyListPair: Sendable {
    package let key: String
    package let value: PropertyListValue
}

/// The pairs of a dictionary in one allocation behind the object's head. The header is always the number of initialised
/// pairs, from the front on.
///
/// `@unchecked`: immutable. The initialiser writes the storage before another thread can see it, and nothing writes it
/// again.
struct SortedPairs: @unchecked Sendable {
    private final class Storage: ManagedBuffer<Int, PropertyListPair> {
        deinit {
            unsafe withUnsafeMutablePointers { count, pairs in
                // One by one, because that is compiled in place; all at once is left to the runtime.
                for index in unsafe 0..<count.pointee { unsafe (pairs + index).deinitialize(count: 1) }
            }
        }
    }

    /// Nil if there are none.
    private let storage: Storage?

    /// At most `capacity` pairs, which `fill` appends.
    @inline(__always)
    init(capacity: Int, _ fill: (inout OutputSpan<PropertyListPair>) -> Void) {
        guard capacity > 0 else { storage = nil; return }
        let storage = unsafe unsafeDowncast(Storage.create(minimumCapacity: capacity) { _ in 0 }, to: Storage.self)
        unsafe storage.withUnsafeMutablePointers { count, pairs in
            let room = unsafe UnsafeMutableBufferPointer(start: pairs, count: capacity)
            var span = unsafe OutputSpan(buffer: room, initializedCount: 0)
            fill(&span)
            unsafe count.pointee = span.finalize(for: room)
        }
        self.storage = storage
    }

    /// Lends the pairs.
    @inline(__always)
    func withSpan<Result, Failure>(_ body: (Span<PropertyListPair>) throws(Failure) -> Result) throws(Failure) -> Result
    {
        guard let storage else { return try body(Span()) }
        return try unsafe storage.withUnsafeMutablePointers { count, pairs throws(Failure) in
            try unsafe body(Span(_unsafeStart: pairs, count: count.pointee))
        }
    }
}

/// A type that cannot be copied, laid out as one that can. A loop over an array copies each element, which counts
/// references up and down; an element lent as such a type stays where it is. A test checks the layout of both types
/// below, and nothing else may be lent as another type.
protocol LentInPlace: ~Copyable {
    /// The type whose values are lent as this one; of the same layout.
    associatedtype Original
}

/// A value that lies in an array.
struct BorrowedValue: ~Copyable, LentInPlace {
    typealias Original = PropertyListValue

    let value: PropertyListValue
}

/// A pair that lies in a dictionary.
struct BorrowedPair: ~Copyable, LentInPlace {
    typealias Original = PropertyListPair

    let key: String
    let value: BorrowedValue
}

extension LentInPlace where Self: ~Copyable {
    /// Lends the elements one by one, with their indices.
    @inline(__always)
    static func forEach<Failure>(
        _ elements: Span<Original>, _ body: (Int, borrowing Self) throws(Failure) -> Void
    ) throws(Failure) {
        try unsafe elements.withUnsafeBufferPointer { buffer throws(Failure) in
            let start = unsafe UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: Self.self)
            guard let start = unsafe start else { return }
            for index in 0..<buffer.count { try unsafe body(index, start[index]) }
        }
    }
}
