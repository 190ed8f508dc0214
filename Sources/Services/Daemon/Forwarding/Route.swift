// Routes: the way from one host app to its counterpart in each pairing, worked out beforehand, and the pairing ends
// that they go through. When a frame comes, the relay only looks at `port`; any change of a link, an announcement or a
// registration updates the route at that moment.

package import TandemBase
import TandemSession
import TandemWire

/// A pairing as the relay knows it: enough to route and to describe it to host apps, without keys, pins and epochs.
package struct RelayedPairing: Sendable, Equatable {
    package let pairing: UniqueIdentifier
    /// This device's part.
    package let role: DeviceRole
    /// The other device's vendor identifier.
    package let peer: UniqueIdentifier
    /// The other device's name, for people.
    package let name: String
    /// Never greeted under its pin yet: carries nothing (PAR-10).
    package let isPending: Bool

    package init(
        pairing: UniqueIdentifier, role: DeviceRole, peer: UniqueIdentifier, name: String, isPending: Bool = false
    ) {
        self.pairing = pairing
        self.role = role
        self.peer = peer
        self.name = name
        self.isPending = isPending
    }
}

final class PairingEnd {
    enum Way {
        case link(RelayPort)
        case down(ReachabilityReason)
        /// The simulator's other side.
        case loopback(RoleContext)
    }

    private(set) var known: RelayedPairing
    private(set) var way: Way
    /// The other device's apps (SES-16).
    private var apps = AnnouncedApplications()

    init(_ known: RelayedPairing, way: Way) {
        self.known = known
        self.way = way
    }

    func update(_ known: RelayedPairing) { self.known = known }

    var link: RelayPort? { if case .link(let port) = way { port } else { nil } }

    /// The last announcements of the other device's apps.
    var announcements: [ApplicationIdentifier: ApplicationAnnouncement] { apps.announcements }

    /// Takes an announcement; false if the device announces more apps than it may (LIM-11, LIM-149).
    func announced(
        _ app: ApplicationIdentifier, _ announcement: ApplicationAnnouncement, at now: MonotonicTime
    ) -> Bool {
        apps.announced(app, announcement, at: now)
    }

    /// The other device announced these apps before the start of this daemon.
    func restore(installed apps: Set<ApplicationIdentifier>) { self.apps.restore(installed: apps) }

    /// A link is ready; the other device announces its apps over it.
    /// - Returns: the apps that are gone already.
    func linkUp(_ port: RelayPort) -> [ApplicationIdentifier] {
        way = .link(port)
        return apps.linkUp()
    }

    /// A condition of the end of the introduction holds.
    /// - Returns: the apps that were installed there before, and are no longer; nil unless the introduction ends now.
    func completeIntroduction(_ step: Introduction.Step) -> [ApplicationIdentifier]? {
        apps.completeIntroduction(step)
    }

    /// The link is gone.
    func linkDown(_ reason: ReachabilityReason) {
        way = .down(reason)
        apps.linkDown()
    }

    /// The last announcement of the other device's app.
    func announcement(of app: ApplicationIdentifier) -> ApplicationAnnouncement? {
        switch way {
        case .loopback(let side): side.applications[app]?.announcement
        case .link, .down: apps.announcement(of: app)
        }
    }

    /// The other device's report on its route to this device's app; without a link neither reaches the other.
    func seen(by app: ApplicationIdentifier) -> ReachabilityLevel? {
        switch way {
        case .loopback(let side): side.applications[app]?.routes[known.pairing]?.reachability.level
        case .link: apps.announcements[app]?.seen
        case .down: nil
        }
    }

    func facts(of app: ApplicationIdentifier) -> Reachability.Facts {
        let announcement = announcement(of: app)
        return Reachability.Facts(
            link: downReason.map { .down($0) } ?? .up, isPending: known.isPending,
            isInstalled: announcement?.isInstalled ?? apps.isIntroduction,
            isConnected: announcement?.isConnected ?? false)
    }

    private var downReason: ReachabilityReason? { if case .down(let reason) = way { reason } else { nil } }

    /// Where frames for the other device's app go.
    func destination(of app: ApplicationIdentifier) -> RelayPort? {
        switch way {
        case .link(let port): port
        case .down: nil
        case .loopback(let side): side.applications[app]?.receiver
        }
    }
}

/// The way from a local app to its counterpart at the other end of a pairing.
final class Route {
    let app: ApplicationIdentifier
    let pairing: PairingEnd
    /// Where frames go; nil while they cannot.
    private(set) var port: RelayPort?
    private(set) var isInstalled = false
    private(set) var reachability: Reachability
    /// The features that the counterpart declares.
    private(set) var features = ApplicationFeatures()

    init(app: ApplicationIdentifier, pairing: PairingEnd, now: MonotonicTime) {
        self.app = app
        self.pairing = pairing
        reachability = Reachability(now: now)
        _ = update(now: now)
    }

    /// Recomputes the route; true if a host app would see a difference.
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

/// The routes of one app in the order of their pairings. The keys lie side by side: finding one of a thousand touches a
/// few cache lines, and finding the only one costs a comparison.
struct Routes {
    private struct Entry {
        let pairing: UniqueIdentifier
        let route: Route
    }

    private var entries: [Entry] = []

    var count: Int { entries.count }

    /// How many of them lead nowhere now.
    var unreachableCount: Int { entries.count { $0.route.port == nil } }

    /// All routes, in the order of their pairings.
    var all: some Collection<Route> { entries.lazy.map(\.route) }

    subscript(pairing: UniqueIdentifier) -> Route? {
        let index = index(of: pairing)
        guard index < entries.count, entries[index].pairing == pairing else { return nil }
        return entries[index].route
    }

    /// Where the frames of a pairing go; nil if it has no route, or frames cannot go there now.
    func port(_ pairing: UniqueIdentifier) -> RelayPort? {
        let index = index(of: pairing)
        guard index < entries.count, entries[index].pairing == pairing else { return nil }
        return entries[index].route.port
    }

    /// Adds the route through a pairing that has none yet.
    mutating func add(_ route: Route) {
        let pairing = route.pairing.known.pairing
        entries.insert(Entry(pairing: pairing, route: route), at: index(of: pairing))
    }

    mutating func remove(_ pairing: UniqueIdentifier) { entries.removeAll { $0.pairing == pairing } }

    /// Where the pairing is, or would be.
    private func index(of pairing: UniqueIdentifier) -> Int {
        entries.partitioningIndex { $0.pairing >= pairing }
    }
}
