// Scalars as values, after the scan has checked them. Strings and data are the only allocations.

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
        for place in (0..<tails).reversed() {
            text.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> UInt32(6 * place) & 0x3F))
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
