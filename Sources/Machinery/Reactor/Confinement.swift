// Confinement to a scheduler's thread: asynchronous code that runs there from its first instruction to its last, and
// values that pass through other threads but can be read on that thread only.
//
// Function types are `nonisolated(nonsending)` in this package: an asynchronous function runs where its caller runs.
// Code that `start` has begun therefore never leaves the scheduler's thread, and may use the confined, non-Sendable
// classes of that thread. It awaits a callback with `withCheckedContinuation`: the callback resumes the continuation
// once, on any thread, and the code goes on in a later turn of its own scheduler. Child tasks run there too; `Task { }`
// does not.

extension Scheduler {
    /// Runs asynchronous code on this scheduler: now, up to the point where it first waits, and in later turns from
    /// there. On the scheduler's thread only. A scheduler that stops first drops the rest.
    package func start(_ operation: @escaping () async -> Void) {
        let bound = LoopBound(operation, to: self)
        Task.immediate(executorPreference: Turns(of: self)) { await bound.value() }
    }

    /// Waits for a timer of this scheduler; on its thread, from code that `start` has begun.
    package func sleep(for duration: Duration) async {
        precondition(isCurrent, "asleep on another thread than the scheduler's")
        // Unsafe, because a scheduler that stops drops its timers and with them the sleepers: no misuse to report.
        await withUnsafeContinuation { continuation in
            schedule(after: duration) { continuation.resume() }
        }
    }

    /// The executor's own check, for `assumeIsolated`.
    package func checkIsolated() { precondition(isCurrent, "called from another thread than the scheduler's") }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }
}

/// Runs each piece of a task in a turn of its scheduler. The task keeps it, and with it the scheduler.
private final class Turns: TaskExecutor {
    private let scheduler: any Scheduler

    init(of scheduler: any Scheduler) { self.scheduler = scheduler }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        scheduler.submit { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// A value of a scheduler's thread in a Sendable envelope.
///
/// `@unchecked`: both properties are immutable, and only the scheduler's thread reads the value, which each access
/// checks. The last copy of the envelope may be released on another thread, and the value's `deinit` then runs there.
package struct LoopBound<Value>: @unchecked Sendable {
    private let scheduler: any Scheduler
    private let confined: Value

    /// Seals the value; on the scheduler's thread.
    package init(_ value: Value, to scheduler: any Scheduler) {
        precondition(scheduler.isCurrent, "sealed on another thread than the scheduler's")
        self.scheduler = scheduler
        confined = value
    }

    /// The value; on the scheduler's thread only.
    package var value: Value {
        precondition(scheduler.isCurrent, "opened on another thread than the scheduler's")
        return confined
    }
}
