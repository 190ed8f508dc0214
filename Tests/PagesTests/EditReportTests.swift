// Report of an edit that was taken: what the person who made it is told.

import TandemPages
import TandemPropertyList
import Testing

@Suite struct EditReportTests {
    @Test("PAG-26: the person is told that the app's own checks were not made, and which values the app has replaced")
    func warnings() {
        #expect(EditReport(["converted": []]).warnings().isEmpty)
        let report = EditReport(["replaced": ["nick", "level"], "unchecked": true])
        #expect(
            report.warnings(naming: { ["nick": "Nick"][$0] ?? $0 }) == [
                "The app has replaced the value of Nick, level.",
                "The app has given no answer: its own checks were not made.",
            ])
    }

    @Test("PAG-26: a report names the saved rows, and counts those that one line has no room for")
    func saved() {
        #expect(EditReport.saved([]) == "Saved." && EditReport.saved(["Nick", "Level"]) == "Saved: Nick, Level.")
        let names = (0..<10).map { "\($0)" }
        #expect(EditReport.saved(names) == "Saved: 0, 1, 2, 3, 4, 5, 6, 7 and 2 more.")
    }
}
