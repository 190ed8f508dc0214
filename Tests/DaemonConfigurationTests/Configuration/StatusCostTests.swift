// `status`, for which anybody may ask: what it costs with configurations whose signatures take long to verify.

import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct StatusCostTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    @Test("CFG-23, CTL-2: the signers of what is active are looked at once for status, and again when the keys change")
    func signers() throws {
        try nodes.pair()
        _ = try nodes.startApp()
        let large = try nodes.envelope(1) { $0.values = ["texts": .array((0..<4_000).map { .string("text \($0)") })] }
        #expect(nodes.verdict(large) == "applied")
        let status = nodes.secondary.configuration.status
        let times = (0..<20).map { _ in
            let begin = ThreadTime.now
            var count = 0
            nodes.clock.start { count = await status.describe(nil, to: 0).count }
            #expect(count == 1)
            return ThreadTime.now - begin
        }
        let others = times.dropFirst().reduce(.zero, +)
        // Each look costs the first one's time.
        #expect(others < times[0] * 5, "\(times)")
    }
}
