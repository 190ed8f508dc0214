// Health of a daemon: problems observed over time. A problem is reported once its accumulated presence exceeds its
// accumulated absence by the grace period (LIM-34), and cleared by the reverse: short blips change nothing. The ledger
// detects nothing by itself; the daemon passes in the problems that exist at the moment.

package import TandemBase

/// One thing that keeps a daemon from being healthy.
package struct HealthProblem: Hashable, Sendable {
    /// The kind of the problem, as a stable word of the control protocol (CTL-12).
    package enum Word: String, Sendable, CaseIterable {
        /// A paired device has no link.
        case unlinked
        /// A paired device is linked at its former address only.
        case address
        /// Two daemons use the key of one device, this one or a paired one.
        case sharedKey = "shared-key"
        /// Of the paired devices of a role none is the active one (PAR-15).
        case noneActive = "none-active"
        /// An outbound queue is nearly full.
        case backlog
        /// A paired device has named so many apps that a further one's items (LIM-150) or custom identifier (PAR-18)
        /// have no room here.
        case crowded
        /// An item waits until the other device has space for it.
        case noSpace = "no-space"
        /// An app of this device, or of a secondary, does not load the configuration that is applied.
        case notLoaded = "not-loaded"
        /// A file in an app's directory cannot be written or removed, or a received one not be moved there.
        case appFiles = "app-files"
        /// A secondary has refused a key set or a revocation.
        case refusedKeys = "refused-keys"
        /// The key set in force for an app expires soon (LIM-147).
        case expiringKeys = "expiring-keys"
        /// The key set in force for an app has expired.
        case expiredKeys = "expired-keys"
        /// An app has had an item of a paired device for too long without a verdict (LIM-145).
        case inHandler = "in-handler"
        /// Items failed too often and wait for an operator.
        case deadLetters = "dead-letters"
        /// The clock of a paired device differs; without a pairing, this device's own clock is not set (CFG-33).
        case clock
        /// The last commit failed, or the disk ends none.
        case store
        /// The state directory, or the store in it, was removed, moved or replaced while the daemon runs.
        case noState = "no-state"
        /// New submits are refused, because an operator drains the daemon.
        case draining

        /// Whether the problem may pass by itself, so that it counts only after the grace period.
        fileprivate var mustLast: Bool { self == .unlinked || self == .store }

        /// Whether the text contains a time: it changes while the problem stays as it is.
        package var hasTimeInText: Bool { self == .unlinked || self == .clock }
    }

    package let word: Word
    /// The affected pairing, if the problem concerns one.
    package let pairing: UniqueIdentifier?

    package init(_ word: Word, pairing: UniqueIdentifier? = nil) {
        self.word = word
        self.pairing = pairing
    }
}

/// The problems of one daemon.
package struct HealthLedger: ~Copyable, Sendable {
    /// The grace period: how much longer a problem must be present than absent to count (LIM-34).
    package static var gracePeriod: Duration { .seconds(5) }

    /// A problem that counts.
    package struct Standing: Equatable, Sendable {
        package let problem: HealthProblem
        /// When it appeared.
        package let since: MonotonicTime
    }

    fileprivate struct Observation {
        var isPresent = true
        /// Rises to the grace period while the problem is present, falls to zero while it is absent.
        var weight = Duration.zero
        var counts: Bool
        let since: MonotonicTime
        var lookedAt: MonotonicTime
    }

    private var observations: [HealthProblem: Observation] = [:]
    /// Problems of which the last observation could not say whether they exist.
    private var undecided: Set<HealthProblem> = []

    package init() {}

    /// Records the problems that exist now; all others are absent. A problem that was over before it came back counts
    /// from its return.
    /// - Parameter undecided: those that may exist or not. The time since they were observed last counts once that is
    ///   known: a problem that is noticed late would otherwise be absent for whoever looks meanwhile (CTL-77).
    package mutating func observe(
        _ present: Set<HealthProblem>, undecided: Set<HealthProblem> = [], at now: MonotonicTime
    ) {
        self.undecided = undecided
        for problem in present.union(observations.keys).subtracting(undecided) {
            observe(problem, isPresent: present.contains(problem), at: now)
        }
    }

    /// Records whether one problem exists now; the others are as they were.
    package mutating func observe(_ problem: HealthProblem, isPresent: Bool, at now: MonotonicTime) {
        undecided.remove(problem)
        observations[problem]?.advance(to: now)
        if observations[problem]?.isOver(problem) == true { observations[problem] = nil }
        observations[problem]?.isPresent = isPresent
        if observations[problem]?.isOver(problem) == true { observations[problem] = nil }
        guard isPresent, observations[problem] == nil else { return }
        observations[problem] = Observation(counts: !problem.word.mustLast, since: now, lookedAt: now)
    }

    /// Records a problem that is noticed only now, and has existed since an earlier time.
    package mutating func observe(_ problem: HealthProblem, since start: MonotonicTime, at now: MonotonicTime) {
        observe(problem, isPresent: true, at: max(start, observations[problem]?.lookedAt ?? start))
        observe(problem, isPresent: true, at: now)
    }

    /// Drops the problems of a pairing that has ended.
    package mutating func forget(_ pairing: UniqueIdentifier) {
        observations = observations.filter { $0.key.pairing != pairing }
    }

    /// Drops the problems of all other pairings, which no longer exist.
    package mutating func keepOnly(_ pairings: Set<UniqueIdentifier>) {
        observations = observations.filter { $0.key.pairing.map(pairings.contains) != false }
    }

    /// The problems that count, the oldest first.
    package mutating func standing(at now: MonotonicTime) -> [Standing] {
        for problem in Set(observations.keys).subtracting(undecided) { observations[problem]?.advance(to: now) }
        return observations.filter(\.value.counts)
            .map { Standing(problem: $0.key, since: $0.value.since) }
            .sorted { ($0.since, $0.problem.word.rawValue) < ($1.since, $1.problem.word.rawValue) }
    }
}

extension HealthLedger.Observation {
    fileprivate mutating func advance(to now: MonotonicTime) {
        let time = now.since(lookedAt)
        lookedAt = now
        weight = isPresent ? min(weight + time, HealthLedger.gracePeriod) : max(weight - time, .zero)
        if weight == HealthLedger.gracePeriod { counts = true }
        if weight == .zero, !isPresent { counts = false }
    }

    /// The observation can be dropped.
    fileprivate func isOver(_ problem: HealthProblem) -> Bool {
        !isPresent && (weight == .zero || !problem.word.mustLast)
    }
}
