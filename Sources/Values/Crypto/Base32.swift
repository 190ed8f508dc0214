// Base32 (RFC 4648, no padding): the text of fingerprints. Its alphabet has no pair of characters that people mix up
// when they read to each other, and case does not matter.

enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var characters: [UInt8] = []
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = (buffer << 8 | UInt32(byte)) & 0xFFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                characters.append(alphabet[Int(buffer >> bits & 31)])
            }
        }
        if bits > 0 { characters.append(alphabet[Int(buffer << (5 - bits) & 31)]) }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The bytes of text of either case; nil for another character, an impossible length or non-zero spare bits.
    static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for character in text.uppercased().utf8 {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            buffer = (buffer << 5 | UInt32(value)) & 0xFFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        guard bits < 5, buffer & (1 << bits - 1) == 0 else { return nil }
        return bytes
    }
}
