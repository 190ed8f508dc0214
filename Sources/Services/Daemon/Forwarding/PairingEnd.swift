// This device's end of one pairing: what is known of the other device's apps, and what carries frames there. In a
// daemon that is a link; in the simulator the other side lives in the same relay.

import TandemBase
import TandemSession
import TandemWire

/// One end of a pairing.
final class PairingEnd {
    enum Way {
        case link(RelayPort)
        case down(ReachabilityReason)
        /// The simulator's other side.
        case loopback(Side)
    }

    var known: RelayedPairing
    var way: Way
    /// The other device's apps as it announced them (SES-16). They outlive the link, except that nobody is connected.
    private(set) var announcements: [ApplicationIdentifier: ApplicationAnnouncement] = [:]
    /// The link is new, and the other device may not have said yet which apps it has (SES-25).
    var isBeingIntroduced = false

    init(_ known: RelayedPairing, way: Way) {
        self.known = known
        self.way = way
    }

    var link: RelayPort? { if case .link(let port) = way { port } else { nil } }

    /// Takes an announcement; false if the device announces more apps than it may have (LIM-11).
    func announced(_ app: ApplicationIdentifier, _ announcement: ApplicationAnnouncement, limit: Int) -> Bool {
        guard announcements[app] != nil || announcements.count < limit else { return false }
        announcements[app] = announcement
        return true
    }

    /// The link is gone: who was connected there is not known any more.
    func linkDown(_ reason: ReachabilityReason) {
        way = .down(reason)
        isBeingIntroduced = false
        for app in announcements.keys {
            announcements[app]?.isConnected = false
            announcements[app]?.seen = nil
        }
    }

    /// What is known of the other device's app.
    func announcement(of app: ApplicationIdentifier) -> ApplicationAnnouncement? {
        switch way {
        case .loopback(let side): side.applications[app]?.announcement
        case .link, .down: announcements[app]
        }
    }

    /// How the other device sees this one's app, as it says; without a link nobody sees anybody.
    func seen(by app: ApplicationIdentifier) -> ReachabilityLevel? {
        switch way {
        case .loopback(let side): side.applications[app]?.routes[known.pairing]?.reachability.level
        case .link: announcements[app]?.seen
        case .down: nil
        }
    }

    func facts(of app: ApplicationIdentifier) -> Reachability.Facts {
        let announcement = announcement(of: app)
        return Reachability.Facts(
            link: linkFact, isPending: known.isPending, isInstalled: announcement?.isInstalled ?? isBeingIntroduced,
            isConnected: announcement?.isConnected ?? false)
    }

    private var linkFact: Reachability.Facts.Link {
        switch way {
        case .link, .loopback: .up
        case .down(let reason): .down(reason)
        }
    }

    /// Where frames for the other device's app go.
    func destination(of app: ApplicationIdentifier) -> RelayPort? {
        switch way {
        case .link(let port): port
        case .down: nil
        case .loopback(let side): side.applications[app]?.receiver
        }
    }
}
