// Who is attached: host apps' connections and links come and go here, and each change updates the ways that depend on
// it.

package import TandemBase
import TandemReactor
package import TandemSession
package import TandemWire

extension Relay {
    /// Makes an app known as installed; again, changes what is known of it. What it once declared stays until it
    /// declares something else.
    package func install(
        _ app: ApplicationIdentifier, on side: Side, identifier: CustomIdentifier? = nil, isAnchored: Bool? = nil,
        features: ApplicationFeatures? = nil
    ) {
        let application = side.applications[app] ?? addApplication(app, to: side)
        let before = application.announcement
        application.features = features ?? application.features
        application.identifier = identifier ?? application.identifier
        application.isAnchored = isAnchored ?? application.isAnchored
        if application.announcement != before { localChanged(application) }
    }

    /// The same on this device's side of a role.
    package func install(
        _ app: ApplicationIdentifier, role: DeviceRole, identifier: CustomIdentifier? = nil, isAnchored: Bool? = nil
    ) {
        install(app, on: sides[role], identifier: identifier, isAnchored: isAnchored)
    }

    private func addApplication(_ app: ApplicationIdentifier, to side: Side) -> LocalApplication {
        let application = LocalApplication(app: app, number: number(of: app), side: side)
        side.add(application)
        for pairing in side.pairings.values {
            application.routes.add(Route(app: app, pairing: pairing, now: scheduler.now))
        }
        localChanged(application)
        return application
    }

    /// Attaches a host app's connection. The caller has authorised it and made sure that at most one receives.
    package func attach(
        _ endpoint: any RelayEndpoint, app: ApplicationIdentifier, on side: Side, receives: Bool,
        capabilities: [Capability] = Capability.allCases
    ) -> RelayPort {
        install(app, on: side)
        let application = side.applications[app] ?? addApplication(app, to: side)
        let port = RelayPort(
            endpoint: endpoint, side: side, source: .application(application), receives: receives,
            capabilities: capabilities,
            party: ledger.enter(), relay: self)
        keep(port)
        application.ports.append(port)
        if receives {
            precondition(application.receiver == nil, "an app has one receiving connection")
            application.receiver = port
            localChanged(application)
        }
        return port
    }

    /// Attaches the link of a pairing after hello, announces the apps, and replaces an older link.
    /// - Returns: nil if the pairing is not known here.
    package func linkUp(
        _ endpoint: any RelayEndpoint, pairing: UniqueIdentifier, role: DeviceRole,
        capabilities: [Capability] = Capability.allCases
    ) -> RelayPort? {
        let side = sides[role]
        guard let end = side.pairings[pairing] else { return nil }
        end.link?.closed(.noLink)
        let port = RelayPort(
            endpoint: endpoint, side: side, source: .link(end), receives: true, capabilities: capabilities,
            party: ledger.enter(), relay: self)
        keep(port)
        end.way = .link(port)
        beginIntroduction(of: end, over: port)
        pairingChanged(end)
        for application in side.applications.values.sorted(by: { $0.app < $1.app }) {
            application.routesToAnnounce.removeAll { $0.pairing === end }
            announce(application, to: port)
        }
        return port
    }

    /// Only after a while does silence about an app mean that the other device has none (SES-25).
    private func beginIntroduction(of end: PairingEnd, over port: RelayPort) {
        end.isBeingIntroduced = true
        scheduler.schedule(after: Limits.introduction) { [weak self, weak end, weak port] in
            guard let self, let end, let port, end.link === port else { return }
            end.isBeingIntroduced = false
            pairingChanged(end)
        }
    }

    /// A `bye` or a failed attempt told why there is no link; nothing if there is one.
    package func setLinkDown(_ reason: ReachabilityReason, pairing: UniqueIdentifier, role: DeviceRole) {
        guard let end = sides[role].pairings[pairing], end.link == nil else { return }
        end.linkDown(reason)
        pairingChanged(end)
    }

    func detach(_ port: RelayPort, reason: ReachabilityReason) {
        let owed = remove(port)
        switch port.source {
        case .application(let application):
            application.ports.removeAll { $0 === port }
            if application.receiver === port {
                application.receiver = nil
                localChanged(application)
            }
        case .link(let end):
            if end.link === port { end.linkDown(reason) }
            pairingChanged(end)
        }
        fail(owed, of: port)
    }
}
