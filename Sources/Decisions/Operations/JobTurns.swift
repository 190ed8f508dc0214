// Turns of owners at a worker that takes jobs in order: only a few jobs of each owner are at work, so that an owner's
// next job stands behind a few of each other one, however many of theirs wait.

/// Jobs of owners, at work and waiting.
package struct JobTurns<Owner: Hashable, Job>: ~Copyable {
    private struct Lane {
        var atWork = 0
        /// The next one last.
        var waiting: [Job] = []
    }

    private var lanes: [Owner: Lane] = [:]
    private let limit: Int

    /// - Parameter limit: jobs of one owner at work at once.
    package init(limit: Int) { self.limit = limit }

    package var isEmpty: Bool { lanes.isEmpty }

    /// Takes a job; returned if it may begin now, and else when its turn comes.
    package mutating func add(_ job: Job, of owner: Owner) -> Job? {
        var lane = lanes[owner] ?? Lane()
        let begins = lane.atWork < limit
        if begins { lane.atWork += 1 } else { lane.waiting.insert(job, at: 0) }
        lanes[owner] = lane
        return begins ? job : nil
    }

    /// A job of an owner is done.
    /// - Returns: the owner's next job, which begins now.
    package mutating func ended(of owner: Owner) -> Job? {
        guard let next = lanes[owner]?.waiting.popLast() else {
            let others = (lanes[owner]?.atWork ?? 1) - 1
            if others > 0 { lanes[owner]?.atWork = others } else { lanes[owner] = nil }
            return nil
        }
        return next
    }
}
