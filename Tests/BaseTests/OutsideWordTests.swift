// Texts from outside that are compared: the door to the words of closed lists, and runs of combining marks.

import TandemBase
import Testing

private enum Fruit: String { case apple, long = "0123456789012345678901234567890123456789012345678901234567890123" }

/// A list whose own comparison counts the texts that reach it.
private struct Counted: RawRepresentable {
    let rawValue: String
    nonisolated(unsafe) static var asked: [String] = []
    init?(rawValue: String) {
        unsafe Self.asked.append(rawValue)
        self.rawValue = rawValue
    }
}

@Suite struct OutsideWordTests {
    @Test("LIM-153: a word of a closed list is short and ASCII, and nothing else is compared with the list")
    func words() {
        #expect(Fruit(word: "apple") == .apple && Fruit(word: "pear") == nil && Fruit(word: "") == nil)
        #expect(Fruit(word: Fruit.long.rawValue) == .long && Fruit.long.rawValue.utf8.count == 64)
        let texts = [
            "a", String(repeating: "a", count: 64), String(repeating: "a", count: 65), "apple\u{301}", "\u{E9}",
        ]
        #expect(texts.map { Counted(word: $0) != nil } == [true, true, false, false, false])
        #expect(unsafe Counted.asked == Array(texts.prefix(2)))
    }

    @Test("LIM-154: more than 30 combining marks in a row are many")
    func runs() {
        func marks(_ count: Int) -> String { String(repeating: "\u{301}", count: count) }
        #expect(!CombiningMarks.areMany(in: "a" + marks(30)))
        #expect(CombiningMarks.areMany(in: "a" + marks(31)) && CombiningMarks.areMany(in: marks(31) + "a"))
        #expect(!CombiningMarks.areMany(in: String(repeating: "a" + marks(30), count: 100)))
        #expect(CombiningMarks.areMany(in: String(repeating: "\u{301}\u{316}", count: 16)), "of several classes")
        for text in [
            "", String(repeating: "a", count: 999), String(repeating: "\u{E9}", count: 999), "\u{1F44D}\u{1F3FD}",
        ] {
            #expect(!CombiningMarks.areMany(in: text))
        }
    }

    @Test("LIM-154: texts are compared by Unicode, and by their bytes if they have many marks")
    func compared() {
        #expect(ComparedText("e\u{301}") == ComparedText("\u{E9}"))
        let (one, other) = (
            String(repeating: "\u{301}\u{316}", count: 99), String(repeating: "\u{316}\u{301}", count: 99)
        )
        #expect(ComparedText(one) == ComparedText(one) && ComparedText(one) != ComparedText(other))
        #expect(ComparedText(one) != ComparedText("") && Set([one, other, one].map { ComparedText($0) }).count == 2)
    }
}
