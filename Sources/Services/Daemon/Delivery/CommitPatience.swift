// Batches the commits that no caller awaits: those made within a few milliseconds share one sync.

import TandemReactor

/// Commits that may wait, of all queues (LIM-75). Confined to its loop.
final class CommitPatience {
    private static let most = Duration.milliseconds(5)

    private let scheduler: any Scheduler
    private var waiting: [() -> Void] = []
    private var hasEnded = false

    init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Calls back in time, with all others.
    func add(_ commit: @escaping () -> Void) {
        guard !hasEnded else { return scheduler.atEndOfTurn(commit) }
        if waiting.isEmpty { scheduler.schedule(after: Self.most) { [weak self] in self?.callAll() } }
        waiting.append(commit)
    }

    /// The daemon stops: the waiting changes are committed now, and each further one in its own turn.
    func end() {
        hasEnded = true
        callAll()
    }

    private func callAll() {
        let due = waiting
        waiting = []
        for commit in due { commit() }
    }
}
