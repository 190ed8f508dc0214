// Time zones by the bytes of their files: changes so far, the rule of later years, and damaged files.

import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

@Suite struct TimeZoneRulesTests {
    /// A file of version 2 with these changes of the offset, first the offset before them, and a rule for later.
    private static func file(
        _ first: Int32 = 0, _ changes: [(since: Int64, offset: Int32)] = [], rule: String, version: UInt8 = 0x32
    ) -> [UInt8] {
        func bytes(_ number: Int64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * Int64($0))) }
        }
        func head(_ times: Int, _ types: Int, _ characters: Int) -> [UInt8] {
            Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
                + [0, 0, 0, times, types, characters].flatMap { bytes(Int64($0), 4) }
        }
        let offsets = [first] + changes.map(\.offset)
        // The first part is for readers of another age, and skipped.
        let old = head(1, 1, 4) + bytes(0, 4) + [0] + bytes(0, 4) + [0, 0] + Array("LMT\0".utf8)
        return old + head(changes.count, offsets.count, 4) + changes.flatMap { bytes($0.since, 8) }
            + changes.indices.map { UInt8($0 + 1) } + offsets.flatMap { bytes(Int64($0), 4) + [0, 0] }
            + Array("LMT\0\n\(rule)\n".utf8)
    }

    @Test("SET-6: an offset holds from its change to the next one")
    func changes() throws {
        let rules = try #require(
            TimeZoneRules(Self.file(3208, [(-2_422_054_408, 3600), (1_490_490_000, 7200)], rule: "")))
        let expected: [(Int64, Int)] = [
            (.min, 3208), (-2_422_054_409, 3208), (-2_422_054_408, 3600), (0, 3600), (1_490_489_999, 3600),
            (1_490_490_000, 7200), (.max / 4, 7200),
        ]
        for (seconds, offset) in expected { #expect(rules.offset(at: seconds) == offset, "\(seconds)") }
    }

    @Test(
        "SET-6: later years follow the rule",
        arguments: [
            ("CET-1CEST,M3.5.0,M10.5.0/3", [3600, 7200, 3600, 7200, 3600, 7200]),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", [0, 3600, 0, 3600, 0, 3600]),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", [39_600, 37_800, 39_600, 37_800, 39_600, 37_800]),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", [-7200, -3600, -7200, -3600, -7200, -3600]),
            ("NST3:30NDT,M3.2.0,M11.1.0", [-9000, -9000, -12_600, -9000, -12_600, -9000]),
            ("IST-5:30", [19_800, 19_800, 19_800, 19_800, 19_800, 19_800]), ("UTC0", [0, 0, 0, 0, 0, 0]),
            ("AAA0BBB,J60/0,300/24:30:15", [3600, 3600, 0, 3600, 0, 3600]),
        ])
    func laterYears(rule: String, offsets: [Int]) throws {
        let rules = try #require(TimeZoneRules(Self.file(7, [(-1, 5)], rule: rule)))
        // 2049-03-22, 2050-06-30, 2065-01-24, 2096-10-02, 2097-01-26 and 2223-07-06.
        let moments: [Int64] = [
            2_500_000_000, 2_540_246_400, 3_000_000_000, 4_000_000_000, 4_010_000_000, 8_000_000_000,
        ]
        #expect(moments.map { rules.offset(at: $0) } == offsets)
        #expect(rules.offset(at: -2) == 7)
    }

    @Test("SET-6: a rule changes the offset at its second, also in leap years")
    func theSecondOfAChange() throws {
        let rules = try #require(TimeZoneRules(Self.file(rule: "CET-1CEST,M3.5.0,M10.5.0/3")))
        for change: Int64 in [1_711_846_800, 1_743_296_400] {
            #expect(rules.offset(at: change - 1) == 3600 && rules.offset(at: change) == 7200)
        }
        for change: Int64 in [1_729_990_800, 1_761_440_400] {
            #expect(rules.offset(at: change - 1) == 7200 && rules.offset(at: change) == 3600)
        }
        let common = try #require(TimeZoneRules(Self.file(rule: "AAA0BBB,J60/0,J300/0")))
        // 1 March of 2024 and of 2025.
        for change: Int64 in [1_709_251_200, 1_740_787_200] {
            #expect(common.offset(at: change - 1) == 0 && common.offset(at: change) == 3600)
        }
    }

    @Test("SET-6: a text in the hour that clocks repeat or skip is read with the offset before it")
    func repeatedAndSkippedHours() throws {
        let rules = try #require(TimeZoneRules(Self.file(rule: "CET-1CEST,M3.5.0,M10.5.0/3")))
        let zone = try #require(SettingTimeZone("Europe/Berlin") { _ in { rules.offset(at: $0) } })
        let format = try SettingDateFormat("yyyy-MM-dd HH:mm", zone: zone)
        let utc = try SettingDateFormat("yyyy-MM-dd HH:mm")
        for (local, global) in [
            ("2024-03-31 01:59", "2024-03-31 00:59"), ("2024-03-31 02:30", "2024-03-31 01:30"),
            ("2024-03-31 03:00", "2024-03-31 01:00"), ("2024-10-27 01:59", "2024-10-26 23:59"),
            ("2024-10-27 02:30", "2024-10-27 00:30"), ("2024-10-27 03:00", "2024-10-27 02:00"),
        ] {
            #expect(format.date(local) == utc.date(global), "\(local)")
        }
    }

    @Test("SET-6: a damaged file is no time zone, and never a crash")
    func damagedFiles() {
        let good = Self.file(3208, [(-2_422_054_408, 3600), (1_490_490_000, 7200)], rule: "CET-1CEST,M3.5.0,M10.5.0/3")
        #expect(TimeZoneRules(good) != nil)
        #expect(TimeZoneRules([]) == nil)
        #expect(TimeZoneRules(Self.file(rule: "", version: 0)) == nil)
        for rule in ["CE-1", "CET", "CET-1CEST", "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3.5.0", "<CET-1", "CET-1x"] {
            #expect(TimeZoneRules(Self.file(rule: rule)) == nil, "\(rule)")
        }
        for count in good.indices { #expect(TimeZoneRules(Array(good.prefix(count))) == nil) }
        var generator = SeededGenerator(seed: 20_261_123)
        for _ in 0..<4000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let rules = TimeZoneRules(bytes)
            for seconds: Int64 in [-4_000_000_000, 0, 2_000_000_000, 5_000_000_000] {
                #expect((-700_000...700_000).contains(rules?.offset(at: seconds) ?? 0))
            }
        }
    }
}
