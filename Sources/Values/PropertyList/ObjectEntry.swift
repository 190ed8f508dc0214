// The scan's record of one object: its type, where its content lies, and how it is used. The entries of all objects are
// the only table that a lazy view needs besides the bytes.

import TandemBase

/// One object of a property list.
struct ObjectEntry {
    /// Offset of the content, or of the byte after the marker.
    var content = 0
    /// Bytes of a number (0 for a boolean) or data, characters of ASCII, code units of UTF-16, elements, or pairs.
    var count = 0
    /// The first eight characters of an ASCII string that may be a key, 0 behind its end; 0 for anything else.
    fileprivate(set) var start: UInt64 = 0
    var use = ObjectUse()
    var kind = ObjectKind.boolean
    /// A string that may be a key (FRM-6 j), or a dictionary whose keys are in their order.
    var isFit = false

    @inline(__always)
    var isContainer: Bool { kind.isContainer }

    /// A string that may be a key.
    var isKey: Bool { isFit && !isContainer }

    /// References that the object holds.
    @inline(__always)
    var references: Int { kind == .array ? count : kind == .dictionary ? 2 * count : 0 }
}

// MARK: - Checks of scalars (FRM-6 f, g, i) and keys (FRM-6 j). Nothing is decoded: one sweep finds bytes that are not
// ASCII, or NUL, eight bytes at a time.

private let eachByte: UInt64 = 0x0101_0101_0101_0101
private let eachHighBit: UInt64 = 0x8080_8080_8080_8080

extension ObjectScan {
    /// Checks an ASCII string, and whether it is fit to be a key.
    @inline(__always)
    mutating func ascii(_ entry: inout ObjectEntry, _ bytes: RawSpan) -> Bool {
        let (content, count) = (entry.content, entry.count)
        // Bytes behind the end count as 1, which is neither NUL nor beyond ASCII. The trailer is behind it all.
        let first = bytes.word(at: content)
        let rest = UInt64.max >> UInt64(truncatingIfNeeded: 8 &* count)
        var union = first & ~rest | eachByte & rest
        // In ASCII, subtracting 1 from each byte sets a high bit only from a NUL on.
        var borrows = union &- eachByte
        var offset = content &+ 8
        if count > 64 { offset = sweep(from: offset, to: content &+ count, &union, &borrows, bytes) }
        while offset < content &+ count {
            // The last word overlaps the one before.
            let word = bytes.word(at: min(offset, content &+ count &- 8))
            // In Swift `|` and `&-` bind alike.
            (union, borrows) = (union | word, borrows | (word &- eachByte))
            offset &+= 8
        }
        guard union & eachHighBit == 0 else { return refuse(.invalidASCII) }
        let isFit = borrows & eachHighBit == 0 && 1...PropertyListLimits.maximumKeyLength ~= count
        (entry.isFit, entry.start) = (isFit, isFit ? first & ~rest : 0)
        return true
    }

    /// Long text, 32 bytes at a time.
    /// - Returns: where fewer are left.
    private func sweep(
        from start: Int, to end: Int, _ union: inout UInt64, _ borrows: inout UInt64, _ bytes: RawSpan
    ) -> Int {
        var (unions, lacks) = (SIMD4<UInt64>(repeating: union), SIMD4<UInt64>(repeating: borrows))
        var offset = start
        while end - offset >= 32 {
            let block = bytes.block(at: offset)
            unions |= block
            lacks |= block &- SIMD4(repeating: eachByte)
            offset += 32
        }
        (union, borrows) = (unions[0] | unions[1] | unions[2] | unions[3], lacks[0] | lacks[1] | lacks[2] | lacks[3])
        return offset
    }
}

extension ObjectEntry {
    /// The fault in the content of a scalar other than ASCII; finds out whether UTF-16 is fit to be a key.
    @inline(__always)
    mutating func contentFault(in bytes: RawSpan) -> PropertyListError.Reason? {
        if kind.rawValue <= ObjectKind.integer.rawValue {
            return count != 16 || bytes.word(at: content) == 0 ? nil : .integerOutOfRange
        }
        return switch kind {
        case .real: realValue(in: bytes).isFinite ? nil : .notFinite
        case .date: dateFault(in: bytes)
        case .utf16: utf16Fault(in: bytes)
        default: nil
        }
    }

    @inline(__always)
    private func dateFault(in bytes: RawSpan) -> PropertyListError.Reason? {
        // A second within the range there is nothing to round.
        if abs(realValue(in: bytes)) < 63_113_903_999 { return nil }
        guard realValue(in: bytes).isFinite else { return .notFinite }
        return date(in: bytes) == nil ? .dateOutOfRange : nil
    }

    /// Surrogates come in pairs, high before low; some character is not ASCII.
    private mutating func utf16Fault(in bytes: RawSpan) -> PropertyListError.Reason? {
        var union: UInt16 = 0
        var (expectsLow, hasNull) = (false, false)
        for offset in stride(from: content, to: content + 2 * count, by: 2) {
            let unit = bytes.codeUnit(at: offset)
            union |= unit
            if unit == 0 { hasNull = true }
            guard UTF16.isTrailSurrogate(unit) == expectsLow else { return .invalidUTF16 }
            expectsLow = UTF16.isLeadSurrogate(unit)
        }
        guard !expectsLow else { return .invalidUTF16 }
        guard union >= 0x80 else { return .needlessUTF16 }
        isFit =
            !hasNull && count <= PropertyListLimits.maximumKeyLength
            && utf8Length(in: bytes) <= PropertyListLimits.maximumKeyLength
        return nil
    }

    /// The fault that keeps an object from being a key.
    func keyFault(in bytes: RawSpan) -> PropertyListError.Reason {
        guard kind == .ascii || kind == .utf16 else { return .keyNotString }
        let length = utf8Length(in: bytes)
        return (1...PropertyListLimits.maximumKeyLength).contains(length) ? .keyContainsNull : .invalidKeyLength(length)
    }
}

// MARK: - Comparison of keys in the bytes, by Unicode scalars: four UTF-16 code units in one step, also for ASCII

extension ObjectEntry {
    /// Negative, zero or positive as this key is before, equal to or after `other`.
    func compare(_ other: ObjectEntry, in bytes: RawSpan) -> Int {
        let shorter = min(count, other.count)
        for index in stride(from: kind == other.kind ? alike(other, shorter, in: bytes) : 0, to: shorter, by: 4) {
            let (left, right) = (units(index, in: bytes), other.units(index, in: bytes))
            guard left == right else { return Self.weight(left) < Self.weight(right) ? -1 : 1 }
        }
        return count - other.count
    }

    /// How many of the first `shorter` code units are alike in eight bytes each, if both are stored in the same way.
    private func alike(_ other: ObjectEntry, _ shorter: Int, in bytes: RawSpan) -> Int {
        let shift = kind == .ascii ? 0 : 1
        var offset = 0
        while offset &+ 8 <= shorter &<< shift,
            bytes.word(at: content &+ offset) == bytes.word(at: other.content &+ offset)
        { offset &+= 8 }
        return offset >> shift
    }

    /// The first four code units of a key as a number in the order of scalars.
    func weight(in bytes: RawSpan) -> UInt64 { Self.weight(units(0, in: bytes)) }

    /// Four code units of a key, which holds no 0, from `index` on; 0 behind its end.
    @inline(__always)
    private func units(_ index: Int, in bytes: RawSpan) -> UInt64 {
        let word = kind == .ascii ? Self.widened(bytes.word(at: content + index)) : bytes.word(at: content + 2 * index)
        let left = count - index
        return left >= 4 ? word : word & ~(~0 &>> UInt64(16 * left))
    }

    /// The four highest bytes as four code units.
    @inline(__always)
    private static func widened(_ word: UInt64) -> UInt64 {
        let pairs = word >> 16 & 0x0000_FFFF_0000_0000 | word >> 32 & 0xFFFF
        return (pairs | pairs << 8) & 0x00FF_00FF_00FF_00FF
    }

    /// Four code units so that surrogates, which stand for scalars above all others, are above all others.
    private static func weight(_ units: UInt64) -> UInt64 {
        var weight: UInt64 = 0
        for shift in [48, 32, 16, 0] as [UInt64] {
            var unit = units >> shift & 0xFFFF
            if unit >= 0xD800 { unit = unit < 0xE000 ? unit + 0x2000 : unit - 0x800 }
            weight = weight << 16 | unit
        }
        return weight
    }
}

// MARK: - Scalars as values, after the scan has checked them. Strings and data are the only allocations.

extension ObjectEntry {
    /// The range of content that is counted in bytes.
    private var range: Range<Int> { content..<content + count }

    /// The value of a scalar; an empty container for a container.
    @inline(__always)
    func scalar(in bytes: RawSpan) -> PropertyListValue {
        switch kind {
        case .ascii: .string(bytes.ascii(range))
        case .utf16: .string(text(in: bytes))
        case .integer: integer(in: bytes)
        case .boolean: .boolean(booleanValue(in: bytes))
        case .real: .real(realValue(in: bytes))
        case .date: date(in: bytes).map { .date($0) } ?? .boolean(false)
        case .data: .data(bytes.copy(range))
        case .built, .array: .array([])
        case .dictionary: .dictionary([:])
        }
    }

    func booleanValue(in bytes: RawSpan) -> Bool { bytes.byte(at: content - 1) == 0x09 }

    /// Sixteen bytes hold a number in their low half; eight are the only signed form.
    @inline(__always)
    func integer(in bytes: RawSpan) -> PropertyListValue {
        guard count == 16 else { return .integer(Int64(bitPattern: bytes.bigEndian(at: content, size: count))) }
        return PropertyListValue(bytes.word(at: content + 8))
    }

    /// The number of a real, or the seconds of a date.
    func realValue(in bytes: RawSpan) -> Double {
        let pattern = bytes.bigEndian(at: content, size: count)
        return count == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: pattern))) : Double(bitPattern: pattern)
    }

    /// The point in time of a date; nil if it cannot be represented.
    func date(in bytes: RawSpan) -> PropertyListDate? {
        PropertyListDate(secondsSinceReferenceDate: realValue(in: bytes))
    }

    /// The text of a string.
    @inline(__always)
    func string(in bytes: RawSpan) -> String { kind == .ascii ? bytes.ascii(range) : text(in: bytes) }

    /// UTF-16 as text. By hand: the library's own way for UTF-16 costs fifty times as much.
    private func text(in bytes: RawSpan) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(utf8Length(in: bytes))
        var offset = content
        let end = content + 2 * count
        while offset < end {
            var scalar = UInt32(bytes.codeUnit(at: offset))
            offset += 2
            if 0xD800...0xDBFF ~= scalar, offset < end {
                scalar = 0x1_0000 + (scalar & 0x3FF) << 10 + UInt32(bytes.codeUnit(at: offset) & 0x3FF)
                offset += 2
            }
            Self.append(scalar, to: &text)
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func append(_ scalar: UInt32, to text: inout [UInt8]) {
        guard scalar >= 0x80 else { return text.append(UInt8(truncatingIfNeeded: scalar)) }
        let tails = scalar < 0x800 ? 1 : scalar < 0x1_0000 ? 2 : 3
        let mark: UInt32 = tails == 1 ? 0xC0 : tails == 2 ? 0xE0 : 0xF0
        text.append(UInt8(truncatingIfNeeded: mark | scalar >> UInt32(6 * tails)))
        for index in (0..<tails).reversed() {
            text.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> UInt32(6 * index) & 0x3F))
        }
    }

    /// Bytes of a string in UTF-8.
    func utf8Length(in bytes: RawSpan) -> Int {
        guard kind == .utf16 else { return count }
        var length = 0
        for offset in stride(from: content, to: content + 2 * count, by: 2) {
            switch bytes.codeUnit(at: offset) {
            case ..<0x80: length += 1
            case ..<0x800, 0xD800...0xDFFF: length += 2
            default: length += 3
            }
        }
        return length
    }
}

// MARK: - Types and markers (FRM-6 e). The tables are numbers that are shifted, not switches: types follow each other
// at random, and a processor predicts the way through a switch badly.

/// The type of an object.
enum ObjectKind: UInt8 {
    case boolean, integer, real, date, data, ascii, utf16
    /// The tree builder has made its value.
    case built
    /// Containers are last.
    case array, dictionary

    /// The type that a marker announces; nil if that is none of the profile.
    @inline(__always)
    init?(marker: UInt8) {
        // For each high half the number of its type, F for none.
        let kinds: UInt64 = 0xFF9F_F8FF_F654_3210
        // For each marker of a fixed size whether there is such a type: 08, 09, 10-14, 22, 23, 33.
        let fixed: UInt64 = 1 << 0x08 | 1 << 0x09 | 0x1F << 0x10 | 1 << 0x22 | 1 << 0x23 | 1 << 0x33
        guard marker >= 0x40 || fixed &>> UInt64(marker) & 1 == 1 else { return nil }
        self.init(rawValue: UInt8(truncatingIfNeeded: kinds &>> (UInt64(marker >> 4) &* 4) & 0xF))
    }

    /// The fault of a marker without a type: null, URL, UUID, fill, UID, UTF-8, ordered set and set exist elsewhere;
    /// any other exists nowhere.
    static func refusal(of marker: UInt8) -> PropertyListError.Reason {
        switch marker {
        case 0x00, 0x0C...0x0F, 0x70...0x8F, 0xB0...0xCF: .unsupportedType(marker: marker)
        default: .unknownMarker(marker)
        }
    }

    /// The marker is followed by as many units as its low half or an integer says.
    @inline(__always)
    var isCounted: Bool { rawValue >= Self.data.rawValue }

    /// Making a value of it again costs more than sharing it.
    var isAllocated: Bool { self == .ascii || self == .utf16 || self == .data }

    @inline(__always)
    var isContainer: Bool { rawValue >= Self.array.rawValue }
}

/// The bytes of one unit of each type.
struct UnitWidths {
    /// Six bits for each type.
    private let widths: UInt64

    init(referenceSize: Int) {
        let size = UInt64(truncatingIfNeeded: referenceSize)
        widths =
            Self.bits(1, .integer) | Self.bits(1, .real) | Self.bits(1, .date) | Self.bits(1, .data)
            | Self.bits(1, .ascii)
            | Self.bits(2, .utf16) | Self.bits(size, .array) | Self.bits(2 * size, .dictionary)
    }

    @inline(__always)
    private static func bits(_ width: UInt64, _ kind: ObjectKind) -> UInt64 { width << UInt64(6 * kind.rawValue) }

    @inline(__always)
    subscript(kind: ObjectKind) -> Int { Int(widths &>> UInt64(6 &* kind.rawValue) & 0x3F) }
}

// MARK: - Reads, each checked against the bounds of the span. The trailer lies behind all objects and offsets: eight
// bytes can be loaded for a number of any size, and the excess shifted out.

extension RawSpan {
    /// The 32 bytes at `offset`, in an order of the machine's own.
    @inline(__always)
    func block(at offset: Int) -> SIMD4<UInt64> {
        // Any 32 bytes are four UInt64; the bounds are checked.
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
    }

    /// The unsigned integer of `size` bytes (1-8) at `offset`, at least eight bytes before the end.
    @inline(__always)
    func bigEndian(at offset: Int, size: Int) -> UInt64 {
        word(at: offset) &>> UInt64(truncatingIfNeeded: 64 &- 8 &* size)
    }

    /// The same without the bytes behind it; fast where the size is a constant.
    @inline(__always)
    func reference(at offset: Int, size: Int) -> UInt64 {
        switch size {
        case 1: return UInt64(byte(at: offset))
        case 2: return UInt64(codeUnit(at: offset))
        default:
            var value: UInt64 = 0
            for index in 0..<size { value = value << 8 | UInt64(byte(at: offset + index)) }
            return value
        }
    }

    /// The UTF-16 code unit at `offset`.
    @inline(__always)
    func codeUnit(at offset: Int) -> UInt16 {
        // Any two bytes are a UInt16; the bounds are checked.
        unsafe UInt16(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// Bytes that are known to be ASCII, as text.
    func ascii(_ range: Range<Int>) -> String {
        // The scan has proved that all bytes are ASCII.
        unsafe String(copying: UTF8Span(unchecked: extracting(range)._unsafeView(as: UInt8.self), isKnownASCII: true))
    }
}

// MARK: - Reused memory: an array that nobody shares, so that a change checks the index and no reference count

/// A growing row of numbers that can be used again.
///
/// `@unchecked`: needs no lock, because it cannot be copied: only its owner reaches its memory, and exclusive access
/// protects each `mutating` call, on whichever thread.
@safe struct Column: ~Copyable, @unchecked Sendable {
    private var start: UnsafeMutablePointer<Int>
    private(set) var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        unsafe start = UnsafeMutablePointer<Int>.allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit { unsafe start.deallocate() }

    mutating func removeAll() { count = 0 }

    @inline(__always) mutating func append(_ number: Int) {
        if count == capacity { grow() }
        unsafe (start + count).initialize(to: number)
        count &+= 1
    }

    @inline(__always) subscript(index: Int) -> Int {
        precondition(0 <= index && index < count)
        return unsafe start[index]
    }

    @inline(never) private mutating func grow() {
        let moved = UnsafeMutablePointer<Int>.allocate(capacity: 2 * capacity)
        unsafe moved.moveInitialize(from: start, count: count)
        unsafe start.deallocate()
        unsafe start = moved
        capacity *= 2
    }
}
