// Daemon, composed: state, relay, local endpoints, links, durable items and configuration on one loop. The node makes
// the parts, introduces them to each other, starts them in the order in which they need each other, and stops them in
// reverse. It has no rule and parses no frame.

package import TandemBase
import TandemFiles
import TandemOperations
import TandemPairing
package import TandemReactor
import TandemSession
import TandemStore
import TandemTLS
package import TandemTransport
import TandemWire

/// One running daemon; confined to its loop.
package final class Node {
    private enum Phase { case running, stopping, closing }

    let options: NodeOptions
    let loop: any Scheduler
    let device: DeviceState
    let installed: CommittedState<InstalledApplications>
    private let counterparts: Counterparts
    let pairings: PairingService
    let links: LinkService
    let relay: Relay
    let delivery: DurableDelivery
    let local: LocalSides
    let configuration: ConfigurationService
    let applications: ApplicationService
    let settings: ApplicationSettings
    let remoteSettings: RemoteSettings
    let health: HealthService
    let tracing: TraceService
    let counters: Counters
    let started: MonotonicTime
    private let network: any NodeNetwork
    private let log: LogHandler
    private let store: LoopStore
    private let acceptedKey: AcceptedKey
    private let files: FileDelivery
    private let router: DeviceRouter
    private let directories: PairingDirectories
    /// Starts absent apps for which items wait, as the operator says; nil without a loop that can watch processes.
    private let starter: AppStarter?
    /// The addresses that accept links, with the ports in effect.
    package private(set) var listening: [SocketAddress] = []
    private var phase = Phase.running
    /// The store has failed for good and can promise nothing: the daemon must end with an error.
    package var onFatal: ((NodeError) -> Void)?

    /// A daemon on the sockets of a loop.
    package convenience init(
        _ options: NodeOptions, software: String, loop: EventLoop, log: @escaping LogHandler
    ) throws(NodeError) {
        try self.init(
            options, software: software, scheduler: loop, network: SocketNetwork(on: loop), processes: loop,
            diskPatience: HealthLedger.gracePeriod, log: log)
    }

    /// Opens the device's state; nothing listens yet. On the scheduler's thread.
    /// - Parameters:
    ///   - processes: where programs that wake apps are watched; nil starts none.
    ///   - diskPatience: how long commits may take before the disk counts as stalled; nil for a test's clock, which may
    ///     run ahead of the disk.
    ///   - random: spreads the waits between attempts.
    package init(
        _ options: NodeOptions, software: String, scheduler loop: any Scheduler, network: any NodeNetwork,
        processes: EventLoop? = nil, diskPatience: Duration? = nil,
        random: @escaping () -> UInt64 = { .random(in: 0 ... .max) }, log: @escaping LogHandler
    ) throws(NodeError) {
        (self.options, self.loop, self.network, self.log) = (options, loop, network, log)
        started = loop.now
        let device = try DeviceState.open(path: options.state, isShared: options.localGroup != nil)
        let vendor = device.keys.vendorIdentifier
        self.device = device
        store = LoopStore(device.store, on: loop)
        let applications = try InstalledApplications(
            rows: try device.rows(in: .application), leaving: try device.rows(in: .leaving), path: device.store.path,
            role: options.role)
        installed = CommittedState(applications, in: store)
        counterparts = Counterparts(
            CommittedState(
                try CounterpartApplications(rows: try device.rows(in: .counterpart), path: device.store.path),
                in: store), scheduler: loop, log: log)
        let own = device.ownDevice(named: options.name)
        acceptedKey = AcceptedKey(own: own.pin, rows: try device.rows(in: .acceptedKey), in: store)
        pairings = PairingService(
            CommittedState(try device.registry(), in: store), own: own, vendor: vendor, installed: installed,
            scheduler: loop, log: log)
        counters = Counters()
        tracing = TraceService(loop, counters: counters)
        relay = Relay(
            scheduler: loop, devices: PerRole(primary: vendor, secondary: vendor), counters: counters, log: log)
        (files, delivery) = Self.delivery(of: device, in: store, installed, scheduler: loop, counters, log)
        local = LocalSides(
            LocalEndpoint.Options(role: options.role, device: vendor, software: software, daemonUser: Linux.user),
            relay: relay, owners: applications.records.mapValues(\.ownership),
            installed: { [installed] in installed.state[$0]?.role }, log: log)
        configuration = try Self.configuration(
            options, device, delivery, store, pairings, installed, counterparts, local, log)
        directories = PairingDirectories(in: device.applications, of: installed, scheduler: loop, log: log)
        self.applications = ApplicationService(
            installed, at: local, delivery: delivery, configuration: configuration, directories: directories, log: log)
        settings = Self.settings(of: self.applications, local, configuration, in: device.applications, log)
        remoteSettings = Self.remoteSettings(settings, pairings, local)
        router = DeviceRouter(
            endpoint: local[options.role], other: local[options.role.counterpart], delivery: delivery,
            configuration: configuration)
        router.settings = remoteSettings

        let key = device.keys.device
        let context = LinkContext(
            scheduler: loop, identity: try TLSIdentity(key: key),
            device: LinkDevice(
                vendorIdentifier: vendor, name: options.name, software: software, instance: .random()), log: log)
        links = LinkService(
            context, own: own, pairings: pairings, relay: relay, delivery: delivery, router: router, network: network,
            random: random)
        health = HealthService(
            pairings: pairings, links: links, relay: relay, delivery: delivery, configuration: configuration,
            store: store, isStateInPlace: { [device] in device.isInPlace }, scheduler: loop)
        starter = processes.map { [delivery, local, installed] loop in
            AppStarter(
                options.wake, sockets: options.sockets, loop: loop, log: log,
                hasItems: { delivery.hasDueItems(for: $0, where: local.mayStartApp) },
                ownership: { installed.state[$0]?.ownership })
        }
        if let diskPatience { store.watchDisk(for: diskPatience) }
        introduceParts()
        try restore()
    }

    private static func delivery(
        of device: DeviceState, in store: LoopStore, _ installed: CommittedState<InstalledApplications>,
        scheduler: any Scheduler, _ counters: Counters, _ log: @escaping LogHandler
    ) -> (FileDelivery, DurableDelivery) {
        let userOf = { (app: ApplicationIdentifier) in installed.state[app]?.user }
        let files = FileDelivery(
            in: device.directory, scheduler: scheduler, userOf: userOf,
            inbox: { app throws(FileError) in
                guard let user = userOf(app) else { return nil }
                let directory = try device.applications.directory(named: app.description, mode: 0o750, owner: user)
                return AppInbox(of: directory, owner: user)
            }, counters: counters, log: log)
        let delivery = DurableDelivery(
            store: store, files: files, scheduler: scheduler, userOf: userOf, counters: counters, log: log)
        return (files, delivery)
    }

    private static func configuration(
        _ options: NodeOptions, _ device: DeviceState, _ delivery: DurableDelivery, _ store: LoopStore,
        _ pairings: PairingService, _ installed: CommittedState<InstalledApplications>, _ counterparts: Counterparts,
        _ local: LocalSides, _ log: @escaping LogHandler
    ) throws(NodeError) -> ConfigurationService {
        let host = NodeConfigurationHost(
            pairings: pairings, counterparts: counterparts, installed: installed, local: local)
        return try device.reading {
            try ConfigurationService(
                ConfigurationService.Options(
                    device: device.keys.vendorIdentifier, name: options.name, role: options.role,
                    signer: device.keys.report, allowsInvalidSignatures: options.allowsInvalidSignatures),
                in: host, delivery: delivery, store: store, applications: device.applications,
                scheduler: local.scheduler, rows: { try device.rows(in: $0) }, log: log)
        }
    }

    private static func settings(
        of applications: ApplicationService, _ local: LocalSides, _ configuration: ConfigurationService,
        in directory: OwnedDirectory, _ log: @escaping LogHandler
    ) -> ApplicationSettings {
        let scheduler = local.scheduler
        var paces = LogPaces.ofLinks
        let device = ApplicationSettings.Surroundings(
            owners: { applications.owners }, schema: { applications.schema(of: $0) },
            describe: { await applications.describe($0, of: $1, by: $2) },
            lost: { applications.lostSchema(of: $0, digest: $1) },
            signed: { [weak configuration] in configuration?.signedValues(of: $0) ?? SignedValues() },
            reload: { app, done in
                // A message that waits for room must not keep a later edit from being sent: the app may have room then.
                let endpoint = local.endpoint(of: app)
                endpoint.reload(ConfigurationService.reloadBody, to: app, awaitsRoom: false) { _ in done() }
            },
            questions: PageQuestions(
                to: PageQuestions.Surroundings(
                    connected: { local.connected($0).map { ($0.user, $0.registration.questions.names) } },
                    offer: { body, app, deadline, completion in
                        local.endpoint(of: app).offer(
                            body, to: app, pairing: .zero, deadline: deadline, completion: completion)
                    }), scheduler: scheduler),
            log: { event, payer in
                switch payer {
                case .user(let user): local.accounts.log(event, of: user)
                case .pairing, .app: if let line = paces.admit(event, at: scheduler.now) { log(line) }
                }
            })
        return ApplicationSettings(in: directory, device: device, scheduler: scheduler)
    }

    private static func remoteSettings(
        _ settings: ApplicationSettings, _ pairings: PairingService, _ local: LocalSides
    ) -> RemoteSettings {
        let device = RemoteSettings.Surroundings(
            role: { pairings[$0].flatMap { $0.state == .active ? $0.role : nil } }, name: { pairings[$0]?.name ?? "" },
            schema: { local.relay.announcement(of: $1, at: $0, role: .primary)?.schema }, side: local.side)
        return RemoteSettings(settings, device: device, scheduler: local.scheduler)
    }

    // MARK: composition

    private func introduceParts() {
        store.whenPoisoned = { [weak self] error in self?.onFatal?(.store(error)) }
        store.onFailingChange = { [weak self] in self?.health.storeChanged() }
        store.onStallChange = { [log, path = store.path] in log(.stall(since: $0, of: path)) }
        store.onSpaceChange = { [log, path = store.path] in log(.space($0, for: path)) }
        if device.store.statistics.beganCutOff {
            log(LogEvent(.info, "a commit that a crash cut off was dropped; nothing acknowledged was in it"))
        }
        relay.connect(
            Relay.Outlets(
                target: { [pairings] app, pairing in
                    pairings.targets.target(of: app, through: pairing.pairing) ?? .vendor(pairing.peer)
                },
                directory: { [directories] app, pairing in
                    pairing.isPending ? nil : directories.path(of: app, in: pairing.pairing)
                },
                announced: { [pairings, counterparts, weak configuration] app, pairing, announcement, before in
                    counterparts.announced(app, isInstalled: announcement.isInstalled, in: pairing.pairing)
                    if announcement.concernsConfiguration(after: before) {
                        configuration?.announced(app, at: pairing.pairing)
                    }
                    guard pairing.role == .secondary, announcement.declaresIdentifier else { return }
                    pairings.declared(announcement.identifier, for: app, pairing: pairing.pairing)
                }))
        for role in DeviceRole.allCases { connect(local[role], role) }
        configuration.connect { [weak settings] in await settings?.refusal(of: $0, optional: $1, for: $2) }
        applications.whenChanged = { [starter] in starter?.itemsMayWait(for: $0) }
        pairings.node = self
        counterparts.whenStored = { [weak configuration] in configuration?.secondariesChanged() }
        links.whenReady = { [acceptedKey] in acceptedKey.linked() }
        links.whenChanged = { [weak self] in self?.health.linkChanged($0) }
        router.onTrace { [tracing] in tracing.note($0) }
        router.connect(
            DeviceRouter.Outlets(
                needsEpoch: { [loop, pairings] pairing in
                    loop.start { await pairings.beginEpoch(of: pairing) }
                },
                frameMoved: { [tracing] in tracing.note($0, isSent: $1) },
                itemsMayWait: { [starter] in starter?.itemsMayWait(for: $0) },
                appHasHandled: { [starter] in starter?.handled($0) }))
    }

    private func connect(_ endpoint: LocalEndpoint, _ role: DeviceRole) {
        var outlets = LocalEndpoint.Outlets(
            store: { [weak applications] app, user in
                await applications?.install(app, as: ApplicationOwnership(user: user, role: role)) ?? false
            },
            directory: { [weak configuration] in configuration?.directory(of: $0) },
            connected: { [weak applications, loop, starter] application in
                starter?.connected(application.app)
                loop.start { await applications?.connected(application) }
            },
            disconnected: { [weak configuration, starter] application, isInOrder in
                starter?.disconnected(application.app)
                configuration?.disconnected(application.app, as: application.role, inOrder: isInOrder)
            })
        outlets.readAnchor = { [weak configuration] in configuration?.readAnchor($1, of: $0, as: role) }
        outlets.needsPreparation = { [pairings, directories] app in
            directories.needsPreparation(of: app, in: pairings.allActive(as: role).map(\.pairing))
        }
        outlets.prepare = { [pairings, directories] app in
            await directories.prepare(app, in: pairings.allActive(as: role).map(\.pairing))
        }
        outlets.apply = { [weak configuration] app, envelope in
            await configuration?.submit(envelope, app: app) ?? ApplyAnswer(verdict: nil, text: "")
        }
        outlets.lacksSchema = { [weak settings] in settings?.lacksSchema(of: $0, digest: $1) ?? false }
        outlets.takeSchema = { [weak settings] in await settings?.take($1, named: $2, of: $0, from: $3) }
        endpoint.connect(outlets)
        endpoint.controlResponder = self
    }

    private func restore() throws(NodeError) {
        for record in pairings.all { delivery.setPairing(record.pairing, epoch: record.epoch) }
        try device.reading { try delivery.restore { try device.rows($0) } }
        let known = pairings.all.map(\.pairing)
        directories.keepOnly(known)
        counterparts.keepOnly(Set(known))
        settings.keepOnly(Set(known), of: installed.state.withOwnDirectories)
        for application in installed.state.records.values where !application.isReserved {
            let role = local.side(of: application.app)
            relay.install(
                application.app, on: relay.side(role), identifier: application.identifier,
                trust: configuration.anchor(of: application.app).trust)
            if application.isIdentifierCleared { relay.clearIdentifier(of: application.app, role: role) }
            relay.describe(application.app, schema: application.schema?.open, role: role)
        }
        pairings.restore()
        for record in pairings.all {
            relay.restore(installed: counterparts[record.pairing], at: record.pairing, role: record.role)
        }
        // Removes files that belong to no item, now that the items are known.
        delivery.restoreFiles(of: Set(known), apps: Array(installed.state.withOwnDirectories))
    }

    // MARK: life

    /// Listens and dials from now on.
    package func start() throws(NodeError) {
        try options.check()
        configuration.start()
        delivery.resume()
        applications.start()
        starter?.itemsMayWait()
        for path in [options.local, options.localOther] { if let path { try makeSocketDirectory(of: path) } }
        try listen()
        links.start()
        // Counts devices without a link from now on: no event reports a device that never connects.
        health.observe()
        pairings.start()
        let places = listening.isEmpty ? "no" : listening.map(\.description).joined(separator: " ")
        log(
            LogEvent(
                .info, "started", .text("role", options.role.rawValue), .text("local", options.local),
                .text("other", options.localOther ?? "none"),
                .text("listening", places), .text("state", options.state)))
        let notes = StartNotes(
            options: options, device: device, installed: installed.state, pairings: pairings.all,
            otherPin: acceptedKey.other)
        for line in notes.lines { log(line) }
    }

    /// Makes the directory of a local socket if it is missing; open to other users if the socket is.
    private func makeSocketDirectory(of path: String) throws(NodeError) {
        let directory = path.parentPath
        guard directory != "/", directory != "." else { return }
        do throws(FileError) {
            try OwnedDirectory.makeMissing(directory, mode: options.localGroup == nil ? 0o700 : 0o755)
        } catch { throw .file(error) }
    }

    private func listen() throws(NodeError) {
        do throws(ListenError) {
            for address in options.listen { listening.append(try links.listen(at: address)) }
            let access = options.localGroup.map { SocketAccess.group($0) } ?? .owner
            for role in DeviceRole.allCases {
                guard let path = options.sockets[role] else { continue }
                try network.listen(at: .unix(path: path), access: access, for: local[role])
            }
        } catch {
            links.stopListening()
            for role in DeviceRole.allCases { local[role].stopListening() }
            throw .listen(error)
        }
    }

    /// The address that join links name; nil if no peer can dial this device.
    var advertised: SocketAddress? { options.advertise ?? listening.first { !$0.isWildcard } }

    /// Replaces the wake-up commands (CTL-57).
    /// - Parameter sockets: the absolute paths of the local sockets, by side.
    package func follow(_ commands: WakeCommands, sockets: PerRole<String?>) {
        starter?.follow(commands, sockets: sockets) { [local] in local.connected($0) != nil }
    }

    /// Lets accepted work finish, closes the store, and then calls back (SES-18).
    package func stop(completion: @escaping () -> Void) {
        guard phase == .running else { return }
        phase = .stopping
        log(LogEvent(.info, "stopping"))
        health.stop()
        applications.stop()
        starter?.stop()
        pairings.stop()
        links.stop()
        configuration.stop()
        local.stop()
        // Bounded as a whole: an app that does not read must not keep a daemon from stopping.
        loop.schedule(after: Self.stopTime) { [self] in closeStore(completion) }
        relay.stop(within: Self.answerTime) { [self] in
            links.endAll(.stopping)
            local.close { [self] in closeStore(completion) }
        }
    }

    /// Accepted work may take this long to be finished (SES-18), and requests this long to be answered.
    private static var stopTime: Duration { .seconds(5) }
    private static var answerTime: Duration { .milliseconds(4500) }

    private func closeStore(_ completion: @escaping () -> Void) {
        guard phase == .stopping else { return }
        phase = .closing
        delivery.stop()
        files.close()
        directories.close()
        // Twice: a queue whose commit is still under way at the end of this turn commits its last changes at the end of
        // the turn in which that one is done.
        flush { [self] in
            flush { [self] in
                device.close()
                // Last, because it waits for a search that is under way.
                settings.close()
                log(LogEvent(.info, "stopped"))
                completion()
            }
        }
    }

    /// Calls back when the commits of this turn's end are done, in their order.
    private func flush(then done: @escaping () -> Void) {
        loop.atEndOfTurn { [store] in store.commit([]) { _ in done() } }
    }

    /// Waits until the store has done all its work: for a clock that a test moves.
    package func settleStore() {
        _ = try? device.store.read(RowRange(space: .pairing, limit: 1))
        files.waitForDisk()
        directories.waitForDisk()
        settings.waitForDisk()
    }

    /// Closes the state as the end of the process would, and finishes no work. The scheduler must run nothing of this
    /// daemon afterwards.
    package func abandon() {
        phase = .closing
        files.close()
        directories.close()
        settings.close()
        device.close()
    }
}

extension Node {
    /// Relay, queues, links, directories and configuration follow the pairings.
    func follow(_ event: PairingService.Event) {
        defer { configuration.secondariesChanged() }
        switch event {
        case .paired(let record):
            guard let peer = record.peerVendorIdentifier else { return }
            delivery.setPairing(record.pairing, epoch: record.epoch)
            relay.setPairing(
                RelayedPairing(
                    pairing: record.pairing, role: record.role, peer: peer, name: record.name,
                    isPending: record.state == .pending))
            health.linkChanged(record.pairing)
        case .unpaired(let record, let targets): forget(record, targets)
        case .chosen(let pairing, let role):
            // Each hello repeats the choice.
            guard relay.side(role).active != pairing else { return }
            relay.setActive(pairing, role: role)
            // An app may have put an item off until its pairing is the active one (SES-88).
            starter?.itemsMayWait()
        case .retargeted(let app):
            relay.refresh(app, role: .secondary)
            let isConnected = local[.secondary].connected(app) != nil
            configuration.targetChanged(of: app, as: .secondary, isConnected: isConnected)
        case .newEpoch(let record):
            delivery.setPairing(record.pairing, epoch: record.epoch)
            links.restart(record.pairing)
        }
    }

    /// The contents that end with a pairing. A secondary's items of the channel `configuration` are reports, which need
    /// not be counted.
    func contents(
        of record: PairingRecord, _ targets: [ApplicationIdentifier: PairedIdentifier]
    ) -> PairingContents {
        var contents = PairingContents(configurations: configuration.status.count(of: targets))
        for direction in DeliveryDirection.allCases {
            for (channel, count) in delivery.counts(of: record.pairing, direction) {
                if channel.properties.hasFile {
                    contents.files += count
                } else if channel.isForApps {
                    contents.items += count
                } else if record.role == .primary, direction == .outbound {
                    contents.configurations += count
                }
            }
        }
        return contents
    }

    private func forget(_ record: PairingRecord, _ targets: [ApplicationIdentifier: PairedIdentifier]) {
        let pairing = record.pairing
        // First: the requests that are open on its link fail because the pairing no longer exists.
        relay.removePairing(pairing, role: record.role)
        links.forget(pairing)
        directories.remove(pairing)
        delivery.removePairing(pairing, apps: Array(installed.state.records.keys))
        router.unpaired(pairing)
        // Again: a commit of its queues that was under way may have written a row after the first removal.
        store.commit(DurableDelivery.removal(of: pairing), room: .reserve) { _ in }
        counterparts.remove(pairing)
        configuration.unpaired(pairing, targets: targets)
        remoteSettings.unpaired(pairing)
        settings.unpaired(pairing)
        health.forget(pairing)
    }
}
