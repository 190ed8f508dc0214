// Texts from outside that are compared. Swift compares, orders and hashes Strings by their normal form, and sorting a
// run of combining marks into that form takes up to the square of its length: half a megabyte of marks is minutes. An
// ASCII text is its own normal form and is compared by its bytes. So a text becomes a word of a closed list through one
// door, which looks at its bytes first, and a text that Unicode has to compare is looked at for such runs before.

extension RawRepresentable<String> {
    /// The case that a text from outside names; nil if it names none. No list has a word that is not ASCII.
    @inlinable package init?(word: String) {
        guard word.mayBeWord else { return nil }
        self.init(rawValue: word)
    }
}

extension String {
    /// Whether it is short and plain enough for a word of a closed list (LIM-153).
    @inlinable package var mayBeWord: Bool { utf8.count <= 64 && utf8.allSatisfy { $0 < 0x80 } }

    /// Whether a text from outside is this word.
    package func isWord(_ word: String) -> Bool { mayBeWord && self == word }
}

/// Runs of combining marks in a text.
package enum CombiningMarks {
    /// The longest run of a text that is compared by Unicode (LIM-154): that of its stream-safe format (UAX 15).
    package static let longestRun = 30

    /// Whether a text has a longer run, so that comparing it could take long.
    package static func areMany(in text: String) -> Bool {
        // A mark has two bytes at least.
        guard text.utf8.count > 2 * longestRun else { return false }
        var run = 0
        for scalar in text.unicodeScalars {
            run = scalar.isASCII || scalar.properties.canonicalCombiningClass == .notReordered ? 0 : run + 1
            if run > longestRun { return true }
        }
        return false
    }
}

/// A text as a key of sets and dictionaries: texts that are equal for Unicode are one key, but a text with many marks
/// equals only the same bytes.
package struct ComparedText: Hashable, Sendable {
    private let text: String
    private let bytes: [UInt8]

    package init(_ text: String) {
        let isCostly = CombiningMarks.areMany(in: text)
        (self.text, bytes) = isCostly ? ("", Array(text.utf8)) : (text, [])
    }
}
