// Strings: ASCII as it is, everything else as UTF-16. Both come straight from the string's own UTF-8, without a copy in
// between; the standard library's view of UTF-16 costs ten times as much.

extension ObjectOutput {
    @inline(__always) mutating func add(_ value: borrowing String) throws(PropertyListError.Reason) -> Int {
        try add(value.utf8Span)
    }

    @inline(__always) mutating func add(_ text: UTF8Span) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        append(text)
        return try number(ofScalarFrom: start)
    }

    /// What keeps a string from being a key (FRM-6 j).
    @inline(__always) static func keyFault(_ key: UTF8Span) -> PropertyListError.Reason? {
        let text = key.span
        guard (1...PropertyListLimits.maximumKeyLength).contains(text.count) else {
            return .invalidKeyLength(text.count)
        }
        for index in text.indices where text[index] == 0 { return .keyContainsNull }
        return nil
    }

    @inline(__always) private mutating func append(_ text: UTF8Span) {
        let length = text.count
        bytes.reserve(10 + length)
        guard text.isKnownASCII else { return appendUnknown(text.span) }
        append(marker: 0x50, count: length)
        bytes.append(text.span)
    }

    /// Appends text of which it is not known whether all of it is ASCII.
    private mutating func appendUnknown(_ text: Span<UInt8>) {
        let units = Self.utf16Count(text)
        guard units.all != units.ascii else {
            append(marker: 0x50, count: text.count)
            return bytes.append(text)
        }
        bytes.reserve(10 + 2 * units.all)
        append(marker: 0x60, count: units.all)
        appendUTF16(text)
    }

    /// How many UTF-16 code units the text has, and how many of them are ASCII.
    private static func utf16Count(_ text: Span<UInt8>) -> (all: Int, ascii: Int) {
        var (all, ascii) = (0, 0)
        for index in text.indices {
            let byte = text[index]
            // Every character has one byte that does not continue another; those of four bytes have two units.
            all += (byte & 0xC0 == 0x80 ? 0 : 1) + (byte >= 0xF0 ? 1 : 0)
            ascii += byte < 0x80 ? 1 : 0
        }
        return (all, ascii)
    }

    /// Appends the text, which is well-formed because a String holds it, where room was reserved.
    private mutating func appendUTF16(_ text: Span<UInt8>) {
        var index = 0
        while index < text.count {
            let lead = UInt32(text[index])
            let tails = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3
            var scalar = tails == 0 ? lead : lead & (0x3F >> UInt32(tails))
            for tail in 0..<tails { scalar = scalar << 6 | UInt32(text[index + 1 + tail] & 0x3F) }
            index += 1 + tails
            if scalar < 0x1_0000 {
                bytes.append(UInt16(truncatingIfNeeded: scalar))
            } else {
                let (high, low) = ((scalar - 0x1_0000) >> 10, scalar & 0x3FF)
                bytes.append((0xD800 | high) << 16 | 0xDC00 | low)
            }
        }
    }
}
