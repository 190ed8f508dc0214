// The tables of FRM-8 and FRM-10, read from Protocol/Frames.md as an implementer reads them: the type and range of each
// key, and the keys of each kind. Tests that compare code with these tables need no list of keys or kinds of their own.

package import TandemPropertyList

/// The tables of keys and kinds in Protocol.
package enum FrameTables {
    /// The type of a key's value with its range.
    package enum Rule: Sendable, Equatable {
        /// With sizes in bytes: no NUL either.
        case text(ClosedRange<Int>?)
        /// At most so many bytes, of any text.
        case word(Int)
        case boolean
        /// With a count of bytes, or any.
        case data(Int?)
        case integer(ClosedRange<Int64>)
    }

    /// The keys of a kind, without `kind` itself and `sealing` beside `body`.
    package typealias Row = (required: [String], optional: [String])

    /// The keys of FRM-8.
    package static let rules = Dictionary(
        rows(after: "**FRM-8**", before: "**FRM-9**").compactMap { cells in
            words(cells[0]).first.flatMap { key in Rule(cells[1]).map { (key, $0) } }
        }, uniquingKeysWith: { first, _ in first })

    /// The words of FRM-8's `channel`.
    package static let channels =
        rows(after: "**FRM-8**", before: "**FRM-9**")
        .first { words($0[0]) == ["channel"] }.map { words($0[2]) } ?? []

    /// The kinds of FRM-10.
    package static let kinds = Dictionary(
        rows(after: "**FRM-10**", before: "**FRM-11**").flatMap { cells in
            let keys = cells[2].split(separator: "[", maxSplits: 1)
            let row: Row = (words(keys[0]), keys.count > 1 ? words(keys[1]) : [])
            return words(cells[0]).map { ($0, row) }
        }, uniquingKeysWith: { first, _ in first })

    /// A valid value of each key except `kind` and `sealing`.
    package static let examples: PropertyListDictionary = {
        var values = PropertyListDictionary()
        for (key, rule) in rules where key != "kind" && key != "sealing" { values[key] = rule.example(of: key) }
        values["channel"] = channels.first.map { .string($0) }
        return values
    }()

    /// The cells of the rows of the table between two clauses.
    private static func rows(after first: String, before last: String) -> [[String]] {
        Checkout.lines(of: "Protocol/Frames.md").drop { !$0.hasPrefix(first) }.prefix { !$0.hasPrefix(last) }
            .filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|").map(String.init) }
            .filter { $0.count > 2 }
    }

    /// The words in backquotes.
    private static func words(_ cell: some StringProtocol) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
    }
}

extension FrameTables.Rule {
    /// Reads a cell such as `integer 1 to 600,000, ms`.
    fileprivate init?(_ cell: String) {
        let words = cell.split { $0 == " " || $0 == "-" }
        let numbers = words.compactMap { Int64($0.filter(\.isNumber)) }
        switch words.first {
        case "string," where numbers.count == 2: self = .text(Int(numbers[0])...Int(numbers[1]))
        case "string," where numbers.count == 1: self = .word(Int(numbers[0]))
        case "string": self = .text(nil)
        case "boolean": self = .boolean
        case "data", "data,": self = .data(numbers.first.map(Int.init))
        case "integer", "integer,": self = .integer((numbers.first ?? .min)...(numbers.dropFirst().first ?? .max))
        default: return nil
        }
    }

    /// Another value for each key: equal ones are written once, which is no plain frame (FRM-12).
    fileprivate func example(of key: String) -> PropertyListValue {
        let first = key.utf8.reduce(0) { $0 &* 31 &+ Int($1) }
        return switch self {
        case .text, .word: .string("a." + key)
        case .boolean: true
        case .data(let count): .data((0..<(count ?? 1)).map { UInt8(truncatingIfNeeded: first &+ $0) })
        case .integer(let range): .integer(range.contains(7007) ? 7007 : range.lowerBound)
        }
    }
}

extension [String: FrameTables.Row] {
    /// By bytes: text as a key of a Swift dictionary is compared by canonical equivalence.
    subscript(word: [UInt8]) -> Value? { first { $0.key.utf8.elementsEqual(word) }?.value }
}
