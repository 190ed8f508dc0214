// State publisher: which apps are here and reachable, and the frames that say so: `state` to each connection of an app
// (SES-7), `application` to each link (SES-16). Changes only mark; what is marked leaves once, at the end of the turn,
// so that a flap within one turn costs one frame and always ends with the truth. Long states of many apps, and their
// announcements to many links, take turns.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

/// An app that is installed on a device, as its relay knows it: its connections, its routes and what is still to be
/// published of it. It decides nothing: each change works out what depends on it at that moment, so that a frame only
/// looks.
///
/// Moved eagerly, as others that each frame meets: nothing depends on when it is freed. Otherwise a reference would be
/// counted for each use, to keep it to the end of a scope.
@_eagerMove
final class LocalApplication {
    let app: ApplicationIdentifier
    /// The app in the ledger; the same for all sides of a relay.
    let number: ApplicationNumber
    private let name: ByteSlice
    unowned let side: RoleContext
    /// Whether it is installed; else a user only sends as it (SES-75), and the other devices hear nothing of it.
    private(set) var isInstalled = false
    /// The custom identifier that the app declares.
    private(set) var identifier: CustomIdentifier?
    /// The operator has taken the custom identifier back, and the app has declared none since (PAR-21).
    private var isIdentifierCleared = false
    /// The key that this device trusts for the app's configuration.
    private var trust = TrustMark.noKey
    /// The features that the app declares for its counterparts.
    private var features = ApplicationFeatures()
    /// SHA-256 of the schema that the app's primaries may know.
    private var schema: [UInt8]?
    /// The connection that takes the app's messages.
    private(set) var receiver: RelayPort?
    /// All connections of the app; each gets the state.
    fileprivate private(set) var ports: [RelayPort] = []
    /// The ways to its counterparts, one for each pairing.
    ///
    /// Unchecked, because no method of it calls out.
    @exclusivity(unchecked) private(set) var routes = Routes()
    /// Publications that are due at the end of the turn.
    fileprivate var needsState = false
    fileprivate var needsAnnouncement = false
    /// Links whose devices see this one differently now.
    fileprivate var routesToAnnounce: [Route] = []
    fileprivate var isMarked = false
    /// A long `state` was just sent: the next one waits (SES-29).
    fileprivate var isResting = false

    init(app: ApplicationIdentifier, number: ApplicationNumber, side: RoleContext) {
        self.app = app
        self.number = number
        name = ByteSlice(copying: Array(app.description.utf8))
        self.side = side
    }

    /// Lends the bytes of the app's name.
    func withName<Result>(_ body: (RawSpan) -> Result) -> Result {
        name.withBytes(body)
    }

    /// Whether these are the bytes of the app's name.
    func isNamed(_ bytes: RawSpan) -> Bool { withName { $0.isEqual(to: bytes) } }

    var announcement: ApplicationAnnouncement {
        ApplicationAnnouncement(
            isInstalled: isInstalled, isConnected: receiver != nil, identifier: identifier,
            isIdentifierCleared: isIdentifierCleared, trust: trust, features: features, schema: schema)
    }

    /// The app declares something; what it does not declare again remains.
    /// - Returns: whether its announcement is another one now.
    func declare(identifier: CustomIdentifier?, trust: TrustMark?, features: ApplicationFeatures?) -> Bool {
        let before = announcement
        isInstalled = true
        if let identifier { (self.identifier, isIdentifierCleared) = (identifier, false) }
        self.trust = trust ?? self.trust
        self.features = features ?? self.features
        return announcement != before
    }

    /// The schema that its primaries may know.
    /// - Returns: whether it is another one now.
    func describe(_ schema: [UInt8]?) -> Bool {
        defer { self.schema = schema }
        return self.schema != schema
    }

    /// The operator takes the custom identifier back.
    func clearIdentifier() { (identifier, isIdentifierCleared) = (nil, true) }

    /// The app was removed; it declares nothing any longer.
    func uninstall() {
        (isInstalled, isIdentifierCleared, trust) = (false, false, .noKey)
        (identifier, features, schema) = (nil, ApplicationFeatures(), nil)
    }

    /// Whether neither an installation nor a connection needs it any longer.
    var isUnused: Bool { !isInstalled && ports.isEmpty }

    func attach(_ port: RelayPort) {
        ports.append(port)
        guard port.receives else { return }
        precondition(receiver == nil, "an app has one receiving connection")
        receiver = port
    }

    /// - Returns: whether the app's receiving connection is gone.
    fileprivate func detach(_ port: RelayPort) -> Bool {
        ports.removeAll { $0 === port }
        guard receiver === port else { return false }
        receiver = nil
        return true
    }

    func addRoute(through pairing: PairingEnd, now: MonotonicTime) {
        routes.add(Route(app: app, pairing: pairing, now: now))
    }

    func removeRoute(through pairing: UniqueIdentifier) { routes.remove(pairing) }
}

/// Publishes the state of a relay's apps; confined to its loop.
final class StatePublisher {
    private let scheduler: any Scheduler
    private let log: LogHandler
    /// The device around the relay; without one the announced identifiers are the targets, and apps have no
    /// directories.
    var outlets: Relay.Outlets?
    /// Called when an app is neither installed nor connected any longer.
    var onUnused: (LocalApplication) -> Void = { _ in }
    private var isScheduled = false
    /// The apps with something to be published.
    private var marked: [LocalApplication] = []
    /// Increases with each publication: every `state` has a higher revision than the one before.
    private var revision: UInt64 = 1

    init(scheduler: any Scheduler, log: @escaping LogHandler) {
        self.scheduler = scheduler
        self.log = log
    }

    // MARK: changes

    func markState(of side: RoleContext) { side.applications.values.forEach(markState) }

    func markState(of application: LocalApplication) {
        application.needsState = true
        mark(application)
    }

    /// A local app came, went or declared something: the other devices get an announcement, and the simulator's other
    /// sides see it.
    func localChanged(_ application: LocalApplication) {
        application.needsAnnouncement = true
        mark(application)
        for (pairing, end) in application.side.pairings {
            guard case .loopback(let other) = end.way, let back = other.pairings[pairing] else { continue }
            routeMayHaveChanged(other.applications[application.app], back)
        }
    }

    /// The link or the state of a pairing changed: all apps' ways through it are worked out again.
    func pairingChanged(_ end: PairingEnd, of side: RoleContext) {
        for application in side.applications.values { routeMayHaveChanged(application, end) }
    }

    /// A connection is gone.
    func detached(_ port: RelayPort, reason: ReachabilityReason) {
        switch port.source {
        case .application(let application):
            if application.detach(port) { localChanged(application) }
            if application.isUnused { onUnused(application) }
        case .link(let end):
            if end.link === port { end.linkDown(reason) }
            pairingChanged(end, of: port.side)
        }
    }

    private func routeMayHaveChanged(_ application: LocalApplication?, _ end: PairingEnd) {
        guard let application, let route = application.routes[end.known.pairing] else { return }
        let level = route.reachability.level
        if route.update(now: scheduler.now) { markState(of: application) }
        guard route.reachability.level != level else { return }
        announceLevel(application, route)
    }

    /// The other side learns how this one sees it (`seen`), by an announcement of its own, so that of many devices only
    /// one gets it.
    private func announceLevel(_ application: LocalApplication, _ route: Route) {
        switch route.pairing.way {
        case .link:
            guard application.isInstalled else { break }
            application.routesToAnnounce.append(route)
            mark(application)
        case .loopback(let other): if let other = other.applications[application.app] { markState(of: other) }
        case .down: break
        }
    }

    private func mark(_ application: LocalApplication) {
        if !application.isMarked {
            application.isMarked = true
            marked.append(application)
        }
        guard !isScheduled else { return }
        isScheduled = true
        scheduler.atEndOfTurn(self)
    }

    // MARK: announcements

    /// Announces all apps of a side over a new link.
    func announceAll(of side: RoleContext, to port: RelayPort, of end: PairingEnd) {
        for application in side.applications.values.filter(\.isInstalled).sorted(by: { $0.app < $1.app }) {
            application.routesToAnnounce.removeAll { $0.pairing === end }
            // Also without room for messages: all precede the first answer (SES-92).
            if let frame = announcement(of: application, to: port) { port.endpoint.send(frame) }
        }
    }

    /// The newest announcement of an app, as the device at the other end of a link may know it.
    func announcement(of application: LocalApplication, to port: RelayPort) -> Frame? {
        var seen: ReachabilityLevel?
        if case .link(let end) = port.source { seen = application.routes[end.known.pairing]?.reachability.level }
        let announcement = application.announcement.told(by: port.side.role, seen: seen)
        do throws(WireError) {
            return try ApplicationFrame(.application, application.app, announcement.body).frame()
        } catch {
            log(.frameNotWritten(.application, error))
            return nil
        }
    }

    /// Takes an announcement of the other device.
    func announced(_ envelope: Envelope, from port: RelayPort) -> RefusalName? {
        guard case .link(let end) = port.source else { return .unexpected }
        guard let frame = try? ApplicationFrame(envelope) else { return .malformed }
        guard let announcement = try? ApplicationAnnouncement(body: frame.body) else { return .envelope }
        let app = frame.app
        let before = end.announcement(of: app)
        guard end.announced(app, announcement, at: scheduler.now) else { return .tooManyApplications }
        let application = port.side.applications[app]
        routeMayHaveChanged(application, end)
        outlets?.announced(app, end.known, announcement, before)
        if let application, (announcement.identifier, announcement.seen) != (before?.identifier, before?.seen) {
            markState(of: application)
        }
        return nil
    }

    /// The other device has removed an app while there was no link.
    func wasRemoved(_ app: ApplicationIdentifier, at end: PairingEnd) {
        let gone = ApplicationAnnouncement(isInstalled: false, isConnected: false, trust: .noKey)
        outlets?.announced(app, end.known, gone, end.announcement(of: app))
    }

    /// Apps that are gone leave room for those that came over this link before: as many as LIM-11 are stored (SES-64).
    func repeatInstalled(at end: PairingEnd) {
        for (app, announcement) in end.announcements.sorted(by: { $0.key < $1.key }) where announcement.isInstalled {
            outlets?.announced(app, end.known, announcement, announcement)
        }
    }

    // MARK: the state

    /// - Returns: the announcements that were sent, and the entries of the `state` that was written.
    private func publish(_ application: LocalApplication) -> Int {
        let links =
            application.needsAnnouncement
            ? application.side.pairings.values.compactMap(\.link)
            : application.routesToAnnounce.compactMap(\.pairing.link)
        (application.needsAnnouncement, application.routesToAnnounce) = (false, [])
        for link in links { link.announce(application) }
        guard application.needsState, !application.isResting else { return links.count }
        application.needsState = false
        guard !application.ports.isEmpty else { return links.count }
        do {
            let state = state(of: application.app, on: application.side)
            let frame = try state.fitted { state throws(WireError) in
                try ApplicationFrame(.state, application.app, state.body(now: scheduler.now)).frame()
            }
            for port in application.ports { port.deliver(frame) }
            rest(application)
            return links.count + state.pairings.count
        } catch {
            log(.frameNotWritten(.state, error))
            return links.count
        }
    }

    /// A `state` is as long as the pairings are many, and of many devices one always has news: without a rest a
    /// thousand that connect would cost a million entries (SES-29).
    private func rest(_ application: LocalApplication) {
        guard application.routes.count > Limits.pairingsReportedAtOnce else { return }
        application.isResting = true
        // The app not weakly: that would make each later use of it slower.
        scheduler.schedule(after: Limits.restPerPairing * application.routes.count) { [weak self] in
            guard let self, application.side.applications[application.app] === application else { return }
            application.isResting = false
            if application.needsState { mark(application) }
        }
    }

    /// The state as an app of this side sees it now.
    func state(of app: ApplicationIdentifier, on side: RoleContext) -> SessionState {
        let pairings = (side.applications[app]?.routes ?? Routes()).all.map { route in
            let known = route.pairing.known
            return PairingState(
                pairing: known.pairing, peer: known.peer, name: known.name, role: known.role,
                target: outlets?.target(app, known) ?? declaredTarget(of: app, in: route.pairing, side),
                isInstalled: route.isInstalled, level: route.reachability.level, reason: route.reachability.reason,
                since: route.reachability.since, changes: route.reachability.changes, seen: route.seen,
                features: route.features, directory: outlets?.directory(app, known))
        }
        return SessionState(revision: revision, active: side.active, pairings: pairings)
    }

    /// The paired identifier by what the primary's app declares now.
    func declaredTarget(of app: ApplicationIdentifier, in end: PairingEnd, _ side: RoleContext) -> PairedIdentifier {
        let declared =
            side.role == .primary ? side.applications[app]?.identifier : end.announcement(of: app)?.identifier
        let primary = side.role == .primary ? side.device : end.known.peer
        return declared.map { .custom($0) } ?? .vendor(primary)
    }
}

extension StatePublisher: TurnParticipant {
    func turnDidEnd() {
        isScheduled = false
        revision += 1
        var (changed, entries) = (marked[...], 0)
        marked = []
        while entries < Limits.stateEntriesAtOnce, let application = changed.popFirst() {
            application.isMarked = false
            entries += publish(application)
        }
        guard !changed.isEmpty else { return }
        // The others are still marked, and first in the next turn.
        marked = Array(changed) + marked
        guard !isScheduled else { return }
        isScheduled = true
        scheduler.schedule(after: .zero) { [weak self] in self?.turnDidEnd() }
    }
}
