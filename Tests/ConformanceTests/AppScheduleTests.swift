// Random schedules of apps over whole daemons on a manual clock. TANDEM_SCHEDULES=N plays N of them, from the seed in
// TANDEM_SCHEDULES_SEED on, with TANDEM_SCHEDULES_STEPS steps each.

import TandemReactor
import TandemTestSupport
import Testing

@Suite struct AppScheduleTests {
    private static let first = Linux.environment("TANDEM_SCHEDULES_SEED").flatMap { UInt64($0) } ?? 1
    private static let count =
        Linux.environment("TANDEM_SCHEDULES").flatMap { UInt64($0) } ?? UInt64(Repetition.times(12, long: 200))
    private static let steps = Linux.environment("TANDEM_SCHEDULES_STEPS").flatMap { Int($0) } ?? 60

    @Test(
        "SES-9, SES-38, DEL-5: whatever happens meanwhile, each call ends once, and each item is handled once, in order",
        arguments: first..<first + count)
    func schedule(seed: UInt64) throws {
        let steps = Array(0..<Self.steps)
        let schedule = try AppSchedule(seed: seed)
        let faults = schedule.run(steps)
        guard let fault = faults.first else { return }
        let short = try Self.reduced(steps, seed: seed, to: fault)
        Issue.record(
            """
            seed \(seed): \(faults.joined(separator: "\n"))
            as few steps: \(short.steps): \(short.faults.joined(separator: "\n"))
            \(short.trace.joined(separator: "\n"))
            """)
    }

    /// Leaves steps out as long as a fault against the same clause remains.
    private static func reduced(
        _ steps: [Int], seed: UInt64, to fault: String
    ) throws -> (steps: [Int], faults: [String], trace: [String]) {
        let clause = fault.prefix { $0 != ":" }
        var best: (steps: [Int], faults: [String], trace: [String]) = (steps, [], [])
        var size = steps.count / 2
        while size > 0 {
            var start = 0
            while start < best.steps.count {
                var fewer = best.steps
                fewer.removeSubrange(start..<min(start + size, fewer.count))
                let schedule = try AppSchedule(seed: seed)
                let faults = schedule.run(fewer)
                if faults.contains(where: { $0.hasPrefix(clause) }) {
                    best = (fewer, faults, schedule.trace)
                } else {
                    start += size
                }
            }
            size /= 2
        }
        return best
    }
}
