// The bytes of one property list, numbered from 0 wherever they lie in their storage, with the big-endian reads that
// the format needs. Bounds are checked twice: callers prove that bytes are there, and the array checks again.

/// A view of bytes; shares their storage.
struct ByteView: Sendable {
    let slice: ArraySlice<UInt8>

    init(_ slice: ArraySlice<UInt8>) { self.slice = slice }

    var count: Int { slice.count }

    subscript(offset: Int) -> UInt8 { slice[slice.startIndex + offset] }

    subscript(range: Range<Int>) -> ArraySlice<UInt8> {
        slice[slice.startIndex + range.lowerBound..<slice.startIndex + range.upperBound]
    }

    /// The unsigned integer of `size` bytes (1-8) at `offset`.
    func bigEndian(at offset: Int, size: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in offset..<offset + size { value = value << 8 | UInt64(self[index]) }
        return value
    }

    /// The UTF-16 code unit at `offset`.
    func codeUnit(at offset: Int) -> UInt16 { UInt16(self[offset]) << 8 | UInt16(self[offset + 1]) }
}
