// Configuration carrier: the part of a device that is a secondary of one and a primary of others (CFG-100 to CFG-105).
// Upwards it announces its secondaries and passes their reports on, downwards it passes on what its primary has for
// them, each as the bytes that came. The device at the top of a chain has the same part, for the statements of its
// carriers. The rules are the machines'; the carrier commits their rows and moves the items.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// Carries configurations and reports, and keeps what carriers state; confined to its loop.
final class ConfigurationCarrier {
    /// The changes of far secondaries, for the forwarder.
    struct Outlets {
        /// Far pairings for which a carrier has a statement now.
        var present: (_ app: ApplicationIdentifier, _ pairings: [UniqueIdentifier]) -> Void
        /// Their devices or carriers have lost state.
        var renewed: (_ pairings: [UniqueIdentifier]) -> Void
        /// No carrier names them any more.
        var gone: (_ pairings: [UniqueIdentifier]) -> Void
    }

    /// Both machines: a device in the middle has one commit for what it learns and for what it passes on.
    struct State {
        var far = FarSecondaries()
        var carried = CarriedDeliveries()
    }

    private let context: ConfigurationContext
    private let committed: CommittedState<State>
    private let outlets: Outlets
    /// The primaries with a ready link that read statements.
    private var readers: Set<UniqueIdentifier> = []
    private var isAnnouncing = false

    init(_ context: ConfigurationContext, state: State, store: LoopStore, outlets: Outlets) {
        self.context = context
        self.outlets = outlets
        committed = CommittedState(state, in: store)
    }

    private var state: State { committed.state }
    private var submissions: Submissions { context.delivery.submissions }

    // MARK: far secondaries

    /// The pairings of this device of which anything is known.
    var pairings: Set<UniqueIdentifier> { state.far.carriers.union(state.carried.pairings) }

    /// A far secondary by its pairing with its carrier.
    func peer(_ pairing: UniqueIdentifier) -> ConfigurationPeer? {
        guard let far = state.far[pairing], let carrier = context.device.peer(far.carrier) else { return nil }
        return ConfigurationPeer(
            pairing: pairing, role: .primary, name: far.facts.name, device: far.facts.device,
            reportKey: far.facts.reportKey, epoch: far.facts.epoch, carrier: carrier.pairing, via: carrier.name)
    }

    var peers: [ConfigurationPeer] { state.far.pairings.compactMap { peer($0) } }

    func peers(behind carrier: UniqueIdentifier) -> [ConfigurationPeer] {
        state.far.pairings(behind: carrier).compactMap { peer($0) }
    }

    func target(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> PairedIdentifier? {
        state.far.target(of: app, at: pairing)
    }

    /// One row for each far secondary and app, for `status` (CTL-36); as many as one answer has.
    func describe() -> [PropertyListDictionary] {
        let rows = peers.lazy.flatMap { peer in
            self.state.far.targets(at: peer.pairing).map { app, target -> PropertyListDictionary in
                var row: PropertyListDictionary = [
                    "app": .string(app.description), "name": .string(peer.name), "target": .string(target.text),
                    "pairing": .data(peer.pairing.bytes),
                ]
                row["device"] = peer.device.map { .data($0.bytes) }
                row["via"] = peer.via.map { .string($0) }
                return row
            }
        }
        return Array(rows.prefix(DesiredStatus.rowLimit))
    }

    // MARK: downwards

    /// Passes on an item of a primary that is for a far secondary; nil if it is for this device itself. Returns whether
    /// it is done with.
    func carry(_ item: ReceivedItem) async -> Bool? {
        guard let carried = CarriedConfiguration(item.payload) else { return nil }
        guard let downstream = nextHop(to: carried.to) else {
            context.log(
                LogEvent(
                    .warning, "configuration for a device that is not below this one",
                    .text("pairing", "\(item.queue.pairing)"), .text("app", "\(item.queue.app)")))
            return true
        }
        let way = CarriedDeliveries.Way(
            nonce: item.id, application: item.queue.app, upstream: item.queue.pairing, downstream: downstream,
            to: carried.to)
        guard await commit({ $0.carried.carry(way).flatMap(\.rows) }) else { return false }
        let slot = SHA256.digest(item.queue.pairing.bytes + carried.to.bytes + carried.slot)
        return await submit(
            OutboundItem(
                id: item.id, payload: downstream == carried.to ? carried.envelope : item.payload, supersedeKey: slot),
            item.queue.app, to: downstream)
    }

    /// The pairing that leads to a far one, which may be this device's own.
    private func nextHop(to far: UniqueIdentifier) -> UniqueIdentifier? {
        if context.device.receivers().contains(where: { $0.pairing == far }) { return far }
        return state.far[far]?.carrier
    }

    // MARK: upwards

    /// The purpose of an item of a secondary.
    enum Arrival {
        /// It is passed on, or a statement has been taken: whether it is done with.
        case taken(Bool)
        /// A report for this device about the peer of a pairing, near or far.
        case report([UInt8], from: ConfigurationPeer)
    }

    func received(_ item: ReceivedItem, from peer: ConfigurationPeer) async -> Arrival {
        if (try? UnverifiedEnvelope(item.payload))?.claimedType == .carrier {
            return .taken(await learn(item.payload, about: item.queue.app, from: peer))
        }
        let carried = CarriedReport(item.payload) ?? CarriedReport(from: peer.pairing, report: item.payload)
        if let nonce = ConfigurationReport.claimedNonce(carried.report),
            let way = state.carried.way(of: nonce, from: peer.pairing, about: carried.from)
        {
            let report = OutboundItem(id: item.id, payload: carried.bytes)
            return .taken(await submit(report, way.application, to: way.upstream))
        }
        if carried.from == peer.pairing { return .report(carried.report, from: peer) }
        guard let far = self.peer(carried.from), far.carrier == peer.pairing else {
            refused(.wrongDevice, "report", peer)
            return .taken(true)
        }
        return .report(carried.report, from: far)
    }

    private func refused(_ failure: CarrierFailure, _ what: String, _ peer: ConfigurationPeer) {
        context.log(
            LogEvent(
                .warning, "word of a carrier refused", .text("pairing", "\(peer.pairing)"), .text("what", what),
                .text("reason", failure.name)))
    }

    /// Takes a carrier's statement; returns whether it is done with.
    private func learn(
        _ statement: [UInt8], about app: ApplicationIdentifier, from peer: ConfigurationPeer
    ) async -> Bool {
        guard let carrier = carrier(peer) else { return true }
        let own = context.options.device
        let isDurable = try? await committed.commit { [self] next in
            do throws(CarrierFailure) {
                let transition = try next.far.take(statement, about: app, from: carrier, at: own) { [context] in
                    context.device.peer($0) != nil
                }
                return (
                    transition.changes.flatMap(\.rows),
                    { [self] in
                        if !transition.contested.isEmpty { refused(.wrongDevice, "pairing of another carrier", peer) }
                        outlets.gone(transition.gone)
                        outlets.renewed(transition.renewed)
                        outlets.present(app, transition.present)
                        changed()
                        return true
                    }
                )
            } catch {
                return (
                    [],
                    { [self] in
                        refused(error, "statement", peer)
                        return true
                    }
                )
            }
        }
        return isDurable ?? false
    }

    private func carrier(_ peer: ConfigurationPeer) -> FarSecondaries.Carrier? {
        guard let device = peer.device, let key = try? PublicKey(subjectPublicKeyInfo: peer.reportKey) else {
            return nil
        }
        return FarSecondaries.Carrier(pairing: peer.pairing, device: device, key: ReportPublicKey(key))
    }

    private func submit(
        _ item: OutboundItem, _ app: ApplicationIdentifier, to pairing: UniqueIdentifier
    ) async -> Bool {
        // A pairing that has ended takes nothing, and is no reason to try again.
        guard context.device.peer(pairing) != nil else { return true }
        let accepted = Expectation<Bool>(on: context.scheduler)
        let queue = QueueKey(pairing: pairing, app: app, channel: .configuration)
        submissions.submit(item, to: queue) { [context] result in
            if case .failure(let error) = result {
                context.log(
                    LogEvent(
                        .error, "not passed on", .text("pairing", "\(pairing)"), .text("app", "\(app)"),
                        .text("error", error.description)))
                return accepted.fulfil(false)
            }
            accepted.fulfil(true)
        }
        return await accepted.value(within: .seconds(60)) ?? false
    }

    // MARK: announcements

    /// The path to a peer is ready.
    func linked(_ pairing: UniqueIdentifier, reads: Bool) {
        guard reads, context.device.peer(pairing)?.role == .secondary else { return }
        readers.insert(pairing)
        forgetAnnouncements(to: pairing) { [submissions] announcement, app in
            let queue = QueueKey(pairing: pairing, app: app, channel: .configuration)
            return !submissions.hasAccepted(announcement.item, in: queue)
        }
    }

    func unlinked(_ pairing: UniqueIdentifier) { readers.remove(pairing) }

    /// An item has ended; a statement that did not arrive is made again.
    func ended(_ id: UniqueIdentifier, in queue: QueueKey, hasArrived: Bool) {
        guard !hasArrived, context.device.peer(queue.pairing)?.role == .secondary else { return }
        forgetAnnouncements(to: queue.pairing) { announcement, _ in announcement.item == id }
    }

    /// One of the two stores of a pairing was restored, or it was made again.
    func renewed(_ pairing: UniqueIdentifier) {
        guard let peer = context.device.peer(pairing) else { return }
        switch peer.role {
        case .secondary: forgetAnnouncements(to: pairing) { _, _ in true }
        case .primary:
            guard let carrier = carrier(peer) else { return }
            change { $0.far.renewed(carrier).changes.flatMap(\.rows) }
        }
    }

    /// A pairing is gone, and all that was behind it.
    func unpaired(_ pairing: UniqueIdentifier) {
        readers.remove(pairing)
        committed.perform(
            room: .reserve,
            { [outlets] next in
                let transition = next.far.unpaired(pairing)
                let rows = next.carried.unpaired(pairing).flatMap(\.rows) + transition.changes.flatMap(\.rows)
                return (rows, { outlets.gone(transition.gone) })
            },
            failure: { [self] in notStored($0) })
        changed()
    }

    private func forgetAnnouncements(
        to pairing: UniqueIdentifier,
        where isLost: @escaping (CarriedDeliveries.Announcement, ApplicationIdentifier) -> Bool
    ) {
        change { next in next.carried.forgetAnnouncement(to: pairing, where: isLost).flatMap(\.rows) }
        changed()
    }

    /// The devices below this one may have changed: its primaries learn of it, once for all changes of a turn.
    func changed() {
        guard !isAnnouncing, !readers.isEmpty else { return }
        isAnnouncing = true
        context.scheduler.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            isAnnouncing = false
            for pairing in readers { announce(to: pairing) }
        }
    }

    private func announce(to upstream: UniqueIdentifier) {
        guard let primary = context.device.peer(upstream) else { return }
        // A ring of pairings ends here: nobody is told of itself.
        let near = context.device.receivers().filter { $0.device != primary.device }
        // One that only carries for others leads to them.
        let installed = near.map { peer in
            (peer, context.device.installed(peer.pairing).union(state.far.applications(behind: peer.pairing)))
        }
        let apps = installed.reduce(into: Set(state.carried.announced(to: upstream).keys)) { $0.formUnion($1.1) }
        for app in apps.sorted() {
            let peers = installed.filter { $0.1.contains(app) }.map(\.0)
            announce(app, peers, to: primary)
        }
    }

    private func announce(_ app: ApplicationIdentifier, _ peers: [ConfigurationPeer], to primary: ConfigurationPeer) {
        let own = context.options.device
        let certified = peers.compactMap { peer in
            peer.device.flatMap { device in
                context.device.targetThrough(app, peer.pairing).map { target in
                    CarrierStatement.Secondary(
                        pairing: peer.pairing, device: device, name: peer.name, reportKey: peer.reportKey,
                        epoch: peer.epoch, target: target)
                }
            }
        }
        let secondaries = Array(certified.prefix(ConfigurationLimits.carriedSecondaries))
        var room = ConfigurationLimits.envelope / 2
        let below = secondaries.compactMap { secondary -> [UInt8]? in
            guard let (bytes, devices) = state.far.statement(of: secondary.pairing, about: app),
                devices.isDisjoint(with: [own, primary.device ?? own]), bytes.count <= room
            else { return nil }
            room -= bytes.count
            return bytes
        }
        if secondaries.count < certified.count {
            context.log(
                LogEvent(
                    .warning, "more secondaries than a statement holds", .text("app", "\(app)"),
                    .integer("left out", certified.count - secondaries.count)))
        }
        committed.perform(
            { [self] next in
                let item = UniqueIdentifier.random()
                guard
                    let (statement, changes) = next.carried.announce(
                        secondaries, below: below, about: app, to: primary.pairing, of: own, item: item)
                else { return ([], {}) }
                return (
                    changes.flatMap(\.rows),
                    { [self] in
                        let envelope = statement.signed(with: context.options.signer)
                        let key = SHA256.digest(Array("carrier".utf8))
                        context.scheduler.start { [self] in
                            let item = OutboundItem(id: item, payload: envelope, supersedeKey: key)
                            guard await !submit(item, app, to: primary.pairing) else { return }
                            let queue = QueueKey(pairing: primary.pairing, app: app, channel: .configuration)
                            ended(item.id, in: queue, hasArrived: false)
                        }
                    }
                )
            },
            failure: { [self] in notStored($0) })
    }

    // MARK: changes

    private func commit(_ event: @escaping (inout State) -> [RowChange]) async -> Bool {
        do throws(StoreError) {
            try await committed.commit { next in (event(&next), {}) }
            return true
        } catch {
            notStored(error)
            return false
        }
    }

    private func change(_ event: @escaping (inout State) -> [RowChange]) {
        committed.perform({ next in (event(&next), {}) }, failure: { [self] in notStored($0) })
    }

    private func notStored(_ error: StoreError) {
        context.log(LogEvent(.error, "carried configuration not stored", .text("error", error.description)))
    }
}

// MARK: - rows

extension ConfigurationCarrier.State {
    /// - Parameter rows: the rows of a key space.
    init(rows: (RowSpace) throws -> [Row]) throws {
        for row in try rows(.carrierStatement) {
            guard let carrier = UniqueIdentifier(bytes: row.key.prefix(16)),
                let app = try ReceiverState.fields(row)["app"]?.stringValue.flatMap({ try? ApplicationIdentifier($0) }),
                let statement = try ReceiverState.fields(row)["statement"]?.dataValue
            else { throw ConfigurationRowError(.carrierStatement, "unreadable") }
            far.restore(statement, about: app, of: carrier)
        }
        for row in try rows(.certifiedDevice) {
            guard let carrier = UniqueIdentifier(bytes: row.key.prefix(16)),
                let device = UniqueIdentifier(bytes: row.key.dropFirst(16))
            else { throw ConfigurationRowError(.certifiedDevice, "its key names no device") }
            far.restore(try FarSecondaries.Certified(try ReceiverState.fields(row)), device, of: carrier)
        }
        for row in try rows(.carriedWay) { carried.restore(try CarriedDeliveries.Way(try ReceiverState.fields(row))) }
        for row in try rows(.carrierAnnouncement) {
            if row.key == Self.counterKey {
                carried.restore(counter: try ReceiverState.fields(row)["value"]?.unsignedValue ?? 0)
                continue
            }
            guard let upstream = UniqueIdentifier(bytes: row.key.prefix(16)),
                let app = try? ApplicationIdentifier(String(decoding: row.key.dropFirst(16), as: UTF8.self))
            else { throw ConfigurationRowError(.carrierAnnouncement, "its key names no application") }
            carried.restore(
                try CarriedDeliveries.Announcement(try ReceiverState.fields(row)), about: app, to: upstream)
        }
    }

    fileprivate static let counterKey = Array("counter".utf8)
}

extension FarChange {
    fileprivate var rows: [RowChange] {
        switch self {
        case .statement(let carrier, let app, let bytes):
            [
                ReceiverState.row(
                    .carrierStatement, carrier.bytes + Array(app.description.utf8),
                    ["app": .string(app.description), "statement": .data(bytes)])
            ]
        case .device(let carrier, let device, let certified):
            [ReceiverState.row(.certifiedDevice, carrier.bytes + device.bytes, certified.dictionary)]
        case .unpaired(let carrier):
            [
                .deleteAll(.prefix(carrier.bytes, in: .carrierStatement)),
                .deleteAll(.prefix(carrier.bytes, in: .certifiedDevice)),
            ]
        }
    }
}

extension CarriedChange {
    fileprivate var rows: [RowChange] {
        switch self {
        case .way(let way): [ReceiverState.row(.carriedWay, way.nonce.bytes, way.dictionary)]
        case .forgotten(let nonce): [.delete(.carriedWay, key: nonce.bytes)]
        case .counter(let counter):
            [
                ReceiverState.row(
                    .carrierAnnouncement, ConfigurationCarrier.State.counterKey, ["value": PropertyListValue(counter)])
            ]
        case .announced(let upstream, let app, let announcement):
            [
                ReceiverState.row(
                    .carrierAnnouncement, upstream.bytes + Array(app.description.utf8), announcement.dictionary)
            ]
        case .unpaired(let upstream): [.deleteAll(.prefix(upstream.bytes, in: .carrierAnnouncement))]
        }
    }
}

extension RowSpace {
    /// The last statement of each carrier and app.
    static let carrierStatement = RowSpace(rawValue: 56)
    /// The report keys that carriers have named.
    static let certifiedDevice = RowSpace(rawValue: 57)
    /// The ways of the deliveries that this device carried.
    static let carriedWay = RowSpace(rawValue: 58)
    /// The last statement to each primary and app.
    static let carrierAnnouncement = RowSpace(rawValue: 59)
}
