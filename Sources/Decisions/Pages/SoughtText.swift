// Text that a search of pages looks for (PAG-18). The texts are apps' own, and the console has one thread for all its
// browsers: a search costs as much as reading both texts, however often they repeat themselves.

/// A text that is looked for in others, in any case of letters.
struct SoughtText {
    private let bytes: [UInt8]
    /// For each beginning of the text the length of the longest shorter one that it ends with (Knuth, Morris, Pratt).
    private let borders: [Int]

    /// nil for an empty text, which nothing contains.
    init?(_ text: String) {
        bytes = Array(Self.folded(text).utf8)
        if bytes.isEmpty { return nil }
        var borders = [0]
        for byte in bytes.dropFirst() {
            borders.append(Self.matched(borders[borders.count - 1], then: byte, bytes, borders))
        }
        self.borders = borders
    }

    /// Whether a text contains this one, by its scalars.
    func isIn(_ text: String?) -> Bool {
        guard let text else { return false }
        var matched = 0
        for byte in Self.folded(text).utf8 {
            matched = Self.matched(matched, then: byte, bytes, borders)
            if matched == bytes.count { return true }
        }
        return false
    }

    /// How many bytes match once another one has come.
    private static func matched(_ before: Int, then byte: UInt8, _ bytes: [UInt8], _ borders: [Int]) -> Int {
        var matched = before
        while matched > 0, bytes[matched] != byte { matched = borders[matched - 1] }
        return bytes[matched] == byte ? matched + 1 : 0
    }

    /// The text without its case. In lower case alone `ß` would not be `ss`, nor the last sigma of a word any other.
    private static func folded(_ text: String) -> String { text.uppercased().lowercased() }
}
