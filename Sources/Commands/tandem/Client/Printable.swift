// Text of other devices on a person's terminal: escape sequences could rewrite what the person reads, so every control
// character is shown as a question mark, and it is cut.

/// Makes foreign text safe to print.
enum Printable {
    /// The text on one line, at most `limit` characters.
    static func text(_ text: String, limit: Int = 300) -> String {
        let shown = text.unicodeScalars.prefix(limit).map { isPlain($0) ? Character($0) : "?" }
        return String(shown) + (text.unicodeScalars.count > limit ? "..." : "")
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
        default: true
        }
    }
}
