// The frame around the objects: magic bytes, trailer and offset table (FRM-6 a, b, c). All sizes are proved against
// the bytes that are really there before anything is done for them.

/// The checked trailer of a property list.
struct ObjectTable: Sendable {
    static let magic = Array("bplist00".utf8)
    static let trailerCount = 32
    /// Magic, one object of one byte, its offset, trailer.
    static let minimumCount = 8 + 1 + 1 + 32

    let offsetSize: Int
    let referenceSize: Int
    let count: Int
    let top: Int
    /// Where the offset table begins, and so where the objects end.
    let start: Int

    init(_ bytes: ByteView, limits: PropertyListLimits) throws(PropertyListError) {
        try Self.checkMagic(bytes)
        let trailer = bytes.count - Self.trailerCount
        for index in trailer..<trailer + 6 where bytes[index] != 0 {
            throw PropertyListError(.reservedTrailerByte(bytes[index]), at: .byte(index))
        }
        let number = { (place: Int) in bytes.bigEndian(at: trailer + place, size: 8) }
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        (count, top) = try Self.checkedCount(number(8), top: number(16), at: trailer, limits: limits)
        try Self.checkSizes(bytes[trailer + 6], bytes[trailer + 7], at: trailer)
        // count is at most the objects limit, or the bytes available: no overflow.
        start = trailer - min(count, trailer) * offsetSize
        guard start > Self.magic.count, number(24) == UInt64(start) else {
            throw PropertyListError(.offsetTableMisplaced(number(24)), at: .byte(trailer + 24))
        }
        try checkFit(at: trailer)
    }

    /// The offset that the table gives for an object, unchecked.
    func claimedOffset(of object: Int, in bytes: ByteView) -> UInt64 {
        bytes.bigEndian(at: start + object * offsetSize, size: offsetSize)
    }

    /// The offset of an object whose place was checked.
    func offset(of object: Int, in bytes: ByteView) -> Int {
        Int(truncatingIfNeeded: claimedOffset(of: object, in: bytes))
    }

    private static func checkMagic(_ bytes: ByteView) throws(PropertyListError) {
        guard bytes.count >= magic.count, magic.indices.allSatisfy({ bytes[$0] == magic[$0] }) else {
            throw PropertyListError(.notBinaryPropertyList, at: .byte(0))
        }
        guard bytes.count >= minimumCount else {
            throw PropertyListError(.tooShort(count: bytes.count), at: .byte(bytes.count))
        }
    }

    private static func checkedCount(
        _ count: UInt64, top: UInt64, at trailer: Int, limits: PropertyListLimits
    ) throws(PropertyListError) -> (Int, Int) {
        guard count > 0 else { throw PropertyListError(.noObjects, at: .byte(trailer + 8)) }
        let limit = min(limits.objects, trailer)
        guard count <= UInt64(clamping: limit) else {
            throw PropertyListError(.tooManyObjects(count: count, limit: limit), at: .byte(trailer + 8))
        }
        guard top < count else { throw PropertyListError(.topObjectOutOfRange(top), at: .byte(trailer + 16)) }
        return (Int(count), Int(top))
    }

    private static func checkSizes(_ offset: UInt8, _ reference: UInt8, at trailer: Int) throws(PropertyListError) {
        guard (1...8).contains(offset) else {
            throw PropertyListError(.invalidOffsetSize(offset), at: .byte(trailer + 6))
        }
        guard (1...8).contains(reference) else {
            throw PropertyListError(.invalidReferenceSize(reference), at: .byte(trailer + 7))
        }
    }

    /// Other readers refuse a size that cannot hold the count or the table's position, even if no value needs it.
    private func checkFit(at trailer: Int) throws(PropertyListError) {
        guard start.bitWidth - start.leadingZeroBitCount <= 8 * offsetSize else {
            throw PropertyListError(.offsetSizeTooSmall(UInt8(offsetSize)), at: .byte(trailer + 6))
        }
        guard count.bitWidth - count.leadingZeroBitCount <= 8 * referenceSize else {
            throw PropertyListError(.referenceSizeTooSmall(UInt8(referenceSize)), at: .byte(trailer + 7))
        }
    }
}
