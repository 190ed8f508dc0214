// Rate limit for reports of early failures (CFG-52). Anyone can make bytes without end that fail before a signature is
// checked. The gate counts such failures and reports at most once a minute, so that a flood of them does not become a
// flood of signed reports. It reports the last failure of a burst when the minute is over, so that its sender gets an
// answer.

package import TandemBase

/// Decides which early failures are reported, for one (pairing, app) (CFG-52).
package struct EarlyFailureGate: Sendable {
    /// The shortest time between two reports.
    package static let interval = Duration.seconds(60)

    private var lastReport: MonotonicTime?
    private var unreported = 0
    private var last: ReportFacts?

    package init() {}

    /// A failure waits for its report.
    package var isHolding: Bool { last != nil }

    /// An early failure has happened: what to report now, or nil to keep quiet for the moment.
    package mutating func failed(_ facts: ReportFacts, at now: MonotonicTime) -> ReportFacts? {
        unreported += 1
        last = facts
        return due(at: now)
    }

    /// The report that is due now: a failure is unreported, and the interval since the last report is over.
    package mutating func due(at now: MonotonicTime) -> ReportFacts? {
        guard let facts = last else { return nil }
        if let lastReport, now.since(lastReport) < Self.interval { return nil }
        defer { (unreported, last, lastReport) = (0, nil, now) }
        return unreported == 1 ? facts : facts.standingFor(unreported)
    }
}

extension ReportFacts {
    /// The report of the last of several failures.
    fileprivate func standingFor(_ count: Int) -> ReportFacts {
        ReportFacts(
            delivery: delivery, key: key, digest: digest, transaction: transaction, version: version, verdict: verdict,
            text: "\(count) in a row; the last: \(text ?? verdict.name)", good: good)
    }
}
