// Scalars as values, after validation. The strings are the only allocations.

extension ObjectHeader {
    /// The value of a scalar whose content was checked; nil for a container.
    func scalar(in bytes: ByteView) -> PropertyListValue? {
        switch kind {
        case .array, .dictionary: nil
        case .boolean: .boolean(bytes[content] == 0x09)
        case .integer: integer(in: bytes)
        case .real: .real(realValue(in: bytes))
        case .date: PropertyListDate(secondsSinceReferenceDate: realValue(in: bytes)).map { .date($0) }
        case .data: .data(Array(bytes[content..<end]))
        case .ascii, .utf16: .string(string(in: bytes))
        }
    }

    private func integer(in bytes: ByteView) -> PropertyListValue {
        // Sixteen bytes hold a number in their low half; eight are the only signed form.
        guard count == 16 else { return .integer(Int64(bitPattern: bytes.bigEndian(at: content, size: count))) }
        return PropertyListValue(bytes.bigEndian(at: content + 8, size: 8))
    }

    /// The text of a string whose content was checked.
    func string(in bytes: ByteView) -> String {
        kind == .ascii
            ? String(decoding: bytes[content..<end], as: UTF8.self)
            : String(decoding: utf8(in: bytes), as: UTF8.self)
    }

    /// UTF-16 as UTF-8. By hand: the library's own way for UTF-16 costs fifty times as much.
    private func utf8(in bytes: ByteView) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        var offset = content
        while offset < end {
            var scalar = UInt32(bytes.codeUnit(at: offset))
            offset += 2
            if 0xD800...0xDBFF ~= scalar, offset < end {
                scalar = 0x1_0000 + (scalar & 0x3FF) << 10 + UInt32(bytes.codeUnit(at: offset) & 0x3FF)
                offset += 2
            }
            Self.append(scalar, to: &text)
        }
        return text
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
}
