// A crash at every durable step of applying, living, failing and rolling back, and again at every step of what follows:
// the app's directory always leads to the old configuration or to the new one, an unproven one is never without its
// trial, and the sender hears one last verdict.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct TrialCrashTests {
    /// A daemon with its rows and files, which may lose power before each durable step.
    private struct Machine {
        /// The rows of the slot, and the reports that were committed.
        private struct Rows: Equatable {
            var mark: VersionMark?
            var active: ActiveConfiguration?
            var waived: ActiveConfiguration?
            var staged: StagedConfiguration?
            var trial: ConfigurationTrial?
            var reports: [ReportFacts] = []
        }

        private struct PowerLoss: Error {}

        private var rows = Rows()
        private(set) var files: [ConfigurationFile: PropertyListDictionary] = [:]
        private(set) var slot: ConfigurationSlot
        /// Durable steps until the power fails; nil for never.
        private var stepsLeft: Int?
        private(set) var steps = 0
        private let good: [UInt8]
        private let bad: [UInt8]

        init(good: [UInt8], bad: [UInt8]) throws {
            (self.good, self.bad) = (good, bad)
            slot = try Fixture.slot()
            try apply(good)
            _ = slot.timePassed(running: .zero, now: Fixture.now)
            _ = try perform { $0.timePassed(running: ConfigurationLimits.trial, now: Fixture.now) }
            slot.applicationDisconnected(.inOrder)
            steps = 0
        }

        var reports: [ReportFacts] { rows.reports }

        mutating func failPower(after steps: Int) { stepsLeft = steps }

        private mutating func step() throws {
            steps += 1
            if let left = stepsLeft {
                guard left > 0 else { throw PowerLoss() }
                stepsLeft = left - 1
            }
        }

        /// One event, as a daemon carries it out (CFG-35): files, rows, files.
        private mutating func perform(
            _ event: (inout ConfigurationSlot) throws -> ApplyTransition
        ) throws -> ApplyTransition {
            var next = slot
            let transition = try event(&next)
            try write(transition.changes.filter(\.isWrittenBeforeCommit))
            if !transition.changes.isEmpty { try step() }
            for change in transition.changes { commit(change) }
            slot = next
            try check()
            try write(transition.changes.filter { !$0.isWrittenBeforeCommit })
            return transition
        }

        private mutating func write(_ changes: [ApplyChange]) throws {
            for file in changes.compactMap(\.file) {
                try step()
                files[file.file] = file.content
                try check()
            }
        }

        private mutating func commit(_ change: ApplyChange) {
            switch change {
            case .mark(let mark): rows.mark = mark
            case .staged(let staged): rows.staged = staged
            case .counted(let staged): rows.staged = staged
            case .active(let active): rows.active = active
            case .waived(let waived): rows.waived = waived
            case .trial(let trial): rows.trial = trial
            case .clockFloor, .loadReports: break
            case .report(let facts): rows.reports.append(facts)
            }
        }

        /// Whatever is on disk: the old one or the new one, and the new one never without its trial.
        private func check() throws {
            guard let fields = files[.active] else { return }
            let active = try ActiveConfiguration(fields)
            #expect([good, bad].contains(active.record.envelope))
            let isProven = rows.active?.record.envelope == bad && rows.trial == nil
            if active.record.envelope == bad, !isProven {
                let trial = try #require(files[.trial].map { try ConfigurationTrial($0) }, "the new one is unproven")
                #expect(trial.covers(active.record.digest))
                #expect(trial.previous?.record.envelope == good, "the last good one is at hand")
            }
        }

        /// The daemon starts again from what is durable.
        mutating func restart() throws {
            stepsLeft = nil
            slot = ConfigurationSlot(
                key: slot.key, device: slot.device, mark: rows.mark, active: rows.active, waived: rows.waived,
                staged: rows.staged, trial: rows.trial)
            for file in ConfigurationFile.allCases { files[file] = slot.content(of: file) }
            try check()
        }

        private mutating func apply(_ bytes: [UInt8]) throws {
            let context = try Fixture.context()
            _ = try perform { $0.received(bytes, by: Fixture.delivery, in: context) }
            try offer()
        }

        private mutating func offer() throws {
            let connected = try perform { $0.applicationConnected() }
            guard case .offer? = connected.effects.first, let staged = slot.staged else { return }
            let message: PropertyListDictionary = [
                "tandem.verdict": "applied", "tandem.digest": .data(staged.record.digest),
            ]
            let reply = try #require(OfferReply(message))
            _ = try perform { $0.answered(reply, now: Fixture.now) }
        }

        /// The new one arrives, and the app dies with it each time, until it is given up.
        mutating func fail() throws {
            try arrive()
            while slot.active?.record.envelope == bad || slot.staged != nil {
                try offer()
                _ = try perform { $0.applicationDisconnected() }
            }
        }

        /// The new one arrives, and the app lives with it.
        mutating func live() throws {
            try arrive()
            try offer()
            _ = try perform { $0.applicationDisconnected(.inOrder) }
        }

        private mutating func arrive() throws {
            let (bad, isKnown) = (bad, slot.staged != nil || slot.mark?.version == 7)
            if !isKnown {
                let context = try Fixture.context()
                _ = try perform { $0.received(bad, by: Fixture.delivery, in: context) }
            }
        }

        static func isPowerLoss(_ error: any Error) -> Bool { error is PowerLoss }
    }

    /// Runs until the power fails; returns whether it did not.
    private static func survives(_ machine: inout Machine, _ events: (inout Machine) throws -> Void) throws -> Bool {
        do {
            try events(&machine)
            return true
        } catch {
            guard Machine.isPowerLoss(error) else { throw error }
            return false
        }
    }

    private static func machine() throws -> Machine {
        try Machine(good: try Fixture.envelope(version: 6), bad: try Fixture.envelope(version: 7))
    }

    /// Every first place and, from there, every second place at which the power fails.
    private static func explore(
        _ events: (inout Machine) throws -> Void, _ judge: (Machine) throws -> Void
    ) throws {
        let start = try machine()
        var first = 0
        while true {
            var once = start
            once.failPower(after: first)
            if try survives(&once, events) { break }
            var second = 0
            while true {
                var twice = once
                try twice.restart()
                twice.failPower(after: second)
                let isDone = try survives(&twice, events)
                if !isDone {
                    try twice.restart()
                    #expect(try survives(&twice, events))
                }
                try judge(twice)
                if isDone { break }
                second += 1
            }
            first += 1
        }
        #expect(first > 5, "there are steps to fail at")
    }

    @Test("CFG-35, CFG-63: a power loss at every pair of steps of a roll back leaves the last good one, told once")
    func rollBack() throws {
        try Self.explore({ try $0.fail() }) { machine in
            #expect(machine.slot.active?.record.version == 6 && machine.slot.trial == nil)
            #expect(machine.slot.mark?.version == 7 && machine.slot.mark?.isBurnt == true)
            #expect(machine.files[.trial] == nil && machine.files[.staged] == nil)
            let last = machine.reports.filter { $0.version == 7 && ($0.verdict == .failed || $0.isOnTrial == false) }
            #expect(last.map(\.verdict) == [.failed])
        }
    }

    @Test("CFG-35, CFG-61: a power loss at every pair of steps of a good trial leaves the new one, told once")
    func goodTrial() throws {
        try Self.explore({ try $0.live() }) { machine in
            #expect(machine.slot.active?.record.version == 7 && machine.slot.trial == nil)
            #expect(machine.files[.trial] == nil && machine.files[.staged] == nil)
            let last = machine.reports.filter { $0.version == 7 && ($0.verdict == .failed || $0.isOnTrial == false) }
            #expect(last.map(\.verdict) == [.applied])
        }
    }
}
