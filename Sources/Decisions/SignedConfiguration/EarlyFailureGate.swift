// Rate limit for reports of early failures (CFG-52). Anyone can make bytes without end that fail before a signature is
// checked. The gate reports such failures at most once a minute, so that a flood of them does not become a flood of
// signed reports. When the minute is over it reports those of the burst that the sender still waits for.

package import TandemBase

/// Decides which early failures are reported, for one (pairing, app) (CFG-52).
package struct EarlyFailureGate: Sendable {
    /// The shortest time between two bursts of reports.
    package static let interval = Duration.seconds(60)

    /// The failures that each get a report when the minute is over.
    private let capacity: Int
    private var lastReport: MonotonicTime?
    private var unreported = 0
    /// Those that wait for their reports, the newest last.
    private var held: [ReportFacts] = []

    /// - Parameter isStatement: of statements about keys only the last failure gets a report: the first refusal ends a
    ///   chain, and its primary takes back what follows (CFG-95). Of configurations a primary waits for LIM-85
    ///   verdicts.
    package init(isStatement: Bool = false) { capacity = isStatement ? 1 : ConfigurationLimits.openDeliveries }

    package var isHolding: Bool { !held.isEmpty }

    /// An early failure has happened: what to report now, which may be nothing for the moment.
    package mutating func failed(_ facts: ReportFacts, at now: MonotonicTime) -> [ReportFacts] {
        unreported += 1
        held.append(facts)
        held.removeFirst(max(0, held.count - capacity))
        return due(at: now)
    }

    /// The reports that are due now: failures are unreported, and the interval since the last report is over. The last
    /// one stands for those that are never reported.
    package mutating func due(at now: MonotonicTime) -> [ReportFacts] {
        guard let last = held.last else { return [] }
        if let lastReport, now.since(lastReport) < Self.interval { return [] }
        var due = held
        if unreported > held.count { due[due.count - 1] = last.standingFor(unreported) }
        (unreported, held, lastReport) = (0, [], now)
        return due
    }
}

extension ReportFacts {
    fileprivate func standingFor(_ count: Int) -> ReportFacts {
        ReportFacts(
            delivery: delivery, key: key, digest: digest, transaction: transaction, version: version, verdict: verdict,
            text: "\(count) in a row; the last: \(text ?? verdict.name)", good: good)
    }
}
