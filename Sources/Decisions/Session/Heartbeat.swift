// Whether the other end still lives (SES-17). Death is declared only after two questions went unanswered, not from the
// clock alone: a process that was itself stopped for a minute must read what waits for it before it accuses its peer.

package import TandemBase
import TandemWire

/// Watches one connection's silence; any frame received counts as life.
package struct Heartbeat: Sendable {
    /// Silence after which a question is sent, and again after each further one.
    package static var interval: Duration { Limits.heartbeat }
    /// Intervals of silence after which the connection is dead.
    package static var intervals: Int { Limits.heartbeatsUntilDead }

    /// What the timer asks the connection to do. Each wait is until the next call of ``timerFired(now:)``.
    package enum Action: Sendable, Equatable {
        case wait(Duration)
        case ping(thenWait: Duration)
        /// Close the connection as `no-heartbeat`.
        case dead
    }

    private var lastHeard: MonotonicTime
    private var questions = 0

    package init(now: MonotonicTime) { lastHeard = now }

    /// Some frame arrived.
    package mutating func heard(now: MonotonicTime) {
        lastHeard = now
        questions = 0
    }

    package mutating func timerFired(now: MonotonicTime) -> Action {
        let due = Self.interval * (questions + 1)
        let silence = now.since(lastHeard)
        guard silence >= due else { return .wait(due - silence) }
        guard questions + 1 < Self.intervals else { return .dead }
        questions += 1
        return .ping(thenWait: max(Self.interval * (questions + 1) - silence, Self.interval / 2))
    }
}
