// What makes two scalars the same object when they are written: their type and exact value. Reals go by their bits
// (0.0 and -0.0 differ), strings by their UTF-8 bytes, because Swift compares text by canonical equivalence.

/// A scalar as a dictionary key of the writer.
enum ScalarKey: Hashable {
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(UInt64)
    case date(Int64)
    case data([UInt8])
    case text(TextKey)

    /// Nil for a container.
    init?(_ value: PropertyListValue) {
        switch value {
        case .boolean(let value): self = .boolean(value)
        case .integer(let value): self = .integer(value)
        case .unsigned(let value): self = Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
        case .real(let value): self = .real(value.bitPattern)
        case .date(let value): self = .date(value.millisecondsSinceReferenceDate)
        case .data(let value): self = .data(value)
        case .string(let value): self = .text(TextKey(value))
        case .array, .dictionary: return nil
        }
    }
}

/// Text that is equal only to the same bytes of UTF-8.
struct TextKey: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        // The buffer lives as long as the closure, which only reads it.
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
