// The frame around a plain envelope: trailer, offset table and the root's head (FRM-6 a, b). Plain means: the root is the
// first object, references have one byte, and the sizes are ones that writers use.

/// The places of a plain envelope's parts.
struct PlainTable {
    /// A root without a separate count. No kind lists more keys.
    private static var maximumPairs: Int { 14 }
    private static var trailerCount: Int { 32 }
    private static var magic: ShortWord { "bplist00" }
    private static var rootOffset: Int { 8 }

    let count: Int
    let pairs: Int
    /// Where the offset table begins, and so where the objects end.
    let start: Int
    private let offsetSize: Int

    @inline(__always)
    init?(_ payload: RawSpan) {
        let trailer = payload.byteCount - Self.trailerCount
        guard trailer > Self.rootOffset + 1, payload.byteCount <= UInt32.max, payload.word(at: 0) == Self.magic.bits
        else { return nil }
        let (sizes, objects) = (payload.word(at: trailer), payload.word(at: trailer + 8))
        offsetSize = Int(truncatingIfNeeded: sizes >> 8 & 0xFF)
        // Unused bytes of zero, an offset size, and a reference size of 1: nothing else is in these eight bytes.
        guard offsetSize == 1 || offsetSize == 2 || offsetSize == 4, sizes == UInt64(offsetSize) << 8 | 1,
            1...UInt64(1 + 2 * Self.maximumPairs) ~= objects, payload.word(at: trailer + 16) == 0
        else { return nil }
        count = Int(objects)
        start = trailer - count * offsetSize
        guard start > Self.rootOffset, payload.word(at: trailer + 24) == UInt64(start),
            UInt64(start) >> UInt64(8 * offsetSize) == 0
        else { return nil }
        let marker = payload.byte(at: Self.rootOffset)
        pairs = Int(marker & 0x0F)
        guard marker >> 4 == 0xD, 1...Self.maximumPairs ~= pairs, count > pairs,
            offset(of: 0, in: payload) == Self.rootOffset, firstScalar <= start
        else { return nil }
    }

    /// Where the objects after the root begin.
    var firstScalar: Int { Self.rootOffset + 1 + 2 * pairs }

    /// The object that a key or value refers to, unchecked.
    @inline(__always)
    func reference(_ index: Int, in payload: RawSpan) -> Int { Int(payload.byte(at: Self.rootOffset + 1 + index)) }

    /// The offset that the table gives for an object below `count`, unchecked.
    @inline(__always)
    func offset(of object: Int, in payload: RawSpan) -> Int {
        // The trailer lies behind the table, so that eight bytes can be read at each place.
        Int(truncatingIfNeeded: payload.number(at: start + object * offsetSize, size: offsetSize))
    }
}
