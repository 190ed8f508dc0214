// Tables of text with aligned columns, for people (programs use --json), and foreign text made safe to print.

import TandemBase

/// A table with a title; nothing is printed for one without rows.
package struct Table: Sendable, Equatable {
    /// The name of all rows together.
    package let title: String
    package let columns: [String]
    /// The cells, a dash for an empty one.
    package private(set) var rows: [[String]] = []
    /// Texts below rows, by the rows' indices.
    private var notes: [Int: [String]] = [:]
    /// Sentences about the rows that say how to go on.
    package private(set) var advice: [String] = []
    /// The columns below which no cell is wrapped.
    private static let narrowest = 8

    /// A table without rows.
    package init(_ title: String, _ columns: [String]) {
        self.title = title
        self.columns = columns
    }

    /// Adds a sentence about the rows.
    package mutating func advise(_ sentence: String) { advice.append(sentence) }

    /// Adds a row of as many cells as there are columns.
    package mutating func add(_ cells: String...) { add(cells) }

    /// Adds a row of as many cells as there are columns.
    /// - Parameter notes: texts that stand below the row.
    package mutating func add(_ cells: [String], notes: [String] = []) {
        if !notes.isEmpty { self.notes[rows.count] = notes }
        rows.append(cells.map { $0.isEmpty ? "-" : $0 })
    }

    /// The title, the column names, the rows and the advice, each on a line of its own.
    package var lines: [String] { lines(width: .max) }

    /// The same within a width, for cells of any length: the widest columns are wrapped.
    /// - Parameters:
    ///   - width: the columns of the terminal. Where they are too few, lines are longer.
    ///   - whole: the index of a column whose cells are never wrapped, because people copy them.
    ///   - first: the index of the column below which the notes of a row begin.
    package func lines(width: Int, whole: Int? = nil, notesBelow first: Int = 0) -> [String] {
        guard !rows.isEmpty else { return [] }
        let widths = widths(within: width - 2, whole)
        let indent = String(repeating: " ", count: widths[..<first].reduce(4) { $0 + $1 + 2 })
        var lines = TextColumns.wrapped(title, within: max(Self.narrowest, width)) + Self.aligned(columns, widths)
        for (index, row) in rows.enumerated() {
            lines += Self.aligned(row, widths)
            for note in notes[index] ?? [] {
                lines += TextColumns.wrapped(note, within: max(2 * Self.narrowest, width - indent.count))
                    .map { indent + $0 }
            }
        }
        return lines + advice.map { "  " + $0 }
    }

    /// The width of each column: as its cells need it, or so that the widest ones share what there is.
    private func widths(within room: Int, _ whole: Int?) -> [Int] {
        let all = [columns] + rows
        var widths = columns.indices.map { column in all.map { TextColumns.count(of: $0[column]) }.max() ?? 0 }
        while widths.reduce(2 * (widths.count - 1), +) > room {
            let wrapped = widths.indices.filter { $0 != whole && widths[$0] > Self.narrowest }
            guard let widest = wrapped.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
        }
        return widths
    }

    private static func aligned(_ row: [String], _ widths: [Int]) -> [String] {
        let cells = row.enumerated().map { TextColumns.wrapped($1, within: widths[$0]) }
        return (0..<(cells.map(\.count).max() ?? 0)).map { index in
            let texts = cells.enumerated().map { column, lines in
                let text = index < lines.count ? lines[index] : ""
                return text + String(repeating: " ", count: max(0, widths[column] - TextColumns.count(of: text)))
            }
            return "  " + trimmed(texts.joined(separator: "  "))
        }
    }

    /// The same for a table that was asked for by itself: without rows it says so.
    package var listing: [String] { rows.isEmpty ? ["no \(title)"] : lines }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }
}

extension Table {
    /// A column of a table of facts: its name, and the cell that each fact has in it.
    package struct Column: ExpressibleByStringLiteral {
        fileprivate let name: String
        fileprivate let cell: (Fact) -> String

        package init(_ name: String, cell: @escaping (Fact) -> String) {
            self.name = name
            self.cell = cell
        }

        /// The text of the key that is the column's name.
        package init(stringLiteral key: String) { self.init(key) { $0.text(key) } }

        /// The other device (CTL-72).
        package static var peer: Column { Column("device", cell: \.peer) }

        package static func text(_ name: String, of key: String) -> Column { Column(name) { $0.text(key) } }
        package static func date(_ name: String, of key: String? = nil) -> Column {
            Column(name) { $0.date(key ?? name) }
        }
        package static func span(_ key: String) -> Column { Column(key) { $0.span(key) } }
        package static func digest(_ key: String) -> Column { Column(key) { $0.digest(key) } }
    }

    package init(_ title: String, _ columns: [Column], of facts: [Fact]) {
        self.init(title, columns.map(\.name))
        for fact in facts { add(columns.map { $0.cell(fact) }) }
    }
}

/// Makes foreign text safe to print.
package enum Printable {
    /// The text on one line, at most `limit` characters.
    package static func text(_ text: String, limit: Int = 300) -> String {
        let scalars = Array(text.unicodeScalars.prefix(limit))
        var shown = String.UnicodeScalarView()
        for index in scalars.indices {
            let isShown = !scalars[index].isDeceptive || joins(index, in: scalars)
            shown.append(isShown ? scalars[index] : "?")
        }
        return String(shown) + (text.unicodeScalars.count > limit ? "..." : "")
    }

    /// The lines of a text that may have several, each safe to print; none of an empty text.
    package static func lines(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { Self.text(String($0), limit: 1000) }
    }

    /// Whether a joiner belongs to what an eye sees: between two pictures, and after a virama that takes the vowel away
    /// from the letter before another one (RFC 5892, appendix A). Anywhere else two names that differ by a joiner alone
    /// would look alike.
    private static func joins(_ index: Int, in scalars: [Unicode.Scalar]) -> Bool {
        guard scalars[index] == "\u{200D}", index > 0, index + 1 < scalars.count else { return false }
        let (before, after) = (scalars[index - 1], scalars[index + 1])
        if before.properties.canonicalCombiningClass == .virama { return before.isConjunct(with: after) }
        let left = before == "\u{FE0F}" ? index - 2 : index - 1
        return isPicture(left, in: scalars) && isPicture(index + 1, in: scalars)
    }

    /// Whether a scalar is shown as an emoji: by itself, or because U+FE0F after it asks for that.
    private static func isPicture(_ index: Int, in scalars: [Unicode.Scalar]) -> Bool {
        guard index >= 0 else { return false }
        let properties = scalars[index].properties
        if properties.isEmojiPresentation { return true }
        // Digits and signs of a keyboard count as emoji, too.
        return !scalars[index].isASCII && properties.isEmoji && scalars[(index + 1)...].first == "\u{FE0F}"
    }
}

extension Unicode.Scalar {
    /// Whether a virama and a letter can join: both of one Indic block from Devanagari to Sinhala. The sign of Tamil
    /// stays a dot above its letter, and so do those of the same class in other scripts.
    fileprivate func isConjunct(with letter: Unicode.Scalar) -> Bool {
        let isIndic = (0x900..<0xE00).contains(value) && !(0xB80..<0xC00).contains(value)
        return isIndic && letter.value >> 7 == value >> 7 && letter.properties.generalCategory == .otherLetter
    }
}
