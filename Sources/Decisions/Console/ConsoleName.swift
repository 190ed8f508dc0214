// Name by which browsers call the console, as the operator writes it, and as browsers say it: without the port that is
// the scheme's own.

import TandemBase

/// A host's name or numeric address, and its port where that is not the console's own.
package struct ConsoleName: Sendable, Equatable {
    private let host: String
    private let port: UInt16?

    /// A name.
    /// - Parameters:
    ///   - host: a name or a numeric address, IPv6 without its brackets.
    ///   - port: nil for the one at which the console serves.
    package init(host: String, port: UInt16? = nil) {
        self.host = host
        self.port = port
    }

    /// Reads `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`; nil for any other text, such as an address with its
    /// scheme, which no browser would ever say.
    package init?(_ text: String) {
        let isBracketed = text.hasPrefix("[")
        let end: String.Index? = isBracketed ? text.firstIndex(of: "]") : text.firstIndex(of: ":") ?? text.endIndex
        guard let end else { return nil }
        let name = isBracketed ? text[text.index(after: text.startIndex)..<end] : text[..<end]
        let rest = isBracketed ? text[text.index(after: end)...] : text[end...]
        guard !name.isEmpty, name.utf8.allSatisfy({ Self.isPlain($0, inBrackets: isBracketed) }) else { return nil }
        guard !rest.isEmpty else {
            self.init(host: String(name))
            return
        }
        let digits = rest.dropFirst()
        guard rest.hasPrefix(":"), !digits.isEmpty, digits.utf8.allSatisfy(\.isASCIIDigit), let port = UInt16(digits),
            port > 0
        else { return nil }
        self.init(host: String(name), port: port)
    }

    private static func isPlain(_ byte: UInt8, inBrackets: Bool) -> Bool {
        if byte.isASCIIAlphanumeric || byte == UInt8(ascii: ".") { return true }
        return inBrackets ? byte == UInt8(ascii: ":") : byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// The text by which a browser calls it.
    /// - Parameters:
    ///   - scheme: `http`, or `https`.
    ///   - bound: the port at which the console serves; nil for a Unix socket, where it is the scheme's own.
    package func text(scheme: String, bound: UInt16?) -> String {
        let own: UInt16 = scheme == "https" ? 443 : 80
        let shown = host.contains(":") ? "[\(host)]" : host
        guard let port = port ?? bound, port != own else { return shown }
        return "\(shown):\(port)"
    }
}
