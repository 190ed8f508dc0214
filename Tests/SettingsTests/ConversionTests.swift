// Conversions of what files hold to the types of properties: fifteen pairs, and no value for every other.

import TandemBase
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct ConversionTests {
    private static let date = PropertyListDate(millisecondsSinceReferenceDate: 517_332_689_000)

    /// One value of each type of property list, with the types that it is converted to.
    private static let pairs: [(value: PropertyListValue, types: [SettingType: SettingValue])] = [
        (
            ["a", "b", "a"],
            [
                .array: .array(["a", "b", "a"]), .set: .set(["a", "b"]), .strings: .strings(["a", "b", "a"]),
            ]
        ),
        (["k": 1], [.dictionary: .dictionary(["k": 1])]),
        (true, [.boolean: .boolean(true)]),
        (.data([0x61, 0xC3, 0xA9]), [.data: .data([0x61, 0xC3, 0xA9]), .string: .string("a\u{E9}")]),
        (.date(date), [.date: .date(date), .string: .string("2017-05-24 15:31:29 GMT")]),
        (56, [.integer: .integer(56), .float: .float(56), .double: .double(56), .string: .string("56")]),
        (56.0, [.integer: .integer(56), .float: .float(56), .double: .double(56), .string: .string("56")]),
        (56.5, [.float: .float(56.5), .double: .double(56.5), .string: .string("56.5")]),
        (
            "56",
            [
                .integer: .integer(56), .float: .float(56), .double: .double(56), .string: .string("56"),
                .url: .url("56"), .data: .data([0x35, 0x36]),
            ]
        ),
        (
            "2017-05-24 15:31:29 UTC",
            [
                .date: .date(date), .string: .string("2017-05-24 15:31:29 UTC"),
                .data: .data(Array("2017-05-24 15:31:29 UTC".utf8)),
            ]
        ),
    ]

    private static func convert(_ value: PropertyListValue, _ type: SettingType) -> SettingValue? {
        SettingConversion(dates: .standard).value(value, as: type)
    }

    @Test("SET-8: fifteen pairs of types are converted, and every other pair gives no value", arguments: pairs.indices)
    func fifteenPairs(index: Int) {
        let (value, types) = Self.pairs[index]
        for type in SettingType.allCases { #expect(Self.convert(value, type) == types[type], "\(value) as \(type)") }
    }

    @Test("SET-8: the vectors of bytes that are no text, a number in text, and a date as text")
    func bytesTextAndDates() {
        #expect(Self.convert(.data([0xFF]), .string) == nil)
        #expect(Self.convert("56", .double) == .double(56.0))
        #expect(Self.convert(.date(Self.date), .string) == .string("2017-05-24 15:31:29 GMT"))
    }

    @Test("SET-8: an array is no number, a boolean no text, a dictionary no array, and a string no array")
    func pairsThatAreNone() {
        #expect(Self.convert([1], .integer) == nil)
        #expect(Self.convert(true, .string) == nil)
        #expect(Self.convert(true, .integer) == nil)
        #expect(Self.convert(["a": 1], .array) == nil)
        #expect(Self.convert("a", .array) == nil)
        #expect(Self.convert("true", .boolean) == nil)
        #expect(Self.convert(1, .boolean) == nil)
    }

    @Test("SET-8: localhost:8080 is a URL, and a set has each text of an array once, and takes no other element")
    func urlsAndSets() {
        #expect(Self.convert("localhost:8080", .url) == .url("localhost:8080"))
        #expect(Self.convert("not a URL", .url) == nil)
        #expect(Self.convert(["a", "b", "a"], .set) == .set(["a", "b"]) && Self.convert([], .set) == .set([]))
        #expect(Self.convert(["a", 1], .set) == nil)
    }

    @Test(
        "SET-8: text that is no decimal number is none, and never 0",
        arguments: ["abc", "", " 56", "56 ", "0x10", "nan", "inf", "-infinity", "1e999", "1_000", "5,6", "\u{0665}"])
    func textThatIsNoNumber(text: String) {
        for type in [SettingType.integer, .float, .double] {
            #expect(Self.convert(.string(text), type) == nil, "\(type)")
        }
    }

    @Test("SET-8: a number becomes another type only exactly, and a float is the nearest one")
    func numbersAreExact() {
        #expect(Self.convert(56.8, .integer) == nil)
        #expect(Self.convert("56.8", .integer) == nil)
        #expect(Self.convert("56.0", .integer) == .integer(56))
        #expect(Self.convert("-9223372036854775808", .integer) == .integer(.min))
        #expect(Self.convert(.unsigned(.max), .integer) == nil)
        #expect(Self.convert(.unsigned(.max), .string) == .string("18446744073709551615"))
        #expect(Self.convert(16_777_217, .float) == nil)
        #expect(Self.convert(120.41, .float) == .float(120.41))
        #expect(Self.convert("120.41", .float) == .float(120.41))
        #expect(Self.convert(1e300, .float) == nil)
        #expect(Self.convert("1e300", .float) == nil)
        #expect(Self.convert(56.8, .string) == .string("56.8"))
        #expect(Self.convert(.integer(9_007_199_254_740_993), .double) == nil)
    }

    @Test("SET-8: a text of an integer is exact, however it is written")
    func integersAreExact() {
        let exact: [String: Int] = [
            "123456789012345678.0": 123_456_789_012_345_678, "9007199254740993.0": 9_007_199_254_740_993, "+007": 7,
            "-1.5e3": -1500, "15.00E+2": 1500, "2500e-2": 25, "-0.0": 0, "0e9": 0, ".5e1": 5,
            "9e18": 9_000_000_000_000_000_000,
            "9223372036854775807": .max, "-9.223372036854775808e18": .min, "-92233720368547758080E-1": .min,
            String(repeating: "0", count: 400) + "1": 1,
        ]
        for (text, number) in exact {
            #expect(Self.convert(.string(text), .integer) == .integer(number), "\(text)")
        }
        for text in [
            "-9223372036854775809", "9223372036854775808", "4503599627370497.4", "5.0000000000000000001", "1e-400",
            "1e19", "15e-1", "1e99999999999", "-", "e1", "1e", "1-1", "1.0.0", "1e1.0", "1e1e1",
        ] { #expect(Self.convert(.string(text), .integer) == nil, "\(text)") }
    }

    @Test("SET-8: an array of other things than strings is no list of strings")
    func listsOfStrings() {
        #expect(Self.convert(["a", 1], .strings) == nil)
        #expect(Self.convert([], .strings) == .strings([]))
    }

    @Test("SET-8: dates that are text have the app's own format and zone")
    func theAppsFormat() throws {
        let zone = try #require(SettingTimeZone("+02:00"))
        let conversion = SettingConversion(dates: try SettingDateFormat("d.M.yyyy HH:mm:ss", zone: zone))
        #expect(conversion.value("24.5.2017 17:31:29", as: .date) == .date(Self.date))
        #expect(conversion.value(.date(Self.date), as: .string) == .string("24.5.2017 17:31:29"))
        #expect(conversion.value("2017-05-24 15:31:29 UTC", as: .date) == nil)
    }
}
