// URL of a setting, as checked text: the library's core has no Foundation. Any URL reference is one, "localhost:8080"
// too; text that no URL can be (a space, a letter outside ASCII, a broken escape) is refused where it comes in.

import TandemBase

/// The text of a URL reference (RFC 3986): 1 to 2,048 bytes; compared byte by byte.
public struct SettingURL: Sendable, Hashable {
    /// The most bytes of a URL: what browsers and servers agree on.
    public static let longest = 2048

    /// The whole text.
    public let text: String

    /// The URL of a text; nil if it has a byte that no URL has, an escape without two hexadecimal digits, or the wrong
    /// length.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...Self.longest).contains(bytes.count), bytes.allSatisfy(Self.isAllowed) else { return nil }
        for index in bytes.indices where bytes[index] == UInt8(ascii: "%") {
            let digits = bytes[(index + 1)...].prefix(2)
            guard digits.count == 2, digits.allSatisfy(Self.isHexadecimal) else { return nil }
        }
        self.text = text
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "-._~:/?#[]@!$&'()*+,;=%".utf8.contains(byte)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || "abcdefABCDEF".utf8.contains(byte)
    }
}

extension SettingURL: ExpressibleByStringLiteral {
    /// A literal that is no URL is a programming error.
    public init(stringLiteral text: String) {
        guard let url = SettingURL(text) else { preconditionFailure("'\(text)' is no URL") }
        self = url
    }
}

extension SettingURL: CustomStringConvertible {
    public var description: String { text }
}
