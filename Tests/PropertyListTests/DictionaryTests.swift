// Dictionaries that are made in one pass: the same as key after key, and at a cost that grows with their pairs.

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct DictionaryTests {
    private static func dictionary(_ numbers: some Sequence<Int>) -> PropertyListDictionary {
        PropertyListDictionary(uniqueKeysWithValues: numbers.map { ("k\($0)", PropertyListValue($0)) })
    }

    @Test("values that are replaced and left out in one pass leave the keys in their order")
    func mapped() {
        let even = Self.dictionary(0..<100).compactMapValues { _, value in
            value.integerValue.flatMap { $0 % 2 == 0 ? PropertyListValue.integer($0 + 1) : nil }
        }
        var expected: PropertyListDictionary = [:]
        for number in stride(from: 0, to: 100, by: 2) { expected["k\(number)"] = PropertyListValue(number + 1) }
        #expect(even == expected && even.keys == expected.keys)
    }

    @Test("of two dictionaries that are merged the second one's values count")
    func merged() {
        for (left, right) in [(0..<50, 25..<75), (0..<0, 1..<3), (1..<3, 0..<0), (0..<9, 0..<9), (5..<9, 0..<5)] {
            let other = Self.dictionary(right).compactMapValues { _, _ in true }
            var expected = Self.dictionary(left)
            for (key, value) in other { expected[key] = value }
            let merged = Self.dictionary(left).merging(other)
            #expect(merged == expected && merged.keys == expected.keys, "\(left) \(right)")
        }
    }

    @Test("a dictionary of 16,000 keys is made in one pass")
    func cost() {
        let numbers = Self.dictionary(0..<16_000)
        let begin = ThreadTime.now
        #expect(numbers.compactMapValues { $1 }.merging(numbers).count == 16_000)
        #expect(ThreadTime.now - begin < .seconds(1))
    }

    @Test("SCH-20: a weight counts equal parts as often as they occur, and is no less than the bytes of a file")
    func weights() throws {
        let text = PropertyListValue.string(String(repeating: "x", count: 1_000))
        let different = PropertyListValue.string(String(repeating: "y", count: 999))
        #expect(PropertyListValue.array([text, text]).weight() == PropertyListValue.array([text, different]).weight())
        #expect(text.weight(atMost: 1_019) == nil && text.weight(atMost: 1_020) == 1_020)
        let values: [PropertyListValue] = [
            true, 7, .integer(.min), .unsigned(.max), 1.5, .data([UInt8](repeating: 1, count: 300)), "", "é\u{1F600}",
            .string(String(repeating: "ü", count: 70_000)), [], [:], ["a": ["a": 1], "b": ["a": "a"]],
            .array((0..<3_000).map { ["name": .string("n\($0)"), "port": PropertyListValue($0)] }),
            .dictionary(Self.dictionary(0..<3_000)),
        ]
        for value in values {
            let weight = try #require(value.weight())
            let root: PropertyListDictionary = ["k": value]
            let around = try PropertyListWriter.write(["k": true] as PropertyListDictionary).count
            // The offsets of the root and its key grow, too.
            #expect(try PropertyListWriter.write(root).count - around <= weight + 16, "\(weight)")
        }
    }
}
