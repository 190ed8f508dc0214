// The second half of writing (FRM-7): the bytes of each object in the smallest form, then the offset table and the
// trailer. What is written here was checked while it was numbered.

struct ObjectEncoding {
    private(set) var bytes = ObjectTable.magic
    /// The bytes of objects, for each reference after the first (FRM-6 n).
    private(set) var repeatedBytes = 0
    private let referenceSize: Int

    init(_ numbering: ObjectNumbering) {
        referenceSize = Self.smallestSize(for: numbering.objects.count)
        var offsets: [Int] = []
        offsets.reserveCapacity(numbering.objects.count)
        for (object, value) in numbering.objects.enumerated() {
            offsets.append(bytes.count)
            append(value, references: numbering.references, from: numbering.firstReference[object])
        }
        repeatedBytes = repetitions(numbering.references, offsets)
        appendTable(offsets)
    }

    /// Called when the last object has been written.
    private func repetitions(_ references: [Int], _ offsets: [Int]) -> Int {
        guard references.count >= offsets.count else { return 0 }
        let ends = offsets.dropFirst() + [bytes.count]
        let counts = zip(offsets, ends).map { $1 - $0 }
        return references.reduce(0) { $0 + counts[$1] } - counts.dropFirst().reduce(0, +)
    }

    private mutating func append(_ value: PropertyListValue, references: [Int], from first: Int) {
        switch value {
        case .boolean(let value): bytes.append(value ? 0x09 : 0x08)
        case .integer(let value): append(value)
        case .unsigned(let value): append(value)
        case .real(let value): append(marker: 0x23, value.bitPattern)
        case .date(let value): append(marker: 0x33, value.secondsSinceReferenceDate.bitPattern)
        case .data(let value):
            append(marker: 0x40, count: value.count)
            bytes.append(contentsOf: value)
        case .string(let value): append(value)
        case .array(let value):
            append(marker: 0xA0, count: value.count)
            append(references[first..<first + value.count])
        case .dictionary(let value):
            append(marker: 0xD0, count: value.count)
            append(references[first..<first + 2 * value.count])
        }
    }

    private mutating func append(_ value: Int64) {
        if value >= 0 { append(UInt64(value)) } else { append(marker: 0x13, UInt64(bitPattern: value)) }
    }

    /// Up to four bytes are unsigned and eight are signed, so the upper half of the range needs sixteen.
    private mutating func append(_ value: UInt64) {
        switch value {
        case 0...0xFF: append(0x10, value, size: 1)
        case 0...0xFFFF: append(0x11, value, size: 2)
        case 0...0xFFFF_FFFF: append(0x12, value, size: 4)
        case 0...UInt64(Int64.max): append(0x13, value, size: 8)
        default:
            append(marker: 0x14, 0)
            appendBigEndian(value, size: 8)
        }
    }

    private mutating func append(_ value: String) {
        guard !value.utf8.allSatisfy({ $0 < 0x80 }) else {
            append(marker: 0x50, count: value.utf8.count)
            bytes.append(contentsOf: value.utf8)
            return
        }
        append(marker: 0x60, count: value.utf16.count)
        for unit in value.utf16 { appendBigEndian(UInt64(unit), size: 2) }
    }

    private mutating func append(_ references: ArraySlice<Int>) {
        for reference in references { appendBigEndian(UInt64(reference), size: referenceSize) }
    }

    private mutating func append(marker: UInt8, count: Int) {
        bytes.append(marker | UInt8(min(count, 0x0F)))
        if count >= 0x0F { append(UInt64(count)) }
    }

    private mutating func append(marker: UInt8, _ pattern: UInt64) { append(marker, pattern, size: 8) }

    private mutating func append(_ marker: UInt8, _ value: UInt64, size: Int) {
        bytes.append(marker)
        appendBigEndian(value, size: size)
    }

    private mutating func appendBigEndian(_ value: UInt64, size: Int) {
        for place in stride(from: 8 * (size - 1), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(place)))
        }
    }

    private mutating func appendTable(_ offsets: [Int]) {
        let start = bytes.count
        let offsetSize = Self.smallestSize(for: start)
        for offset in offsets { appendBigEndian(UInt64(offset), size: offsetSize) }
        bytes.append(contentsOf: [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)])
        for number in [offsets.count, 0, start] { appendBigEndian(UInt64(number), size: 8) }
    }

    /// The smallest of 1, 2, 4 and 8 bytes that holds a number.
    private static func smallestSize(for number: Int) -> Int {
        switch number {
        case ...0xFF: 1
        case ...0xFFFF: 2
        case ...0xFFFF_FFFF: 4
        default: 8
        }
    }
}
