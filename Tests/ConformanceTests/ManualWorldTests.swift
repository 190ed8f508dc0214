// The suite on clocks that the tests move: whole daemons with stores and TLS, and the simulator. With the number of seeds
// in TANDEM_CONFORMANCE_SEEDS it runs longer.

import TandemConformance
import TandemReactor
import Testing

@Suite struct ManualWorldTests {
    /// How many seeds each case runs with: 1, or what the long form asks for.
    static let seeds = Linux.environment("TANDEM_CONFORMANCE_SEEDS").flatMap { UInt64($0) } ?? 1

    @Test(arguments: Case.all) func daemonsKeepTheClause(_ each: Case) throws {
        for seed in 1...Self.seeds {
            let world = try ManualWorld(seed: seed, secondaries: each.secondaries)
            try each.run(in: world, seed: seed)
        }
    }

    @Test(arguments: Case.all.filter { $0.needs.isSubset(of: [.manualTime, .killApps]) })
    func theSimulatorKeepsTheClause(_ each: Case) throws {
        for seed in 1...Self.seeds {
            try each.run(in: SimulatorWorld(seed: seed, secondaries: each.secondaries), seed: seed)
        }
    }

    @Test(arguments: Case.losses) func oneSeedGivesOneRun(_ each: Case) throws {
        let logs = try (0..<2).map { _ in
            try each.run(in: ManualWorld(seed: 7, secondaries: each.secondaries), seed: 7)
        }
        #expect(logs[0] == logs[1])
        #expect(!logs[0].isEmpty)
    }
}
