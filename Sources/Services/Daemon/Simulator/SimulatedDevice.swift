// Simulated device: local endpoint, router, and durable delivery and configuration over rows in memory, and the path
// that joins it with another one where real devices have a link. The rules and the machines are those of a daemon; only
// what a restart would need is missing.

import TandemBase
import TandemCrypto
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// One device of the simulator; confined to its loop.
final class SimulatedDevice {
    /// The name of its socket, which tells it apart in the directory, too.
    let name: String
    let endpoint: LocalEndpoint
    private let router: DeviceRouter
    private let delivery: DurableDelivery
    private let files: FileDelivery?
    /// Nil in a simulator without a directory.
    let signed: ConfigurationService?
    private let peers: SimulatedPeers
    private let log: LogHandler
    private(set) weak var simulator: Simulator?
    /// The custom identifier that each app of the primary declared last.
    private var declared: [ApplicationIdentifier: CustomIdentifier] = [:]

    /// - Parameter directory: for the apps' files and configurations; nil takes none.
    init(_ name: String, endpoint: LocalEndpoint, directory: OwnedDirectory?, log: @escaping LogHandler) {
        self.name = name
        self.endpoint = endpoint
        self.log = log
        let scheduler = endpoint.scheduler
        let applications = directory.flatMap { Self.applications(of: name, in: $0, log) }
        let store = LoopStore(MemoryStore(), on: scheduler)
        let channels = Channel.allCases.filter { channel in
            (directory != nil || !channel.properties.hasFile) && (applications != nil || channel.isForApps)
        }
        let files = directory.map { directory in
            FileDelivery(
                in: directory, suffix: "." + name, scheduler: scheduler,
                inbox: { app throws(FileError) in
                    guard let applications else { return nil }
                    return AppInbox(of: try applications.directory(named: app.description), owner: nil)
                }, log: log)
        }
        let delivery = DurableDelivery(
            store: store, files: files, scheduler: scheduler, channels: Set(channels), log: log)
        let peers = SimulatedPeers(of: endpoint, signs: applications != nil)
        signed = applications.flatMap { peers.configuration(name, delivery, store, $0, scheduler, log) }
        (self.delivery, self.files, self.peers) = (delivery, files, peers)
        router = DeviceRouter(endpoint: endpoint, delivery: delivery, configuration: signed)
        // Nothing here is ever restored from a backup.
        router.connect(
            DeviceRouter.Outlets(
                needsEpoch: { pairing in
                    log(LogEvent(.error, "two simulated devices contradict each other", .text("pairing", "\(pairing)")))
                }, appHasHandled: { _ in }))
        endpoint.controlResponder = self
        connectConfiguration()
    }

    /// The apps' directories; nil if they cannot be made.
    private static func applications(of name: String, in directory: OwnedDirectory, _ log: LogHandler)
        -> OwnedDirectory?
    {
        do throws(FileError) { return try directory.directory(named: "apps." + name) } catch {
            log(LogEvent(.error, "apps have no directories", .text("device", name), .text("error", "\(error)")))
            return nil
        }
    }

    /// The simulator that the device is part of; once.
    func join(_ simulator: Simulator) { self.simulator = simulator }

    /// Joins two devices by a pairing; once, before any app is there.
    static func pair(_ pairing: UniqueIdentifier, _ first: SimulatedDevice, _ second: SimulatedDevice) {
        for (device, other) in [(first, second), (second, first)] {
            device.delivery.setPairing(pairing, epoch: 1)
            device.peers.add(other.peers, by: pairing, named: other.name)
        }
        for (device, other) in [(first, second), (second, first)] {
            // Two devices of the simulator have none behind them.
            device.router.open(
                pairing, over: SimulatedPath(to: other.router, pairing, device.endpoint.scheduler, device.log),
                capabilities: Set(Capability.allCases).subtracting([.chain]))
        }
    }

    /// Waits for its files' thread: for a clock that a test moves.
    func waitForDisk() { files?.waitForDisk() }

    /// Ends its files' thread.
    func close() { files?.close() }

    // MARK: configuration

    private func connectConfiguration() {
        guard let signed else { return }
        peers.whenTrustChanged = { [weak self] app in
            if let self { simulator?.announced(app, by: self) }
        }
        let role = endpoint.options.role
        var outlets = LocalEndpoint.Outlets(
            store: { app, _ in
                // Nothing is stored; but the app's directory may have the files of an earlier simulator.
                signed.targetChanged(of: app, as: role, isConnected: false)
                return true
            },
            directory: { signed.directory(of: $0) },
            connected: { [weak self] application in
                self?.declare(application.registration.identifier, for: application.app)
                signed.connected(application)
                if role == .secondary, let self { simulator?.announced(application.app, by: self) }
            },
            disconnected: { signed.disconnected($0.app, as: role, inOrder: $1) })
        outlets.apply = { await signed.submit($1, app: $0) }
        endpoint.connect(outlets)
        signed.start()
    }

    /// Another name for the primary is another target of its own app, and of its secondaries' apps.
    private func declare(_ identifier: CustomIdentifier?, for app: ApplicationIdentifier) {
        guard endpoint.options.role == .primary, let identifier,
            declared.updateValue(identifier, forKey: app) != identifier
        else { return }
        simulator?.retarget(app)
    }

    /// The simulated peers, for `status`.
    var pairings: [PropertyListDictionary] {
        peers.all.map { peer in
            PropertyListDictionary(present: [
                "pairing": .data(peer.pairing.bytes), "name": .string(peer.name), "role": .string(peer.role.rawValue),
                "state": "active", "level": "linked", "active": .boolean(endpoint.side.active == peer.pairing),
                "peer": peer.device.map { .data($0.bytes) },
            ])
        }
    }

    /// A simulated peer's app has registered.
    func announced(_ app: ApplicationIdentifier, by pairing: UniqueIdentifier) {
        signed?.announced(app, at: pairing)
    }

    /// Configuration of an app has another target.
    func retarget(_ app: ApplicationIdentifier) {
        let role = endpoint.options.role
        let isConnected = role == .secondary && endpoint.connected(app) != nil
        signed?.targetChanged(of: app, as: role, isConnected: isConnected)
    }
}

/// The pairings of a simulated device, as its configuration sees them.
private final class SimulatedPeers {
    private let options: LocalEndpoint.Options
    // Weak, because the endpoint's outlets lead to the configuration, and this to the endpoint.
    private weak var endpoint: LocalEndpoint?
    /// Signs reports; nil without configuration.
    private let signer: ReportPrivateKey?
    private(set) var all: [ConfigurationPeer] = []
    /// Called when another key is trusted for an app than before.
    var whenTrustChanged: (ApplicationIdentifier) -> Void = { _ in }

    init(of endpoint: LocalEndpoint, signs: Bool) {
        options = endpoint.options
        self.endpoint = endpoint
        signer = signs ? ReportPrivateKey(PrivateKey.generate(.ed25519)) : nil
    }

    func add(_ other: SimulatedPeers, by pairing: UniqueIdentifier, named name: String) {
        all.append(
            ConfigurationPeer(
                pairing: pairing, role: options.role, name: name, device: other.options.device,
                reportKey: other.signer?.publicKey.key.subjectPublicKeyInfo ?? []))
    }

    /// The device's configuration; nil if it signs nothing.
    func configuration(
        _ name: String, _ delivery: DurableDelivery, _ store: LoopStore, _ applications: OwnedDirectory,
        _ scheduler: any Scheduler, _ log: @escaping LogHandler
    ) -> ConfigurationService? {
        guard let signer else { return nil }
        do {
            return try ConfigurationService(
                ConfigurationService.Options(
                    device: options.device, name: name, role: options.role, signer: signer,
                    allowsInvalidSignatures: true),
                in: self, delivery: delivery, store: store, applications: applications, scheduler: scheduler,
                rows: { _ in [] }, log: log)
        } catch {
            preconditionFailure("a service without rows has none that do not read: \(error)")
        }
    }
}

extension SimulatedPeers: ConfigurationHost {
    func target(of app: ApplicationIdentifier, as role: DeviceRole) -> PairedIdentifier? {
        guard role == options.role, let first = all.first else { return nil }
        return target(of: app, through: first.pairing)
    }

    func target(of app: ApplicationIdentifier, through pairing: UniqueIdentifier) -> PairedIdentifier? {
        endpoint.flatMap { $0.relay.declaredTarget(of: app, through: pairing, on: $0.side) }
    }

    func targets(of app: ApplicationIdentifier) -> [PairedIdentifier] {
        all.compactMap { target(of: app, through: $0.pairing) }
    }

    var receivers: [ConfigurationPeer] { options.role == .primary ? all : [] }

    func peer(_ pairing: UniqueIdentifier) -> ConfigurationPeer? { all.first { $0.pairing == pairing } }

    func installed(at pairing: UniqueIdentifier) -> Set<ApplicationIdentifier> { [] }

    func hasInstalled(_ app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> Bool {
        endpoint?.relay.announcement(of: app, at: pairing, role: options.role)?.isInstalled ?? false
    }

    func owner(of app: ApplicationIdentifier) -> UInt32? { Linux.user }

    /// None is recorded: every app is on the side of the only socket.
    func side(of app: ApplicationIdentifier) -> DeviceRole? { nil }

    func trust(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> TrustMark {
        endpoint?.relay.announcement(of: app, at: pairing, role: options.role)?.trust ?? .unnamed
    }

    func trustChanged(for subject: KeySubject, to mark: TrustMark) {
        let app = subject.application
        guard subject.role == options.role, let endpoint, let application = endpoint.side.applications[app],
            application.isInstalled, application.announcement.trust != mark
        else { return }
        endpoint.relay.install(app, on: endpoint.side, trust: mark)
        whenTrustChanged(app)
    }

    func offer(
        _ body: [UInt8], to subject: KeySubject, pairing: UniqueIdentifier,
        then completion: @escaping (OfferOutcome) -> Void
    ) {
        guard let endpoint else { return completion(.notConnected) }
        endpoint.offer(body, to: subject.application, pairing: pairing, completion: completion)
    }

    func reload(_ body: [UInt8], to subject: KeySubject, then completion: @escaping (OfferOutcome) -> Void) {
        guard let endpoint else { return completion(.notConnected) }
        endpoint.reload(body, to: subject.application, completion: completion)
    }
}

/// A path to the router of another simulated device.
private final class SimulatedPath: PeerPath {
    private weak var router: DeviceRouter?
    private let pairing: UniqueIdentifier
    private let scheduler: any Scheduler
    private let log: LogHandler

    init(
        to router: DeviceRouter, _ pairing: UniqueIdentifier, _ scheduler: any Scheduler, _ log: @escaping LogHandler
    ) {
        self.router = router
        self.pairing = pairing
        self.scheduler = scheduler
        self.log = log
    }

    var queuedBytes: Int { 0 }

    func send(_ envelope: Envelope) {
        // In a later turn, in order, as from a link.
        scheduler.schedule(after: .zero) { [self] in
            guard let breach = router?.receive(envelope, from: pairing) else { return }
            refuse(breach.name, breach.text)
        }
    }

    func refuse(_ name: RefusalName, _ text: String) {
        log(
            LogEvent(
                .error, "a simulated device does not take another's frame", .text("pairing", "\(pairing)"),
                .text("name", name.rawValue), .text("text", text)))
    }
}
