// One frame as the bytes that travel (FRM-1): a big-endian length and the payload, kept together so that a frame
// leaves in one write and a forwarded frame leaves as the bytes it came in: a slice of the block they were read into.
// It knows nothing of what is inside.

package import TandemBytes

/// A frame: its four header bytes and its payload.
package struct Frame: Sendable, Equatable {
    /// The length of the header in bytes.
    package static let headerCount = 4

    /// Header and payload, as they travel.
    package let bytes: ByteSlice

    /// The payload alone, in the same block.
    package var payload: ByteSlice { bytes.dropFirst(Self.headerCount) }

    /// Header and payload together, in bytes.
    package var count: Int { bytes.count }

    /// The frame of this payload, which is copied.
    /// - Throws: ``WireError/frameLength(_:limit:)`` if the payload is empty or larger than `limit` bytes.
    package init(payload: [UInt8], limit: Int = Limits.frame) throws(WireError) {
        guard (1...limit).contains(payload.count) else {
            throw .frameLength(UInt32(clamping: payload.count), limit: limit)
        }
        let length = UInt32(clamping: payload.count)
        let header = [UInt32(24), 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
        bytes = ByteSlice(copying: header + payload)
    }

    /// A frame whose header the decoder has checked.
    init(checkedBytes: ByteSlice) { bytes = checkedBytes }
}
