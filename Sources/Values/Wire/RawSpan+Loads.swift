// The loads that reading an envelope in place needs. The only place of this room that reads raw memory, and each load is
// bounds-checked: a mistake in the reader ends the process and never reads what is not the peer's.

extension RawSpan {
    @inline(__always)
    func byte(at offset: Int) -> UInt8 { unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// The eight bytes from `offset`, big-endian.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The unsigned integer of 1, 2, 4 or 8 bytes at `offset`. Eight bytes must be there in any case.
    @inline(__always)
    func number(at offset: Int, size: Int) -> UInt64 {
        word(at: offset) >> UInt64(truncatingIfNeeded: 64 - 8 * size)
    }

    /// The bytes at `offset` as a word of the protocol; nil if it has not 1 to 16, or ends in a NUL, which would make it
    /// equal to a shorter one. Sixteen bytes must be there in any case.
    @inline(__always)
    func packedWord(at offset: Int, count: Int) -> PackedWord? {
        guard 1...PackedWord.maximumCount ~= count, byte(at: offset + count - 1) != 0 else { return nil }
        let unused = UInt64(truncatingIfNeeded: count > 8 ? 8 * (16 - count) : 8 * (8 - count))
        guard count > 8 else { return PackedWord(head: (word(at: offset) >> unused) << unused, tail: 0) }
        return PackedWord(head: word(at: offset), tail: (word(at: offset + 8) >> unused) << unused)
    }
}

extension RawSpan {
    /// Whether the bytes are the same.
    package func isEqual(to other: RawSpan) -> Bool { byteCount == other.byteCount && firstDifference(other) == nil }

    /// Whether the bytes come first in the order of unsigned bytes, a prefix before what it begins.
    package func precedes(_ other: RawSpan) -> Bool {
        guard let place = firstDifference(other) else { return byteCount < other.byteCount }
        return byte(at: place) < other.byte(at: place)
    }

    /// The first place where both have a byte and not the same one.
    private func firstDifference(_ other: RawSpan) -> Int? {
        let count = Swift.min(byteCount, other.byteCount)
        var place = 0
        while place + 8 <= count, word(at: place) == other.word(at: place) { place += 8 }
        while place < count, byte(at: place) == other.byte(at: place) { place += 1 }
        return place < count ? place : nil
    }
}
