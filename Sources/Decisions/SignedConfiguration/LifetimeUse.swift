// Use of a configuration's lifetime (CFG-34): the time that has passed since it was applied, by the running time or by
// the wall clock, whichever shows more.

package import TandemBase

/// The used part of the lifetime of an applied configuration.
package struct LifetimeUse: Sendable, Equatable {
    /// When the configuration was applied, as far as that is known.
    package let applied: WallTime
    /// Milliseconds used at the last count.
    package private(set) var elapsed: Int64

    package init(applied: WallTime, elapsed: Int64 = 0) { (self.applied, self.elapsed) = (applied, elapsed) }

    /// Counts running time and looks at the wall clock; never decreases.
    /// - Parameters:
    ///   - running: since the last count.
    ///   - known: milliseconds that another account has as used.
    package mutating func advance(running: Duration, now: WallTime, known: Int64 = 0) {
        elapsed = max(used(running: running, now: now), known)
    }

    /// Milliseconds used now.
    /// - Parameter running: since the last count.
    package func used(running: Duration = .zero, now: WallTime) -> Int64 {
        let (sum, overflow) = elapsed.addingReportingOverflow(max(0, running.saturatingMilliseconds))
        return max(overflow ? .max : sum, now.since(applied).saturatingMilliseconds)
    }
}
