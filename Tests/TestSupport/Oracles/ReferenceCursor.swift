// Trailer, table and scalars for the reference reader: each read asks whether the bytes are there.

import TandemPropertyList

/// Rules a and b of FRM-6, and where the table lies (c).
struct ReferenceTable {
    let offsetSize: Int
    let referenceSize: Int
    let count: Int
    let top: Int
    let start: Int

    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: "bplist00".utf8), bytes.count >= 8 + 32 else { return nil }
        var cursor = ReferenceCursor(bytes: bytes, offset: bytes.count - 32, end: bytes.count)
        guard cursor.number(6) == 0, let offsetSize = cursor.number(1), let referenceSize = cursor.number(1),
            (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = cursor.number(8), (1...16_384).contains(count),
            let top = cursor.number(8), top < count, let start = cursor.number(8)
        else { return nil }
        let length = Int(count) * Int(offsetSize)
        guard length < bytes.count - 32 - 8, start == UInt64(bytes.count - 32 - length) else { return nil }
        guard Self.holds(start, Int(offsetSize)), Self.holds(count, Int(referenceSize)) else { return nil }
        (self.offsetSize, self.referenceSize) = (Int(offsetSize), Int(referenceSize))
        (self.count, self.top, self.start) = (Int(count), Int(top), Int(start))
    }

    func offset(_ object: Int, _ bytes: [UInt8]) -> UInt64? {
        var cursor = ReferenceCursor(bytes: bytes, offset: start + object * offsetSize, end: bytes.count - 32)
        return cursor.number(offsetSize)
    }

    private static func holds(_ number: UInt64, _ size: Int) -> Bool { size == 8 || number >> (8 * UInt64(size)) == 0 }
}

struct ReferenceCursor {
    let bytes: [UInt8]
    var offset: Int
    let end: Int

    var left: Int { end - offset }

    mutating func byte() -> UInt8? {
        guard offset < end else { return nil }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// An unsigned big-endian number of up to eight bytes.
    mutating func number(_ size: Int) -> UInt64? {
        guard size <= left else { return nil }
        return (0..<size).reduce(UInt64(0)) { number, _ in number << 8 | UInt64(byte() ?? 0) }
    }

    /// Rule h.
    mutating func count(_ marker: UInt8) -> Int? {
        guard marker & 0x0F == 0x0F else { return Int(marker & 0x0F) }
        guard let form = byte(), (0x10...0x13).contains(form), let count = number(1 << Int(form & 0x0F)) else {
            return nil
        }
        return Int(exactly: count)
    }

    /// Rules e to i.
    mutating func scalar(_ marker: UInt8) -> PropertyListValue? {
        switch marker {
        case 0x08: return .boolean(false)
        case 0x09: return .boolean(true)
        case 0x10...0x12: return number(1 << Int(marker & 0x0F)).map { PropertyListValue($0) }
        case 0x13: return number(8).map { .integer(Int64(bitPattern: $0)) }
        case 0x14: return number(8) == 0 ? number(8).map { PropertyListValue($0) } : nil
        case 0x22: return finite(number(4).map { Double(Float(bitPattern: UInt32($0))) }).map { .real($0) }
        case 0x23: return finite(number(8).map { Double(bitPattern: $0) }).map { .real($0) }
        case 0x33: return finite(number(8).map { Double(bitPattern: $0) }).flatMap(Self.date)
        case 0x40...0x6F: return counted(marker)
        default: return nil
        }
    }

    private func finite(_ number: Double?) -> Double? { number.flatMap { $0.isFinite ? $0 : nil } }

    private static func date(_ seconds: Double) -> PropertyListValue? {
        let milliseconds = (seconds * 1000).rounded(.toNearestOrAwayFromZero)
        guard milliseconds >= -63_113_904_000_000, milliseconds < 252_423_993_600_000 else { return nil }
        return .date(PropertyListDate(millisecondsSinceReferenceDate: Int64(milliseconds)))
    }

    private mutating func counted(_ marker: UInt8) -> PropertyListValue? {
        guard let count = count(marker), count <= left / (marker >> 4 == 6 ? 2 : 1) else { return nil }
        guard marker >> 4 == 6 else {
            let content = (0..<count).compactMap { _ in byte() }
            if marker >> 4 == 4 { return .data(content) }
            return content.allSatisfy { $0 < 0x80 } ? .string(String(decoding: content, as: UTF8.self)) : nil
        }
        let units = (0..<count).compactMap { _ in number(2).map { UInt16($0) } }
        guard units.contains(where: { $0 >= 0x80 }) else { return nil }
        return String(validating: units, as: UTF16.self).map { .string($0) }
    }
}
