// Writing XML property lists: one text for each value, in Apple's layout; whatever is written is read back as it was;
// and thousands of damaged texts, none of which may crash the reader.

import TandemPropertyList
import TandemPropertyListXML
import TandemTestSupport
import Testing

@Suite struct XMLWriterTests {
    @Test("SET-4: the text has Apple's layout: tabs, keys in order, short forms of what is empty")
    func theTextHasApplesLayout() throws {
        let value: PropertyListValue = [
            "b": ["x", .data(Array(0..<60)), [], [:]], "a & b": true, "real": 2.0,
            "when": .date(PropertyListDate(millisecondsSinceReferenceDate: 517_332_689_000)),
        ]
        let text = String(decoding: try PropertyListXMLWriter.write(value), as: UTF8.self)
        #expect(
            text
                == """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                \t<key>a &amp; b</key>
                \t<true/>
                \t<key>b</key>
                \t<array>
                \t\t<string>x</string>
                \t\t<data>
                \t\tAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKio=
                \t\t</data>
                \t\t<array/>
                \t\t<dict/>
                \t</array>
                \t<key>real</key>
                \t<real>2.0</real>
                \t<key>when</key>
                \t<date>2017-05-24T15:31:29Z</date>
                </dict>
                </plist>

                """.replacing(
                    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKio=",
                    with: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKiss\n\t\tLS4vMDEyMzQ1Njc4OTo7"))
    }

    @Test(
        "SET-4: what is written is read back as it was",
        arguments: [
            true, false, 0, -1, .integer(.min), .integer(.max), .unsigned(.max), 0.0, -0.0, 0.1,
            .real(.greatestFiniteMagnitude), .real(.leastNonzeroMagnitude), .data([]), .data(Array(0...255)), "",
            " a\tb\nc\rd\r\n ", "]]>", "<&>\"'", "caf\u{E9} e\u{301} \u{1F600} \u{85}\u{2028}\u{FFFD}\u{7F}",
            .date(PropertyListDate(millisecondsSinceReferenceDate: -1000)),
            .date(PropertyListDate(millisecondsSinceReferenceDate: PropertyListDate.representable.lowerBound)),
            ["\r\n key ": ["b": [1, 2, [:]]]], ["\u{E9}": 1, "e\u{301}": 2],
        ] as [PropertyListValue])
    func whatIsWrittenIsReadBack(value: PropertyListValue) throws {
        let bytes = try PropertyListXMLWriter.write(value)
        let copy = try PropertyListXMLReader.read(bytes)
        #expect(copy == value)
        #expect(try PropertyListXMLWriter.write(copy) == bytes)
    }

    @Test("SET-4: generated values are read back as they were, or refused for a character or a fraction of a second")
    func generatedValuesAreReadBack() throws {
        var values = GeneratedValues(seed: 20_261_123)
        var written = 0
        for number in 0..<600 {
            let value = values.next()
            do throws(PropertyListXMLError) {
                let bytes = try PropertyListXMLWriter.write(value)
                #expect(try PropertyListXMLReader.read(bytes) == value, "value \(number)")
                written += 1
            } catch {
                switch error.reason {
                case .character, .fraction: continue
                default: throw error
                }
            }
        }
        #expect(written > 100)
    }

    @Test(
        "SET-4: a value that XML cannot carry is refused with its key path",
        arguments: [
            (["a": ["b": ["x", "\u{0}"]]], .character(0), "a.b[1]"), ("\u{FFFF}", .character(0xFFFF), ""),
            (["a": .real(.nan)], .notFinite, "a"), (["\u{1}": 1], .character(1), "\u{1}"),
            (["d": .date(PropertyListDate(millisecondsSinceReferenceDate: .max))], .date, "d"),
            (["d": .date(PropertyListDate(millisecondsSinceReferenceDate: -1))], .fraction, "d"),
            (["": 1], .keyLength(0), ""),
        ] as [(PropertyListValue, PropertyListXMLError.Reason, String)])
    func aValueThatXMLCannotCarry(value: PropertyListValue, reason: PropertyListXMLError.Reason, path: String) {
        #expect(throws: PropertyListXMLError(reason, at: .path(path))) { try PropertyListXMLWriter.write(value) }
    }

    @Test("SET-3: the writer keeps the reader's budgets")
    func theWriterKeepsTheBudgets() throws {
        var nested: PropertyListValue = []
        for _ in 1..<64 { nested = [nested] }
        #expect(try PropertyListXMLReader.read(try PropertyListXMLWriter.write(nested)) == nested)
        #expect {
            try PropertyListXMLWriter.write([nested])
        } throws: {
            ($0 as? PropertyListXMLError)?.reason == .tooDeep(limit: 64)
        }
        let large = PropertyListValue.string(String(repeating: "x", count: PropertyListXMLReader.maximumLength))
        #expect {
            try PropertyListXMLWriter.write(large)
        } throws: { error in
            if case .tooLarge = (error as? PropertyListXMLError)?.reason { true } else { false }
        }
    }

    @Test("SET-3: damaged texts are refused, or have one meaning", arguments: 0..<6 as Range<UInt64>)
    func damagedTextsAreRefusedOrHaveOneMeaning(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed + 20_261_123)
        let original = try PropertyListXMLWriter.write([
            "a": ["b": [1, -2.5, true, .data([1, 2, 3])], "caf\u{E9}": "\u{1F600}&<"],
            "date": .date(PropertyListDate(millisecondsSinceReferenceDate: 1000)), "n": .unsigned(.max),
        ])
        let pieces = [
            "<", ">", "/", "&", "&#", ";", "<![CDATA[", "]]>", "<!--", "<dict>", "</array>", "<key/>", "\u{0}", "%",
        ]
        var accepted = 0
        for _ in 0..<1500 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: bytes.indices, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 1: bytes.remove(at: index)
                case 2:
                    bytes.insert(
                        contentsOf: pieces.randomElement(using: &generator).map { Array($0.utf8) } ?? [], at: index)
                case 3: bytes.removeSubrange(index..<min(bytes.count, index + 20))
                default: bytes.insert(contentsOf: bytes[index..<min(bytes.count, index + 30)], at: index)
                }
            }
            guard let value = try? PropertyListXMLReader.read(bytes) else { continue }
            accepted += 1
            #expect(try PropertyListXMLReader.read(try PropertyListXMLWriter.write(value)) == value)
        }
        #expect((1..<1500).contains(accepted))
    }
}
