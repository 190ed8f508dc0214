// The memory of a dictionary: its pairs in one allocation behind the object's head. The unsafe code of dictionaries is
// here, but for the loop of BorrowedValue.swift, which looks at pairs where they lie. The header always holds the
// number of pairs that are initialised, from the front on.

/// A key and its value. No tuple: what becomes of one when it is destroyed is left to the runtime.
package struct PropertyListPair: Sendable {
    package let key: String
    package let value: PropertyListValue
}

/// Pairs that never change.
/// Unchecked Sendable: the storage is written before anybody else sees it, and never again, so it needs no lock.
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
