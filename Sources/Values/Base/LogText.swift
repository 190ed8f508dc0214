// Text made safe for one line of a log: what a terminal, a log reader or an eye could take for something else is
// escaped (controls, line ends, direction marks, quotes), so that no peer can forge a line. Escaping is also done to
// our own text: a rule without exceptions needs no proof at each place.

enum LogText {
    /// The most bytes of outside text in a line: an identifier in full, not a message.
    static let outsideLimit = 128

    /// The text itself if it is one plain word, else quoted with escapes.
    static func escaped(_ text: some StringProtocol) -> String {
        var line = ""
        var isPlain = !text.isEmpty
        for scalar in text.unicodeScalars {
            if scalar == " " || scalar == "=" { isPlain = false }
            if isUnsafe(scalar) {
                isPlain = false
                line += escape(scalar)
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return isPlain ? line : "\"\(line)\""
    }

    /// The first bytes of outside text, whole scalars only, escaped; an ellipsis tells that something was cut.
    static func cut(_ text: String) -> String {
        guard text.utf8.count > outsideLimit else { return escaped(text) }
        var kept = Substring.UnicodeScalarView()
        var size = 0
        for scalar in text.unicodeScalars {
            size += UTF8.width(scalar)
            guard size <= outsideLimit else { break }
            kept.append(scalar)
        }
        kept.append("\u{2026}")
        return escaped(Substring(kept))
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar == "\"" || scalar == "\\" { return true }
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return true
        default: return scalar.properties.isWhitespace
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"": "\\\""
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(scalar.value, radix: 16))}"
        }
    }
}
