// Announcements of a carrier: statements about this device's secondaries to its primaries (CFG-101), made when their
// content has changed, and again when one may be lost (CFG-105).

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// States the secondaries of this device, and those behind them, to its primaries; confined to its loop.
final class CarrierAnnouncements {
    private let context: ConfigurationContext
    private let committed: CommittedState<ConfigurationCarrier.State>
    /// Submits the statements. It owns this object.
    weak var carrier: ConfigurationCarrier?
    /// The primaries with a ready link that read statements.
    private var readers: Set<UniqueIdentifier> = []
    private let announcing: PacedAction
    /// The apps of each secondary that have been stated.
    private var admitted: [UniqueIdentifier: Set<ApplicationIdentifier>] = [:]
    /// Statements that are made again, because an item for a device in them was lost.
    private let repetitions: CoalescedActions<QueueKey>

    init(_ context: ConfigurationContext, _ committed: CommittedState<ConfigurationCarrier.State>) {
        (self.context, self.committed) = (context, committed)
        announcing = PacedAction(on: context.scheduler, pause: ConfigurationLimits.statementPause)
        repetitions = CoalescedActions(on: context.scheduler, after: ConfigurationLimits.repetition)
    }

    private var state: ConfigurationCarrier.State { committed.state }

    /// The path to a peer is ready.
    func linked(_ pairing: UniqueIdentifier, reads: Bool) {
        guard reads, context.device.peer(pairing)?.role == .secondary else { return }
        readers.insert(pairing)
        forgetAnnouncements(to: pairing) { [context] announcement, app in
            let queue = QueueKey.configuration(of: app, at: pairing)
            return !context.delivery.submissions.hasAccepted(announcement.item, in: queue)
        }
    }

    func unlinked(_ pairing: UniqueIdentifier) { readers.remove(pairing) }

    func unpaired(_ pairing: UniqueIdentifier) {
        readers.remove(pairing)
        admitted[pairing] = nil
    }

    /// An item that this device submitted has ended. A statement that did not arrive is made again; so is one about a
    /// device for which an item was lost, because the primary believes it delivered (CFG-105).
    func ended(_ id: UniqueIdentifier, in queue: QueueKey, _ outcome: Outcome) {
        switch (context.device.peer(queue.pairing)?.role, outcome) {
        case (.secondary, .handled), (.secondary, .withdrawn(.superseded)): return
        case (.secondary, _):
            forgetAnnouncements(to: queue.pairing) { announcement, _ in announcement.item == id }
        case (.primary, .withdrawn(.expired)), (.primary, .withdrawn(.lost)):
            if let way = state.carried.way(of: id) { announceAgain(way.application, to: way.upstream) }
        case (.primary, _), (nil, _): return
        }
    }

    /// After a while only: a device below may say of each item that it is lost.
    private func announceAgain(_ app: ApplicationIdentifier, to upstream: UniqueIdentifier) {
        repetitions.request(.configuration(of: app, at: upstream)) { [weak self] in
            self?.forgetAnnouncements(to: upstream) { _, other in other == app }
        }
    }

    private func forgetAnnouncements(
        to pairing: UniqueIdentifier,
        where isLost: @escaping (CarriedDeliveries.Announcement, ApplicationIdentifier) -> Bool
    ) {
        committed.perform(
            { next in Commit(next.carried.forgetAnnouncement(to: pairing, where: isLost).flatMap(\.rows)) {} },
            failure: { [self] in carrier?.notStored($0) })
        changed()
    }

    /// The devices below this one may have changed: its primaries learn of it.
    func changed() {
        guard !readers.isEmpty else { return }
        announcing.request { [weak self] in self?.announce() }
    }

    /// Notes the keys of the secondaries first: under another key a statement has a higher epoch.
    private func announce() {
        let marks = context.device.receivers.map { peer in
            (
                pairing: peer.pairing,
                marks: Dictionary(
                    uniqueKeysWithValues: admit(peer).map { ($0, context.device.trust(of: $0, at: peer.pairing)) })
            )
        }
        committed.perform(
            { [self] next in
                var changes: [CarriedChange] = []
                for one in marks { changes += next.carried.note(one.marks, of: one.pairing) }
                return Commit(changes.flatMap(\.rows)) { [self] in for pairing in readers { announce(to: pairing) } }
            }, failure: { [self] in carrier?.tryAgain(after: $0) })
    }

    private func announce(to upstream: UniqueIdentifier) {
        guard let primary = context.device.peer(upstream) else { return }
        // A ring of pairings ends here: a device gets no statement about itself.
        let near = context.device.receivers.filter { $0.device != primary.device }
        let below = near.map { peer in (peer: peer, has: context.device.installed(at: peer.pairing), apps: admit(peer))
        }
        let apps = below.reduce(into: Set(state.carried.announced(to: upstream).keys)) { $0.formUnion($1.apps) }
        for app in apps.sorted() {
            let certified = below.filter { $0.apps.contains(app) }
                .compactMap { secondary($0.peer, app, installed: $0.has.contains(app)) }
            announce(app, certified, to: primary)
        }
    }

    /// The apps for which a secondary is stated: those that it has, or carries for. One that changes them without end
    /// would take the room of the others, here and above.
    private func admit(_ peer: ConfigurationPeer) -> Set<ApplicationIdentifier> {
        let apps = context.device.installed(at: peer.pairing).union(state.far.applications(behind: peer.pairing))
        var known = admitted[peer.pairing] ?? []
        let new = apps.subtracting(known).sorted()
        let room = max(0, ConfigurationLimits.carriedApplications - known.count)
        for app in new.dropFirst(room) { logLeftOut(1, "more apps of a secondary than a carrier states", app) }
        known.formUnion(new.prefix(room))
        admitted[peer.pairing] = known
        return apps.intersection(known)
    }

    private func secondary(
        _ peer: ConfigurationPeer, _ app: ApplicationIdentifier, installed: Bool
    ) -> CarrierStatement.Secondary? {
        guard let device = peer.device, let target = context.device.target(of: app, through: peer.pairing) else {
            return nil
        }
        return CarrierStatement.Secondary(
            pairing: peer.pairing, device: device, name: peer.name, reportKey: peer.reportKey,
            epoch: state.carried.statedEpoch(of: peer.pairing, in: peer.epoch), target: target, installed: installed)
    }

    private func announce(
        _ app: ApplicationIdentifier, _ certified: [CarrierStatement.Secondary], to primary: ConfigurationPeer
    ) {
        committed.perform(
            { [self] next in
                let statement = statement(about: app, certified, &next, to: primary)
                guard let (item, signed, changes) = statement else { return Commit([]) {} }
                return Commit(changes.flatMap(\.rows)) { [self] in send(signed, as: item, app, to: primary.pairing) }
            },
            failure: { [self] in carrier?.tryAgain(after: $0) })
    }

    /// The statement to make, with those below; nil if the last one says the same.
    private func statement(
        about app: ApplicationIdentifier, _ certified: [CarrierStatement.Secondary],
        _ next: inout ConfigurationCarrier.State, to primary: ConfigurationPeer
    ) -> (item: UniqueIdentifier, signed: CarrierStatement, changes: [CarriedChange])? {
        let (own, item, far) = (context.options.device, UniqueIdentifier.random(), next.far)
        let areBelow = certified.contains { far.statement(of: $0.pairing, about: app) != nil }
        if !areBelow, next.carried.hasNamed(certified, about: app, to: primary.pairing, in: primary.epoch) {
            return nil
        }
        let bare = CarrierStatement.bare(of: own, through: primary.pairing, about: app, certified)
        logLeftOut(certified.count - bare.secondaries.count, "more secondaries than a statement holds", app)
        let offers = bare.secondaries.compactMap { far.statement(of: $0.pairing, about: app) }
        let (below, leftOut) = next.carried.chooseBelow(
            offers, about: app, to: primary.pairing, notNaming: [own, primary.device ?? own], room: bare.room,
            now: context.scheduler.now)
        logLeftOut(leftOut, "statements of carriers below left out", app)
        if leftOut > 0 {
            context.scheduler.schedule(after: ConfigurationLimits.leftOut) { [weak self] in self?.changed() }
        }
        return next.carried.announce(
            bare.secondaries, below: below, about: app, to: primary.pairing, in: primary.epoch, of: own, item: item
        ).map { (item, $0.statement, $0.changes) }
    }

    private func send(
        _ statement: CarrierStatement, as id: UniqueIdentifier, _ app: ApplicationIdentifier,
        to upstream: UniqueIdentifier
    ) {
        let item = OutboundItem(
            id: id, payload: statement.signed(with: context.options.signer),
            supersedeKey: SHA256.digest(Array("carrier".utf8)))
        context.scheduler.start { [self] in
            guard let carrier, await carrier.submit(item, app, to: upstream) != .done else { return }
            forgetAnnouncements(to: upstream) { announcement, _ in announcement.item == id }
        }
    }

    private func logLeftOut(_ number: Int, _ message: StaticString, _ app: ApplicationIdentifier) {
        guard number > 0 else { return }
        context.log(.warning, message, .text("app", "\(app)"), .integer("left out", number))
    }
}
