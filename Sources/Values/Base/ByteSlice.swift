// A part of a block: what frames are and queues hold. 16 bytes, made and cut without touching memory; what copies is
// called so. `@inlinable`, because a slice's reference would be counted at each call from another room; a package
// member is inlined there only if its type and the stored properties that it uses are usable from inline, too.

/// Some bytes of a block, kept alive with it.
@usableFromInline package struct ByteSlice: Sendable {
    @usableFromInline package let block: ByteBlock
    @usableFromInline var first: UInt32
    @usableFromInline var length: UInt32

    /// - Precondition: the range lies in the block.
    @inlinable package init(of block: ByteBlock, from start: Int, count: Int) {
        precondition(0 <= start && 0 <= count && start <= block.capacity - count, "a slice lies in its block")
        self.block = block
        first = UInt32(start)
        length = UInt32(count)
    }

    /// Copies the bytes into a block of exactly their size.
    package init(copying bytes: RawSpan) {
        let block = ByteBlock(capacity: bytes.byteCount)
        unsafe bytes.withUnsafeBytes { unsafe block.bytes.copyMemory(from: $0) }
        self = block.take(bytes.byteCount)
    }

    /// Copies the bytes into a block of exactly their size.
    package init(copying bytes: [UInt8]) { unsafe self.init(copying: bytes.span.bytes) }

    @inlinable package var start: Int { Int(first) }
    @inlinable package var count: Int { Int(length) }
    @inlinable package var end: Int { start + count }
    @inlinable package var isEmpty: Bool { length == 0 }

    /// Whether the other slice begins where this one ends.
    @inlinable package func isFollowed(by other: ByteSlice) -> Bool { block === other.block && end == other.start }

    /// The first bytes of this slice.
    @inlinable package func prefix(_ count: Int) -> ByteSlice { part(from: 0, count: count) }

    /// This slice without its first bytes.
    @inlinable package func dropFirst(_ count: Int) -> ByteSlice { part(from: count, count: self.count - count) }

    /// This slice and the bytes that follow it in its block.
    @inlinable package func extended(by count: Int) -> ByteSlice {
        ByteSlice(of: block, from: start, count: self.count + count)
    }

    /// Takes the first bytes out of this slice, in place: a slice that is cut into many causes no reference counting
    /// for its rest.
    @inlinable package mutating func removeFirst(_ count: Int) -> ByteSlice {
        let taken = prefix(count)
        first += taken.length
        length -= taken.length
        return taken
    }

    /// Adds a slice that begins where this one ends, in place.
    /// - Returns: false, and nothing has changed, if it lies elsewhere.
    @inlinable package mutating func join(_ other: ByteSlice) -> Bool {
        guard block === other.block, other.first == first + length else { return false }
        length += other.length
        return true
    }

    /// The bytes of this slice from an offset in it on.
    /// - Precondition: they lie in this slice.
    @inlinable package func part(from offset: Int, count: Int) -> ByteSlice {
        precondition(0 <= offset && 0 <= count && offset <= self.count - count, "a part lies in its slice")
        return ByteSlice(of: block, from: start + offset, count: count)
    }

    /// Lends the bytes.
    @inlinable package func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The initialiser has proved that the range lies in the block, which lives until the body is through.
        defer { withExtendedLifetime(block) {} }
        return try body(unsafe RawSpan(_unsafeBytes: unsafeBytes))
    }

    /// The first four bytes as a number in network order; nil if there are fewer.
    @inlinable package var leadingUInt32: UInt32? {
        guard count >= 4 else { return nil }
        defer { withExtendedLifetime(block) {} }
        return unsafe UInt32(bigEndian: unsafeBytes.loadUnaligned(as: UInt32.self))
    }

    /// The bytes where they are, for system calls and libraries; they live as long as the block.
    @inlinable @unsafe package var unsafeBytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: block.bytes[start..<end])
    }

    /// Copies the bytes to the end of an array.
    package func append(to array: inout [UInt8]) {
        defer { withExtendedLifetime(block) {} }
        unsafe array.append(contentsOf: unsafeBytes)
    }

    /// The bytes in memory of the caller's own.
    package func copied() -> [UInt8] {
        defer { withExtendedLifetime(block) {} }
        return unsafe Array(unsafeBytes)
    }
}

extension ByteSlice: Equatable {
    /// Whether the bytes are equal, wherever they are.
    @usableFromInline package static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        defer { withExtendedLifetime((left.block, right.block)) {} }
        return unsafe left.unsafeBytes.elementsEqual(right.unsafeBytes)
    }
}

// Memory that several holders share without copying: a loop reads into a block, frames are slices of it, and queues
// keep those slices until the bytes have left. A block is filled from its beginning and only behind what has been given
// out, so that a slice never changes while it is in use. Own class and not an array: an array would copy itself when it
// is filled while slices of it are held.

/// A fixed number of bytes, shared by reference.
///
/// `@unchecked`: needs no lock. `capacity` and `base` are immutable. One thread fills the block: only that thread uses
/// `end`, and it writes a byte before a slice with that byte reaches another thread. Any thread may read those bytes;
/// nothing changes them until `rewind()`, which the filler calls as the only owner.
@usableFromInline @safe package final class ByteBlock: @unchecked Sendable {
    @usableFromInline package let capacity: Int
    /// How many bytes from the beginning are given out or reserved.
    package var filled: Int { unsafe end }
    /// Unchecked, because nothing is called while it is touched; and blocks are touched for every read.
    @exclusivity(unchecked) private var end = 0
    @usableFromInline let base: UnsafeMutableRawPointer

    /// A block whose bytes are undefined until they are filled.
    package init(capacity: Int) {
        self.capacity = capacity
        unsafe base = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { unsafe base.deallocate() }

    /// The room behind what is filled.
    package var room: Int { capacity - filled }

    /// All of the block's bytes; they live as long as the block, and only its filler writes, only from `filled` on.
    @inlinable @unsafe package var bytes: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: base, count: capacity)
    }

    /// Gives out the next bytes of the room, which the caller has filled or will.
    package func take(_ count: Int) -> ByteSlice {
        precondition(0 <= count && count <= room, "only what fits can be taken")
        unsafe end += count
        return ByteSlice(of: self, from: filled - count, count: count)
    }

    /// Takes room for the bytes and copies them there.
    @discardableResult
    package func append(_ bytes: ByteSlice) -> ByteSlice {
        let taken = take(bytes.count)
        copy(bytes, to: taken.start)
        return taken
    }

    /// Copies the bytes to room that was taken before and that no thread reads yet.
    package func copy(_ bytes: ByteSlice, to start: Int) {
        precondition(0 <= start && start <= filled - bytes.count, "bytes are copied to what was taken for them")
        defer { withExtendedLifetime(bytes.block) {} }
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: self.bytes[start..<start + bytes.count])
        unsafe target.copyMemory(from: bytes.unsafeBytes)
    }

    /// All that was taken.
    package var taken: ByteSlice { ByteSlice(of: self, from: 0, count: filled) }

    /// Empties the block; only for the owner of the sole reference.
    package func rewind() { unsafe end = 0 }
}
