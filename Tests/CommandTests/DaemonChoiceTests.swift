// Which daemon a command talks to: never a guess between two.

import TandemBase
import TandemControl
import TandemOperations
import Testing

@testable import tandem

@Suite struct DaemonChoiceTests {
    private func choice(_ device: String?, _ variables: [String: String] = [:]) -> DaemonChoice {
        DaemonChoice(device: device, role: nil, environment: Environment(variables))
    }

    @Test func aPathIsTakenAsItIs() throws {
        #expect(try choice("./x.sock", ["TANDEM_SOCKET": "/y"]).path() == "./x.sock")
    }

    @Test func theEnvironmentNamesTheDaemonOfClientCommands() throws {
        #expect(try choice(nil, ["TANDEM_SOCKET": "/run/x.sock"]).path() == "/run/x.sock")
    }

    @Test func anotherWordIsAWrongCall() {
        let failure = #expect(throws: CommandFailure.self) { try choice("third").path() }
        #expect(failure?.exitCode == 2)
    }

    @Test func noRunningDaemonIsRefusedWithThePlacesLookedAt() {
        let failure = #expect(throws: CommandFailure.self) {
            try choice("primary", ["XDG_RUNTIME_DIR": "/nonexistent"]).path()
        }
        #expect(failure?.exitCode == 3)
        #expect(failure?.text.contains("/nonexistent/tandem/primary.sock") == true)
    }
}

@Suite struct ShownTextTests {
    @Test func escapeSequencesOfOthersNeverReachTheTerminal() {
        #expect(Printable.text("a\u{1B}[2Jb\r\n\u{202E}c\u{9B}d") == "a?[2Jb???c?d")
        #expect(Printable.text("gerät \u{1F4A1}") == "gerät \u{1F4A1}")
        #expect(Printable.text("abc", limit: 2) == "ab...")
    }

    @Test func joinersAreShownWhereTheyCanBeSeen() {
        // A family, a woman who codes, a rainbow flag, and a Devanagari and a Sinhala conjunct.
        for text in [
            "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{1F469}\u{1F3FD}\u{200D}\u{1F4BB}",
            "\u{1F3F3}\u{FE0F}\u{200D}\u{1F308}", "\u{1F469}\u{200D}\u{2695}\u{FE0F}",
            "\u{915}\u{94D}\u{200D}\u{937}", "\u{DC1}\u{DCA}\u{200D}\u{DBB}",
        ] { #expect(Printable.text(text) == text) }
        #expect(Printable.text("a\u{200D}b") == "a?b" && Printable.text("\u{200D}a\u{200D}") == "?a?")
        #expect(Printable.text("1\u{200D}2") == "1?2" && Printable.text("\u{1F469}\u{200D}a") == "\u{1F469}?a")
        #expect(Printable.text("\u{94D}\u{200D}\u{202E}") == "\u{94D}??")
        // Signs that are text unless U+FE0F follows, that selector alone, Tamil, Thai, and two scripts.
        for (before, after) in [
            ("\u{2122}", "\u{A9}"), ("a\u{FE0F}", "\u{1F308}"), ("\u{FE0F}", "\u{1F308}"), ("\u{1F469}", "\u{2695}"),
            ("\u{BA4}\u{BCD}", "\u{BA4}"), ("\u{E01}\u{E3A}", "\u{E01}"), ("\u{915}\u{94D}", "\u{995}"),
        ] { #expect(Printable.text(before + "\u{200D}" + after) == before + "?" + after) }
        #expect(Printable.text("a\u{200C}b\u{FEFF}c") == "a?b?c")
    }

    @Test func tablesAlignTheirColumnsAndShowNothingWhenEmpty() {
        var table = Table("things", ["name", "n"])
        #expect(table.lines.isEmpty)
        table.add("lamp", "1")
        table.add("x", "")
        #expect(table.lines == ["things", "  name  n", "  lamp  1", "  x     -"])
    }

    @Test func timesAreShownInTheUnitThatAPersonWouldUse() {
        let times: [Int64] = [0, 999, 1000, 119_999, 120_000, 7_199_999, 7_200_000, 172_800_000]
        #expect(
            times.map(Fact.span(milliseconds:)) == [
                "0 ms", "999 ms", "1 s", "119 s", "2 min", "119 min", "2 h", "2 d",
            ])
    }
}
