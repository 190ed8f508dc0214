// The suite on clocks that the tests move: whole daemons with stores and TLS, and the simulator. `Scripts/conformance`
// runs it longer, with seeds of its own.

import TandemConformance
import TandemReactor
import Testing

@Suite struct ManualWorldTests {
    private static let plan = SuitePlan(environment: Linux.environment, tandem: "")

    @Test(arguments: [WorldKind.simulator, .manual])
    func `each case holds on a manual clock`(in kind: WorldKind) async {
        guard Self.plan.includes(kind) else { return }
        let outcome = await SuiteRun(kind, Self.plan).failures()
        for failure in outcome.all { Issue.record("\(failure)") }
        #expect(Self.plan.part.isEmpty ? !outcome.isEmpty : Self.plan.namesCase, "a case of some world is named")
    }

    private static func plan(naming text: String) -> SuitePlan {
        SuitePlan(environment: { $0 == "TANDEM_CONFORMANCE_CASE" ? text : nil }, tandem: "")
    }

    @Test func `a case that is named runs in the worlds that have it, and fails no other; an unknown name is none`()
        async
    {
        let named = Self.plan(naming: "an item expires that is not sent in its time to live")
        let (manual, simulator) = (SuiteRun(.manual, named), SuiteRun(.simulator, named))
        let outcome = await manual.failures()
        #expect(outcome.all.isEmpty && !outcome.isEmpty)
        #expect(await simulator.failures().isEmpty && named.namesCase, "the simulator cuts no links")
        #expect(!Self.plan(naming: "no case has this").namesCase)
    }

    @Test func `a world that is named is the only one`() {
        let plan = SuitePlan(environment: { $0 == "TANDEM_CONFORMANCE_WORLD" ? "manual" : nil }, tandem: "")
        #expect(WorldKind.allCases.filter(plan.includes) == [.manual])
        let all = SuitePlan(environment: { _ in nil }, tandem: "")
        #expect(WorldKind.allCases.allSatisfy(all.includes))
    }

    @Test(arguments: ["DEL-5:", "SES-4:", "DEL-3: frames of kind 'item'"])
    func `one seed gives one run`(of part: String) throws {
        let each = try #require(Case.all.first { "\($0)".hasPrefix(part) && $0.needs.contains(.cut) })
        let logs = try (0..<2).map { _ in try WorldKind.manual.run(each, seed: 7, length: .short) }
        #expect(logs[0] == logs[1])
        #expect(!logs[0].isEmpty)
    }
}
