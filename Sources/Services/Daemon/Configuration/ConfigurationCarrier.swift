// Configuration carrier: the part of a device that is a secondary of one and a primary of others (CFG-100 to CFG-105).
// Upwards it passes on the reports of its secondaries, which its announcements state; downwards it passes on items of
// its primary for them, each as the bytes that came. The device at the top of a chain has the same part, for the
// statements of its carriers. The rules are the machines'; the carrier commits their rows and moves the items.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// Carries configurations and reports, and keeps what carriers state; confined to its loop.
final class ConfigurationCarrier {
    /// How far an item has come here.
    enum Passage {
        /// It has been processed, and the result is durable.
        case done
        case failed
        /// The queue or the disk has no room for the result now.
        case noRoom
    }

    /// The changes of far secondaries, for those that deliver to them.
    struct Outlets {
        /// A carrier has announced an app of theirs, or may have lost an item for one of them.
        private(set) var present: (_ app: ApplicationIdentifier, _ peers: [ConfigurationPeer]) -> Void = { _, _ in }
        /// No carrier names them any more.
        private(set) var gone: (_ pairings: [UniqueIdentifier]) -> Void = { _ in }
    }

    /// Both machines: a device in the middle has one commit for what it learns and for what it passes on.
    struct State {
        var far = FarSecondaries()
        var carried = CarriedDeliveries()
    }

    private let context: ConfigurationContext
    private let committed: CommittedState<State>
    var outlets = Outlets()
    let announcements: CarrierAnnouncements
    /// Looks at far secondaries that may lack something. They have the pace of their carriers' statements (LIM-95): a
    /// device that states ever new epochs costs no more.
    private let lackLooks: PacedLook
    /// Looks at those to which an item may be lost on the way (CFG-117). A carrier that makes statements all the time
    /// costs no more than one that makes one in LIM-90.
    private let lossLooks: PacedLook
    private let retry: LaterAttempt

    init(_ context: ConfigurationContext, state: State, store: LoopStore) {
        self.context = context
        committed = CommittedState(state, in: store)
        retry = LaterAttempt(on: context.scheduler)
        announcements = CarrierAnnouncements(context, committed)
        lackLooks = PacedLook(on: context.scheduler, pause: ConfigurationLimits.statementPause)
        lossLooks = PacedLook(on: context.scheduler, pause: ConfigurationLimits.repetition)
        announcements.carrier = self
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
            // The epoch of the carrier's pairing is the high half: a restored carrier begins a new epoch with us, and
            // may state a lower one for the far pairing.
            reportKey: far.facts.reportKey,
            epoch: carrier.epoch << 32 | state.far.epoch(of: pairing),
            carrier: carrier.pairing, via: carrier.name)
    }

    var peers: [ConfigurationPeer] { state.far.pairings.compactMap { peer($0) } }

    func peers(behind carrier: UniqueIdentifier) -> [ConfigurationPeer] {
        state.far.pairings(behind: carrier).compactMap { peer($0) }
    }

    var hasPeers: Bool { !state.far.isEmpty }

    /// A far pairing behind one carrier of which a condition is true.
    func pairing(behind carrier: UniqueIdentifier, where isMeant: (UniqueIdentifier) -> Bool) -> UniqueIdentifier? {
        state.far.pairing(behind: carrier, where: isMeant)
    }

    /// Whether a carrier states that something below it has an app.
    func states(_ app: ApplicationIdentifier, behind carrier: UniqueIdentifier) -> Bool {
        state.far.applications(behind: carrier).contains(app)
    }

    func target(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> PairedIdentifier? {
        state.far.target(of: app, at: pairing)
    }

    /// The far secondaries for people.
    var rows: FarSecondaryRows { FarSecondaryRows(far: state.far, peers: peers, device: context.device) }

    /// The rows of a device that is gone end (CTL-68).
    func forget(_ device: UniqueIdentifier) async throws(StoreError) {
        try await committed.commit { next in Commit(next.far.forget(device).changes.flatMap(\.rows)) {} }
        context.log(.info, "a far secondary that is gone was removed", .text("device", "\(device)"))
    }

    // MARK: downwards

    /// Passes on an item of a primary that is for a far secondary; nil if it is for this device itself.
    func carry(_ item: ReceivedItem) async -> Passage? {
        if let cancellation = CarriedCancellation(item.payload) { return await cancel(cancellation, item) }
        guard let carried = CarriedConfiguration(item.payload) else { return nil }
        guard let downstream = nextHop(to: carried.to, item.queue.app) else {
            context.log(
                .warning, "configuration for a device that is not below this one",
                .text("pairing", "\(item.queue.pairing)"), .text("app", "\(item.queue.app)"))
            return .done
        }
        let way = CarriedDeliveries.Way(
            nonce: item.id, application: item.queue.app, upstream: item.queue.pairing, downstream: downstream,
            to: carried.to, isKeyStatement: carried.isKeyStatement)
        // Before their ways are forgotten: without its way an item would wait forever, and its report could not be
        // sent on.
        for old in state.carried.displaced(by: way) where await !takeBack(old) { return .failed }
        let passed = OutboundItem(
            id: item.id, payload: downstream == carried.to ? carried.envelope : item.payload,
            supersedeKey: SHA256.digest(item.queue.pairing.bytes + carried.to.bytes + carried.slot))
        guard hasRoom(for: passed, of: item.queue, through: downstream) else { return .noRoom }
        guard await commit({ $0.carried.carry(way).flatMap(\.rows) }) else { return .failed }
        return await submit(passed, item.queue.app, to: downstream)
    }

    /// Whether a primary's item finds room in the queue below. All primaries share that queue, and each chooses its
    /// slots and devices: so each has its part of what the others leave (LIM-47). The item itself, after a
    /// restart, and the one that it supersedes take none.
    private func hasRoom(for item: OutboundItem, of source: QueueKey, through downstream: UniqueIdentifier) -> Bool {
        let queue = QueueKey.configuration(of: source.app, at: downstream)
        let limits = submissions.limits(of: queue)
        var items = SharedResource<UniqueIdentifier?>(total: limits.items)
        var bytes = SharedResource<UniqueIdentifier?>(total: limits.bytes)
        // nil is this device itself.
        let shares = submissions.shares(of: queue, without: item) { state.carried.way(of: $0)?.upstream }
        for (owner, share) in shares {
            items.record(share.records, of: owner)
            bytes.record(share.bytes, of: owner)
        }
        let upstream = source.pairing
        if items.charge(1, to: upstream), bytes.charge(item.payload.count, to: upstream) { return true }
        context.log(
            .warning, "no room below for more of a primary's items", .text("pairing", "\(downstream)"),
            .text("app", "\(source.app)"), .text("primary", "\(upstream)"))
        return false
    }

    /// The pairing that leads to a far one, which may be this device's own; nil for one without the app: a primary
    /// fills no disk with ways of apps that nobody has.
    private func nextHop(to far: UniqueIdentifier, _ app: ApplicationIdentifier) -> UniqueIdentifier? {
        if context.device.peer(far)?.role == .primary {
            return context.device.installed(at: far).contains(app) ? far : nil
        }
        return state.far.target(of: app, at: far) == nil ? nil : state.far[far]?.carrier
    }

    /// Takes back what a primary has taken back, as far as it has not left this device.
    private func cancel(_ cancellation: CarriedCancellation, _ item: ReceivedItem) async -> Passage {
        // Behind the commit of the item that it is about.
        guard await commit({ _ in [] }) else { return .failed }
        guard let way = state.carried.way(of: cancellation.item), way.to == cancellation.to,
            way.upstream == item.queue.pairing, way.application == item.queue.app
        else { return .done }
        guard await takeBack(way) else { return .failed }
        guard way.downstream != way.to else { return .done }
        let passed = OutboundItem(id: item.id, payload: item.payload)
        guard hasRoom(for: passed, of: item.queue, through: way.downstream) else { return .noRoom }
        return await submit(passed, way.application, to: way.downstream)
    }

    /// Takes back what waits here for the next device of a way; false if that could not be stored.
    private func takeBack(_ way: CarriedDeliveries.Way) async -> Bool {
        let isStored = Expectation<Bool>(on: context.scheduler)
        let queue = QueueKey.configuration(of: way.application, at: way.downstream)
        submissions.cancel(way.nonce, in: queue) { isStored.fulfil($0 != .notStored) }
        return await isStored.value(within: .seconds(60)) ?? false
    }

    // MARK: upwards

    /// The purpose of an item of a secondary.
    enum Arrival {
        /// It is passed on, or a statement has been taken.
        case taken(Passage)
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
            // Of all reports of a device about one item only the last one of each kind waits here.
            let key = ConfigurationReport.claimedSupersedeKey(carried.report, of: nonce)
            let report = OutboundItem(id: item.id, payload: carried.bytes, supersedeKey: key)
            return .taken(await submit(report, way.application, to: way.upstream))
        }
        if carried.from == peer.pairing { return .report(carried.report, from: peer) }
        guard let far = self.peer(carried.from), far.carrier == peer.pairing else {
            refused([.wrongDevice], "report", peer)
            return .taken(.done)
        }
        return .report(carried.report, from: far)
    }

    private func refused(_ failures: [CarrierFailure], _ what: String, _ peer: ConfigurationPeer) {
        for (reason, equal) in Dictionary(grouping: failures, by: \.name) {
            context.log(
                .warning, "word of a carrier refused", .text("pairing", "\(peer.pairing)"), .text("what", what),
                .text("reason", reason), .integer("number", equal.count))
        }
    }

    /// Takes a carrier's statement.
    private func learn(
        _ statement: [UInt8], about app: ApplicationIdentifier, from peer: ConfigurationPeer
    ) async -> Passage {
        guard let carrier = carrier(peer) else { return .done }
        let (own, now) = (context.options.device, context.scheduler.wallNow)
        let isDurable: Bool? = try? await committed.commit { [self] next in
            do throws(CarrierFailure) {
                let transition = try next.far.take(statement, about: app, from: carrier, at: own, now: now) {
                    [context] in context.device.peer($0) != nil
                }
                return Commit(transition.changes.flatMap(\.rows)) { [self] in
                    follow(transition, about: app, from: peer)
                    return true
                }
            } catch {
                return Commit([]) { [self] in
                    refused([error], "statement", peer)
                    return true
                }
            }
        }
        return isDurable == true ? .done : .failed
    }

    private func follow(_ transition: FarTransition, about app: ApplicationIdentifier, from peer: ConfigurationPeer) {
        refused(transition.contested.map { _ in .wrongDevice }, "pairing of another carrier", peer)
        refused(transition.passedOver, "part of a statement", peer)
        look(at: transition.announced, for: app, in: lackLooks)
        look(at: transition.present.filter { !transition.announced.contains($0) }, for: app, in: lossLooks)
        follow(transition, behind: peer.pairing)
        announcements.changed()
    }

    /// Devices that a carrier states no longer are gone, and then behind another one that states them.
    private func follow(_ transition: FarTransition, behind carrier: UniqueIdentifier) {
        let lost = transition.gone.count { state.far[$0] == nil }
        if lost > 0 {
            context.log(
                .warning, "far secondaries are stated no longer", .text("pairing", "\(carrier)"),
                .integer("number", lost))
        }
        outlets.gone(transition.gone)
        for (app, pairings) in transition.chosenAgain { look(at: pairings, for: app, in: lackLooks) }
    }

    /// A start: what carriers state and was not chosen before it (CFG-102).
    func started() {
        committed.perform(
            { [self] next in
                let transition = next.far.restored()
                return Commit(transition.changes.flatMap(\.rows)) { [self] in
                    for (app, pairings) in transition.chosenAgain { look(at: pairings, for: app, in: lackLooks) }
                }
            }, failure: { [self] in tryAgain(after: $0) })
    }

    /// A full disk has refused what nothing else would ask for again: the end of a pairing that is gone, a choice, a
    /// statement.
    func tryAgain(after error: StoreError) {
        notStored(error)
        retry.request { [weak self] in
            guard let self else { return }
            for pairing in pairings where context.peer(pairing) == nil { unpaired(pairing) }
            started()
            announcements.changed()
        }
    }

    /// A far secondary may lack something.
    func lookAgain(at peer: ConfigurationPeer, for app: ApplicationIdentifier) {
        look(at: [peer.pairing], for: app, in: lackLooks)
    }

    /// Gives devices what they lack, in the pace of the look.
    private func look(at pairings: [UniqueIdentifier], for app: ApplicationIdentifier, in looks: PacedLook) {
        looks.request(at: pairings, for: app) { [weak self] all in
            guard let self else { return }
            for (app, pairings) in all { outlets.present(app, pairings.compactMap { self.peer($0) }) }
        }
    }

    private func carrier(_ peer: ConfigurationPeer) -> FarSecondaries.Carrier? {
        peer.reporter.map {
            FarSecondaries.Carrier(pairing: peer.pairing, device: $0.device, epoch: peer.epoch, key: $0.key)
        }
    }

    func submit(
        _ item: OutboundItem, _ app: ApplicationIdentifier, to pairing: UniqueIdentifier
    ) async -> Passage {
        // A pairing that has ended takes nothing, and is no reason to try again.
        guard context.device.peer(pairing) != nil else { return .done }
        let accepted = Expectation<Passage>(on: context.scheduler)
        let queue = QueueKey.configuration(of: app, at: pairing)
        submissions.submit(item, to: queue) { [context] result in
            if case .failure(let error) = result {
                context.log(
                    .error, "not passed on", .text("pairing", "\(pairing)"), .text("app", "\(app)"),
                    .text("error", error.description))
                return accepted.fulfil(error.isLackOfRoom ? .noRoom : .failed)
            }
            accepted.fulfil(.done)
        }
        return await accepted.value(within: .seconds(60)) ?? .failed
    }

    /// A pairing is gone, and all that was behind it.
    func unpaired(_ pairing: UniqueIdentifier) {
        announcements.unpaired(pairing)
        committed.perform(
            room: .reserve,
            { [self] next in
                let transition = next.far.unpaired(pairing, at: context.scheduler.wallNow)
                let rows = next.carried.unpaired(pairing).flatMap(\.rows) + transition.changes.flatMap(\.rows)
                return Commit(rows) { [self] in follow(transition, behind: pairing) }
            },
            failure: { [self] in tryAgain(after: $0) })
        announcements.changed()
    }

    // MARK: changes

    private func commit(_ event: @escaping (inout State) -> [RowChange]) async -> Bool {
        await committed.isStored({ next in Commit(event(&next)) {} }, failure: { notStored($0) })
    }

    func notStored(_ error: StoreError) {
        context.log(.error, "carried configuration not stored", .text("error", error.description))
    }
}

/// Looks at far pairings: one at all that were requested meanwhile, and not again before a pause is over; confined to
/// its loop.
private final class PacedLook {
    private let action: PacedAction
    private var requested: [ApplicationIdentifier: Set<UniqueIdentifier>] = [:]

    init(on scheduler: any Scheduler, pause: Duration) { action = PacedAction(on: scheduler, pause: pause) }

    func request(
        at pairings: [UniqueIdentifier], for app: ApplicationIdentifier,
        _ look: @escaping ([ApplicationIdentifier: Set<UniqueIdentifier>]) -> Void
    ) {
        guard !pairings.isEmpty else { return }
        requested[app, default: []].formUnion(pairings)
        action.request { [weak self] in
            guard let self else { return }
            let all = requested
            requested = [:]
            look(all)
        }
    }
}
