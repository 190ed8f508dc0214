// Memory that several holders share without copying: a loop reads into a block, frames are slices of it, and queues
// keep those slices until the bytes have left. A block is filled from its beginning and only behind what has been given
// out, so that a slice never changes while anybody holds it. Own class and not an array: an array would copy itself
// when it is filled while slices of it are held.

/// A fixed number of bytes, shared by reference.
///
/// `@unchecked`: the bytes before `filled` never change while the block is shared, and may be read on any thread;
/// `filled` and the bytes behind it belong to the one thread that fills the block.
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
        let place = take(bytes.count)
        copy(bytes, to: place.start)
        return place
    }

    /// Copies the bytes to a place that was taken before and that nobody reads yet.
    package func copy(_ bytes: ByteSlice, to start: Int) {
        precondition(0 <= start && start <= filled - bytes.count, "bytes are copied to what was taken for them")
        defer { withExtendedLifetime(bytes.block) {} }
        let place = unsafe UnsafeMutableRawBufferPointer(rebasing: self.bytes[start..<start + bytes.count])
        unsafe place.copyMemory(from: bytes.unsafeBytes)
    }

    /// All that was taken.
    package var taken: ByteSlice { ByteSlice(of: self, from: 0, count: filled) }

    /// Forgets what was filled; only for who holds the sole reference.
    package func rewind() { unsafe end = 0 }
}
