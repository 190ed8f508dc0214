// Interface of the synchronous rooms to a loop: time, timers, the end of the turn, and a way in from other threads. The
// event loop and the manual scheduler of the tests are the two that exist. Everything but `submit` and `enqueue`
// belongs to the scheduler's own thread; the actions run there too and may use what is confined to it. As a serial
// executor it also runs asynchronous code on that thread (`start`) and actors that name it as their executor.

package import TandemBase

/// A timer that may be cancelled; meaningless to another scheduler.
package struct TimerToken: Hashable, Sendable {
    let serial: UInt64
}

/// Room for the token of a timer that may be running. As small as the token: an optional one takes twice as much.
package struct PendingTimer: Sendable {
    /// Schedulers count from 1.
    private var serial: UInt64 = 0

    package init() {}

    package var isSet: Bool { serial != 0 }

    /// Nil while no timer is running.
    package var token: TimerToken? {
        get { isSet ? TimerToken(serial: serial) : nil }
        set { serial = newValue?.serial ?? 0 }
    }

    /// Cancels the timer, if one is running.
    package mutating func cancel(on scheduler: any Scheduler) {
        if let token { scheduler.cancel(token) }
        token = nil
    }
}

/// Takes part in the end of a turn, such as a stream that has collected writes.
package protocol TurnParticipant: AnyObject {
    /// Called once for each `atEndOfTurn` before: after all events of the turn, or after as many as fill the loop's
    /// memory.
    func turnDidEnd()
}

/// Time, timers and turns of one thread.
package protocol Scheduler: SerialExecutor {
    /// The time since boot, sleep included; one reading per turn.
    var now: MonotonicTime { get }

    /// The wall clock, read at each call.
    var wallNow: WallTime { get }

    /// Whether the caller is on this scheduler's thread.
    var isCurrent: Bool { get }

    /// Runs the action once, no sooner than after `delay`. Actions due together run in the order they were scheduled.
    @discardableResult
    func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerToken

    /// Forgets the action; nothing if it has run or was cancelled.
    func cancel(_ token: TimerToken)

    /// Runs the action on this scheduler's thread in a later turn; from any thread, in order for each caller. After the
    /// scheduler has stopped the action is dropped.
    func submit(_ action: @escaping @Sendable () -> Void)

    /// Calls the participant at the end of this turn.
    func atEndOfTurn(_ participant: any TurnParticipant)

    /// Runs the action at the end of this turn.
    func atEndOfTurn(_ action: @escaping () -> Void)
}

extension Scheduler {
    /// Both clocks now.
    package var reading: ClockReading { ClockReading(monotonic: now, wall: wallNow) }
}
