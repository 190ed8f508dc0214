// The results of the suite for build servers: well-formed whatever a failure says, and a test for each case.

import TandemConformance
import TandemTestSupport
import Testing

@Suite struct JUnitReportTests {
    @Test func `a world is a suite, a case a test, and the text of a failure is no markup`() {
        let report = JUnitReport(
            world: "manual",
            tests: [("DEL-1: it holds", []), ("DEL-2: \"it\" does not", ["seed 1: a < b\u{1B}", "seed 2: & more"])])
        let lines = [
            #"<testsuite name="manual" tests="2" failures="1" errors="0">"#,
            #"  <testcase classname="conformance.manual" name="DEL-1: it holds"/>"#,
            #"  <testcase classname="conformance.manual" name="DEL-2: &quot;it&quot; does not">"#,
            #"    <failure message="2 of its seeds failed">seed 1: a &lt; b\#u{FFFD}"#,
            "seed 2: &amp; more</failure>", "  </testcase>", "</testsuite>", "",
        ]
        #expect(report.xml == lines.joined(separator: "\n"))
    }

    @Test func `a run of the suite appends the results of its cases to the file that is asked for`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.path("results.xml")
        directory.write(Array("<testsuites>\n".utf8), to: "results.xml")
        let variables = [
            "TANDEM_CONFORMANCE_CASE": "an item expires that is not sent in its time to live",
            "TANDEM_CONFORMANCE_RUNS": "2", "TANDEM_CONFORMANCE_JUNIT": path,
        ]
        let outcome = await SuiteRun(.manual, SuitePlan(environment: { variables[$0] }, tandem: "")).failures()
        #expect(outcome.all.isEmpty)
        let text = String(decoding: try #require(TemporaryDirectory.read(path)), as: UTF8.self)
        #expect(text.hasPrefix("<testsuites>\n<testsuite name=\"manual\" tests=\"1\" failures=\"0\" errors=\"0\">\n"))
        #expect(text.contains("an item expires that is not sent in its time to live\"/>"))
        // The simulator cuts no links: Scripts/conformance takes a world without results for one that crashed.
        let empty = await SuiteRun(.simulator, SuitePlan(environment: { variables[$0] }, tandem: "")).failures()
        #expect(empty.all.isEmpty && empty.isEmpty)
        let whole = String(decoding: try #require(TemporaryDirectory.read(path)), as: UTF8.self)
        #expect(whole.contains("<testsuite name=\"simulator\" tests=\"0\" failures=\"0\" errors=\"0\">\n</testsuite>"))
    }

    @Test func `a run with no seed lists the cases of its world in the results, and plays none`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.path("results.xml")
        let variables = ["TANDEM_CONFORMANCE_RUNS": "0", "TANDEM_CONFORMANCE_JUNIT": path]
        // Without a command no daemon could start.
        let plan = SuitePlan(environment: { variables[$0] }, tandem: "/nonexistent")
        let outcome = await SuiteRun(.processes, plan).failures()
        #expect(outcome.all.isEmpty && !outcome.isEmpty)
        let text = String(decoding: try #require(TemporaryDirectory.read(path)), as: UTF8.self)
        let cases = WorldKind.processes.cases(plan.length)
        #expect(text.hasPrefix("<testsuite name=\"processes\" tests=\"\(cases.count)\" failures=\"0\" errors=\"0\">"))
        #expect(text.ranges(of: "<testcase ").count == cases.count)
    }
}
