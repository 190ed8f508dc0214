// One frame as the bytes that travel (FRM-1): a big-endian length and the payload, kept together so that a frame
// leaves in one write and a forwarded frame leaves as the bytes it came in: a slice of the block they were read into.
// It knows nothing of what is inside. `@inlinable`, so that other rooms pass it on without counting its reference, and so
// TandemBytes is imported publicly: what is inlined elsewhere may name only what is visible there.

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

    /// A frame whose header the decoder has checked.
    @inlinable init(checkedBytes: ByteSlice) { bytes = checkedBytes }
}
