// What host apps and the other device are told of changes: `state` to each connection of an app (SES-7), `application`
// to each link (SES-16). Changes only mark; what is marked leaves once, at the end of the turn, so that a flap within
// one turn costs one frame and always ends with the truth.

package import TandemBase
import TandemPropertyList
import TandemReactor
package import TandemSession
import TandemWire

/// What has changed since the end of the last turn.
struct RelayChanges {
    var isScheduled = false
    /// The apps with something to be told.
    var applications: [LocalApplication] = []
    /// Increases with each publication: every `state` has a higher revision than the one before.
    var revision: UInt64 = 1
}

extension Relay: TurnParticipant {
    package func turnDidEnd() {
        changes.isScheduled = false
        changes.revision += 1
        let changed = changes.applications
        changes.applications = []
        for application in changed {
            application.isMarked = false
            publish(application)
        }
    }

    private func publish(_ application: LocalApplication) {
        if application.needsAnnouncement {
            application.needsAnnouncement = false
            application.routesToAnnounce = []
            for pairing in application.side.pairings.values {
                if let port = pairing.link { announce(application, to: port) }
            }
        }
        for route in application.routesToAnnounce {
            if let port = route.pairing.link { announce(application, to: port) }
        }
        application.routesToAnnounce = []
        guard application.needsState, !application.isResting else { return }
        application.needsState = false
        guard !application.ports.isEmpty else { return }
        do {
            let situation = situation(of: application, application.side)
            let frame = try situation.fitted { situation throws(WireError) in
                try Envelope(.state, app: application.app).with(body: situation.body(now: scheduler.now)).frame()
            }
            for port in application.ports { deliver(frame, to: port) }
            rest(application)
        } catch {
            notWritten(.state, error)
        }
    }

    /// A `state` is as long as the pairings are many, and of many devices one always has news: without a rest a
    /// thousand that connect would cost a million entries (SES-29).
    private func rest(_ application: LocalApplication) {
        guard application.routes.count > Limits.pairingsToldAtOnce else { return }
        application.isResting = true
        scheduler.schedule(after: Limits.restPerPairing * application.routes.count) { [weak self, weak application] in
            guard let self, let application else { return }
            application.isResting = false
            if application.needsState { mark(application) }
        }
    }

    /// The situation as an app of this side sees it now.
    package func situation(of app: ApplicationIdentifier, on side: Side) -> Situation {
        situation(of: side.applications[app], side)
    }

    private func situation(of application: LocalApplication?, _ side: Side) -> Situation {
        let pairings = (application?.routes ?? Routes()).all.map { route in
            let known = route.pairing.known
            return PairingSituation(
                pairing: known.pairing, peer: known.peer, name: known.name, role: known.role,
                target: target(of: route.app, in: route.pairing, side), isInstalled: route.isInstalled,
                level: route.reachability.level, reason: route.reachability.reason, since: route.reachability.since,
                changes: route.reachability.changes, seen: route.seen, features: route.features,
                directory: delegate?.relay(self, directoryOf: route.app, in: known))
        }
        return Situation(revision: changes.revision, active: side.active, pairings: pairings)
    }

    private func target(of app: ApplicationIdentifier, in end: PairingEnd, _ side: Side) -> PairedIdentifier {
        if let delegate { return delegate.relay(self, targetOf: app, in: end.known) }
        let declared =
            side.role == .primary ? side.applications[app]?.identifier : end.announcement(of: app)?.identifier
        let primary = side.role == .primary ? side.device : end.known.peer
        return declared.map { .custom($0) } ?? .vendor(primary)
    }
}

extension Relay {
    /// Tells the app's connections the situation again: its target has changed.
    package func refresh(_ app: ApplicationIdentifier, role: DeviceRole) {
        if let application = sides[role].applications[app] { markState(of: application) }
    }

    func markState(of side: Side) { side.applications.values.forEach(markState) }

    func markState(of application: LocalApplication) {
        application.needsState = true
        mark(application)
    }

    /// A local app came, went or declared something: the other devices are told, and the simulator's other sides see
    /// it.
    func localChanged(_ application: LocalApplication) {
        application.needsAnnouncement = true
        mark(application)
        for (pairing, end) in application.side.pairings {
            guard case .loopback(let other) = end.way, let back = other.pairings[pairing] else { continue }
            routeMayHaveChanged(other.applications[application.app], back)
        }
    }

    /// The link or the state of a pairing changed: all apps' ways through it are worked out anew.
    func pairingChanged(_ end: PairingEnd) {
        for application in sides[end.known.role].applications.values { routeMayHaveChanged(application, end) }
    }

    func routeMayHaveChanged(_ application: LocalApplication?, _ end: PairingEnd) {
        guard let application, let route = application.routes[end.known.pairing] else { return }
        let level = route.reachability.level
        if route.update(now: scheduler.now) { markState(of: application) }
        guard route.reachability.level != level else { return }
        tellSeen(application, route)
    }

    /// The other side is told how this one sees it (`seen`), by an announcement of its own, so that of many devices
    /// only one hears of it.
    private func tellSeen(_ application: LocalApplication, _ route: Route) {
        switch route.pairing.way {
        case .link:
            application.routesToAnnounce.append(route)
            mark(application)
        case .loopback(let other): if let other = other.applications[application.app] { markState(of: other) }
        case .down: break
        }
    }

    private func mark(_ application: LocalApplication) {
        if !application.isMarked {
            application.isMarked = true
            changes.applications.append(application)
        }
        guard !changes.isScheduled else { return }
        changes.isScheduled = true
        scheduler.atEndOfTurn(self)
    }
}
