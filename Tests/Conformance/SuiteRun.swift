// A run of the suite in one world: each case with each seed, some at once, each on a thread of its own choosing,
// because a case owns its thread until it is over. The report of a failure names its seed, which repeats the run in
// worlds with a manual clock.

import Synchronization
import TandemBase
import TandemReactor
import TandemTestSupport

/// The parameters of a run of the suite.
package struct SuitePlan: Sendable {
    /// Each case runs that often, with a seed of its own; 0: none runs, and the results list them.
    package var runs: UInt64 = 1
    package var firstSeed: UInt64 = 1
    package var length = RunLength.short
    /// Only cases whose description contains it.
    package var part = ""
    /// Whether the suite has a case that it asks for, if only in other worlds.
    package var namesCase: Bool { Case.all.contains(where: includes) }
    /// The only world to run in, by its name; nil: any.
    package var world: String?
    /// How long a case waits at most where people wait for it; nil: as long as its length says.
    package var patience: Duration?
    /// At once.
    package var width = 2
    package var commands: DaemonCommands?
    /// Tells what begins and what has ended.
    package var isVerbose = false
    /// The file to which the results are appended in JUnit's XML; nil for none.
    package var junit: String?

    /// The plan that the variables of `Scripts/conformance` ask for; without them one short run.
    /// - Parameter tandem: this project's executable.
    package init(environment: (String) -> String?, tandem: String) {
        runs = environment("TANDEM_CONFORMANCE_RUNS").flatMap { UInt64($0) } ?? 1
        firstSeed = environment("TANDEM_CONFORMANCE_SEED").flatMap { UInt64($0) } ?? 1
        length = Repetition.isLong ? .long : .short
        part = environment("TANDEM_CONFORMANCE_CASE") ?? ""
        world = environment("TANDEM_CONFORMANCE_WORLD")
        patience = environment("TANDEM_CONFORMANCE_PATIENCE").flatMap { Int64($0) }.map { .seconds($0) }
        isVerbose = environment("TANDEM_CONFORMANCE_VERBOSE") != nil
        junit = environment("TANDEM_CONFORMANCE_JUNIT")
        var commands = DaemonCommands(tandem: tandem)
        commands.primary = environment("TANDEM_CONFORMANCE_PRIMARY") ?? commands.primary
        commands.secondary = environment("TANDEM_CONFORMANCE_SECONDARY") ?? commands.secondary
        self.commands = commands
    }

    func includes(_ each: Case) -> Bool { part.isEmpty || "\(each)".contains(part) }

    /// Whether it asks for the cases of this world.
    package func includes(_ kind: WorldKind) -> Bool { world.map { $0 == kind.rawValue } ?? true }
}

/// One run; usable once, from any task.
package final class SuiteRun: Sendable {
    private struct State {
        var next = 0
        var threads = 0
        /// Each with the place of its case.
        var failures: [(place: Int, text: String)] = []

        mutating func take() -> Int {
            defer { next += 1 }
            return next
        }

        /// Whether it was the last one.
        mutating func leaveThread() -> Bool {
            threads -= 1
            return threads == 0
        }
    }

    private let kind: WorldKind
    private let plan: SuitePlan
    private let cases: [Case]
    private let state = Mutex(State())

    package init(_ kind: WorldKind, _ plan: SuitePlan) {
        (self.kind, self.plan) = (kind, plan)
        cases = kind.cases(plan.length).filter(plan.includes)
    }

    private var count: Int { cases.count * Int(clamping: plan.runs) }

    /// Runs everything.
    /// - Returns: what did not hold, each with its case and seed; and whether there was no case to run.
    package func failures() async -> (all: [String], isEmpty: Bool) {
        // Also a world without a case reports, so that one that crashed differs from it.
        guard count > 0 else { return (report([]), cases.isEmpty) }
        SignalCleanup.watchSignals()
        await withCheckedContinuation { continuation in
            let width = min(plan.width, count)
            state.withLock { $0.threads = width }
            for _ in 0..<width {
                start { [self] in
                    work()
                    if state.withLock({ $0.leaveThread() }) { continuation.resume() }
                }
            }
        }
        let failures = state.withLock(\.failures)
        return (failures.map(\.text) + report(failures), false)
    }

    /// Writes the results where the plan wants them; returns the failure to do so.
    private func report(_ failures: [(place: Int, text: String)]) -> [String] {
        guard let path = plan.junit else { return [] }
        let texts = Dictionary(grouping: failures, by: \.place).mapValues { $0.map(\.text) }
        let report = JUnitReport(
            world: "\(kind)", tests: cases.enumerated().map { ("\($1)", texts[$0] ?? []) })
        return report.append(to: path) ? [] : ["cannot write \(path)"]
    }

    /// A system without a thread to give has the caller's for it.
    private func start(_ body: @escaping @Sendable () -> Void) {
        do { try LoopThread(named: "conformance", body).detach() } catch { body() }
    }

    private func work() {
        while case let number = state.withLock({ $0.take() }), number < count {
            run(number % cases.count, seed: plan.firstSeed &+ UInt64(number / cases.count))
        }
    }

    private func run(_ place: Int, seed: UInt64) {
        let each = cases[place]
        tell("begins", each)
        do {
            try kind.run(
                each, seed: seed, length: plan.length, commands: plan.commands, patience: plan.patience)
            tell("holds", each)
        } catch { fail(place, "\(kind): \(error)") }
    }

    private func tell(_ what: String, _ each: Case) {
        if plan.isVerbose { print("\(Linux.bootTime.nanoseconds / 1_000_000) \(kind): \(what): \(each)") }
    }

    /// A long run tells at once.
    private func fail(_ place: Int, _ text: String) {
        if plan.runs > 1 { print("FAILED \(text)") }
        state.withLock { $0.failures.append((place, text)) }
    }
}
