// Thread on which a configuration's alarms go off, its files are watched, and an installed one reads files and verifies
// signatures: a slow disk delays neither a session's messages nor the app's tasks.

import TandemReactor

/// The process's one thread for configurations; started with its first use.
package enum ConfigurationThread {
    /// Nil if the system has no thread for it: then files are read at a load only.
    static let loop: EventLoop? = {
        guard let loop = try? EventLoop(), (try? loop.startThread()) != nil else { return nil }
        return loop
    }()

    /// Runs the action on the thread, in the order of the calls; on the caller's where the system has no thread.
    package static func run(_ action: @escaping @Sendable () -> Void) {
        guard let loop else { return action() }
        loop.submit(action)
    }

    /// Runs the action once, no sooner than after the delay. Without a thread never: then lifetimes end at the next
    /// load.
    @Sendable static func wake(after delay: Duration, _ action: @escaping @Sendable () -> Void) {
        guard let loop else { return }
        loop.submit { loop.schedule(after: delay, action) }
    }
}
