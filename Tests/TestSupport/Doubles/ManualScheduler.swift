// A scheduler without a thread or a clock: time moves only when a test says so, and everything runs in one fixed order
// (submitted actions and jobs, then due timers, then ends of turn), so that a test of timing never waits and never
// differs.

internal import Synchronization
package import TandemBase
package import TandemReactor

/// A scheduler whose time a test moves by hand.
///
/// `@unchecked`: `submitted` is protected by its mutex; all else belongs to the thread that made the scheduler, or to
/// the one that runs it after that.
package final class ManualScheduler: Scheduler, @unchecked Sendable {
    package private(set) var now = MonotonicTime(nanoseconds: 1_000_000_000)
    package private(set) var wallNow = WallTime(milliseconds: 1_795_255_200_000)
    private var timers = TimerQueue()
    private var endings: [() -> Void] = []
    private let submitted = Mutex<[@Sendable () -> Void]>([])
    /// The thread that made the scheduler, or has run it last: a test's task may continue on another one.
    private let thread = Atomic(Linux.currentThread)

    package init() {}

    package var isCurrent: Bool { Linux.currentThread == thread.load(ordering: .relaxed) }

    /// The number of timers that are set.
    package var timerCount: Int { timers.count }

    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerToken {
        timers.add(deadline: now + max(delay, .zero), action)
    }

    package func cancel(_ token: TimerToken) { _ = timers.cancel(token) }

    package func submit(_ action: @escaping @Sendable () -> Void) { submitted.withLock { $0.append(action) } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    package func atEndOfTurn(_ participant: any TurnParticipant) { endings.append { participant.turnDidEnd() } }

    package func atEndOfTurn(_ action: @escaping () -> Void) { endings.append(action) }

    /// Runs all that is due now, and what that makes due, until nothing is left.
    /// - Returns: whether anything was due.
    @discardableResult
    package func run() -> Bool {
        thread.store(Linux.currentThread, ordering: .relaxed)
        var hasRun = false
        while runTurn() { hasRun = true }
        return hasRun
    }

    /// Moves both clocks on, stopping at each timer on the way.
    /// - Returns: whether anything was due.
    @discardableResult
    package func advance(by duration: Duration) -> Bool {
        let end = now + duration
        var hasRun = run()
        while let deadline = timers.nextDeadline(), deadline <= end {
            move(to: max(deadline, now))
            hasRun = run() || hasRun
        }
        move(to: end)
        return hasRun
    }

    /// Moves both clocks to the next timer that is due no later than at `end`, else to `end`, and runs what is due
    /// then.
    /// - Returns: whether time is left.
    @discardableResult
    package func step(to end: MonotonicTime) -> Bool {
        let deadline = timers.nextDeadline() ?? end
        move(to: max(min(deadline, end), now))
        run()
        return now < end
    }

    /// Sets the wall clock alone, as an operator or a time service would.
    package func setWallClock(_ time: WallTime) { wallNow = time }

    private func move(to time: MonotonicTime) {
        wallNow = wallNow + time.since(now)
        now = time
    }

    private func runTurn() -> Bool {
        var hasRun = false
        for action in submitted.withLock({ actions in exchange(&actions) }) {
            action()
            hasRun = true
        }
        while let action = timers.popDue(at: now) {
            action()
            hasRun = true
        }
        while !endings.isEmpty {
            for ending in exchange(&endings) { ending() }
            hasRun = true
        }
        return hasRun
    }

    private func exchange<Element>(_ elements: inout [Element]) -> [Element] {
        defer { elements = [] }
        return elements
    }
}
