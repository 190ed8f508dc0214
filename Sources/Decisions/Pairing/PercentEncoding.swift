// Percent-encoding as join links use it (PAR-4): a fixed set of plain characters, everything else as upper-case %XX of
// its UTF-8 bytes. One spelling for each text: reading refuses every other one.

/// Strict percent-encoding of parameter values.
enum PercentEncoding {
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~:/[]".utf8.contains(byte)
        }
    }

    static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let characters = text.utf8.flatMap { byte in
            isPlain(byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The text; nil unless `encode` would write exactly this spelling.
    static func decode(_ spelling: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(spelling.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
            guard let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16) else { return nil }
            bytes.append(value)
        }
        guard let text = String(validating: bytes, as: UTF8.self), encode(text) == spelling else { return nil }
        return text
    }
}
