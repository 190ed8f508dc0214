// Reading XML property lists: every element, the forms in which Apple's tools write scalars, and every fault with its
// line, column and a way to repair it.

import TandemPropertyList
import TandemPropertyListXML
import Testing

/// A document around one value.
func document(_ content: String) -> [UInt8] { Array("<plist version=\"1.0\">\(content)</plist>".utf8) }

@Suite struct XMLReaderTests {
    private static let example = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
            <!-- The seed's own file, and one of each type. -->
            <dict>
                <key>myAPISecret</key>
                <string>api-secret-1</string>
                <key>base_url</key>
                <string>localhost:8080</string>
                <key>on</key><true/><key>off</key><false></false>
                <key>list</key>
                <array><integer>1</integer><real>1.5</real><array/><dict/></array>
                <key>date</key><date>2017-05-24T15:31:29Z</date>
                <key>data</key>
                <data>
                \tAAEC/+8=
                </data>
            </dict>
        </plist>

        """

    @Test("SET-1: a file as Apple's tools write it is read, its DOCTYPE line included")
    func aFileAsApplesToolsWriteItIsRead() throws {
        let value = try PropertyListXMLReader.readDictionary(Array(Self.example.utf8))
        #expect(
            value == [
                "myAPISecret": "api-secret-1", "base_url": "localhost:8080", "on": true, "off": false,
                "list": [1, 1.5, [], [:]], "data": .data([0, 1, 2, 0xFF, 0xEF]),
                "date": .date(PropertyListDate(millisecondsSinceReferenceDate: 517_332_689_000)),
            ])
    }

    @Test(
        "SET-1: UTF-16 with a byte order mark is read as UTF-8 is",
        arguments: [false, true])
    func utf16IsRead(isLittleEndian: Bool) throws {
        let text =
            "\u{FEFF}<?xml version=\"1.0\" encoding=\"UTF-16\"?><plist><string>caf\u{E9} \u{1F600}</string></plist>"
        let bytes = text.utf16.flatMap { unit in
            let pair = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return isLittleEndian ? pair.reversed() : pair
        }
        #expect(try PropertyListXMLReader.read(bytes) == "caf\u{E9} \u{1F600}")
    }

    @Test(
        "SET-1: scalars are read in the forms that Apple's tools write",
        arguments: [
            ("<integer>0</integer>", 0), ("<integer> -12\n</integer>", -12), ("<integer>+7</integer>", 7),
            ("<integer>007</integer>", 7), ("<integer>0xFF</integer>", 255), ("<integer>-0x10</integer>", -16),
            ("<integer>9223372036854775807</integer>", .integer(.max)),
            ("<integer>-9223372036854775808</integer>", .integer(.min)),
            ("<integer>18446744073709551615</integer>", .unsigned(.max)),
            ("<real>1</real>", 1.0), ("<real> -1.5e3 </real>", -1500.0), ("<real>.5</real>", 0.5),
            ("<real>5.</real>", 5.0), ("<real>1E-2</real>", 0.01),
            ("<string> a&amp;b&lt;c&gt;&quot;&apos;&#x1F600; </string>", " a&b<c>\"'\u{1F600} "),
            ("<string><![CDATA[<a>&amp;]]></string>", "<a>&amp;"), ("<string></string>", ""),
            ("<string>a<!-- not text -->b</string>", "ab"), ("<string>a\r\nb&#13;c</string>", "a\nb\rc"),
            ("<data>QUJD RE VG\n</data>", .data(Array("ABCDEF".utf8))), ("<data></data>", .data([])),
            (
                "<date>0001-01-01T00:00:00Z</date>",
                .date(PropertyListDate(millisecondsSinceReferenceDate: PropertyListDate.representable.lowerBound))
            ),
            (
                "<date>9999-12-31T23:59:59.999Z</date>",
                .date(PropertyListDate(millisecondsSinceReferenceDate: PropertyListDate.representable.upperBound - 1))
            ),
            (
                "<date>2000-02-29T00:00:00Z</date>",
                .date(PropertyListDate(millisecondsSinceReferenceDate: -26_524_800_000))
            ),
        ] as [(String, PropertyListValue)])
    func scalarsAreRead(text: String, value: PropertyListValue) throws {
        #expect(try PropertyListXMLReader.read(document(text)) == value)
    }

    @Test(
        "SET-2: every fault has its line, its column and a name",
        arguments: [
            ("<string>a</strin>", .notXML("mismatched tag"), 1, 33),
            ("", .empty, 1, 30), ("<set/>", .unknownElement("set"), 1, 22),
            ("<string><b/></string>", .unknownElement("b"), 1, 30),
            ("<string><true/></string>", .misplacedElement("true"), 1, 30),
            ("<true/><true/>", .misplacedElement("true"), 1, 29), ("<array>\n  one</array>", .misplacedText, 2, 1),
            ("<true>yes</true>", .misplacedText, 1, 28),
            ("<array><key>a</key></array>", .misplacedElement("key"), 1, 29),
            ("<plist/>", .misplacedElement("plist"), 1, 22),
            ("<dict><true/></dict>", .missingKey("true"), 1, 28),
            ("<dict><key>a</key><key>b</key></dict>", .missingValue("a"), 1, 40),
            ("<dict><key>a</key></dict>", .missingValue("a"), 1, 40),
            ("<dict><key>a</key><true/>\n<key>a</key><true/></dict>", .duplicateKey("a"), 2, 7),
            ("<dict><key></key><true/></dict>", .keyLength(0), 1, 33),
            ("<integer></integer>", .integer, 1, 31), ("<integer>1.5</integer>", .integer, 1, 34),
            ("<integer>--1</integer>", .integer, 1, 34), ("<integer>0x</integer>", .integer, 1, 33),
            ("<integer>0x-1</integer>", .integer, 1, 35), ("<integer>1 2</integer>", .integer, 1, 34),
            ("<integer>18446744073709551616</integer>", .integer, 1, 51),
            ("<integer>-9223372036854775809</integer>", .integer, 1, 51),
            ("<real>abc</real>", .real, 1, 31), ("<real>0x10</real>", .real, 1, 32), ("<real>1e</real>", .real, 1, 30),
            ("<real>.</real>", .real, 1, 29), ("<real>nan</real>", .notFinite, 1, 31),
            ("<real>+infinity</real>", .notFinite, 1, 37), ("<real>-inf</real>", .notFinite, 1, 32),
            ("<real>1e999</real>", .notFinite, 1, 33),
            ("<date>2017-02-29T00:00:00Z</date>", .date, 1, 48), ("<date>2017-05-24</date>", .date, 1, 38),
            ("<date>2017-05-24T24:00:00Z</date>", .date, 1, 48), ("<date>0000-01-01T00:00:00Z</date>", .date, 1, 48),
            ("<date>2017-05-24T15:31:29+01:00</date>", .date, 1, 53), ("<data>AAA</data>", .data, 1, 31),
            ("<data>A===</data>", .data, 1, 32), ("<data>AA-_</data>", .data, 1, 32),
            ("<data>AAB=</data>", .data, 1, 32),
            ("<string>&nbsp;</string>", .notXML("undefined entity"), 1, 30),
            ("<string>&#0;</string>", .notXML("reference to invalid character number"), 1, 30),
            ("<string a=\"b\"/>", .attribute("a"), 1, 22), ("<?php echo?>", .processingInstruction("php"), 1, 22),
        ] as [(String, PropertyListXMLError.Reason, Int, Int)])
    func everyFaultHasItsLocation(text: String, reason: PropertyListXMLError.Reason, line: Int, column: Int) {
        #expect(throws: PropertyListXMLError(reason, at: .position(line: line, column: column))) {
            try PropertyListXMLReader.read(document(text))
        }
    }

    @Test(
        "SET-2: documents that are no plain property list are refused before their content",
        arguments: [
            ("", .notXML("no element found")), ("<html/>", .notPropertyList("html")),
            ("<dict/>", .notPropertyList("dict")),
            ("<plist version=\"2.0\"><true/></plist>", .version("2.0")), ("<plist size=\"1\"/>", .attribute("size")),
            ("<!DOCTYPE html><plist><true/></plist>", .notPropertyList("html")),
            ("<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><string>&a;</string></plist>", .internalSubset),
            (
                "<!DOCTYPE plist SYSTEM \"file:///etc/passwd\" [<!ENTITY % a SYSTEM \"x\"> %a;]><plist/>",
                .internalSubset
            ),
            ("<!DOCTYPE plist SYSTEM \"x.dtd\"><plist><string>&a;</string></plist>", .entity("a")),
            ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><plist><true/></plist>", .encoding("ISO-8859-1")),
            ("<plist><true/></plist><plist/>", .notXML("junk after document element")),
        ] as [(String, PropertyListXMLError.Reason)])
    func otherDocumentsAreRefused(text: String, reason: PropertyListXMLError.Reason) {
        #expect { try PropertyListXMLReader.read(Array(text.utf8)) } throws: {
            ($0 as? PropertyListXMLError)?.reason == reason
        }
    }

    @Test("SET-2: a fault says what is wrong and what to do, and shows no value")
    func aFaultSaysWhatToDo() {
        let text = "<dict>\n<key>pin</key><integer>hunter2</integer>\n</dict>"
        #expect {
            try PropertyListXMLReader.read(document(text))
        } throws: { error in
            "\(error)"
                == "line 2, column 31: not an integer of 64 bits; write digits, or 0x and hexadecimal digits"
        }
    }

    @Test("SET-3: the budgets of the binary reader hold: bytes, levels, values and lengths of keys")
    func theBudgetsHold() throws {
        func fault(_ bytes: [UInt8], _ limits: PropertyListLimits = .standard) -> PropertyListXMLError.Reason? {
            do throws(PropertyListXMLError) {
                _ = try PropertyListXMLReader.read(bytes, limits: limits)
                return nil
            } catch {
                return error.reason
            }
        }
        func nested(_ levels: Int) -> [UInt8] {
            document(String(repeating: "<array>", count: levels) + String(repeating: "</array>", count: levels))
        }
        #expect(fault(nested(64)) == nil)
        #expect(fault(nested(65)) == .tooDeep(limit: 64))
        #expect(fault(nested(30_000)) == .tooDeep(limit: 64))
        let few = PropertyListLimits(depth: 64, objects: 64, values: 5)
        #expect(fault(document("<dict><key>a</key><true/><key>b</key><true/></dict>"), few) == nil)
        #expect(fault(document("<array><true/><true/><true/><true/><true/></array>"), few) == .tooManyValues(limit: 5))
        func keyed(_ count: Int) -> [UInt8] {
            document("<dict><key>\(String(repeating: "k", count: count))</key><true/></dict>")
        }
        #expect(fault(keyed(256)) == nil)
        #expect(fault(keyed(257)) == .keyLength(257))
        let limit = PropertyListXMLReader.maximumLength
        let filled =
            document("<true/>") + [UInt8](repeating: UInt8(ascii: "\n"), count: limit - document("<true/>").count)
        #expect(fault(filled) == nil)
        #expect(fault(filled + [10]) == .tooLarge(count: limit + 1, limit: limit))
    }

    @Test("SET-1: a root that is no dictionary is told where a dictionary is wanted")
    func aRootThatIsNoDictionary() {
        #expect(throws: PropertyListXMLError(.rootNotDictionary, at: .position(line: 1, column: 1))) {
            try PropertyListXMLReader.readDictionary(document("<array/>"))
        }
    }
}
