// How text of others is shown in errors: quoted, control characters escaped, cut at the limit for peers' text, so that
// a value cannot forge a log line or flood a terminal.

enum ShownText {
    /// Bytes of foreign text that are shown (Protocol/Limits.md LIM-13).
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
