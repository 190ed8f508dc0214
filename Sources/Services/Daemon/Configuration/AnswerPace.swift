// Pace of an answer whose work grows with apps and devices: it is worked out in parts, and the loop serves others
// between two of them.

import TandemReactor

/// The steps of one answer; for code that runs on the scheduler.
struct AnswerPace {
    /// Steps in one part: a step takes some microseconds, and so a part a few milliseconds.
    static let stepsAtOnce = 1024

    private let scheduler: any Scheduler
    private var steps = 0

    init(on scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Takes one more step; after the last one of a part the caller goes on in a later turn.
    mutating func step() async {
        steps += 1
        if steps.isMultiple(of: Self.stepsAtOnce) { await scheduler.sleep(for: .zero) }
    }
}
