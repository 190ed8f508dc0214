// A name for a file that came from outside. Whatever the sender called it, the result is one component that stays in its
// directory, is not hidden, is no option of a command, and does nothing to a terminal. What a person reads is kept:
// letters of every script, spaces, the extension. The sender's own name travels beside it as text, never as a path.

/// One safe component of a path, made from any text (FIL-12).
package struct ReceivedFileName: Sendable, Hashable {
    /// 1 to 200 bytes of UTF-8 without a slash, a control or format character, a leading dot or hyphen.
    package let text: String

    private static var limit: Int { 200 }
    private static var extensionLimit: Int { 20 }

    /// The last component of the name, with what could do harm replaced by `_`; `file` if nothing is left.
    package init(reducing name: String) {
        // By scalars: a combining character after a slash makes another Character of it, and a slash all the same.
        let component = name.unicodeScalars.split(separator: "/").last.map(Array.init) ?? []
        var scalars = component.map { Self.isHarmless($0) ? $0 : "_" }
        if let first = scalars.first, first == "." || first == "-" { scalars[0] = "_" }
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        text = Self.shortened(text)
        self.text = text.utf8.allSatisfy { $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: " ") } ? "file" : text
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: scalar != "\\"
        }
    }

    /// Cut between characters, before the extension if it is a short one.
    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > limit else { return text }
        var suffix = ""
        if let dot = text.lastIndex(of: "."), text[dot...].utf8.count <= extensionLimit {
            suffix = String(text[dot...])
        }
        var stem = ""
        var room = limit - suffix.utf8.count
        for scalar in text.unicodeScalars {
            room -= scalar.utf8.count
            guard room >= 0 else { break }
            stem.unicodeScalars.append(scalar)
        }
        return stem + suffix
    }
}

extension Unicode.Scalar {
    fileprivate var utf8: UTF8.EncodedScalar { UTF8.encode(self) ?? UTF8.encodedReplacementCharacter }
}
