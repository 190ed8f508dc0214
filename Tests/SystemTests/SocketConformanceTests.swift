// The same suite in real time: over Unix sockets, over TCP, and through real daemon processes, or whatever commands
// `Scripts/conformance` was given.

import Foundation
import TandemConformance
import TandemReactor
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct SocketConformanceTests {
    private static let plan: SuitePlan = {
        var plan = SuitePlan(environment: Linux.environment, tandem: Program.directory.path + "/tandem")
        // They wait most of the time.
        plan.width = 3
        return plan
    }()

    @Test(arguments: WorldKind.allCases.filter(\.isRealTime))
    func `each case holds between sockets`(in kind: WorldKind) async {
        guard Self.plan.includes(kind) else { return }
        let outcome = await SuiteRun(kind, Self.plan).failures()
        for failure in outcome.all { Issue.record("\(failure)") }
        #expect(Self.plan.part.isEmpty ? !outcome.isEmpty : Self.plan.namesCase, "a case of some world is named")
    }
}
