// A thread: for a loop, and for the few calls that can only block (names are resolved in one). Joined or detached
// exactly once.

internal import CTandemLinux

/// A started thread.
package struct LoopThread: Sendable {
    private let identifier: UInt64

    /// Starts a thread; its name is what `top -H` shows (15 bytes).
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var identifier: UInt64 = 0
        let context = Unmanaged.passRetained(Body(run: body))
        let outcome = tandem_thread_start(threadMain, context.toOpaque(), name, &identifier)
        if outcome < 0 { context.release() }
        try Linux.check(outcome, "pthread_create")
        self.identifier = identifier
    }

    /// Waits for the end of the thread.
    package func join() { _ = tandem_thread_join(identifier) }

    /// Lets the thread end on its own.
    package func detach() { _ = tandem_thread_detach(identifier) }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) { self.run = run }
}

/// The start of every thread: takes over the reference that `LoopThread.init` made.
private func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
