// Property-list values of every type, size and shape, the same ones in every run. Sizes gather where the form of a
// count or a number changes. Text holds no NUL: one of the readers that these values are for ends text there.

package import TandemPropertyList

/// A source of values; equal seeds give equal values.
package struct GeneratedValues {
    private var generator: SeededGenerator

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// The next value, mostly a dictionary.
    package mutating func next() -> PropertyListValue { value(depth: 0) }

    private mutating func value(depth: Int) -> PropertyListValue {
        // A root is seldom a scalar, and what is deep seldom a container.
        switch number(in: depth == 0 ? 6...17 : 0...max(9, 17 - 2 * depth)) {
        case 0: .boolean(number(in: 0...1) == 1)
        case 1, 2: integer()
        case 3: .real(real())
        case 4: .date(PropertyListDate(millisecondsSinceReferenceDate: date()))
        case 5, 6: .data(generator.bytes(size()))
        case 7, 8, 9: .string(text(count: size()))
        case 10, 11, 12: .array((0..<width(depth)).map { _ in value(depth: depth + 1) })
        default: .dictionary(dictionary(depth: depth))
        }
    }

    private mutating func dictionary(depth: Int) -> PropertyListDictionary {
        var pairs = PropertyListDictionary()
        for _ in 0..<width(depth) { pairs[text(count: number(in: 1...16))] = value(depth: depth + 1) }
        return pairs
    }

    private mutating func integer() -> PropertyListValue {
        let bits = generator.next() >> UInt64(number(in: 0...63))
        return number(in: 0...2) == 0 ? .integer(-Int64(bits >> 1) - 1) : PropertyListValue(bits)
    }

    private mutating func real() -> Double {
        let number = number(in: 0...3) == 0 ? Double(generator.next() >> 40) / 8 : Double(bitPattern: generator.next())
        return number.isFinite ? number : 1.5
    }

    private mutating func date() -> Int64 {
        number(in: 0...2) == 0
            ? Int64.random(in: PropertyListDate.representable, using: &generator)
            : Int64.random(in: 0..<1_000_000_000_000, using: &generator)
    }

    /// Around the counts whose form differs, or small.
    private mutating func size() -> Int {
        switch number(in: 0...40) {
        case 0: number(in: 250...260)
        case 1...4: number(in: 13...17)
        case 5: number(in: 0...3000)
        default: number(in: 0...12)
        }
    }

    private mutating func width(_ depth: Int) -> Int {
        switch number(in: 0...20) {
        case 0 where depth == 0: number(in: 100...300)
        case 1...3: number(in: 13...17)
        default: number(in: 0...5)
        }
    }

    private mutating func text(count: Int) -> String {
        let alphabet: [Unicode.Scalar] =
            switch number(in: 0...5) {
            case 0: ["a", "\u{E9}", "\u{301}", "\u{FFFD}", "\u{FFFF}", "\u{FEFF}", "\u{D7FF}"]
            case 1: ["z", "\u{10000}", "\u{1F600}", "\u{10FFFF}", "\u{E000}"]
            default: ["a", "b", "C", "0", " ", "\u{7F}", "\u{1}", "<", "&", "\"", "\\", "/"]
            }
        var text = String.UnicodeScalarView()
        for _ in 0..<count { text.append(alphabet[number(in: 0...alphabet.count - 1)]) }
        return String(text)
    }

    private mutating func number(in range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
}
