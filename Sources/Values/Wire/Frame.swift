// One frame as the bytes that travel (FRM-1): a big-endian length and the payload, kept together so that a frame leaves
// in one write and a forwarded frame leaves as the bytes it came in: a slice of the block they were read into. It knows
// nothing of what is inside. `@inlinable`, so that other rooms pass it on without counting its reference, and so
// TandemBase is imported publicly: what is inlined elsewhere may name only what is visible there.

public import TandemBase

/// A frame: its four header bytes and its payload.
@usableFromInline package struct Frame: Sendable, Equatable {
    /// The length of the header in bytes.
    @inlinable package static var headerCount: Int { 4 }

    /// Header and payload, as they travel.
    @usableFromInline package let bytes: ByteSlice

    /// The payload alone, in the same block.
    @inlinable package var payload: ByteSlice { bytes.dropFirst(Self.headerCount) }

    /// Lends the payload's bytes.
    @inlinable package func withPayload<Result>(_ body: (RawSpan) -> Result) -> Result {
        bytes.withBytes { body($0.extracting(droppingFirst: Self.headerCount)) }
    }

    /// Header and payload together, in bytes.
    @inlinable package var count: Int { bytes.count }

    /// The frame of this payload, which is copied.
    /// - Throws: ``WireError/frameLength(_:limit:)`` if the payload is empty or larger than `limit` bytes.
    package init(payload: [UInt8], limit: Int = Limits.frame) throws(WireError) {
        unsafe try self.init(payloadCount: payload.count, limit: limit) { room in
            unsafe payload.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        }
    }

    /// A frame in a block of its own, whose payload `fill` writes to the room that it gets.
    /// - Throws: ``WireError/frameLength(_:limit:)`` if the payload is empty or larger than `limit` bytes.
    init(payloadCount: Int, limit: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) throws(WireError) {
        guard (1...limit).contains(payloadCount) else {
            throw .frameLength(UInt32(clamping: payloadCount), limit: limit)
        }
        let block = ByteBlock(capacity: Self.headerCount + payloadCount)
        // The header, then room of exactly the payload's size: both end with the block.
        unsafe block.bytes.storeBytes(of: UInt32(clamping: payloadCount).bigEndian, as: UInt32.self)
        unsafe fill(UnsafeMutableRawBufferPointer(rebasing: block.bytes[Self.headerCount...]))
        bytes = block.take(block.capacity)
    }

    /// A copy of a whole frame in memory that is only lent.
    package init(copying frame: RawSpan) { bytes = ByteSlice(copying: frame) }

    /// A frame whose header the decoder has checked.
    @inlinable init(checkedBytes: ByteSlice) { bytes = checkedBytes }
}

// Cuts a stream of bytes into frames, whatever pieces it arrives in (FRM-2, FRM-3). Frames are slices of the blocks
// that the bytes were read into; what is copied is at most an unfinished frame, and that only where it cannot end in
// place. It never keeps room for what a header claims before an eighth of it is there, and refuses a wrong length as
// soon as the header is. There is no way on after an error: a stream without its frame borders means nothing.

/// A resumable cutter of frames.
@usableFromInline package struct FrameDecoder: Sendable {
    /// The largest payload accepted from now on, in bytes.
    package var limit: Int {
        get { Int(largest) }
        set { largest = UInt32(clamping: newValue) }
    }

    /// Received and not given out; nil instead of an empty slice, which would hold its block.
    @usableFromInline private(set) var rest: ByteSlice?
    /// How many bytes behind the rest, in its block, belong to this decoder too.
    private(set) var reserved: Int {
        get { Int(reservedCount) }
        set { reservedCount = UInt32(clamping: newValue) }
    }

    // Behind the words: an idle decoder is to be small.
    private var largest: UInt32
    private var reservedCount: UInt32 = 0

    package init(limit: Int) { largest = UInt32(clamping: limit) }

    /// Bytes received and not yet given out as a frame.
    @inlinable package var bufferedCount: Int { rest?.count ?? 0 }

    /// Adds received bytes. Only what neither begins a frame nor follows what is here in the same block is copied.
    package mutating func append(_ bytes: ByteSlice) {
        guard !bytes.isEmpty else { return }
        guard let rest else { return self.rest = bytes }
        if rest.isFollowed(by: bytes) {
            extend(rest, by: bytes.count)
        } else if bytes.count <= reserved {
            rest.block.copy(bytes, to: rest.end)
            extend(rest, by: bytes.count)
        } else {
            // Twice the size, so that many small pieces cost no more than a few moves.
            move(rest, reserving: max(bytes.count, rest.count))
            append(bytes)
        }
    }

    /// Adds a copy of received bytes.
    package mutating func append(_ bytes: some Collection<UInt8>) { append(ByteSlice(copying: Array(bytes))) }

    /// The next whole frame; nil until more bytes are there.
    /// - Throws: ``WireError/frameLength(_:limit:)`` for a length of 0 or above the limit, at each call from then on.
    package mutating func next() throws(WireError) -> Frame? {
        let buffered = bufferedCount
        guard let count = try frameCount(rest?.leadingUInt32), buffered >= count else { return nil }
        if buffered > count { return (rest?.removeFirst(count)).map(Frame.init(checkedBytes:)) }
        reserved = 0
        return rest.take().map(Frame.init(checkedBytes:))
    }

    /// Header and payload of the first frame; nil while its header is not whole.
    private func frameCount(_ length: UInt32?) throws(WireError) -> Int? {
        guard let length else { return nil }
        guard length > 0, Int(length) <= limit else { throw .frameLength(length, limit: limit) }
        return Frame.headerCount + Int(length)
    }

    private mutating func extend(_ rest: ByteSlice, by count: Int) {
        self.rest = rest.extended(by: count)
        reserved = max(0, reserved - count)
    }

    /// Copies the rest into a block of this decoder's own with room behind it.
    private mutating func move(_ rest: ByteSlice, reserving room: Int) {
        let block = ByteBlock(capacity: rest.count + room)
        self.rest = block.append(rest)
        reserved = room
        _ = block.take(room)
    }
}

// MARK: where an unfinished frame goes on

extension FrameDecoder {
    /// An unfinished frame of less than this is moved to where the next read puts what follows.
    private static var mostMoved: Int { 8 * 1024 }
    /// One of less than this is always moved: room of its own costs more.
    private static var leastReserved: Int { 256 }
    /// Room for a whole frame is kept when one part in so many of it is there.
    private static var leastShare: Int { 8 }

    /// Makes room for the rest of an unfinished frame, if enough of it is there: behind its bytes if it can end in
    /// their block, in a block of its own otherwise. Called when all that has come was cut.
    package mutating func reserve() {
        guard let rest, reserved == 0, rest.count >= Self.leastReserved else { return }
        guard let total = try? frameCount(rest.leadingUInt32), rest.count < total else { return }
        let isMostlyHere = rest.count * Self.leastShare >= total
        guard isMostlyHere || rest.count > Self.mostMoved else { return }
        if isMostlyHere, rest.end == rest.block.filled, rest.block.room >= total - rest.count {
            reserved = rest.block.take(total - rest.count).count
        } else {
            move(rest, reserving: min(total, rest.count * Self.leastShare) - rest.count)
        }
    }

    /// Where the next read should put its first bytes; nil if that is the end of the given block, to which what is
    /// unfinished and small has been moved.
    package mutating func room(before block: ByteBlock) -> ByteSlice? {
        guard let rest else { return nil }
        if reserved > 0 { return ByteSlice(of: rest.block, from: rest.end, count: reserved) }
        let isThere = rest.block === block && rest.end == block.filled
        if !isThere, rest.count <= min(Self.mostMoved, block.room) { self.rest = block.append(rest) }
        return nil
    }

    /// The block in which bytes are kept; nil if there are none.
    package var block: ByteBlock? { rest?.block }

    /// Copies what is kept in this block to a block of its own.
    package mutating func leave(_ block: ByteBlock) {
        if let rest, rest.block === block { move(rest, reserving: reserved) }
    }
}
