// Finds the scalars that were written before, so that equal ones are written once (FRM-7). Open addressing over short
// hashes; an entry counts only if it bears the present generation, so that a new writing clears nothing. It knows
// hashes and numbers of objects: the caller compares the bytes.

/// A hash table from hashes to the numbers of objects.
///
/// `@unchecked`: needs no lock, because it cannot be copied: only its owner reaches its memory, and exclusive access
/// protects each `mutating` call, on whichever thread.
@safe struct ScalarTable: ~Copyable, @unchecked Sendable {
    private struct Entry {
        let generation: UInt32
        let hash: UInt32
        let number: Int
    }

    private var entries: UnsafeMutablePointer<Entry>
    /// The number of entries less one; they are a power of two.
    private var mask: Int
    private var generation: UInt32 = 1
    private var count = 0

    /// - Parameter capacity: a power of two.
    init(capacity: Int) {
        mask = capacity - 1
        unsafe entries = Self.emptyEntries(capacity)
    }

    deinit { unsafe entries.deallocate() }

    /// The memory that it holds, in bytes.
    var size: Int { (mask + 1) * MemoryLayout<Entry>.stride }

    /// Forgets all scalars.
    mutating func removeAll() {
        count = 0
        generation &+= 1
        // After four billion writings old entries would look like new ones.
        if generation == 0 { clear() }
    }

    /// The number of the scalar with this hash that `isEqual` accepts; if there is none, `new` is entered.
    @inline(__always)
    mutating func number(hash: UInt32, orEnter new: Int, where isEqual: (Int) -> Bool) -> Int? {
        var index = Int(hash) & mask
        // The mask keeps the index within the entries, and half of them are free, so that this ends.
        while unsafe entries[index].generation == generation {
            if unsafe entries[index].hash == hash, unsafe isEqual(entries[index].number) {
                return unsafe entries[index].number
            }
            index = (index &+ 1) & mask
        }
        unsafe entries[index] = Entry(generation: generation, hash: hash, number: new)
        count &+= 1
        if 2 &* count > mask { grow() }
        return nil
    }

    @inline(never) private mutating func grow() {
        let old = unsafe entries
        let oldCount = mask + 1
        mask = 2 * oldCount - 1
        unsafe entries = Self.emptyEntries(2 * oldCount)
        for oldIndex in 0..<oldCount where unsafe old[oldIndex].generation == generation {
            var index = unsafe Int(old[oldIndex].hash) & mask
            while unsafe entries[index].generation == generation { index = (index + 1) & mask }
            unsafe entries[index] = unsafe old[oldIndex]
        }
        unsafe old.deallocate()
    }

    private mutating func clear() {
        unsafe entries.update(repeating: Entry(generation: 0, hash: 0, number: 0), count: mask + 1)
        generation = 1
    }

    private static func emptyEntries(_ count: Int) -> UnsafeMutablePointer<Entry> {
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: count)
        unsafe entries.initialize(repeating: Entry(generation: 0, hash: 0, number: 0), count: count)
        return unsafe entries
    }
}

/// A hash function with a secret seed, drawn when the writer's memory is made: a peer cannot choose scalars that all
/// collide and so make writing slow. Two multiplications for a short scalar.
struct ScalarHash: Sendable {
    private let seed: UInt64
    private let factor: UInt64

    init() {
        seed = .random(in: .min ... .max)
        factor = .random(in: .min ... .max)
    }

    /// The hash of the bytes from `offset` to the end, at least one.
    @inline(__always)
    func hash(_ output: borrowing OutputBytes, from offset: Int) -> UInt32 {
        unsafe output.withBytes(from: offset) { bytes in
            var state = seed ^ UInt64(truncatingIfNeeded: bytes.count)
            var offset = 0
            while bytes.count &- offset > 16 {
                state = unsafe mix(word(bytes, offset) ^ state, word(bytes, offset &+ 8) ^ factor)
                offset &+= 16
            }
            let (first, second) = unsafe ends(bytes, from: offset)
            state = mix(first ^ state, second ^ factor)
            return UInt32(truncatingIfNeeded: state)
        }
    }

    /// The last 1 to 16 bytes in two words, which may overlap.
    @inline(__always)
    private func ends(_ bytes: UnsafeRawBufferPointer, from offset: Int) -> (UInt64, UInt64) {
        switch bytes.count &- offset {
        case 8...: return unsafe (word(bytes, offset), word(bytes, bytes.count &- 8))
        case 4..<8: return unsafe (half(bytes, offset), half(bytes, bytes.count &- 4))
        default:
            let middle = (offset &+ bytes.count) >> 1
            return unsafe (UInt64(bytes[offset]) | UInt64(bytes[middle]) << 8, UInt64(bytes[bytes.count &- 1]))
        }
    }

    @inline(__always) private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    @inline(__always) private func half(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        unsafe UInt64(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inline(__always) private func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
