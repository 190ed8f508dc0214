// A later attempt at what the disk has refused and no caller repeats: to store something, to remove a file. It is one
// attempt, however often it is asked for.

package import TandemReactor

/// One later attempt; confined to its scheduler's thread.
package final class LaterAttempt {
    /// The time until the attempt (LIM-56).
    package static let pause = Duration.seconds(10)

    private let scheduler: any Scheduler
    /// Whether an attempt is coming: those that are made until then would fail as well.
    package private(set) var isComing = false

    package init(on scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Makes the attempt after a pause; nothing if one is coming already.
    package func request(_ attempt: @escaping () -> Void) {
        guard !isComing else { return }
        isComing = true
        scheduler.schedule(after: Self.pause) { [weak self] in
            guard let self else { return }
            isComing = false
            attempt()
        }
    }
}
