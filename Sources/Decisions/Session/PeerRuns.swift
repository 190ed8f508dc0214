// Evidence that two daemons run with the key of one paired device, which a copy of its state directory makes. The hello
// of a link names the run of the peer's daemon (SES-2). A device that restarts has a new run each time, and one that
// lost its network has the same. Only with two daemons does a run come back after another one has had a link.

package import TandemBase
import TandemWire

/// The last runs of one paired device's daemon.
package struct PeerRuns: Sendable {
    /// Earlier runs that are known again: a few copies.
    private static let keptRuns = 4

    private var run: UniqueIdentifier?
    /// The oldest first.
    private var earlierRuns: [UniqueIdentifier] = []
    private var returns = 0
    private var lastReturn: MonotonicTime?

    package init() {}

    /// A link of this run is ready.
    /// - Returns: whether it is the one that shows two daemons; those after it show nothing new.
    package mutating func linked(_ run: UniqueIdentifier, at now: MonotonicTime) -> Bool {
        guard run != self.run else { return false }
        let isReturn = earlierRuns.contains(run)
        earlierRuns.removeAll { $0 == run }
        if let last = self.run { earlierRuns = Array((earlierRuns + [last]).suffix(Self.keptRuns)) }
        self.run = run
        guard isReturn else { return false }
        returns = isSeries(at: now) ? returns + 1 : 1
        lastReturn = now
        return returns == Limits.sharedKeyEvents
    }

    /// Whether two daemons use the peer's key now.
    package func showTwoDaemons(at now: MonotonicTime) -> Bool {
        returns >= Limits.sharedKeyEvents && isSeries(at: now)
    }

    private func isSeries(at now: MonotonicTime) -> Bool {
        lastReturn.map { now.since($0) < Limits.sharedKeyMemory } ?? false
    }
}
