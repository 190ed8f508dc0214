// The numbers of reachability changes as a host app sees them (SES-35). The daemon counts its own; after another daemon
// start its count begins again, and a switch makes the default session follow another count: here they become one
// number that only grows.

import TandemBase
import TandemSession

/// The same moment on both clocks.
struct Clocks {
    let now: MonotonicTime
    let wall: WallTime
}

/// What was told of each pairing, and for nil of the default session.
struct ReachabilityHistory {
    private struct Told {
        var status: ReachabilityStatus
        /// The daemon's count at that time, and of which pairing.
        var changes: UInt64?
        var counted: UniqueIdentifier?
    }

    private var told: [UniqueIdentifier?: Told] = [:]

    /// What is told now; the same value as before unless something has changed.
    mutating func status(
        of pairing: UniqueIdentifier?,
        _ current: (level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime), _ changes: UInt64?,
        counting counted: UniqueIdentifier?, _ clocks: Clocks
    ) -> ReachabilityStatus {
        var new = Told(status: Self.status(current, 1, clocks), changes: changes, counted: counted)
        if let before = told[pairing] {
            let steps = Self.steps(from: before, to: new)
            let revision = before.status.revision &+ steps
            new.status = steps == 0 ? before.status : Self.status(current, revision, clocks)
        }
        told[pairing] = new
        return new.status
    }

    /// Forgets pairings that are gone.
    mutating func keepOnly(_ pairings: [UniqueIdentifier]) {
        guard told.count > pairings.count + 1 else { return }
        let kept = Set(pairings)
        told = told.filter { entry in entry.key.map(kept.contains) ?? true }
    }

    /// By how many changes they differ; a flap that ended as it began counts, too, if the daemon has counted it.
    private static func steps(from old: Told, to new: Told) -> UInt64 {
        let differs = old.status.level != new.status.level || old.status.reason != new.status.reason
        guard old.counted == new.counted, let before = old.changes, let changes = new.changes, changes > before else {
            return differs ? 1 : 0
        }
        return changes - before
    }

    private static func status(
        _ current: (level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime), _ revision: UInt64,
        _ clocks: Clocks
    ) -> ReachabilityStatus {
        ReachabilityStatus(
            level: current.level, reason: current.reason, since: clocks.wall - clocks.now.since(current.since),
            revision: revision)
    }
}

extension WallTime {
    fileprivate static func - (time: WallTime, duration: Duration) -> WallTime { time + (.zero - duration) }
}
