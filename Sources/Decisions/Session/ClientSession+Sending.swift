// What a session knows about its counterparts at this moment: the facts for SendCheck and for what observers see.

package import TandemIdentity

extension ClientSession {
    /// Level, reason and since, of one pairing or of the active one.
    package func reachability(
        of pairing: UniqueIdentifier?
    ) -> (level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime) {
        guard phase == .active, let situation else { return (.unreachable, .noDaemon, withoutDaemonSince) }
        guard let found = situation.pairing(pairing) else { return (.unreachable, .notPaired, withoutDaemonSince) }
        return (found.level, found.reason, found.since)
    }

    /// The facts for ``SendCheck``; nil without such a pairing.
    package func counterpart(of pairing: UniqueIdentifier?) -> SendCheck.Counterpart? {
        guard let found = situation?.pairing(pairing) else { return nil }
        return SendCheck.Counterpart(role: found.role, level: found.level, reason: found.reason)
    }
}
