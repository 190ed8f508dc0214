// Questions about eight characters at once, each byte of a word being one of them. While all bytes are below 0x80,
// adding 0x80 - n to a byte sets its high bit exactly if it is n or more, and nothing is carried into the next byte.

extension UInt64 {
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    /// The same byte eight times.
    @inline(__always)
    private static func eight(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// Whether all bytes are ASCII.
    @inline(__always)
    var isASCII: Bool { self & Self.highBits == 0 }

    /// Whether a byte is zero, among bytes below 0x80.
    @inline(__always)
    var hasZeroByte: Bool { (self &+ ~Self.highBits) & Self.highBits != Self.highBits }

    /// Whether all bytes may stand in an application identifier (FRM-8): `A-Z a-z 0-9 . _ -`.
    @inline(__always)
    var areApplicationCharacters: Bool {
        guard isASCII else { return false }
        // The bit makes small letters of capitals, and of the other signs around them none.
        let letters = (self | Self.eight(0x20)).bytes(from: "a", to: "z")
        // Between `-` and `9` lies `/` as well.
        let others = bytes(from: "-", to: "9") & ~bytes(equalTo: "/") | bytes(equalTo: "_")
        return (letters | others) & Self.highBits == Self.highBits
    }

    /// The high bits of the bytes in a range, among other bits.
    @inline(__always)
    private func bytes(from first: Unicode.Scalar, to last: Unicode.Scalar) -> UInt64 {
        let (first, last) = (UInt8(ascii: first), UInt8(ascii: last))
        return (self &+ Self.eight(0x80 - first)) & ~(self &+ Self.eight(0x7F - last))
    }

    /// The high bits of the bytes that are a character, among other bits.
    @inline(__always)
    private func bytes(equalTo character: Unicode.Scalar) -> UInt64 {
        Self.highBits &- (self ^ Self.eight(UInt8(ascii: character)))
    }
}
