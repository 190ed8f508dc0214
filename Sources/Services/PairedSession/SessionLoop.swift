// The one thread that all sessions of a process share. It is started with the first session and lives as long as the
// process: sessions come and go, and an epoll thread that waits costs nothing.

import Synchronization
import TandemReactor
import TandemWire

enum SessionLoop {
    private static let running = Mutex<EventLoop?>(nil)

    /// The process's loop, started if it does not run yet.
    static func shared() throws(SessionError) -> EventLoop {
        let result = running.withLock { loop -> Result<EventLoop, SystemError> in
            if let loop { return .success(loop) }
            return Result { () throws(SystemError) in
                let started = try EventLoop()
                try started.startThread()
                loop = started
                return started
            }
        }
        do { return try result.get() } catch {
            throw SessionError(.genericError, name: "event-loop", reason: "cannot start the session's thread: \(error)")
        }
    }
}
