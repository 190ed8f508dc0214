// One line for each event, whatever is in it: nobody can forge a line, flood one, or read a secret from one (LIM-13).

import TandemBase
import Testing

@Suite struct LogEventTests {
    private let time = WallTime(seconds: 1_795_253_400)

    private func line(_ fields: LogField...) -> String {
        LogEvent(.info, "link ready", fields: fields).line(at: time)
    }

    @Test func aLineHasTimeLevelMessageAndFieldsInOrder() {
        let line = line(.text("pairing", "0A1B"), .integer("version", 3), .boolean("active", true))
        #expect(line == "2026-11-21T09:30:00Z info link ready pairing=0A1B version=3 active=yes")
    }

    @Test func aSecretLeavesNoTraceButItsPresence() {
        #expect(line(.secret("token")).hasSuffix(" token=<redacted>"))
    }

    @Test(arguments: [
        ("plain", "plain"), ("", "\"\""), ("two words", "\"two words\""), ("a=b", "\"a=b\""),
        ("x\n2026 error forged", "\"x\\n2026 error forged\""), ("\r\t", "\"\\r\\t\""),
        ("say \"hi\"", "\"say \\\"hi\\\"\""),
        ("back\\slash", "\"back\\\\slash\""), ("\u{1B}[31mred", "\"\\u{1b}[31mred\""),
        ("\u{202E}abc", "\"\\u{202e}abc\""),
        ("a\u{2028}b", "\"a\\u{2028}b\""), ("\0", "\"\\u{0}\""), ("Küche", "Küche"), ("a\u{A0}b", "\"a\\u{a0}b\""),
    ])
    func textThatCouldBeTakenForSomethingElseIsEscaped(text: String, shown: String) {
        #expect(line(.outside("name", text)).hasSuffix(" name=\(shown)"))
        #expect(line(.text("name", text)).hasSuffix(" name=\(shown)"))
    }

    @Test func outsideTextIsCutAt128BytesBetweenScalars() {
        let exact = String(repeating: "a", count: 128)
        #expect(line(.outside("name", exact)).hasSuffix(" name=\(exact)"))
        #expect(line(.outside("name", exact + "b")).hasSuffix(" name=\(exact)\u{2026}"))
        let wide = String(repeating: "é", count: 64) + "é"
        #expect(line(.outside("name", "x" + wide)).hasSuffix(" name=x\(String(repeating: "é", count: 63))\u{2026}"))
        #expect(line(.text("digest", exact + "b")).hasSuffix(exact + "b"))
    }

    @Test("SET-86: a quoted text has no character that could be taken for something else")
    func quotedTextIsEscaped() {
        let text = "\u{202E}a\u{2028}b\n\u{200B}\u{7F}\u{E4}"
        #expect(OutsideText.quoted(text) == "'\\u{202E}a\\u{2028}b\\n\\u{200B}\\u{7F}\u{E4}'")
    }

    @Test func numbersOfAnySizeAreKept() {
        #expect(line(.integer("n", UInt64.max)).hasSuffix(" n=18446744073709551615"))
        #expect(line(.integer("n", Int64.min)).hasSuffix(" n=-9223372036854775808"))
    }

    @Test func levelsAreOrderedAndNamed() {
        #expect(LogLevel.allCases.map(\.name) == ["debug", "info", "warning", "error"])
        #expect(LogLevel.allCases == LogLevel.allCases.sorted())
        #expect(LogLevel(name: "warning") == .warning)
        #expect(LogLevel(name: "loud") == nil)
    }

    @Test func eventsCompareByWhatTheySay() {
        #expect(LogEvent(.info, "up", .integer("n", 1)) == LogEvent(.info, "up", .integer("n", 1)))
        #expect(LogEvent(.info, "up", .integer("n", 1)) != LogEvent(.info, "up", .integer("n", 2)))
        #expect(LogEvent(.info, "up") != LogEvent(.info, "down"))
    }

    @Test func countersOfOneNameAreOneCounter() {
        let counters = Counters()
        counters.counter("frames").add()
        counters.counter("bytes").add(10)
        counters.counter("frames").add(2)
        #expect(counters.snapshot.map(\.name) == ["bytes", "frames"])
        #expect(counters.snapshot.map(\.value) == [10, 3])
    }
}
