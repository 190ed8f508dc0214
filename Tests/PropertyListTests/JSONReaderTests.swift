// JSON from people becomes property-list values or an error that says where.

import TandemPropertyList
import TandemTestSupport
import Testing

@testable import TandemPropertyList

@Suite struct JSONReaderTests {
    @Test func everyKindOfValueIsRead() throws {
        let text = #" {"b":true,"i":-7,"u":18446744073709551615,"r":1.5e2,"s":"a\n\u00e9\ud83d\ude00/","l":[1,[],{}]} "#
        #expect(
            try JSONReader.read(text) == [
                "b": true, "i": -7, "u": .unsigned(.max), "r": .real(150), "s": "a\n\u{e9}\u{1F600}/",
                "l": [1, [], .dictionary([:])],
            ])
    }

    @Test func numbersKeepTheirKind() throws {
        #expect(try JSONReader.read("1") == .integer(1))
        #expect(try JSONReader.read("1.0") == .real(1))
        #expect(try JSONReader.read("-9223372036854775808") == .integer(.min))
        #expect(try JSONReader.read("9223372036854775808") == .unsigned(9_223_372_036_854_775_808))
    }

    @Test(arguments: [
        ("", JSONError.Reason.unexpectedEnd, 0), ("{", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2),
        ("null", .null, 0), ("tru", .unexpectedCharacter, 0), ("[1 2]", .unexpectedCharacter, 3),
        ("1 2", .trailingText, 2), (#"{"a":1,"a":2}"#, .duplicateKey, 7), ("18446744073709551616", .number, 0),
        ("01", .number, 0), ("1.", .number, 0), ("1e999", .number, 0), ("--1", .number, 0),
        ("nan", .unexpectedCharacter, 0),
        (#""\ud800""#, .string, 0), (#""\x""#, .string, 0), ("\"a\u{01}\"", .string, 0), (#""open"#, .string, 0),
        ("{1:2}", .key, 1), ("{'a':1}", .key, 1), ("{,}", .key, 1), ("{\"a\":1,", .unexpectedEnd, 7),
        ("{\"a\":1, }", .commaBeforeBrace, 6), ("[1,]", .commaBeforeBracket, 2), ("'a'", .unexpectedCharacter, 0),
        (String(repeating: "[", count: 65), .tooDeep, 64),
    ])
    func malformedTextIsRefusedWithItsPlace(text: String, reason: JSONError.Reason, offset: Int) {
        #expect(throws: JSONError(reason: reason, offset: offset)) { try JSONReader.read(text) }
    }

    @Test func aCommaAfterTheLastPairIsNamed() {
        #expect(throws: JSONError(reason: .commaBeforeBrace, offset: 13)) { try JSONReader.read(#"{"volume": 10,}"#) }
        #expect("\(JSONError(reason: .commaBeforeBrace, offset: 13))" == "JSON, byte 14: a comma before }")
    }

    @Test func bytesThatAreNotUtf8AreRefused() {
        #expect(throws: JSONError(reason: .string, offset: 0)) { try JSONReader.read([0x22, 0xFF, 0x22]) }
    }

    @Test("an object of 20,000 keys is read in one pass")
    func cost() throws {
        let text = "{" + (0..<20_000).map { "\"key \($0)\": \($0)" }.joined(separator: ",") + "}"
        let begin = ThreadTime.now
        #expect(try JSONReader.read(text).dictionaryValue?.count == 20_000)
        #expect(ThreadTime.now - begin < .seconds(2), "\(ThreadTime.now - begin)")
    }
}
