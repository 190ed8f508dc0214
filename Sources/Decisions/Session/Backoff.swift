// How long to wait before dialling again (SES-19). Randomness comes in as an argument: a thousand panels that lost the
// same gateway must not dial it in the same millisecond, and a test must be able to repeat every wait.

import TandemBase

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
