// Cuts a stream of bytes into frames, whatever pieces it arrives in (FRM-2, FRM-3). It buffers only bytes that were
// received, never room for bytes that a header claims, and refuses a wrong length as soon as the header is there.
// There is no way on after an error: a stream without its frame borders means nothing.

import TandemBytes

/// A resumable cutter of frames.
package struct FrameDecoder: Sendable {
    /// The largest payload accepted from now on, in bytes.
    package var limit: Int

    private var buffer: [UInt8] = []
    private var start = 0

    package init(limit: Int) { self.limit = limit }

    /// Bytes received and not yet given out as a frame.
    package var bufferedCount: Int { buffer.count - start }

    /// Adds received bytes.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        // The copy stays inside both buffers: append reserves, and the source knows its count.
        discardTaken()
        unsafe buffer.append(contentsOf: bytes)
    }

    /// Adds received bytes.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        discardTaken()
        buffer.append(contentsOf: bytes)
    }

    /// The next whole frame; nil until more bytes are there.
    /// - Throws: ``WireError/frameLength(_:limit:)`` for a length of 0 or above the limit, at each call from then on.
    package mutating func next() throws(WireError) -> Frame? {
        guard let length = try payloadCount() else { return nil }
        let count = Frame.headerCount + length
        guard bufferedCount >= count else { return nil }
        let frame = Frame(checkedBytes: ByteSlice(copying: Array(buffer[start..<start + count])))
        start += count
        if start == buffer.count { discardTaken() }
        return frame
    }

    /// Takes out what is buffered, for another decoder to go on with.
    package mutating func takeBuffered() -> [UInt8] {
        defer { (buffer, start) = ([], 0) }
        return Array(buffer[start...])
    }

    private func payloadCount() throws(WireError) -> Int? {
        guard bufferedCount >= Frame.headerCount else { return nil }
        let header = buffer[start..<start + Frame.headerCount]
        let length = header.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard length > 0, Int(length) <= limit else { throw .frameLength(length, limit: limit) }
        return Int(length)
    }

    /// Moves an unfinished frame to the front; an idle decoder holds no memory.
    private mutating func discardTaken() {
        guard start > 0 else { return }
        if start == buffer.count { buffer = [] } else { buffer.removeSubrange(0..<start) }
        start = 0
    }
}
