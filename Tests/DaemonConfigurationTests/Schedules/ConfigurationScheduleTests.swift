// Random schedules of signed configuration between whole daemons, compared with a model. TANDEM_SCHEDULES=N plays N of
// them, from the seed in TANDEM_SCHEDULES_SEED on, with TANDEM_SCHEDULES_STEPS steps each.

import TandemBase
import TandemDaemonTestSupport
import TandemReactor
import TandemTestSupport
import Testing

@Suite struct ConfigurationScheduleTests {
    private static let first = Linux.environment("TANDEM_SCHEDULES_SEED").flatMap { UInt64($0) } ?? 1
    private static let count = Linux.environment("TANDEM_SCHEDULES").flatMap { UInt64($0) } ?? 6
    private static let length = Linux.environment("TANDEM_SCHEDULES_STEPS").flatMap { Int($0) } ?? 25

    /// Plays a schedule; returns what it has violated.
    /// - Parameter isTold: its steps and the daemons' log are printed.
    private static func play(_ steps: [Step], from seed: UInt64, isTold: Bool = false) throws -> [String] {
        let world = try ScheduleWorld(ScheduleWorld.Character(of: seed))
        defer { if isTold { for note in world.nodes.notes { print("\(note)") } } }
        for (number, step) in steps.enumerated() {
            if isTold { print("step \(number): \(step) at \(world.nodes.clock.now)") }
            try world.play(step)
            world.check()
            if let violation = world.violations.first { return ["after step \(number): \(violation)"] }
        }
        try world.settle()
        world.checkEnd()
        return world.violations
    }

    @Test("CFG-20, CFG-30, CFG-35, CFG-36, CFG-61, CFG-72, CFG-91, CFG-92: random schedules end as the model says")
    func schedules() throws {
        for seed in Self.first..<Self.first + Self.count {
            let schedule = [Step].drawn(from: seed, count: Self.length)
            let violations = try Self.play(schedule, from: seed)
            guard let violation = violations.first else { continue }
            Issue.record("seed \(seed): \(violations)")
            print("seed \(seed), with as few steps as still fail:")
            _ = try Self.play(Self.shorten(schedule, to: violation, from: seed), from: seed, isTold: true)
        }
    }

    /// Leaves out steps as long as the same is violated.
    private static func shorten(_ steps: [Step], to violation: String, from seed: UInt64) throws -> [Step] {
        let words = violation.split(separator: ": ").last ?? ""
        var steps = steps
        var size = steps.count / 2
        while size > 0 {
            var start = 0
            while start < steps.count {
                var fewer = steps
                fewer.removeSubrange(start..<min(start + size, steps.count))
                let found = try play(fewer, from: seed)
                if found.contains(where: { $0.hasSuffix(words) }) { steps = fewer } else { start += size }
            }
            size /= 2
        }
        return steps
    }
}
