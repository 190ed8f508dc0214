// The skeleton of a plain payload: trailer, offset table and the root's references (FRM-6 a, b). Plain is what the
// canonical writing of most frames looks like (FRM-7): a root of five to fourteen pairs as the first object,
// then its keys, then its values, each its own object, with references of one byte. Anything else is left to who reads
// every shape, so a difference here means "not plain", never "wrong".

/// The places of a plain payload's parts.
struct PlainFrame {
    private static var magic: UInt64 { 0x6270_6C69_7374_3030 }
    /// The root's marker; its references follow.
    private static var root: Int { 8 }
    private static var trailerCount: Int { 32 }

    let pairs: Int
    /// Where the offset table begins, and so where the objects end.
    let tableStart: Int
    /// Bytes of an offset.
    let offsetSize: Int
    private let offsetShift: UInt64

    @inline(__always)
    init?(_ payload: RawSpan) {
        let trailer = payload.byteCount - Self.trailerCount
        // The shortest one has 5 pairs: 11 references and offsets, and 10 objects of at least a byte.
        guard trailer > 40, payload.byteCount <= UInt32.max, payload.innerWord(at: 0) == Self.magic else { return nil }
        let marker = payload.innerByte(at: Self.root)
        pairs = Int(marker & 0x0F)
        guard marker >> 4 == 0xD, 5...14 ~= pairs, Self.hasOrder(payload, pairs) else { return nil }
        let sizes = payload.word(at: trailer)
        offsetSize = Int(truncatingIfNeeded: sizes >> 8 & 0xFF)
        offsetShift = UInt64(truncatingIfNeeded: 64 &- 8 &* offsetSize)
        tableStart = trailer - (1 + 2 * pairs) * offsetSize
        // Unused bytes of zero, an offset size, and a reference size of 1: nothing else is in these eight bytes.
        guard offsetSize == 1 || offsetSize == 2 || offsetSize == 4, sizes == UInt64(offsetSize) << 8 | 1,
            payload.word(at: trailer + 8) == UInt64(1 + 2 * pairs), payload.word(at: trailer + 16) == 0,
            payload.word(at: trailer + 24) == UInt64(bitPattern: Int64(tableStart)),
            UInt64(bitPattern: Int64(tableStart)) >> UInt64(8 * offsetSize) == 0,
            tableStart > firstKey, offset(at: tableStart, in: payload) == Self.root
        else { return nil }
    }

    /// The root refers to the objects 1, 2, 3 and so on: as many keys and then as many values, none twice.
    @inline(__always)
    private static func hasOrder(_ payload: RawSpan, _ pairs: Int) -> Bool {
        // Frames that are forwarded have up to eight.
        guard pairs <= 8 else { return hasLongOrder(payload, pairs) }
        let rest = UInt64(truncatingIfNeeded: 128 - 16 * pairs)
        return payload.innerWord(at: root + 1) == 0x0102_0304_0506_0708
            && payload.innerWord(at: root + 9) >> rest == 0x090A_0B0C_0D0E_0F10 >> rest
    }

    /// The payload has room for it: each reference has an offset of at least one byte, too.
    private static func hasLongOrder(_ payload: RawSpan, _ pairs: Int) -> Bool {
        guard payload.byteCount > root + 1 + 2 * pairs + trailerCount else { return false }
        return (1...2 * pairs).allSatisfy { payload.innerByte(at: root + $0) == UInt8($0) }
    }

    /// Where the keys begin, right behind the references.
    var firstKey: Int { Self.root + 1 + 2 * pairs }

    /// Where the table has the offset of an object.
    @inline(__always)
    func entry(of object: Int) -> Int { tableStart &+ object &* offsetSize }

    /// The offset at a place of the table.
    @inline(__always)
    func offset(at entry: Int, in payload: RawSpan) -> Int {
        Int(truncatingIfNeeded: payload.innerWord(at: entry) &>> offsetShift)
    }
}
