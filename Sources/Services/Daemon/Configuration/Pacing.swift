// Pacing of actions for which peers and apps ask as often as they like: of all that is asked for within a time, one.

import TandemBase
import TandemReactor

/// Actions by key, each a while after the first request; confined to its loop.
final class CoalescedActions<Key: Hashable> {
    private let scheduler: any Scheduler
    private let delay: Duration
    private var coming: Set<Key> = []

    /// - Parameter delay: from the first request for a key to its action.
    init(on scheduler: any Scheduler, after delay: Duration) { (self.scheduler, self.delay) = (scheduler, delay) }

    /// Runs the action after the delay; nothing if one is coming for the key.
    func request(_ key: Key, _ action: @escaping () -> Void) {
        guard coming.insert(key).inserted else { return }
        scheduler.schedule(after: delay) { [weak self] in
            if self?.coming.remove(key) != nil { action() }
        }
    }
}

/// An action that runs in a turn of its own, and not again before a pause is over; confined to its loop.
final class PacedAction {
    private let scheduler: any Scheduler
    private let pause: Duration
    private var earliest: MonotonicTime
    private var isComing = false

    init(on scheduler: any Scheduler, pause: Duration) {
        (self.scheduler, self.pause) = (scheduler, pause)
        earliest = scheduler.now
    }

    func request(_ action: @escaping () -> Void) {
        guard !isComing else { return }
        isComing = true
        scheduler.schedule(after: max(.zero, earliest.since(scheduler.now))) { [weak self] in
            guard let self else { return }
            isComing = false
            earliest = scheduler.now + pause
            action()
        }
    }
}
