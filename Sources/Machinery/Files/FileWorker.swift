// The thread that reads, writes, hashes and synchronises files, so that no loop ever waits for a disk. Jobs run one
// after another, in the order of submission; their results come back on the loop. The submitters bound the number of
// waiting jobs: by the windows of the files under way.

import Glibc
import Synchronization
package import TandemReactor

/// A thread for files, started with the first job; belongs to one scheduler.
package final class FileWorker {
    /// Entries that are removed before another job has its turn.
    private static var removedAtOnce: Int { 256 }

    private let queue = JobQueue()
    private var thread: LoopThread?
    private let scheduler: any Scheduler
    private var isClosed = false
    /// Directories that are being removed, one after another: each holds descriptors, as many as it is deep.
    private var removals: [(removal: TreeRemoval, completion: (FileError?) -> Void)] = []

    package init(for scheduler: any Scheduler) { self.scheduler = scheduler }

    deinit {
        queue.close()
        if !isClosed { thread?.detach() }
    }

    /// A system that cannot start a thread is near its end: then the jobs run here, and the loop waits for them.
    private func start() {
        guard thread == nil else { return }
        let queue = queue
        thread = try? LoopThread(named: "files") { queue.runAll() }
    }

    private func add(_ job: @escaping @Sendable () -> Void) {
        guard !isClosed else { return }
        start()
        if thread == nil { job() } else { queue.add(job) }
    }

    /// Runs the job on the worker's thread, then calls `completion` with its result on the scheduler's.
    package func perform<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value, then completion: @escaping (Value) -> Void
    ) {
        let scheduler = scheduler
        let bound = LoopBound(completion, to: scheduler)
        add {
            let value = job()
            scheduler.submit { bound.value(value) }
        }
    }

    /// The value of a job; the caller never goes on if the worker closes before it.
    package func value<Value: Sendable>(of job: @escaping @Sendable () -> Value) async -> Value {
        // Unsafe, because a worker that closes calls back no more.
        await withUnsafeContinuation { continuation in
            perform(job) { continuation.resume(returning: $0) }
        }
    }

    /// Runs a job that can fail.
    package func attempt<Value: Sendable, Failure: Error>(
        _ job: @escaping @Sendable () throws(Failure) -> Value,
        then completion: @escaping (Result<Value, Failure>) -> Void
    ) {
        perform({ Result { () throws(Failure) in try job() } }, then: completion)
    }

    /// Removes what the job names, in steps, so that other jobs come between.
    /// - Parameter completion: called with the reason why an entry stays; nil if all are gone. Not called if the worker
    ///   closes before.
    package func remove(
        _ job: @escaping @Sendable () throws(FileError) -> TreeRemoval?,
        then completion: @escaping (FileError?) -> Void
    ) {
        attempt(job) { [weak self] result in
            switch result {
            case .failure(let error): completion(error)
            case .success(nil): completion(nil)
            case .success(let removal?): self?.add(removal, completion)
            }
        }
    }

    private func add(_ removal: TreeRemoval, _ completion: @escaping (FileError?) -> Void) {
        removals.append((removal, completion))
        if removals.count == 1 { goOn() }
    }

    private func goOn() {
        guard let (removal, completion) = removals.first else { return }
        perform({ removal.step(Self.removedAtOnce) }) { [weak self] isDone in
            if isDone {
                self?.removals.removeFirst()
                completion(removal.failure)
            }
            self?.goOn()
        }
    }

    /// Waits for the submitted jobs; their completions come later, as always. For tests that turn time by hand.
    package func waitUntilIdle() {
        let done = Semaphore()
        guard !isClosed, thread != nil else { return }
        add { done.signal() }
        done.wait()
    }

    /// Waits until the submitted jobs have finished. Later jobs are dropped: the daemon ends.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        queue.close()
        thread?.join()
    }
}

/// Jobs between the loop and the worker.
private final class JobQueue: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wake = Semaphore()

    func add(_ job: @escaping @Sendable () -> Void) {
        let wasEmpty = state.withLock { state in
            defer { state.jobs.append(job) }
            return state.jobs.isEmpty
        }
        if wasEmpty { wake.signal() }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        wake.signal()
    }

    func runAll() {
        while true {
            let (jobs, isClosed) = state.withLock { state in
                defer { state.jobs = [] }
                return (state.jobs, state.isClosed)
            }
            for job in jobs { job() }
            if jobs.isEmpty {
                if isClosed { return }
                wake.wait()
            }
        }
    }
}

/// A counting semaphore that any thread may use: an idle worker thread sleeps on it, and a start-up read waits for the
/// store's thread. It lives on the heap, because `sem_t` must not move.
///
/// `@unchecked`: the pointer is immutable, and POSIX allows any thread to call `sem_post` and `sem_wait` on one
/// `sem_t`; `deinit` destroys it after its last user.
package final class Semaphore: @unchecked Sendable {
    private let handle = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    package init() {
        let result = sem_init(handle, 0, 0)
        precondition(result == 0)
    }

    deinit {
        sem_destroy(handle)
        handle.deallocate()
    }

    package func signal() { sem_post(handle) }

    package func wait() { while sem_wait(handle) != 0 {} }
}
