// The loads that reading an envelope in place needs, and comparisons of bytes that are made of them. Of a peer's bytes
// this room loads nothing elsewhere, and each load is bounds-checked: a mistake in the reader ends the process and never
// reads what is not the peer's. What else is unsafe in this room copies whole payloads (Frame, BroadcastFrames), reads
// our own literals (PlainFrame), or takes an enum as its byte (EnvelopeKey).

extension RawSpan {
    @inline(__always)
    func byte(at offset: Int) -> UInt8 { unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// The eight bytes at `offset`, big-endian, for an offset that has 32 bytes or more behind it, as all have that lie
    /// before a trailer: the check is then one comparison with a number that a loop keeps.
    @inline(__always)
    func innerWord(at offset: Int) -> UInt64 {
        precondition(UInt(bitPattern: offset) < UInt(bitPattern: max(0, byteCount &- 31)), "a word is in the payload")
        // It is: a negative offset is a large unsigned number, and eight are less than 32.
        return unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    /// The byte at such an offset.
    @inline(__always)
    func innerByte(at offset: Int) -> UInt8 { UInt8(truncatingIfNeeded: innerWord(at: offset) >> 56) }

    /// The eight bytes from `offset`, big-endian.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

// MARK: Copies

extension RawSpan {
    /// The bytes of a range, which is checked.
    @inline(__always)
    func copy(_ range: Range<Int>) -> [UInt8] {
        unsafe extracting(range).withUnsafeBytes { unsafe Array($0) }
    }

    /// The text of a range that is known to be ASCII; the range is checked.
    @inline(__always)
    func asciiText(_ range: Range<Int>) -> String {
        unsafe String(copying: UTF8Span(unchecked: extracting(range)._unsafeView(as: UInt8.self), isKnownASCII: true))
    }
}

// MARK: Comparisons

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
