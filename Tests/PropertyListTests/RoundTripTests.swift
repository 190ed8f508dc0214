// Values come back as they went, and their bytes are the only ones that they have (FRM-7).

import TandemPropertyList
import Testing

@Suite struct RoundTripTests {
    @Test(
        arguments: [
            true, false, 0, 1, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, -1, .integer(.min),
            .integer(.max),
            .unsigned(UInt64(Int64.max) + 1), .unsigned(.max), 0.0, -0.0, 1.5, .real(.greatestFiniteMagnitude),
            .date(PropertyListDate(millisecondsSinceReferenceDate: 0)),
            .date(PropertyListDate(millisecondsSinceReferenceDate: -63_113_904_000_000)),
            .date(PropertyListDate(millisecondsSinceReferenceDate: 252_423_993_599_999)),
            .data([]), .data(Array(0...255)), "", "$null", "a\0b", "caf\u{e9}", "\u{1F600}", [], [1, 1.0, true, "1"],
            [:], ["a": ["b": [1, 2, [:]]]],
        ] as [PropertyListValue])
    func everyValueComesBackAsItWent(value: PropertyListValue) throws {
        let bytes = try PropertyListWriter.write(value)
        let copy = try PropertyListReader.read(bytes)
        #expect(copy == value)
        #expect(try PropertyListWriter.write(copy) == bytes)
    }
}
