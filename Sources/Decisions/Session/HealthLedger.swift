// What is wrong with a daemon, held against time: a link that blinks is no news, one that stays away is. A problem
// that comes and goes counts once it has been there for the patience of LIM-34 more than it was away, and is over once
// it has been away as much more: so a blip changes nothing, and neither does a short recovery. It finds no problem by
// itself: who looks at the daemon tells what is there now.

package import TandemBase

/// One thing that keeps a daemon from being healthy.
package struct HealthProblem: Hashable, Sendable {
    /// What is wrong, as a stable word (CTL-12).
    package enum Word: String, Sendable, CaseIterable {
        /// A paired device has no link.
        case unlinked
        /// An outbound queue is nearly full.
        case backlog
        /// Items failed too often and wait for an operator.
        case deadLetters = "dead-letters"
        /// The clocks of the two devices differ.
        case clock
        /// The last commit failed.
        case store
        /// New submits are refused, because an operator drains the daemon.
        case draining
    }

    package let word: Word
    /// The pairing that it is about, if it is about one.
    package let pairing: UniqueIdentifier?

    package init(_ word: Word, pairing: UniqueIdentifier? = nil) {
        self.word = word
        self.pairing = pairing
    }

    /// What may come and go by itself must last before it counts; the rest is as true at once as later.
    var mustLast: Bool { word == .unlinked || word == .store }
}

/// The problems of one daemon.
package struct HealthLedger: Sendable {
    /// How long a problem must last to count, and to be gone to be over (LIM-34).
    package static var patience: Duration { .seconds(5) }

    /// A problem that counts.
    package struct Standing: Equatable, Sendable {
        package let problem: HealthProblem
        /// When it appeared.
        package let since: MonotonicTime
    }

    fileprivate struct Observation {
        var isPresent = true
        /// From nothing to the patience: up while the problem is there, down while it is not.
        var weight = Duration.zero
        var counts: Bool
        let since: MonotonicTime
        var lookedAt: MonotonicTime
    }

    private var observations: [HealthProblem: Observation] = [:]

    package init() {}

    /// Tells everything that is wrong now.
    package mutating func observe(_ present: Set<HealthProblem>, at now: MonotonicTime) {
        for problem in Array(observations.keys) {
            observations[problem]?.advance(to: now)
            observations[problem]?.isPresent = present.contains(problem)
            if observations[problem]?.isOver(problem) == true { observations[problem] = nil }
        }
        for problem in present where observations[problem] == nil {
            observations[problem] = Observation(counts: !problem.mustLast, since: now, lookedAt: now)
        }
    }

    /// The problems that count, the oldest first.
    package mutating func standing(at now: MonotonicTime) -> [Standing] {
        for problem in Array(observations.keys) { observations[problem]?.advance(to: now) }
        return observations.filter(\.value.counts)
            .map { Standing(problem: $0.key, since: $0.value.since) }
            .sorted { ($0.since, $0.problem.word.rawValue) < ($1.since, $1.problem.word.rawValue) }
    }
}

extension HealthLedger.Observation {
    fileprivate mutating func advance(to now: MonotonicTime) {
        let time = now.since(lookedAt)
        lookedAt = now
        weight = isPresent ? min(weight + time, HealthLedger.patience) : max(weight - time, .zero)
        if weight == HealthLedger.patience { counts = true }
        if weight == .zero, !isPresent { counts = false }
    }

    /// Nothing is left to remember of it.
    fileprivate func isOver(_ problem: HealthProblem) -> Bool {
        !isPresent && (weight == .zero || !problem.mustLast)
    }
}
