// Turns of owners at a worker that takes jobs in order: only a few jobs of each owner are at work, so that an owner's
// next job stands behind a few of each other one, however many of theirs wait.

/// Jobs of owners, at work and waiting.
package struct JobTurns<Owner: Hashable, Job>: ~Copyable {
    private struct Turns {
        var atWork = 0
        /// The next one last.
        var waiting: [Job] = []
    }

    private var turns: [Owner: Turns] = [:]
    private let limit: Int

    /// - Parameter limit: jobs of one owner at work at once.
    package init(limit: Int) { self.limit = limit }

    package var isEmpty: Bool { turns.isEmpty }

    /// Takes a job; returned if it may begin now, and else when its turn comes.
    package mutating func add(_ job: Job, of owner: Owner) -> Job? {
        // In place: with a copy each insertion would copy all jobs that wait.
        guard turns[owner, default: Turns()].atWork < limit else {
            turns[owner, default: Turns()].waiting.insert(job, at: 0)
            return nil
        }
        turns[owner, default: Turns()].atWork += 1
        return job
    }

    /// A job of an owner is done.
    /// - Returns: the owner's next job, which begins now.
    package mutating func ended(of owner: Owner) -> Job? {
        guard let next = turns[owner]?.waiting.popLast() else {
            let others = (turns[owner]?.atWork ?? 1) - 1
            if others > 0 { turns[owner]?.atWork = others } else { turns[owner] = nil }
            return nil
        }
        return next
    }
}
