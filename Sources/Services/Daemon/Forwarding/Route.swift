// The way from one host app to its counterpart in one pairing, worked out beforehand: when a frame comes, all that is
// left to do is to look at `port`. Whatever can change the way (link, announcement, registration) updates it at that
// moment.

import TandemBase
import TandemSession

/// The way from a local app to its counterpart at the other end of a pairing.
final class Route {
    let app: ApplicationIdentifier
    let pairing: PairingEnd
    /// Where frames go; nil while they cannot.
    private(set) var port: RelayPort?
    private(set) var isInstalled = false
    private(set) var reachability: Reachability
    /// What the counterpart declares of itself.
    private(set) var features = ApplicationFeatures()

    init(app: ApplicationIdentifier, pairing: PairingEnd, now: MonotonicTime) {
        self.app = app
        self.pairing = pairing
        reachability = Reachability(now: now)
        _ = update(now: now)
    }

    /// Works the way out anew; true if a host app would see a difference.
    func update(now: MonotonicTime) -> Bool {
        let facts = pairing.facts(of: app)
        let (wasInstalled, before) = (isInstalled, features)
        let announcement = pairing.announcement(of: app)
        isInstalled = announcement?.isInstalled ?? false
        features = announcement?.features ?? features
        let hasChanged = reachability.update(facts, now: now)
        port = reachability.level == .immediate ? pairing.destination(of: app) : nil
        return hasChanged || wasInstalled != isInstalled || features != before
    }

    /// How the other side sees this one, as it says.
    var seen: ReachabilityLevel? { pairing.seen(by: app) }

    /// Why a message cannot go this way, in the order of SES-13.
    var failure: RelayFailure {
        reachability.reason == .notInstalled
            ? .notInstalled(on: pairing.known.role.counterpart) : .notReachable(reachability.reason)
    }
}
