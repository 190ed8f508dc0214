// JSON's strings: escapes to text. Apart from the reader because it is the one part with a grammar of its own.

enum JSONString {
    /// The text of the string that the bytes begin with, and the bytes it took; nil if there is none or it is
    /// malformed.
    static func read(_ bytes: ArraySlice<UInt8>) -> (text: String, count: Int)? {
        guard bytes.first == UInt8(ascii: "\"") else { return nil }
        var content: [UInt8] = []
        var rest = bytes.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: content, as: UTF8.self) else { return nil }
                return (text, bytes.count - rest.count)
            case UInt8(ascii: "\\"):
                guard let escaped = escape(&rest) else { return nil }
                content.append(contentsOf: String(escaped).utf8)
            case 0..<32: return nil
            default: content.append(byte)
            }
        }
        return nil
    }

    private static func escape(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let letter = rest.popFirst() else { return nil }
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return scalar(&rest)
        default: return nil
        }
    }

    /// Four digits after `\u`, and the second half of a surrogate pair if they are the first.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let first = unit(&rest) else { return nil }
        guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) }
        guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"), let second = unit(&rest),
            UTF16.isTrailSurrogate(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt16? {
        let digits = rest.prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        rest = rest.dropFirst(4)
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
