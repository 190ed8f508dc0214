// Bytes that fail before a signature has vouched for them can be made by anybody without end. They are counted, and the
// count is reported at most once a minute, so that a flood of them does not become a flood of signed reports.

package import TandemIdentity

/// Decides which early failures are reported, for one (pairing, app) (CFG-52).
package struct EarlyFailureGate: Sendable {
    /// The shortest time between two reports.
    package static let interval = Duration.seconds(60)

    private var lastReport: MonotonicTime?
    private var unreported = 0

    package init() {}

    /// An early failure has happened: the number of failures to report now, itself included, or nil to keep quiet.
    package mutating func failed(at now: MonotonicTime) -> Int? {
        unreported += 1
        if let lastReport, now.since(lastReport) < Self.interval { return nil }
        defer { unreported = 0 }
        lastReport = now
        return unreported
    }
}
