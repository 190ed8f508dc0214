// What a session knows about its counterparts at this moment: the facts for SendCheck and for what observers see.

package import TandemBase
import TandemWire

extension ClientSession {
    /// Level, reason and since, of one pairing or of the active one.
    package func reachability(
        of pairing: UniqueIdentifier?
    ) -> (level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime) {
        guard phase == .active, let situation else { return (.unreachable, .noDaemon, withoutDaemonSince) }
        guard let found = situation.pairing(pairing) else { return (.unreachable, .notPaired, withoutDaemonSince) }
        return (found.level, found.reason, found.since)
    }

    /// False once the daemon has refused all versions that this app speaks.
    package var isSupported: Bool { phase != .refused(.version) }

    /// Where a session stands that is bound to a pairing; the default one for nil. A bound one is not affected by a
    /// switch.
    package func activation(of pairing: UniqueIdentifier?) -> ActivationState {
        guard pairing != nil else { return activation }
        return phase == .active ? .activated : .notActivated
    }

    /// The facts for ``SendCheck``; nil without such a pairing.
    package func counterpart(of pairing: UniqueIdentifier?) -> SendCheck.Counterpart? {
        guard let found = situation?.pairing(pairing) else { return nil }
        return SendCheck.Counterpart(role: found.role, level: found.level, reason: found.reason)
    }
}
