// The frame around the objects: magic bytes, trailer and offset table (FRM-6 a, b, c). All sizes are proved against
// the bytes that are really there before anything is done for them.

/// The checked trailer of a property list.
struct ObjectTable: Sendable {
    /// Offset of the first object.
    static let firstObject = 8
    static let trailerCount = 32
    /// Magic, one object of one byte, its offset, trailer.
    static let minimumCount = 8 + 1 + 1 + 32

    let offsetSize: Int
    let referenceSize: Int
    let count: Int
    var top: Int
    /// Where the offset table begins, and so where the objects end.
    let start: Int

    init(_ bytes: RawSpan, limits: PropertyListLimits) throws(PropertyListError) {
        try Self.checkMagic(bytes)
        let trailer = bytes.byteCount - Self.trailerCount
        let sizes = bytes.word(at: trailer)
        guard sizes <= 0xFFFF else { throw Self.reservedByte(sizes, at: trailer) }
        (offsetSize, referenceSize) = (Int(sizes >> 8), Int(sizes & 0xFF))
        (count, top) = try Self.checkedCount(
            bytes.word(at: trailer + 8), top: bytes.word(at: trailer + 16), at: trailer, limits: limits)
        try Self.checkSizes(UInt8(sizes >> 8), UInt8(sizes & 0xFF), at: trailer)
        // count is at most the objects limit, or the bytes available: no overflow.
        start = trailer - min(count, trailer) * offsetSize
        let claimed = bytes.word(at: trailer + 24)
        guard start > Self.firstObject, claimed == UInt64(start) else {
            throw PropertyListError(.offsetTableMisplaced(claimed), at: .byte(trailer + 24))
        }
        try checkFit(at: trailer)
    }

    /// The offset of an object whose place was checked.
    func offset(of object: Int, in bytes: RawSpan) -> Int {
        Int(truncatingIfNeeded: bytes.bigEndian(at: start &+ object &* offsetSize, size: offsetSize))
    }

    /// The object that a checked reference names.
    @inline(__always)
    func reference(_ index: Int, of container: ObjectEntry, in bytes: RawSpan) -> Int {
        let place = container.content &+ index &* referenceSize
        return Int(truncatingIfNeeded: bytes.bigEndian(at: place, size: referenceSize))
    }

    private static func checkMagic(_ bytes: RawSpan) throws(PropertyListError) {
        guard bytes.byteCount >= firstObject, bytes.word(at: 0) == 0x6270_6C69_7374_3030 else {
            throw PropertyListError(.notBinaryPropertyList, at: .byte(0))
        }
        guard bytes.byteCount >= minimumCount else {
            throw PropertyListError(.tooShort(count: bytes.byteCount), at: .byte(bytes.byteCount))
        }
    }

    /// The first of six bytes that is not zero.
    private static func reservedByte(_ sizes: UInt64, at trailer: Int) -> PropertyListError {
        let index = sizes.leadingZeroBitCount / 8
        return PropertyListError(
            .reservedTrailerByte(UInt8(truncatingIfNeeded: sizes >> UInt64(56 - 8 * index))), at: .byte(trailer + index)
        )
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
