// Files of translations: their forms, their encodings, and faults with line and column.

import TandemPropertyList
import TandemPropertyListXML
import TandemTestSupport
import Testing

@Suite struct StringsTests {
    private func read(_ text: String) throws -> [String: String] { try StringsReader.read(Array(text.utf8)) }

    @Test("PAG-11: quoted texts, bare words, comments and escapes are read")
    func forms() throws {
        let text = #"""
            /* A comment; "with" = signs */
            "Sound" = "Ton"; // at the end
            bare.key-1 = "x" ;"same";
            "lines" = "a
            b\nc\t\"d\"\\\U00e4\101\'";
            "pair" = "\ud83d\ude00"; path/a/* here */= b;
            """#
        #expect(
            try read(text) == [
                "Sound": "Ton", "bare.key-1": "x", "same": "same", "lines": "a\nb\nc\t\"d\"\\äA'", "pair": "😀",
                "path/a": "b",
            ])
        #expect(try read("").isEmpty && read(" // nothing").isEmpty)
    }

    @Test("PAG-11: UTF-8 and UTF-16 with a mark, and property lists, binary and XML, are the same")
    func encodings() throws {
        let text = "\"Größe\" = \"Size 😀\";"
        let expected = ["Größe": "Size 😀"]
        let units = Array(text.utf16)
        #expect(try StringsReader.read(Array(text.utf8)) == expected)
        #expect(try StringsReader.read([0xEF, 0xBB, 0xBF] + Array(text.utf8)) == expected)
        #expect(
            try StringsReader.read([0xFF, 0xFE] + units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }) == expected)
        #expect(
            try StringsReader.read([0xFE, 0xFF] + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }) == expected)
        let list: PropertyListDictionary = ["Größe": "Size 😀"]
        #expect(try StringsReader.read(PropertyListWriter.write(list)) == expected)
        #expect(try StringsReader.read(PropertyListXMLWriter.write(.dictionary(list))) == expected)
    }

    @Test(
        "PAG-11: a fault has its line and its column, and no text of the file",
        arguments: [
            ("\"a\" = \"b\"\n\"c\";", "line 2, column 1: expected ; behind the value"),
            ("\"a\" \"b\";", "line 1, column 5: expected = or ; behind the key"),
            ("\n\n  = \"b\";", "line 3, column 3: expected a key, quoted or of letters, digits and _-.$:/"),
            ("\"a\" = ;", "line 1, column 7: expected a text behind ="),
            ("\"a\" = \"b;\n", "line 1, column 7: the text has no end; write a quotation mark behind it"),
            ("\"a\" = 1;\n/* open", "line 2, column 1: the comment has no end; write */ behind it"),
            ("\"a\";\n\"a\" = \"b\";", "line 2, column 1: the key is there twice; remove one of the two"),
        ])
    func faults(text: String, expected: String) {
        let error = #expect(throws: StringsError.self) { try StringsReader.read(Array(text.utf8)) }
        #expect(error?.description == expected)
    }

    @Test("PAG-11: half of a pair, unknown escapes, damaged encodings, other values and too many bytes are refused")
    func refused() throws {
        for text in [#""\q";"#, #""\ud83d";"#, #""\U12";"#, #""\9";"#, #""\777";"#, #""\"#] {
            #expect(throws: StringsError.self) { try read(text) }
        }
        let damaged: [[UInt8]] = [[0x22, 0xFF, 0x22, 0x3B], [0xFF, 0xFE, 0x22], [0xFF, 0xFE, 0x00, 0xD8]]
        for bytes in damaged {
            #expect(throws: StringsError.self) { try StringsReader.read(bytes) }
        }
        #expect(throws: StringsError.self) {
            try StringsReader.read(PropertyListWriter.write(["a": 1] as PropertyListDictionary))
        }
        #expect(throws: StringsError.self) { try read("<plist version=\"1.0\"><array/></plist>") }
        let limit = StringsReader.maximumLength
        #expect(try StringsReader.read([UInt8](repeating: 0x20, count: limit)).isEmpty)
        #expect(throws: StringsError.self) { try StringsReader.read([UInt8](repeating: 0x20, count: limit + 1)) }
    }

    @Test("PAG-11: any damage to a file is read or refused, and nothing traps")
    func damaged() {
        var random = SeededGenerator(seed: 15)
        let text = Array("/* c */ \"a\" = \"b\\U00e4\"; c = d; // e\n\"f\";".utf8)
        for _ in 0..<5000 {
            var damaged = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                damaged[Int.random(in: damaged.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? StringsReader.read(Array(damaged.prefix(Int.random(in: 0...damaged.count, using: &random))))
        }
    }
}
