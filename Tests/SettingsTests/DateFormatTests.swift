// Dates of configuration files: the pattern's letters, the zones, and texts that are no dates.

import TandemPropertyList
import TandemSettings
import Testing

@Suite struct DateFormatTests {
    /// 2017-05-24 15:31:29 UTC, and 123 ms.
    private static let date = PropertyListDate(millisecondsSinceReferenceDate: 517_332_689_123)
    private static let whole = PropertyListDate(millisecondsSinceReferenceDate: 517_332_689_000)

    @Test("SET-5: the standard format reads UTC and GMT and writes GMT")
    func theStandardFormat() throws {
        let format = try SettingDateFormat()
        #expect(format.date("2017-05-24 15:31:29 UTC") == Self.whole)
        #expect(format.date("2017-05-24 15:31:29 GMT") == Self.whole)
        #expect(format.text(Self.whole) == "2017-05-24 15:31:29 GMT")
        #expect(format.date("2017-05-24 17:31:29 GMT+2") == Self.whole)
        #expect(format.date("2017-05-24 10:01:29 -05:30") == Self.whole)
    }

    @Test(
        "SET-5: each letter writes and reads its part",
        arguments: [
            ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "+00:00", "2017-05-24T15:31:29.123Z"),
            ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "+02:00", "2017-05-24T17:31:29.123+02:00"),
            ("yyyyMMddHHmmssSSSXX", "-0330", "20170524120129123-0330"),
            ("d.M.y H:m:s.SSS X", "GMT+1", "24.5.2017 16:31:29.123 +01"),
            ("d.M.y H:m:s.SSS X", "UTC+5:30", "24.5.2017 21:1:29.123 +0530"),
            ("SSS ss mm HH dd MM yyyy Z", "+01:00", "123 29 31 16 24 05 2017 +0100"),
            ("SSS ss mm HH dd MM yyyy ZZZZ", "+01:00", "123 29 31 16 24 05 2017 GMT+01:00"),
            ("SSS ss mm HH dd MM yyyy ZZZZZ", "Z", "123 29 31 15 24 05 2017 Z"),
            ("SSS ss mm HH dd MM yyyy z", "-05:30", "123 29 01 10 24 05 2017 GMT-5:30"),
            ("SSS ss mm HH dd MM yyyy zzzz", "-05:30", "123 29 01 10 24 05 2017 GMT-05:30"),
            ("'o''clock' HH:mm:ss.SSS''yyyy-MM-dd \u{E9}", "GMT", "o'clock 15:31:29.123'2017-05-24 \u{E9}"),
        ])
    func eachLetter(pattern: String, zone: String, text: String) throws {
        let format = try SettingDateFormat(pattern, zone: try #require(SettingTimeZone(zone)))
        #expect(format.text(Self.date) == text)
        #expect(format.date(text) == Self.date)
    }

    @Test(
        "SET-5: text that differs from the format in anything is no date",
        arguments: [
            "", "2017-05-24", "2017-05-24 15:31:29", "2017-05-24 15:31:29 ", "2017-5-24 15:31:29 GMT",
            "2017-02-29 15:31:29 GMT", "2017-13-01 15:31:29 GMT", "2017-05-24 24:31:29 GMT", "2017-05-24 15:60:29 GMT",
            "2017-05-24 15:31:60 GMT", "2017-05-24 15:31:29 CET", "2017-05-24 15:31:29 GMT+25",
            "2017-05-24 15:31:29 GMT+1:5", "2017-05-24 15:31:29 GMT ", " 2017-05-24 15:31:29 GMT",
            "0000-05-24 15:31:29 GMT", "+017-05-24 15:31:29 GMT", "2017-05-24T15:31:29 GMT", "noon",
        ])
    func otherTextIsNoDate(text: String) throws { #expect(try SettingDateFormat().date(text) == nil) }

    @Test("SET-5: a text without a zone is in the format's own, and a date alone is midnight there")
    func aTextWithoutAZone() throws {
        let format = try SettingDateFormat("yyyy-MM-dd", zone: try #require(SettingTimeZone("+02:00")))
        let zoned = try SettingDateFormat()
        #expect(format.date("2017-05-24") == zoned.date("2017-05-23 22:00:00 GMT"))
        #expect(format.text(try #require(zoned.date("2017-05-23 22:00:00 GMT"))) == "2017-05-24")
    }

    @Test("SET-5: days of all years from 1 to 9999 are read as they were written")
    func daysOfAllYears() throws {
        let format = try SettingDateFormat("yyyy-MM-dd HH:mm:ss.SSS zzz")
        let range = PropertyListDate.representable
        for milliseconds in stride(from: range.lowerBound, to: range.upperBound, by: 997 * 86_400_000 + 12_345_677) {
            let date = PropertyListDate(millisecondsSinceReferenceDate: milliseconds)
            #expect(format.date(format.text(date)) == date)
        }
    }

    @Test(
        "SET-6: a letter with no one meaning is a mistake of the declaration",
        arguments: [
            ("yy-MM-dd", .letters("yy")), ("yyyy-MMM-dd", .letters("MMM")), ("yyyy-MM-dd hh:mm", .letters("hh")),
            ("EEE, yyyy-MM-dd", .letters("EEE")), ("yyyy-MM-ddTHH", .letters("T")), ("yyyy-MM-dd 'T", .openQuote),
            ("yyyy-MM-dd SSSS", .letters("SSSS")), ("YYYY-MM-dd", .letters("YYYY")), ("HH:mm", .missing("y")),
            ("yyyy", .missing("M")), ("yyyy-MM", .missing("d")), ("", .missing("y")),
        ] as [(String, SettingDateFormatError)])
    func otherLetters(pattern: String, error: SettingDateFormatError) {
        #expect(throws: error) { try SettingDateFormat(pattern) }
    }

    @Test("SET-6: zones are GMT, UTC, Z, offsets, and the names that the system knows")
    func zones() throws {
        for name in ["GMT", "UTC", "Z", "+01", "+0100", "-23:59", "GMT-3", "UTC+05:45"] {
            #expect(SettingTimeZone(name) != nil, "\(name)")
        }
        for name in ["", "gmt", "CET", "Europe/Berlin", "+1", "+24:00", "+01:60", "GMT+", "Z+1", "+01:00 "] {
            #expect(SettingTimeZone(name) == nil, "\(name)")
        }
        // Summer time from 2017-03-26 01:00 UTC on.
        let rules: SettingTimeZone.Rules = { seconds in seconds < 1_490_490_000 ? 3600 : 7200 }
        let berlin = try #require(SettingTimeZone("Europe/Berlin", lookup: { _ in rules }))
        let (format, utc) = (
            try SettingDateFormat("yyyy-MM-dd HH:mm:ss", zone: berlin), try SettingDateFormat("yyyy-MM-dd HH:mm:ss")
        )
        for (local, global) in [
            ("2017-03-26 01:59:59", "2017-03-26 00:59:59"), ("2017-03-26 03:00:00", "2017-03-26 01:00:00"),
            ("2017-01-01 00:30:00", "2016-12-31 23:30:00"), ("2017-05-24 17:31:29", "2017-05-24 15:31:29"),
        ] {
            #expect(format.date(local) == utc.date(global))
            #expect(format.text(try #require(utc.date(global))) == local)
        }
    }
}
