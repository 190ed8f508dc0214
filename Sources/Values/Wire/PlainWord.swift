// The words of the protocol as they lie in a payload: short ASCII strings, compared as numbers with constants that the
// compiler makes of literals. No String is made for what a peer sent. As the marker, which tells the length, is part of
// the number, a longer word or one with a NUL behind it is another number.

extension RawSpan {
    /// Where the string ends that is at `offset`; nil if it is not this one of 1 to 14 ASCII characters.
    @inline(__always)
    func plainWord(_ text: StaticString, at offset: Int) -> Int? {
        let count = text.utf8CodeUnitCount
        var (bits, mask) = (0x50 | UInt64(count), 0xFF as UInt64)
        for index in 0..<7 {
            // A literal of this module: the pointer is good for the count of bytes that it says.
            bits = bits << 8 | UInt64(index < count ? unsafe text.utf8Start[index] : 0)
            mask = mask << 8 | (index < count ? 0xFF : 0)
        }
        guard innerWord(at: offset) & mask == bits else { return nil }
        for index in min(7, count)..<count {
            guard unsafe innerByte(at: offset + 1 + index) == text.utf8Start[index] else { return nil }
        }
        return offset &+ 1 &+ count
    }
}
