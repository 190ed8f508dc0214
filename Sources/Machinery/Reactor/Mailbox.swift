// The way into a loop from other threads: jobs under a mutex and an eventfd that is written only when the loop sleeps
// and no thread has woken it yet. The loop itself never writes to it.

internal import CTandemLinux
internal import Synchronization

final class Mailbox: Sendable {
    enum Job: Sendable {
        case executor(UnownedJob)
        case action(@Sendable () -> Void)

        /// Runs the job on the scheduler's thread, which is the caller's.
        func run(on scheduler: some Scheduler) {
            switch self {
            case .action(let action): action()
            case .executor(let job): job.runSynchronously(on: scheduler.asUnownedSerialExecutor())
            }
        }
    }

    private struct State {
        var jobs: [Job] = []
        var isAsleep = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wakeUp: OwnedDescriptor

    init() throws(SystemError) {
        wakeUp = try OwnedDescriptor(tandem_eventfd_create(), "eventfd")
    }

    var descriptor: CInt { wakeUp.raw }

    /// Adds a job and wakes the loop if it sleeps; false if the loop has stopped for good.
    func post(_ job: Job) -> Bool {
        let (isTaken, mustWake) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.jobs.append(job)
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if mustWake { wake() }
        return isTaken
    }

    /// Wakes the loop without a job.
    func wake() { _ = tandem_eventfd_signal(wakeUp.raw) }

    /// Empties the eventfd after it has woken the loop.
    func clearWakeUp() { _ = tandem_eventfd_clear(wakeUp.raw) }

    /// Takes what has been posted.
    func takeAll() -> [Job] {
        state.withLock { state in
            state.isAsleep = false
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    /// Whether the loop may wait: from now on the first job wakes it.
    func prepareToSleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.jobs.isEmpty
            return state.isAsleep
        }
    }

    /// Refuses all later jobs; false if there are jobs to run first.
    func closeIfEmpty() -> Bool {
        state.withLock { state in
            guard state.jobs.isEmpty else { return false }
            state.isClosed = true
            return true
        }
    }
}
