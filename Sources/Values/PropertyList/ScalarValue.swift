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
        guard kind == .utf16 else { return String(decoding: bytes[content..<end], as: UTF8.self) }
        let units = (0..<count).map { bytes.codeUnit(at: content + 2 * $0) }
        return String(decoding: units, as: UTF16.self)
    }
}
