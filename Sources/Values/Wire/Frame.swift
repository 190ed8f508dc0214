// One frame as the bytes that travel (FRM-1): a big-endian length and the payload, kept together so that a frame
// leaves in one write and a forwarded frame leaves as the bytes it came in. It knows nothing of what is inside.

/// A frame: its four header bytes and its payload.
package struct Frame: Sendable, Equatable {
    /// The length of the header in bytes.
    package static let headerCount = 4

    /// Header and payload, as they travel.
    package let bytes: [UInt8]

    /// The payload alone, sharing the frame's storage.
    package var payload: ArraySlice<UInt8> { bytes[Self.headerCount...] }

    /// The frame of this payload.
    /// - Throws: ``WireError/frameLength(_:limit:)`` if the payload is empty or larger than `limit` bytes.
    package init(payload: [UInt8], limit: Int = Limits.frame) throws(WireError) {
        guard (1...limit).contains(payload.count) else {
            throw .frameLength(UInt32(clamping: payload.count), limit: limit)
        }
        let length = UInt32(clamping: payload.count)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerCount + payload.count)
        for shift in [UInt32(24), 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
        bytes.append(contentsOf: payload)
        self.bytes = bytes
    }

    /// A frame whose header the decoder has checked.
    init(checkedBytes: ArraySlice<UInt8>) { bytes = Array(checkedBytes) }
}
