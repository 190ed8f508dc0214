// How text of others is shown within an error: quoted, control characters escaped, cut at the limit for peers' text, so that it
// can neither forge a line nor flood a terminal. A line of the log has its own rule (LogText), because there our text counts too.

/// Names and values that come from outside, made safe to show.
package enum OutsideText {
    /// The text in quotes, at most 128 bytes of it (Protocol/Limits.md LIM-13).
    package static func quoted(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            let isPlain = scalar.value >= 32 && scalar.value != 127 && !(0x80...0x9F).contains(scalar.value)
            let piece = isPlain ? String(scalar) : scalar.escaped(asASCII: true)
            guard shown.utf8.count + piece.utf8.count <= LogText.outsideLimit else { return "'\(shown)'..." }
            shown += piece
        }
        return "'\(shown)'"
    }
}
