// Short ASCII words as integers, so that the words of the protocol (keys, kinds, channels) are told apart by comparing
// numbers: no String is made for what a peer sent. Written as literals in the source, read from a payload.

/// A word of 1 to 8 ASCII bytes as one number: big-endian, zeros after the end of the word.
struct ShortWord: Equatable, ExpressibleByStringLiteral {
    let bits: UInt64

    @inline(__always)
    init(bits: UInt64) { self.bits = bits }

    @inline(__always)
    init(stringLiteral text: StaticString) { self.init(text, from: 0) }

    /// Eight bytes of a literal; folded to a constant by the optimiser.
    @inline(__always)
    init(_ text: StaticString, from start: Int) {
        var bits: UInt64 = 0
        for index in start..<start + 8 {
            // A literal of this module: the pointer is good for the count of bytes that it says.
            let byte = index < text.utf8CodeUnitCount ? unsafe text.utf8Start[index] : 0
            bits = bits << 8 | UInt64(byte)
        }
        self.bits = bits
    }
}

/// A word of 1 to 16 ASCII bytes; two are equal if their bytes are.
struct PackedWord: Equatable, ExpressibleByStringLiteral {
    /// The longest word that fits.
    static var maximumCount: Int { 16 }

    let head: ShortWord
    /// What follows the eighth byte; 0 for a short word.
    let tail: ShortWord

    var isShort: Bool { tail.bits == 0 }

    @inline(__always)
    init(head: UInt64, tail: UInt64) {
        self.head = ShortWord(bits: head)
        self.tail = ShortWord(bits: tail)
    }

    @inline(__always)
    init(stringLiteral text: StaticString) {
        head = ShortWord(text, from: 0)
        tail = ShortWord(text, from: 8)
    }
}
