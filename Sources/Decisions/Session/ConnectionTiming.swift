// Timing of a connection: the heartbeat that declares a silent peer dead (SES-17), and the waits between attempts to
// connect (SES-19).

package import TandemBase
import TandemWire

/// Watches one connection's silence; any frame received counts as life.
package struct Heartbeat: Sendable {
    /// Silence after which a question is sent, and again after each further one.
    package static var interval: Duration { Limits.heartbeat }
    /// Intervals of silence after which the connection is dead.
    package static var intervals: Int { Limits.heartbeatsUntilDead }

    /// The timer's request to the connection. Each wait is until the next call of ``timerFired(now:)``.
    package enum Action: Sendable, Equatable {
        case wait(Duration)
        case ping(thenWait: Duration)
        /// Close the connection as `no-heartbeat`.
        case dead
    }

    private var lastReceived: MonotonicTime
    private var questions = 0

    package init(now: MonotonicTime) { lastReceived = now }

    /// Some frame arrived.
    package mutating func received(now: MonotonicTime) {
        lastReceived = now
        questions = 0
    }

    package mutating func timerFired(now: MonotonicTime) -> Action {
        let due = Self.interval * (questions + 1)
        let silence = now.since(lastReceived)
        guard silence >= due else { return .wait(due - silence) }
        guard questions + 1 < Self.intervals else { return .dead }
        questions += 1
        return .ping(thenWait: max(Self.interval * (questions + 1) - silence, Self.interval / 2))
    }
}

/// The waits between connection attempts: doubling from 200 ms to 30 s, each spread over its upper half.
package struct Backoff: Sendable, Equatable {
    /// The longest wait before the first repetition.
    package static var first: Duration { .milliseconds(200) }
    /// The longest wait ever.
    package static var longest: Duration { .seconds(30) }

    private var ceiling = Backoff.first

    package init() {}

    /// The next wait: between half of the current ceiling and all of it; the ceiling doubles afterwards.
    package mutating func next(random: UInt64) -> Duration {
        let full = UInt64(clamping: ceiling.saturatingNanoseconds)
        let half = full / 2
        ceiling = min(ceiling * 2, Self.longest)
        return .nanoseconds(Int64(clamping: half + random % (full - half + 1)))
    }

    /// Starts again from the first wait: the connection became ready.
    package mutating func reset() { ceiling = Self.first }
}
