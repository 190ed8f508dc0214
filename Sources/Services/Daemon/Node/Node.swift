// A daemon, composed: state, relay, local endpoint, links, durable items and configuration on one loop. It starts them
// in the order in which they need each other, introduces them, and stops them in reverse. It holds no rule and parses
// no frame.

package import TandemBase
import TandemCrypto
import TandemFiles
import TandemOperations
import TandemPairing
package import TandemReactor
import TandemSession
import TandemStore
package import TandemTransport
import TandemWire

/// One running daemon; confined to its loop.
package final class Node {
    let options: NodeOptions
    let loop: any Scheduler
    let network: any NodeNetwork
    /// Spreads the waits between attempts.
    let random: () -> UInt64
    let log: LogHandler
    let device: DeviceState
    let store: LoopStore
    let registry: CommittedState<PairingRegistry>
    let installed: CommittedState<InstalledApplications>
    let relay: Relay
    let exchange: DurableDelivery
    let files: FileDelivery
    let router: DeviceRouter
    let local: LocalEndpoint
    let carrier: Carrier
    let pairingDirectories: PairingDirectories
    let instance = UniqueIdentifier.random()
    let started: MonotonicTime
    var links: (context: LinkContext, acceptor: LinkAcceptor)?
    /// Where links are accepted, with the ports in effect.
    package internal(set) var listening: [SocketAddress] = []
    var dialers: [UniqueIdentifier: LinkDialer] = [:]
    var joins: [ObjectIdentifier: JoinClient] = [:]
    /// The primary whose configuration the apps of this secondary have.
    var activePrimary: UniqueIdentifier?
    /// When each pairing lost its link.
    var linkDownSince: [UniqueIdentifier: MonotonicTime] = [:]
    /// Joins by trust that are tried again until both sides have trusted each other.
    var trustRetries: [KeyIdentifier: Backoff] = [:]
    /// Why each pairing's last link or attempt ended.
    var linkErrors: [UniqueIdentifier: String] = [:]
    let tracing: Tracing
    let counters = Counters()
    let itemCounts: ItemCounts
    var health = HealthLedger()
    /// Since the start.
    var hasBeenLinked = false
    /// An operator lets the queues run empty: new items are refused (CTL-14).
    var isDraining = false
    /// Starts absent apps for which items wait, if an operator says how.
    private(set) var starter: AppStarter?
    var isLookingForItems = false
    var isStopping = false
    var isClosingStore = false
    /// Told once the store can promise nothing any more: the daemon must end with an error.
    package var onFatal: ((NodeError) -> Void)?

    /// A daemon on the sockets of a loop.
    package convenience init(
        _ options: NodeOptions, software: String, loop: EventLoop, log: @escaping LogHandler
    ) throws(NodeError) {
        try self.init(
            options, software: software, scheduler: loop, network: SocketNetwork(on: loop), processes: loop, log: log)
    }

    /// Opens the device's state; nothing listens yet. On the scheduler's thread.
    /// - Parameter processes: where programs that wake apps are watched; nil starts none.
    package init(
        _ options: NodeOptions, software: String, scheduler loop: any Scheduler, network: any NodeNetwork,
        processes: EventLoop? = nil,
        random: @escaping () -> UInt64 = { .random(in: 0 ... .max) }, log: @escaping LogHandler
    ) throws(NodeError) {
        self.options = options
        self.loop = loop
        self.network = network
        self.random = random
        self.log = log
        started = loop.now
        tracing = Tracing(loop)
        itemCounts = ItemCounts(counters)
        let device = try DeviceState.open(path: options.state, isShared: options.localGroup != nil)
        let vendor = device.keys.vendorIdentifier
        self.device = device
        store = LoopStore(device.store, on: loop)
        registry = CommittedState(try device.registry(), in: store)
        let applications = try InstalledApplications(rows: try device.rows(in: .application), path: device.store.path)
        installed = CommittedState(applications, in: store)
        relay = Relay(
            scheduler: loop, devices: PerRole(primary: vendor, secondary: vendor), counters: counters, log: log)
        let userOf = { [installed] (app: ApplicationIdentifier) in installed.state[app]?.user }
        files = FileDelivery(
            in: device.directory, scheduler: loop, userOf: userOf,
            inbox: { app in
                guard let user = userOf(app) else { return nil }
                return FileInbox(of: app, owner: user, log: log) { () throws(FileError) in
                    try device.applications.directory(named: app.description, mode: 0o750, owner: user)
                }
            }, counters: counters, log: log)
        exchange = DurableDelivery(
            store: store, files: files, scheduler: loop, userOf: userOf, counters: counters, log: log)
        local = LocalEndpoint(
            options: LocalEndpoint.Options(
                role: options.role, device: vendor, software: software, daemonUser: Linux.user),
            relay: relay, owners: ApplicationOwners(applications.records.mapValues(\.user)), log: log)
        carrier = try Self.makeCarrier(options, device, exchange, store, loop, log)
        router = DeviceRouter(endpoint: local, exchange: exchange, configuration: carrier)
        pairingDirectories = PairingDirectories(
            in: device.applications, owners: { [installed] in installed.state.records.mapValues(\.user) },
            scheduler: loop, log: log)
        if let commands = options.wake, let processes {
            starter = AppStarter(commands, socket: options.local, loop: processes, log: log) { [weak self] app in
                self?.installed.state[app]?.user
            }
        }
        try prepare(software)
    }

    private static func makeCarrier(
        _ options: NodeOptions, _ device: DeviceState, _ exchange: DurableDelivery, _ store: LoopStore,
        _ loop: any Scheduler,
        _ log: @escaping LogHandler
    ) throws(NodeError) -> Carrier {
        let own = Carrier.Options(
            device: device.keys.vendorIdentifier, name: options.name, role: options.role, signer: device.keys.report,
            allowsInvalidSignatures: options.allowsInvalidSignatures)
        do {
            return try Carrier(
                own, exchange: exchange, store: store, applications: device.applications, scheduler: loop,
                rows: { try device.rows(in: $0) }, log: log)
        } catch let error as NodeError {
            throw error
        } catch {
            throw .row(path: device.store.path, reason: String(describing: error))
        }
    }

    var context: LinkContext {
        guard let links else { preconditionFailure("links are prepared in init") }
        return links.context
    }

    var acceptor: LinkAcceptor {
        guard let links else { preconditionFailure("links are prepared in init") }
        return links.acceptor
    }

    /// What this device is when it joins or is joined.
    var ownDevice: PairingRegistry.OwnDevice {
        let reportKey = device.keys.report.publicKey.key.subjectPublicKeyInfo
        return PairingRegistry.OwnDevice(
            pin: device.keys.device.publicKey.identifier, claim: JoinClaim(name: options.name, reportKey: reportKey))
    }
}
