// How names that come from outside are shown in a detail: escaped and cut, so that they cannot forge a log line.

enum ShownField {
    /// Bytes of foreign text that are shown (LIM-13).
    static let limit = 128

    static func quoted(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            let isPlain = scalar.value >= 32 && scalar.value != 127 && !(0x80...0x9F).contains(scalar.value)
            let piece = isPlain ? String(scalar) : scalar.escaped(asASCII: true)
            guard shown.utf8.count + piece.utf8.count <= limit else { return "'\(shown)'..." }
            shown += piece
        }
        return "'\(shown)'"
    }
}
