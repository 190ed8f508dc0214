// Numbers as bytes, the most significant byte first, and the loads of all that is read in place. `@inlinable`: frames
// and property lists are read with them.

extension FixedWidthInteger {
    /// The number that the bytes make; fewer than it has count as its lowest.
    @inlinable package init(bigEndianBytes bytes: some Sequence<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }

    package var bigEndianBytes: [UInt8] { unsafe withUnsafeBytes(of: bigEndian) { unsafe Array($0) } }
}

extension [UInt8] {
    @inlinable package mutating func append(bigEndian number: some FixedWidthInteger) {
        // Appended one by one, each byte would check the capacity.
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }
}

extension RawSpan {
    @inlinable @inline(__always)
    package func byte(at offset: Int) -> UInt8 {
        // Any byte is a UInt8; the bounds are checked.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The eight bytes at `offset`, the first one highest.
    @inlinable @inline(__always)
    package func word(at offset: Int) -> UInt64 {
        // Any eight bytes are a UInt64; the bounds are checked.
        unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// A copy of the bytes of a range, which is checked.
    @inlinable package func copy(_ range: Range<Int>) -> [UInt8] {
        // The buffer is only read while the closure runs.
        unsafe extracting(range).withUnsafeBytes { unsafe Array($0) }
    }
}
