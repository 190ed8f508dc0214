// A process on the common manual clock: its scheduled actions run while it lives, and none after a kill. Actions from
// other threads (a store's completions) wait until the world asks for them, so that the order is the world's.

import Synchronization
import TandemBase
import TandemReactor
import TandemTestSupport

/// One process's share of a manual clock.
///
/// `@unchecked`: `mail` is protected by its mutex, `isAlive` belongs to the clock's thread.
final class ProcessScheduler: Scheduler, @unchecked Sendable {
    private let clock: ManualScheduler
    private let mail = Mutex<[@Sendable () -> Void]>([])
    private(set) var isAlive = true

    init(_ clock: ManualScheduler) { self.clock = clock }

    var now: MonotonicTime { clock.now }
    var wallNow: WallTime { clock.wallNow }
    var isCurrent: Bool { clock.isCurrent }

    func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerToken {
        clock.schedule(after: delay) { [self] in if isAlive { action() } }
    }

    func cancel(_ token: TimerToken) { clock.cancel(token) }

    func submit(_ action: @escaping @Sendable () -> Void) {
        guard clock.isCurrent else { return mail.withLock { $0.append(action) } }
        clock.submit { [self] in if isAlive { action() } }
    }

    /// The job of a process that has been killed is never run, and its task never ends.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    func atEndOfTurn(_ participant: any TurnParticipant) {
        clock.atEndOfTurn { [self] in if isAlive { participant.turnDidEnd() } }
    }

    func atEndOfTurn(_ action: @escaping () -> Void) { clock.atEndOfTurn { [self] in if isAlive { action() } } }

    /// Runs what other threads have submitted; whether there was anything.
    func takeMail() -> Bool {
        let letters = mail.withLock { mail in
            defer { mail = [] }
            return mail
        }
        for letter in letters where isAlive { letter() }
        return !letters.isEmpty
    }

    func kill() { isAlive = false }
}
