// Hexadecimal and base64url text of bytes: the two text forms that identifiers, digests and links use. Decoding is
// strict: no white space, no padding, no second spelling of the same bytes. Padded base64 is for other programs.

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

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Base64 with the URL alphabet and without padding (RFC 4648 section 5).
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The unpadded text of the bytes.
    public static func encode(_ bytes: [UInt8]) -> String {
        var characters: [UInt8] = []
        characters.reserveCapacity((bytes.count * 4 + 2) / 3)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let padded = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for index in 0...group.count { characters.append(alphabet[Int(padded >> UInt32(18 - 6 * index) & 63)]) }
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The bytes of unpadded text; nil for padding, another character, an impossible length or non-zero spare bits.
    public static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for character in text.utf8 {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            buffer = (buffer << 6 | UInt32(value)) & 0xFFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        guard bits < 6, buffer & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return bytes
    }
}

/// Base64 with the plain alphabet and padding (RFC 4648 section 4).
package enum Base64 {
    /// The characters of the padded text.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let characters = Base64URL.encode(bytes).utf8.map { character in
            switch character {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: character
            }
        }
        return characters + [UInt8](repeating: UInt8(ascii: "="), count: (4 - characters.count % 4) % 4)
    }
}
