// The one thread of a store, and how another thread waits for a word from it.

import Glibc
import Synchronization
import TandemFiles

/// A thread that runs one body and can be waited for.
final class StoreThread: Sendable {
    typealias Report = @Sendable (Result<Void, StoreError>) -> Void

    private let identity: pthread_t
    private let isJoined = Mutex(false)

    /// Starts the thread and waits for its first report.
    /// - Parameter meanwhile: done here before the wait.
    /// - Throws: what the body reports; the thread has then ended.
    init(
        path: String, meanwhile: () -> Void, body: @escaping @Sendable (@escaping Report) -> Void
    ) throws(StoreError) {
        let started = Answer<Void>()
        let box = Unmanaged.passRetained(Body { body { started.give($0) } })
        var identity = pthread_t()
        let code = pthread_create(&identity, nil, { Body.run($0) }, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw .unavailable(path: path, detail: "starting its thread: \(String(cString: strerror(code)))")
        }
        self.identity = identity
        meanwhile()
        let report = started.wait()
        if case .failure(let error) = report {
            join()
            throw error
        }
    }

    deinit {
        // The thread of a store that was dropped without a close finishes by itself.
        if !isJoined.withLock({ $0 }) { pthread_detach(identity) }
    }

    var isCurrent: Bool { pthread_equal(identity, pthread_self()) != 0 }

    func join() {
        let isFirst = isJoined.withLock { joined in
            defer { joined = true }
            return !joined
        }
        if isFirst { pthread_join(identity, nil) }
    }
}

/// The closure that a new thread runs, carried through C; the thread releases it.
private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }

    static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let context else { return nil }
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
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
