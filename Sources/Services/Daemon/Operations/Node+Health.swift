// The control command `health` (CTL-11 to CTL-13): what keeps this daemon from being healthy, one line each, and
// whether it is ready for work. What counts is the ledger's rule; here is only what is so.

import TandemBase
import TandemDelivery
import TandemOperations
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemStore
import TandemWire

extension Node {
    /// Clocks that differ by more than this are worth a word: expiry of signed configuration hangs on them.
    private static var clockTolerance: Duration { .seconds(300) }

    /// Tells the ledger what is wrong now; also when a link comes or goes, so that it sees every blink.
    func observeHealth() { health.observe(problems, at: loop.now) }

    private var problems: Set<HealthProblem> {
        var problems: Set<HealthProblem> = []
        for record in registry.state.pairings where record.state == .active {
            guard let link = context.links[record.pairing] else {
                problems.insert(HealthProblem(.unlinked, pairing: record.pairing))
                continue
            }
            let skew = link.peer.clockSkew ?? .zero
            if skew > Self.clockTolerance || skew < .zero - Self.clockTolerance {
                problems.insert(HealthProblem(.clock, pairing: record.pairing))
            }
        }
        for queue in exchange.queues where isBacklog(count: queue.count, bytes: queue.bytes) {
            problems.insert(HealthProblem(.backlog, pairing: queue.key.pairing))
        }
        if !exchange.deadLetters().isEmpty { problems.insert(HealthProblem(.deadLetters)) }
        if store.isFailing { problems.insert(HealthProblem(.store)) }
        if isDraining { problems.insert(HealthProblem(.draining)) }
        return problems
    }

    /// Four fifths of what a queue holds (LIM-14).
    private func isBacklog(count: Int, bytes: Int) -> Bool {
        let limits = DeliveryLimits()
        return count > limits.items / 5 * 4 || bytes > limits.bytes / 5 * 4
    }

    /// The answer to `health`.
    var healthReport: PropertyListDictionary {
        observeHealth()
        let standing = health.standing(at: loop.now)
        var report: PropertyListDictionary = [
            "state": .string(standing.isEmpty ? "healthy" : "degraded"),
            "problems": .array(standing.map { .dictionary(describe($0)) }),
            "ready": .boolean(!isStopping && !waitsForFirstLink),
            "draining": .boolean(isDraining),
        ]
        if isStopping || waitsForFirstLink { report["reason"] = .string(isStopping ? "stopping" : "no-link") }
        return report
    }

    /// There are pairings, and none has had a link since the start (CTL-13).
    private var waitsForFirstLink: Bool {
        !hasBeenLinked && registry.state.pairings.contains { $0.state == .active }
    }

    private func describe(_ standing: HealthLedger.Standing) -> PropertyListDictionary {
        let time = loop.now.since(standing.since)
        var body: PropertyListDictionary = [
            "name": .string(standing.problem.word.rawValue), "since": .integer(time.saturatingMilliseconds),
            "text": .string(text(of: standing.problem)),
        ]
        body["pairing"] = standing.problem.pairing.map { .data($0.bytes) }
        return body
    }

    private func text(of problem: HealthProblem) -> String {
        let record = problem.pairing.flatMap { registry.state[$0] }
        let name = record?.name ?? "a device"
        switch problem.word {
        case .unlinked: return "no link to \(name): \(record.map(unreachableReason) ?? "unknown")"
        case .backlog: return "a queue for \(name) is nearly full"
        case .deadLetters: return "items failed too often; see 'tandem dead-letters list'"
        case .clock: return "the clock of \(name) differs from ours by more than five minutes"
        case .store: return "the last change could not be stored; see the log"
        case .draining: return "new items are refused until 'tandem drain --end'"
        }
    }
}
