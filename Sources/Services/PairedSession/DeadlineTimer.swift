// Timer of a table whose entries have deadlines (SES-9): one for all of them.

import TandemBase
import TandemReactor

/// One timer for the earliest of many deadlines. It may fire for a deadline that is gone: cheaper than a search of the
/// table at each removal.
final class DeadlineTimer {
    /// Ends what is due, and watches what is left; set once, by the owner.
    var onDeadline: () -> Void = {}
    private let scheduler: any Scheduler
    private var running: (deadline: MonotonicTime, timer: TimerToken)?

    init(on scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Fires no later than at this deadline.
    func watch(_ deadline: MonotonicTime) {
        if let running {
            if running.deadline <= deadline { return }
            scheduler.cancel(running.timer)
        }
        let timer = scheduler.schedule(after: deadline.since(scheduler.now)) { [weak self] in
            self?.running = nil
            self?.onDeadline()
        }
        running = (deadline, timer)
    }
}
