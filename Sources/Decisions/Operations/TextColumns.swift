// Width of text on a terminal, and lines of a text that has more columns than there are.

/// The columns that text has on a terminal.
package enum TextColumns {
    package static func count(of text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + columns(of: $1) }
    }

    /// The text in lines of at most `width` columns, and of two where that is less. They end between words; a word that
    /// is longer is cut.
    package static func wrapped(_ text: String, within width: Int) -> [String] {
        // A character may have two: each line has at least one.
        let limit = max(2, width)
        guard count(of: text) > limit else { return [text] }
        var lines: [String] = []
        var line: (text: String, columns: Int)?
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if let begun = line {
                let columns = begun.columns + 1 + count(of: word)
                if columns <= limit {
                    line = ("\(begun.text) \(word)", columns)
                    continue
                }
                lines.append(begun.text)
            }
            var rest = word
            while count(of: rest) > limit {
                let piece = beginning(of: rest, within: limit)
                lines.append(String(piece))
                rest = rest.dropFirst(piece.count)
            }
            line = (String(rest), count(of: rest))
        }
        return lines + (line.map { [$0.text] } ?? [])
    }

    /// The characters at the beginning of a text that have room in so many columns.
    package static func beginning(of text: Substring, within limit: Int) -> Substring {
        var used = 0
        return text.prefix { character in
            used += columns(of: character)
            return used <= limit
        }
    }

    private static func columns(of character: Character) -> Int {
        if character.isASCII { return 1 }
        return character.unicodeScalars.contains { $0.isWide } ? 2 : 1
    }
}

extension Unicode.Scalar {
    /// Whether a terminal gives it two columns: East Asian letters and signs of full width, and emoji.
    fileprivate var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE0F, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            true
        default: properties.isEmojiPresentation
        }
    }
}
