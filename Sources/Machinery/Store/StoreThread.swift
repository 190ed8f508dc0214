// The one thread of a store, and how another thread waits for a word from it.

import Synchronization
import TandemFiles
import TandemReactor

/// A thread that runs one body and can be waited for.
final class StoreThread: Sendable {
    typealias Report = @Sendable (Result<Void, StoreError>) -> Void

    private let thread: LoopThread
    private let isJoined = Mutex(false)

    /// Starts the thread and waits for its first report.
    /// - Parameter meanwhile: done here before the wait.
    /// - Throws: what the body reports; the thread has then ended.
    init(
        path: String, meanwhile: () -> Void, body: @escaping @Sendable (@escaping Report) -> Void
    ) throws(StoreError) {
        let started = Answer<Void>()
        do throws(SystemError) {
            thread = try LoopThread(named: "tandem-store") { body { started.give($0) } }
        } catch {
            throw .unavailable(path: path, detail: "starting its thread: \(error)")
        }
        meanwhile()
        let report = started.wait()
        if case .failure(let error) = report {
            join()
            throw error
        }
    }

    deinit {
        // The thread of a store that was dropped without a close finishes by itself.
        if !isJoined.withLock({ $0 }) { thread.detach() }
    }

    var isCurrent: Bool { thread.isCurrent }

    func join() {
        let isFirst = isJoined.withLock { joined in
            defer { joined = true }
            return !joined
        }
        if isFirst { thread.join() }
    }
}

/// One result that one thread sets and another waits for.
final class Answer<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, StoreError>?>(nil)
    private let given = Semaphore()

    func give(_ value: Result<Value, StoreError>) {
        result.withLock { $0 = value }
        given.signal()
    }

    func wait() -> Result<Value, StoreError> {
        while true {
            given.wait()
            if let value = result.withLock({ $0 }) { return value }
        }
    }
}
