// The way from any thread to a session's core: everything is handed to its scheduler, in the order of each caller. When
// the last holder lets go, the session ends.

package import TandemReactor
import TandemSession
import TandemWire

/// A session's core and the thread that it lives on.
///
/// `@unchecked`: `core` is touched only by actions that its scheduler runs on its own thread.
package final class SessionHandle: @unchecked Sendable {
    private let scheduler: any Scheduler
    private let core: SessionCore
    let board: SessionBoard
    let counts: SessionCounts

    package init(settings: SessionSettings, scheduler: any Scheduler, dialer: any Dialer) {
        let machine = ClientSession(now: Linux.bootTime)
        var history = ReachabilityHistory()
        let clocks = Clocks(now: Linux.bootTime, wall: Linux.wallTime)
        board = SessionBoard(SessionSnapshot(machine, clocks, &history))
        self.scheduler = scheduler
        core = SessionCore(settings: settings, scheduler: scheduler, dialer: dialer, board: board)
        counts = core.counts
    }

    /// Runs the action with the core on its thread, in a later turn.
    package func run(_ action: @escaping @Sendable (SessionCore) -> Void) {
        scheduler.submit { [self] in action(core) }
    }

    deinit {
        let core = core
        let scheduler = scheduler
        let ending = Ending(core: core)
        scheduler.submit { ending.core.end() }
    }

    /// `@unchecked`: made when nobody else holds the handle, opened on the core's thread.
    private struct Ending: @unchecked Sendable {
        let core: SessionCore
    }
}
