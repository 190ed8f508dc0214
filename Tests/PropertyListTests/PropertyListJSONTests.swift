// JSON output is deterministic, escapes whatever a terminal could obey, and reads back as the same value.

import TandemPropertyList
import Testing

@Suite struct PropertyListJSONTests {
    private let sample: PropertyListValue = [
        "yes": true, "low": .integer(.min), "high": .unsigned(.max), "real": .real(1), "small": .real(1e-300),
        "text": "a\"\\\n\t\u{1B}[31m\u{85}\u{2028}\u{e9}\u{1F600}", "bytes": .data([0, 255, 16]), "none": .data([]),
        "list": [1, [], .dictionary([:])],
    ]

    @Test func valuesReadBackAsThemselves() throws {
        #expect(try JSONReader.read(PropertyListJSON.text(sample)) == sample)
    }

    @Test func datesReadBackAsThemselves() throws {
        for milliseconds: Int64 in [0, -1, 978_307_200_000, 1_795_252_649_123] {
            let date = try #require(PropertyListDate(millisecondsSince1970: milliseconds))
            #expect(PropertyListJSON.text(.date(date)) == "{\"$date\":\(milliseconds)}")
            #expect(try JSONReader.read(PropertyListJSON.text(.date(date))) == .date(date))
        }
    }

    @Test func `a value that is printed is JSON, and shows nothing of how it is kept`() {
        let reply: PropertyListDictionary = ["text": "hello", "list": [1, true]]
        #expect("\(reply)" == #"{"list":[1,true],"text":"hello"}"#)
        #expect("\(PropertyListValue.dictionary(reply))" == "\(reply)")
    }

    @Test func keysComeInTheirOrderOnOneLine() {
        #expect(PropertyListJSON.text(["b": 1, "a": [true, 1.0], "é": "x"]) == #"{"a":[true,1.0],"b":1,"é":"x"}"#)
    }

    @Test func nothingThatATerminalObeysIsWrittenAsItIs() {
        let controls = String(
            String.UnicodeScalarView(
                (0..<0xA0).compactMap(Unicode.Scalar.init).filter { $0.properties.generalCategory == .control }))
        let text = PropertyListJSON.text(.string(controls))
        #expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    }
}
