// Hexadecimal, base64, base32 and percent-encoded text of bytes: the text forms of identifiers, digests, links and
// fingerprints. Decoding is strict: no white space, no padding where none is written. Padded base64 is for other
// programs.

/// Hexadecimal text of bytes.
public enum Hexadecimal {
    /// Two digits for each byte, lower case unless asked otherwise.
    public static func encode(_ bytes: some Sequence<UInt8>, upperCase: Bool = false) -> String {
        var characters: [UInt8] = []
        characters.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            characters.append(character(of: byte >> 4, upperCase: upperCase))
            characters.append(character(of: byte & 15, upperCase: upperCase))
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The digit of a number below 16.
    static func character(of number: UInt8, upperCase: Bool) -> UInt8 {
        (number < 10 ? UInt8(ascii: "0") : (upperCase ? UInt8(ascii: "A") : UInt8(ascii: "a")) - 10) + number
    }

    /// The bytes of hexadecimal text of either case; nil for an odd count or another character.
    public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }

    static func decode(_ characters: [UInt8]) -> [UInt8]? {
        guard characters.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 2)
        for index in stride(from: 0, to: characters.count, by: 2) {
            guard let high = digit(characters[index]), let low = digit(characters[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    fileprivate static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Percent-encoding of the UTF-8 of a text (RFC 3986 section 2.1), with upper-case digits.
package enum PercentEncoding {
    /// The text with every byte escaped that is not plain.
    package static func encode(_ text: String, isPlain: (UInt8) -> Bool) -> String {
        let characters = text.utf8.flatMap { byte in
            isPlain(byte) ? [byte] : Array("%\(Hexadecimal.encode([byte], upperCase: true))".utf8)
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The bytes, with digits of either case; nil for a broken escape.
    package static func decode(_ characters: some Collection<UInt8>) -> [UInt8]? {
        var (bytes, rest) = ([UInt8](), characters[...])
        bytes.reserveCapacity(characters.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.digit),
                let low = rest.popFirst().flatMap(Hexadecimal.digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

/// Base64 with the URL alphabet and without padding (RFC 4648 section 5).
public enum Base64URL {
    private static let coding = BitText("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

    /// The unpadded text of the bytes.
    public static func encode(_ bytes: [UInt8]) -> String { String(decoding: coding.encode(bytes), as: UTF8.self) }

    /// The bytes of unpadded text; nil for padding, another character, an impossible length or non-zero spare bits.
    public static func decode(_ text: String) -> [UInt8]? { coding.decode(text.utf8) }
}

/// Base64 with the plain alphabet and padding (RFC 4648 section 4).
package enum Base64 {
    private static let coding = BitText("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    private static let padding = UInt8(ascii: "=")

    /// The characters of the padded text.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let characters = coding.encode(bytes)
        return characters + [UInt8](repeating: padding, count: (4 - characters.count % 4) % 4)
    }

    /// The bytes of padded text; nil for another character, an impossible length or non-zero spare bits.
    package static func decode(_ characters: [UInt8]) -> [UInt8]? {
        guard characters.count.isMultiple(of: 4) else { return nil }
        return coding.decode(characters.dropLast(characters.suffix(2).reversed().prefix { $0 == padding }.count))
    }
}

/// Base32 without padding (RFC 4648 section 6): the text of fingerprints. People do not mix up two characters of its
/// alphabet when they read it aloud, and case does not matter.
package enum Base32 {
    private static let coding = BitText("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    package static func encode(_ bytes: [UInt8]) -> String { String(decoding: coding.encode(bytes), as: UTF8.self) }

    /// The bytes of text of either case; nil for another character, an impossible length or non-zero spare bits.
    package static func decode(_ text: String) -> [UInt8]? { coding.decode(text.uppercased().utf8) }
}

/// Text of bytes in an alphabet of 2^n characters: n bits for each, the highest first, zeros behind the last bit.
private struct BitText {
    private let alphabet: [UInt8]
    private let width: Int

    init(_ alphabet: String) {
        self.alphabet = Array(alphabet.utf8)
        width = self.alphabet.count.trailingZeroBitCount
    }

    func encode(_ bytes: [UInt8]) -> [UInt8] {
        var characters: [UInt8] = []
        characters.reserveCapacity((bytes.count * 8 + width - 1) / width)
        var (buffer, bits) = (UInt32(0), 0)
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= width {
                bits -= width
                characters.append(alphabet[Int(buffer >> UInt32(bits)) & (alphabet.count - 1)])
            }
        }
        if bits > 0 { characters.append(alphabet[Int(buffer << UInt32(width - bits)) & (alphabet.count - 1)]) }
        return characters
    }

    func decode(_ characters: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (buffer, bits) = (UInt32(0), 0)
        for character in characters {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            buffer = buffer << UInt32(width) | UInt32(value)
            bits += width
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        guard bits < width, buffer & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return bytes
    }
}
