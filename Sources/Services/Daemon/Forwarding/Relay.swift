// Relay: the forwarding path between host apps and device links. It checks the sender's right to each frame and its
// destination, and forwards the very bytes that came. It stores nothing, opens no body and reads no file; durable
// delivery is separate from it. One relay serves one loop, and everything here happens on it.

package import TandemBase
package import TandemReactor
package import TandemSession
package import TandemWire

/// The relay of one device, or of all devices of the simulator: their sides, pairings and connections. The parts
/// forward messages, send broadcasts and publish states.
package final class Relay {
    /// Answers of the device around a relay that the relay cannot give, and its news.
    struct Outlets {
        /// The target of configuration for the secondary's app in this pairing, as this device sees it.
        let target: (ApplicationIdentifier, RelayedPairing) -> PairedIdentifier
        /// The app's directory for a pairing, made if it is missing; nil if there is none.
        let directory: (ApplicationIdentifier, RelayedPairing) -> String?
        /// The other device announced an app (SES-16), and what it had announced before. Reachability has been updated
        /// already.
        let announced:
            (ApplicationIdentifier, RelayedPairing, ApplicationAnnouncement, _ before: ApplicationAnnouncement?) -> Void
    }

    package let scheduler: any Scheduler
    private let sides: PerRole<RoleContext>
    private let publisher: StatePublisher
    private let forwarder: MessageForwarder
    private var lastNumber: UInt64 = 0

    /// - Parameter devices: this device's vendor identifier, twice; the simulator's primary's and first secondary's.
    package init(
        scheduler: any Scheduler, devices: PerRole<UniqueIdentifier>, counters: Counters = Counters(),
        log: @escaping LogHandler = { _ in }
    ) {
        self.scheduler = scheduler
        sides = PerRole(
            primary: RoleContext(role: .primary, device: devices.primary),
            secondary: RoleContext(role: .secondary, device: devices.secondary))
        publisher = StatePublisher(scheduler: scheduler, log: log)
        forwarder = MessageForwarder(
            scheduler: scheduler, publisher: publisher, counts: RelayCounters(counters), log: log)
        publisher.onUnused = { [weak self] in self?.remove($0) }
    }

    /// Connects the device around the relay. Without it, as in the simulator, announced identifiers are the targets.
    func connect(_ outlets: Outlets) { publisher.outlets = outlets }

    /// This device's side of a role.
    package func side(_ role: DeviceRole) -> RoleContext { sides[role] }

    /// A number for a new endpoint.
    package func nextNumber() -> ConnectionNumber {
        lastNumber += 1
        return ConnectionNumber(lastNumber)
    }

    /// Set only while somebody traces messages.
    package var trace: TraceLog? {
        get { forwarder.trace }
        set { forwarder.trace = newValue }
    }

    // MARK: pairings

    // The daemon decides that two devices trust each other; the relay only learns of the result.

    /// Makes a pairing known, or changes its name or state.
    package func setPairing(_ known: RelayedPairing) {
        let side = sides[known.role]
        if let end = side.pairings[known.pairing] {
            end.update(known)
            publisher.pairingChanged(end, of: side)
            publisher.markState(of: side)
        } else {
            add(PairingEnd(known, way: .down(.noLink)), to: side)
        }
    }

    /// Joins two sides of this relay by a pairing, for the simulator (SES-22). The first pairing of a side is its
    /// active one.
    package func setLoopback(_ pairing: UniqueIdentifier, between ends: PerRole<RoleContext>, names: PerRole<String>) {
        for role in DeviceRole.allCases {
            let (side, other) = (ends[role], ends[role.counterpart])
            let known = RelayedPairing(pairing: pairing, role: role, peer: other.device, name: names[other.role])
            add(PairingEnd(known, way: .loopback(other)), to: side)
            side.setActive(side.active ?? pairing)
        }
    }

    /// The other device announced these apps as installed before the start of this daemon (SES-64).
    package func restore(
        installed apps: Set<ApplicationIdentifier>, at pairing: UniqueIdentifier, role: DeviceRole
    ) {
        guard let end = sides[role].pairings[pairing] else { return }
        end.restore(installed: apps)
        publisher.pairingChanged(end, of: sides[role])
    }

    /// Forgets a pairing. The caller has closed its link.
    package func removePairing(_ pairing: UniqueIdentifier, role: DeviceRole) {
        let side = sides[role]
        guard let end = side.removePairing(pairing) else { return }
        end.link?.closed(.noLink)
        publisher.markState(of: side)
    }

    /// Binds the default session of the host apps on this side to a pairing.
    package func setActive(_ pairing: UniqueIdentifier?, role: DeviceRole) {
        guard sides[role].active != pairing else { return }
        sides[role].setActive(pairing)
        publisher.markState(of: sides[role])
    }

    private func add(_ end: PairingEnd, to side: RoleContext) {
        side.add(end, now: scheduler.now)
        publisher.markState(of: side)
    }

    // MARK: apps

    /// The apps of the other devices, as they were announced last, in the order of their pairings and names.
    func announced(to role: DeviceRole) -> [(UniqueIdentifier, ApplicationIdentifier, ApplicationAnnouncement)] {
        sides[role].pairings.sorted { $0.key < $1.key }.flatMap { pairing, end in
            end.announcements.sorted { $0.key < $1.key }.map { (pairing, $0.key, $0.value) }
        }
    }

    /// The last announcement of an app of the other device.
    func announcement(
        of app: ApplicationIdentifier, at pairing: UniqueIdentifier, role: DeviceRole
    ) -> ApplicationAnnouncement? {
        sides[role].pairings[pairing]?.announcement(of: app)
    }

    /// The schema that an app's primaries may know is another one now; nil for none (SES-77).
    func describe(_ app: ApplicationIdentifier, schema: [UInt8]?, role: DeviceRole) {
        guard let application = sides[role].applications[app], application.describe(schema) else { return }
        publisher.localChanged(application)
    }

    /// Records an app as installed, or updates its record. A declared value stays until the app declares another.
    package func install(
        _ app: ApplicationIdentifier, on side: RoleContext, identifier: CustomIdentifier? = nil,
        trust: TrustMark? = nil, features: ApplicationFeatures? = nil
    ) {
        let application = application(app, on: side)
        if application.declare(identifier: identifier, trust: trust, features: features) {
            publisher.localChanged(application)
        }
    }

    /// The app on a side, added if it is new.
    private func application(_ app: ApplicationIdentifier, on side: RoleContext) -> LocalApplication {
        if let application = side.applications[app] { return application }
        let application = LocalApplication(app: app, number: forwarder.take(numberOf: app), side: side)
        side.add(application)
        for pairing in side.pairings.values { application.addRoute(through: pairing, now: scheduler.now) }
        return application
    }

    /// The operator takes the custom identifier of an app back: its counterparts learn that (PAR-21).
    package func clearIdentifier(of app: ApplicationIdentifier, role: DeviceRole) {
        guard let application = sides[role].applications[app] else { return }
        application.clearIdentifier()
        publisher.localChanged(application)
        publisher.markState(of: application)
    }

    /// An app was removed, with its connections: its counterparts see it as not installed (SES-73).
    package func uninstall(_ app: ApplicationIdentifier, on side: RoleContext) {
        guard let application = side.applications[app] else { return }
        application.uninstall()
        if application.isUnused { remove(application) }
        publisher.localChanged(application)
    }

    private func remove(_ application: LocalApplication) {
        guard application.side.applications[application.app] === application else { return }
        application.side.remove(application)
        forwarder.giveBack(numberOf: application.app)
    }

    /// The state as an app of this side sees it now.
    package func state(of app: ApplicationIdentifier, on side: RoleContext) -> SessionState {
        publisher.state(of: app, on: side)
    }

    /// The paired identifier by what the primary's app declares now; nil if there is no such pairing.
    func declaredTarget(
        of app: ApplicationIdentifier, through pairing: UniqueIdentifier, on side: RoleContext
    ) -> PairedIdentifier? {
        side.pairings[pairing].map { publisher.declaredTarget(of: app, in: $0, side) }
    }

    /// Publishes the situation to the app's connections again: its target has changed.
    package func refresh(_ app: ApplicationIdentifier, role: DeviceRole) {
        if let application = sides[role].applications[app] { publisher.markState(of: application) }
    }

    // MARK: connections

    /// Attaches a host app's connection. The caller has authorised it and made sure that at most one receives.
    /// - Parameter user: whose app it is; the connections of one user share what they may ask at once (LIM-53).
    package func attach(
        _ endpoint: any RelayEndpoint, app: ApplicationIdentifier, of user: UInt32 = 0, on side: RoleContext,
        receives: Bool, capabilities: [Capability] = Capability.allCases
    ) -> RelayPort {
        let application = application(app, on: side)
        let port = RelayPort(
            endpoint: endpoint, side: side, source: .application(application), receives: receives,
            capabilities: capabilities, party: forwarder.enter(of: user), forwarder: forwarder)
        forwarder.attach(port)
        application.attach(port)
        if receives { publisher.localChanged(application) }
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
            party: forwarder.enter(), forwarder: forwarder)
        forwarder.attach(port)
        for app in end.linkUp(port) { publisher.wasRemoved(app, at: end) }
        publisher.pairingChanged(end, of: side)
        publisher.announceAll(of: side, to: port, of: end)
        awaitIntroduction(of: end, over: port)
        return port
    }

    /// Only after a while, and once the other device has answered a question, does silence about an app mean that the
    /// device has none (SES-92). The port is known by its number: a weak reference would make each later use of it
    /// slower.
    private func awaitIntroduction(of end: PairingEnd, over port: RelayPort) {
        let (number, pairing, side) = (port.number, end.known.pairing, port.side)
        let take = { [publisher] (step: Introduction.Step) -> Void in
            guard let end = side.pairings[pairing], end.link?.number == number,
                let gone = end.completeIntroduction(step)
            else { return }
            for app in gone { publisher.wasRemoved(app, at: end) }
            if !gone.isEmpty { publisher.repeatInstalled(at: end) }
            publisher.pairingChanged(end, of: side)
        }
        scheduler.schedule(after: Limits.introduction) { take(.timeIsOver) }
        port.endpoint.awaitAnswer { take(.deviceHasAnswered) }
    }

    /// A `bye` or a failed attempt gave the reason why there is no link; nothing if there is one.
    package func setLinkDown(_ reason: ReachabilityReason, pairing: UniqueIdentifier, role: DeviceRole) {
        guard let end = sides[role].pairings[pairing], end.link == nil else { return }
        end.linkDown(reason)
        publisher.pairingChanged(end, of: sides[role])
    }

    // MARK: stopping

    /// The requests that still wait for an answer.
    package var openRequestCount: Int { forwarder.openRequestCount }

    /// Forwards no new message from now on (SES-18); calls back once: when no request is open any longer, at once if
    /// none is, or when the time is over.
    package func stop(within time: Duration = .seconds(5), whenIdle: @escaping () -> Void) {
        forwarder.stop(within: time, whenIdle: whenIdle)
    }
}
