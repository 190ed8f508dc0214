// Tables within the width of a terminal: columns that are wrapped, notes below rows, and characters of two columns.

import TandemOperations
import Testing

@Suite struct TableTests {
    @Test("a table within a width wraps its widest columns between words, and shows all of their text")
    func wrapped() {
        let title = String(repeating: "word ", count: 30) + "end"
        var table = Table("rows", ["", "title", "key", "value"])
        table.add(["1", title, "a.key.that.is.long", String(repeating: "x", count: 100)], notes: [title])
        table.add("2", "Short", "k", "")
        for width in [48, 60, 80] {
            let lines = table.lines(width: width, whole: 2, notesBelow: 1)
            #expect(lines.allSatisfy { $0.count <= width }, "\(width)")
            #expect(lines.contains { $0.contains("a.key.that.is.long") }, "a key is never wrapped")
            #expect(lines.joined().filter { $0 == "x" }.count == 100)
            #expect(lines.joined(separator: " ").count(of: "word") == 60 && lines.last?.hasSuffix("-") == true)
        }
        #expect(table.lines.count == 5 && Table("none", ["a"]).lines(width: 80).isEmpty)
    }

    @Test("a note begins two columns behind the column that it is below, which no cell does")
    func notes() {
        var table = Table("rows", ["", "title", "value"])
        table.add(["1", "a", "b"], notes: ["Edited."])
        let lines = ["rows", "     title  value", "  1  a      b", "       Edited."]
        #expect(table.lines(width: 80, notesBelow: 1) == lines)
    }

    @Test("East Asian letters and emoji have two columns, others one")
    func wide() {
        #expect(TextColumns.count(of: "Größe") == 5 && TextColumns.count(of: "音量🔊") == 6)
        #expect(TextColumns.wrapped("音量音量", within: 5) == ["音量", "音量"])
        #expect(TextColumns.wrapped("ab cd ef", within: 5) == ["ab cd", "ef"])
        #expect(TextColumns.wrapped("abcdefg h", within: 3) == ["abc", "def", "g h"])
        #expect(TextColumns.beginning(of: "音量", within: 3) == "音" && TextColumns.beginning(of: "a", within: 0).isEmpty)
        #expect(TextColumns.wrapped("音量", within: -1) == ["音", "量"])
        #expect(TextColumns.wrapped("  ab", within: 4) == ["  ab"] && TextColumns.wrapped("", within: 4) == [""])
        var table = Table("rows", ["a", "b"])
        table.add("音", "x")
        table.add("abc", "y")
        #expect(table.lines == ["rows", "  a    b", "  音   x", "  abc  y"])
    }

    @Test("a text of several lines has a printable line for each")
    func printable() {
        #expect(Printable.lines("a\n\u{1B}b\r\nc") == ["a", "?b", "c"] && Printable.lines("").isEmpty)
    }
}

extension String {
    /// How often a word is in the text.
    fileprivate func count(of word: String) -> Int { split(separator: " ").count { $0 == word } }
}
