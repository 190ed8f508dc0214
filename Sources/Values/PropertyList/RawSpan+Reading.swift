// The reads that the format needs, from bytes wherever they lie. Each is checked against the bounds of the span. Only
// what is inside the objects or the offset table is read with them, so the trailer lies behind it: eight bytes can be
// loaded for a number of any size, and what is too much shifted out.

extension RawSpan {
    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        // Any byte is a UInt8; the bounds are checked.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The eight bytes at `offset`, the first one highest.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        // Any eight bytes are a UInt64; the bounds are checked.
        unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The 32 bytes at `offset`, in an order of the machine's own.
    @inline(__always)
    func block(at offset: Int) -> SIMD4<UInt64> {
        // Any 32 bytes are four UInt64; the bounds are checked.
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
    }

    /// The unsigned integer of `size` bytes (1-8) at `offset`, at least eight bytes before the end.
    @inline(__always)
    func bigEndian(at offset: Int, size: Int) -> UInt64 {
        word(at: offset) &>> UInt64(truncatingIfNeeded: 64 &- 8 &* size)
    }

    /// The same without the bytes behind it; fast where the size is a constant.
    @inline(__always)
    func reference(at offset: Int, size: Int) -> UInt64 {
        switch size {
        case 1: return UInt64(byte(at: offset))
        case 2: return UInt64(codeUnit(at: offset))
        default:
            var value: UInt64 = 0
            for place in 0..<size { value = value << 8 | UInt64(byte(at: offset + place)) }
            return value
        }
    }

    /// The UTF-16 code unit at `offset`.
    @inline(__always)
    func codeUnit(at offset: Int) -> UInt16 {
        // Any two bytes are a UInt16; the bounds are checked.
        unsafe UInt16(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// A copy of some bytes.
    func copy(_ range: Range<Int>) -> [UInt8] {
        // The buffer is only read while the closure runs.
        unsafe extracting(range).withUnsafeBytes { unsafe Array($0) }
    }

    /// Bytes that are known to be ASCII, as text.
    func ascii(_ range: Range<Int>) -> String {
        // The scan has proved that all bytes are ASCII.
        unsafe String(copying: UTF8Span(unchecked: extracting(range)._unsafeView(as: UInt8.self), isKnownASCII: true))
    }
}
