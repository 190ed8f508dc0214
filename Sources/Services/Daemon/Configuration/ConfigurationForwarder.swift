// Configuration forwarder: the forwarding half. It keeps the desired state, delivers it as one durable item to each
// secondary that lacks it, and collects their reports. Every rule is the machine's; the forwarder commits its rows and
// then makes its deliveries.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// The present result of a configuration at one secondary.
struct ApplyResult: Sendable, Equatable {
    /// nil for this device's own app.
    let pairing: UniqueIdentifier?
    let name: String
    /// The name of the secondary that carries for it; nil for one of this device's own.
    private(set) var via: String?
    /// Nil while there is none: the configuration waits for the link or for the report.
    let verdict: String?
    let text: String?
    let version: UInt64
    let digest: [UInt8]
    /// How the delivery ended without a verdict.
    private(set) var ending: ForwardedConfiguration.Ending?
    /// The rollout has not come to this secondary (CFG-79).
    fileprivate(set) var hold: Hold?
    /// A rollout waits for it before it comes to the others (CFG-79).
    fileprivate(set) var isAwaited = false
    /// It has not announced the app, and nothing is expected of it before that.
    fileprivate(set) var awaitsApplication = false
    /// The desired configurations that this change of keys has ended; at this device's own result only.
    private(set) var ended: [EndedConfiguration] = []

    enum Hold: String, Sendable {
        /// Others get it first.
        case heldBack = "held-back"
        /// One of those has rejected it, or none of them is paired any more.
        case stopped
    }

    /// Whether nothing more is waited for.
    var isDone: Bool { verdict != nil || ending != nil || hold == .stopped }
}

/// A desired configuration that a change of keys has ended (CFG-94).
struct EndedConfiguration: Sendable, Equatable {
    let target: PairedIdentifier
    let version: UInt64
    let digest: [UInt8]
    let reason: Rejection

    fileprivate init(_ desired: DesiredConfiguration, because reason: Rejection) {
        (target, version, digest) = (desired.key.target, desired.version, desired.digest)
        self.reason = reason
    }
}

/// The result of `apply` (CTL-3): one for each secondary, or the reason why nothing was forwarded.
enum ApplyOutcome: Sendable, Equatable {
    /// - ordinal: of the forwarder's last change; nil for this device's own app.
    case results([ApplyResult], ordinal: UInt64?)
    case failed(ControlFailure)
}

/// The secondaries that get a configuration first (CFG-79).
enum RolloutStage: Sendable {
    /// So many of them, those that have the app, and of these those with a link, before the others.
    case count(Int)
    /// Those with these names, pairings or vendor identifiers.
    case names([String])

    /// The pairings of those that get it first.
    func first(of peers: [ConfigurationPeer]) throws(ControlFailure) -> Set<UniqueIdentifier> {
        switch self {
        case .count(let count): return Set(peers.prefix(count).map(\.pairing))
        case .names(let names):
            // Looked up, because a request may name thousands among as many.
            let named = Dictionary(grouping: peers, by: \.name)
            var identified: [UniqueIdentifier: [ConfigurationPeer]] = [:]
            for peer in peers {
                for identifier in [peer.pairing, peer.device] {
                    if let identifier { identified[identifier, default: []].append(peer) }
                }
            }
            var first: Set<UniqueIdentifier> = []
            for name in names {
                let byName = named[name] ?? []
                let others = UniqueIdentifier(text: name).flatMap { identified[$0] } ?? []
                let matching = byName + others.filter { other in !byName.contains { $0.pairing == other.pairing } }
                guard matching.count == 1, let peer = matching.first else {
                    let problem = matching.isEmpty ? "no secondary that it is for" : "more than one secondary"
                    // One device can be stated by several carriers: then neither name nor identifier chooses.
                    let hint = matching.isEmpty ? "" : "; name the pairing: \(Self.labels(of: matching))"
                    throw ControlFailure(.notFound, "\(problem) is called \(OutsideText.quoted(name))\(hint)")
                }
                first.insert(peer.pairing)
            }
            return first
        }
    }

    /// A few pairings with the ways to them.
    private static func labels(of peers: [ConfigurationPeer]) -> String {
        let labels = peers.prefix(4).map { peer in
            "\(peer.pairing)" + (peer.via.map { " (via \(OutsideText.quoted($0)))" } ?? "")
        }
        return labels.joined(separator: ", ") + (peers.count > labels.count ? ", ..." : "")
    }
}

/// Forwards configurations and collects reports; confined to its loop.
final class ConfigurationForwarder {
    private let context: ConfigurationContext
    private let committed: CommittedState<DesiredConfigurations>
    let changes: ChangeWaiters
    /// The secondaries with a ready link.
    private var linkedPairings: Set<UniqueIdentifier> = []
    /// Queues whose undelivered items wait to be delivered again on the same link. Those of far secondaries are here by
    /// their own pairings.
    private let repetitions: CoalescedActions<QueueKey>
    /// The secondaries that get again on the same link what they have rejected (LIM-137).
    private let reconsiderations: CoalescedActions<UniqueIdentifier>
    /// Know the keys that secondaries lack: no configuration overtakes them (CFG-92).
    weak var chains: KeyChainForwarder?
    weak var keys: KeyChanges?
    /// Queues for which something has to wait for keys. Those of far secondaries are here by their own pairings.
    private var waitingForKeys: Set<QueueKey> = []

    init(_ context: ConfigurationContext, state: DesiredConfigurations, store: LoopStore) {
        self.context = context
        changes = ChangeWaiters(on: context.scheduler)
        repetitions = CoalescedActions(on: context.scheduler, after: ConfigurationLimits.repetition)
        reconsiderations = CoalescedActions(on: context.scheduler, after: ConfigurationLimits.reconsideration)
        committed = CommittedState(state, in: store)
    }

    /// The state in force.
    var state: DesiredConfigurations { committed.state }

    func addressee(_ peer: ConfigurationPeer) -> ConfigurationAddressee {
        ConfigurationAddressee(
            pairing: peer.pairing, epoch: peer.epoch, device: peer.device,
            isBehind: { [weak self] subject in self?.waitsForKeys(of: subject, at: peer) ?? false },
            trust: { [context] app in context.trust(of: app, at: peer) },
            hasApplication: { [context] app in context.hasApplication(app, at: peer) },
            target: { [context] app in context.target(of: app, through: peer.pairing) })
    }

    private func waitsForKeys(of subject: KeySubject, at peer: ConfigurationPeer) -> Bool {
        let isBehind = chains?.isBehind(subject, at: peer) ?? false
        if isBehind { waitingForKeys.insert(.configuration(of: subject.application, at: peer.pairing)) }
        return isBehind
    }

    /// The keys that these secondaries lack are on their way to them: what has waited for them follows.
    func caughtUp(_ subject: KeySubject, at pairings: [UniqueIdentifier]) {
        let app = subject.application
        let waiting = pairings.filter { waitingForKeys.remove(.configuration(of: app, at: $0)) != nil }
        changed(app, at: waiting.compactMap { context.peer($0) })
    }

    // MARK: the operator

    /// Makes the configuration the desired one, and delivers it to the secondaries that lack it; returns one result for
    /// each when all have one, or when `wait` is over.
    /// - Parameters:
    ///   - first: the secondaries that get it first (CFG-79); nil for all at once.
    ///   - check: the primary's own, under the keys in force when it is accepted.
    func apply(
        _ desired: DesiredConfiguration, first: Set<UniqueIdentifier>?, to peers: [ConfigurationPeer], wait: Duration,
        check: @escaping () throws(VerificationFailure) -> Void
    ) async -> ApplyOutcome {
        let (now, addressees) = (context.reading.wall, peers.map(addressee))
        let refusal: ControlFailure?
        do throws(StoreError) {
            refusal = try await committed.commit { [self] next in
                // Again, after those before it: a key may have been revoked since the envelope came (CFG-94).
                do throws(VerificationFailure) { try check() } catch { return Commit([]) { ControlFailure(error) } }
                do throws(DesiredRefusal) {
                    let transition = try next.accept(
                        desired, first: first, for: addressees, hasLeft: hasLeft, at: now
                    ) { .random() }
                    return Commit(transition.rows) { [self] in
                        carryOut(transition)
                        return nil
                    }
                } catch {
                    return Commit([]) { ControlFailure(error) }
                }
            }
        } catch {
            return .failed(ControlFailure(error))
        }
        if let refusal { return .failed(refusal) }
        let pairings = peers.map(\.pairing)
        await changes.wait(atMost: wait, untilEach: pairings) { [self] in result(desired, $0)?.isDone ?? true }
        return .results(results(desired, pairings), ordinal: changes.ordinal)
    }

    /// The results of a configuration that was applied before, once something has changed after an ordinal.
    func follow(
        _ desired: DesiredConfiguration, at peers: [ConfigurationPeer], after ordinal: UInt64?, wait: Duration
    ) async -> ApplyOutcome {
        if let ordinal { await changes.change(after: ordinal, atMost: wait) }
        return .results(results(desired, peers.map(\.pairing)), ordinal: changes.ordinal)
    }

    private func results(_ desired: DesiredConfiguration, _ pairings: [UniqueIdentifier]) -> [ApplyResult] {
        pairings.compactMap { result(desired, $0) }
    }

    private func result(_ desired: DesiredConfiguration, _ pairing: UniqueIdentifier) -> ApplyResult? {
        guard let peer = context.peer(pairing) else { return nil }
        let state = state.state(of: desired.key, at: pairing)
        let delivery = state?.delivery(of: desired.digest)
        var result = ApplyResult(
            pairing: pairing, name: peer.name, via: peer.via, verdict: self.state.verdict(on: desired, at: pairing),
            text: delivery?.text, version: desired.version, digest: desired.digest,
            ending: self.state.ending(of: desired, at: addressee(peer)))
        let kept = self.state.desired(desired.digest, of: desired.key)
        if let kept, let rollout = kept.rollout {
            if !kept.isOffered(to: pairing) { result.hold = rollout.stopped == nil ? .heldBack : .stopped }
            result.isAwaited = kept.awaits(pairing, state)
        }
        result.awaitsApplication = Verdict.awaitsApplication(
            hasApplication: context.hasApplication(desired.key.application, at: peer), verdict: result.verdict,
            ending: result.ending, isDrift: state?.hasDrifted(from: kept ?? desired) ?? false)
        return result
    }

    /// The secondaries with apps that do not load what is active there, by their last reports (CTL-75).
    var unloadedPairings: [UniqueIdentifier] { state.unloadedPairings.filter { unloaded(at: $0) != nil } }

    /// The apps of a secondary that do not load what is active there, and its name; nil if it has reported none.
    func unloaded(at pairing: UniqueIdentifier) -> (device: String, apps: [ApplicationIdentifier])? {
        guard let peer = context.peer(pairing) else { return nil }
        let apps = state.unloaded(at: addressee(peer))
        return apps.isEmpty ? nil : (peer.label, apps)
    }

    /// Ends the desired state of a slot; returns the versions that were desired.
    func withdraw(_ key: ConfigurationSlotKey, version: UInt64?) async throws(StoreError) -> [UInt64] {
        let now = context.reading.wall
        return try await committed.commit { [self] next in
            let (versions, transition) = next.withdraw(key, versions: version.map { [$0] }, at: now)
            return Commit(transition.rows) { [self] in
                carryOut(transition)
                return versions
            }
        }
    }

    /// Ends what is desired for an app and is refused by every secondary from now on, after what is being accepted;
    /// returns it with the reasons. On a full disk, too: it makes room.
    func end(
        _ subject: KeySubject, where isRefused: @escaping (DesiredConfiguration) -> Rejection?
    ) async throws(StoreError) -> [EndedConfiguration] {
        let now = context.reading.wall
        return try await committed.commit(room: .reserve) { [self] next in
            var ended: [EndedConfiguration] = []
            var transition = DesiredTransition()
            for key in next.keys where key.subject == subject {
                let refused = next.desired(of: key).compactMap { desired in
                    isRefused(desired).map { EndedConfiguration(desired, because: $0) }
                }
                guard !refused.isEmpty else { continue }
                transition.append(
                    next.withdraw(key, versions: Set(refused.map(\.version)), at: now).transition)
                ended += refused
            }
            return Commit(transition.rows) { [self] in
                carryOut(transition)
                return ended
            }
        }
    }

    // MARK: the secondaries

    /// The link of a secondary is ready.
    func linked(_ peer: ConfigurationPeer) { linkedPairings.insert(peer.link) }

    func isLinked(_ peer: ConfigurationPeer) -> Bool { linkedPairings.contains(peer.link) }

    /// Secondaries get what they lack, after the link that leads to them has become ready.
    /// - Parameter bringsKeys: whether this primary has the chain of an app.
    func deliverMissing(to peers: [ConfigurationPeer], bringsKeys: @escaping (KeySubject) -> Bool) {
        let now = context.reading.wall
        change(at: peers) { [self] next, addressee in
            // Only in its turn: a configuration may be on its way to the disk.
            guard !next.isEmpty else { return DesiredTransition() }
            return next.linked(addressee, isUnderWay: isUnderWay, bringsKeys: bringsKeys, at: now) { .random() }
        }
    }

    /// These secondaries in the order in which a rollout takes them (CFG-79): those that have announced the app first,
    /// because the others wait until it has run; then those with a ready link; each by its name.
    func rolloutOrder(of peers: [ConfigurationPeer], for app: ApplicationIdentifier) -> [ConfigurationPeer] {
        let sorted = peers.sorted { ($0.name, $0.pairing) < ($1.name, $1.pairing) }
        let (with, without) = (
            sorted.filter { context.hasApplication(app, at: $0) },
            sorted.filter { !context.hasApplication(app, at: $0) }
        )
        return [with, without].flatMap { part in part.filter(isLinked) + part.filter { !isLinked($0) } }
    }

    /// The link is gone.
    func unlinked(_ pairing: UniqueIdentifier) { linkedPairings.remove(pairing) }

    /// The app of these secondaries has been announced, or the primary has another identifier for it.
    /// - Parameter digest: of an envelope whose rejection counts no longer, because its keys are brought again.
    func changed(
        _ application: ApplicationIdentifier, at peers: [ConfigurationPeer], forgetting digest: [UInt8]? = nil
    ) {
        let now = context.reading.wall
        change(at: peers) { [self] next, addressee in
            // Only in its turn: the app's first configuration may be on its way to the disk, delivered under the mark
            // of before (CFG-72).
            guard next.desires(application) else { return DesiredTransition() }
            return next.changed(application, at: addressee, forgetting: digest, isUnderWay: isUnderWay, at: now) {
                .random()
            }
        }
    }

    /// A rollout has come to all: each secondary gets what it lacks. A delivery that was handled may be answered by a
    /// report on this link, and is made again at the next one only (CFG-72).
    private func promoted(_ application: ApplicationIdentifier) {
        let now = context.reading.wall
        change(at: context.receivers) { next, addressee in
            next.changed(application, at: addressee, isUnderWay: { !$0.isLost }, at: now) { .random() }
        }
    }

    /// Whether the pairing has begun an epoch that this state has not entered.
    func mustEnterEpoch(of peer: ConfigurationPeer) -> Bool { state.mustEnterEpoch(of: addressee(peer)) }

    /// A pairing is gone, and the configurations on their way through it.
    /// - Parameter isLost: no operator has ended it.
    func unpaired(_ pairing: UniqueIdentifier, isLost: Bool) {
        change(room: .reserve) { next in next.unpaired(pairing, isLost: isLost) }
    }

    /// The record of the item of a delivery; nil if it is no longer known.
    private func record(of entry: ForwardedConfiguration) -> OutboundRecord? {
        let queue = context.queue(of: entry.key.application, at: entry.pairing)
        return context.delivery.submissions.record(of: entry.id, in: queue)?.record
    }

    private func isUnderWay(_ entry: ForwardedConfiguration) -> Bool { record(of: entry)?.isUnfinished ?? false }

    /// Whether the peer has taken the item of a delivery. Without a verdict its report is on its way, or held back
    /// (CFG-52).
    func isTaken(_ entry: ForwardedConfiguration) -> Bool {
        let queue = context.queue(of: entry.key.application, at: entry.pairing)
        return context.delivery.submissions.hasAccepted(entry.id, in: queue) && !isUnderWay(entry)
    }

    /// Whether the secondary, or a carrier on the way to it, may have the item by now.
    private func hasLeft(_ entry: ForwardedConfiguration) -> Bool { record(of: entry)?.phase != .waiting }

    /// The pairing of the secondary that an item is for: those for far secondaries are in the queue of their carrier.
    private func addressee(of id: UniqueIdentifier, in queue: QueueKey) -> UniqueIdentifier {
        if state.isOpen(id, at: queue.pairing) { return queue.pairing }
        return context.carrier?.pairing(behind: queue.pairing) { state.isOpen(id, at: $0) } ?? queue.pairing
    }

    /// The item has ended. One that the secondary took is finished by its report.
    /// - Parameter again: runs before the secondary gets on the same link what ended undelivered.
    func ended(
        _ id: UniqueIdentifier, in queue: QueueKey, _ outcome: Outcome, again: @escaping (ConfigurationPeer) -> Void
    ) {
        guard let ending = outcome.ending else { return }
        let (near, pairing) = (queue.pairing, addressee(of: id, in: queue))
        change(for: [pairing]) { next in next.ended(id, at: pairing, ending, nil) }
        // Its time ran out while the link was down, and the secondary confirms on this link that it never had it. A
        // secondary that says so of each item would get it without end.
        guard ending == .undelivered else { return }
        repetitions.request(.configuration(of: queue.app, at: pairing)) { [weak self] in
            guard let self, linkedPairings.contains(near), let peer = context.peer(pairing) else { return }
            again(peer)
            changed(queue.app, at: [peer])
        }
    }

    /// A report has arrived from a secondary; returns true when it is durable or dropped, and false if it could not be
    /// stored.
    func received(_ report: [UInt8], from peer: ConfigurationPeer) async -> Bool {
        let (now, addressee) = (context.reading.wall, addressee(peer))
        let isDurable: Bool? = try? await committed.commit { [self] next in
            do throws(ReportFailure) {
                guard let (device, key) = peer.reporter else { throw .threshold }
                let (entry, transition) = try next.report(
                    report, from: addressee, device: device, key: key, at: now
                ) { .random() }
                return Commit(transition.rows) { [self] in
                    log(entry, peer)
                    carryOut(transition)
                    reportRefusedKeys(entry, peer)
                    if entry.mayPassLater { reconsider(peer.pairing) }
                    return true
                }
            } catch {
                context.log(error, from: peer)
                return Commit([]) { true }
            }
        }
        return isDurable ?? false
    }

    private func reportRefusedKeys(_ entry: ForwardedConfiguration, _ peer: ConfigurationPeer) {
        guard entry.verdict.flatMap({ Rejection(word: $0) })?.comesOfKeys == true,
            let desired = state.desired(entry.digest, of: entry.key)
        else { return }
        keys?.refused(desired, by: peer)
    }

    /// The link to a gateway may last for months, and a device behind it has no other one.
    private func reconsider(_ pairing: UniqueIdentifier) {
        reconsiderations.request(pairing) { [weak self] in
            self?.chains?.whenDecided { self?.reconsidered(pairing) }
        }
    }

    private func reconsidered(_ pairing: UniqueIdentifier) {
        guard let peer = context.peer(pairing), isLinked(peer) else { return }
        let now = context.reading.wall
        change(at: [peer]) { next, addressee in next.reconsidered(addressee, at: now) { .random() } }
    }

    private func log(_ entry: ForwardedConfiguration, _ peer: ConfigurationPeer) {
        context.log(
            .info, "configuration reported", .outside("device", peer.name), .text("app", "\(entry.key.application)"),
            .text("verdict", entry.verdict ?? ""), .integer("version", entry.version),
            .outside("detail", entry.text ?? ""))
    }

    // MARK: changes

    /// Changes the state, for a caller that does not wait.
    /// - Parameter pairings: the secondaries that lack something if the change cannot be stored.
    private func change(
        for pairings: [UniqueIdentifier] = [], room: CommitRoom = .ordinary,
        _ event: @escaping (inout DesiredConfigurations) -> DesiredTransition
    ) {
        committed.perform(
            room: room,
            { [self] next in
                let transition = event(&next)
                return Commit(transition.rows) { [self] in carryOut(transition) }
            },
            failure: { [self] error in
                context.log(.error, "desired configuration not stored", .text("error", error.description))
                pairings.forEach(context.whenNotStored)
            })
    }

    /// Changes the state for each of these secondaries, with one commit for many.
    private func change(
        at peers: [ConfigurationPeer],
        _ event: @escaping (inout DesiredConfigurations, ConfigurationAddressee) -> DesiredTransition
    ) {
        for part in peers.commitBatches {
            let addressees = part.map(addressee)
            change(for: part.map(\.pairing)) { next in
                var transition = DesiredTransition()
                for addressee in addressees { transition.append(event(&next, addressee)) }
                return transition
            }
        }
    }

    private func carryOut(_ transition: DesiredTransition) {
        if !transition.changes.isEmpty { changes.count() }
        // Cancellations first: what they are about must not be behind what takes its place.
        for entry in transition.cancellations {
            context.takeBack(entry.id, of: entry.key.application, from: entry.pairing)
        }
        for item in transition.deliveries { submit(item) }
        for application in transition.promoted { promoted(application) }
        changes.notify()
    }

    private func submit(_ item: ConfigurationItem) {
        let (entry, key) = (item.entry, item.entry.key)
        context.log(
            .debug, "configuration forwarded", .text("pairing", "\(entry.pairing)"), .text("app", "\(key.application)"),
            .integer("version", entry.version))
        let slot = SHA256.digest(Array("\(key.role.rawValue) \(key.target.text)".utf8))
        context.submit(item.envelope, as: entry.id, slot: slot, of: key.application, to: entry.pairing) {
            [weak self] result in
            guard let self, case .failure(let error) = result else { return }
            change(for: [entry.pairing]) { next in
                next.ended(entry.id, at: entry.pairing, .notQueued, error.description)
            }
            if case .store = error { context.whenNotStored(entry.pairing) }
        }
    }
}

extension Outcome {
    /// How a delivery ends with the item; nil for one that the secondary has taken.
    fileprivate var ending: ForwardedConfiguration.Ending? {
        switch self {
        case .handled: nil
        case .rejected, .withdrawn(.dead): .failed
        case .withdrawn(.cancelled): .withdrawn
        case .withdrawn(.superseded): .superseded
        case .withdrawn(.expired), .withdrawn(.lost): .undelivered
        }
    }
}

extension ControlFailure {
    /// An envelope that does not become the desired one (CFG-71).
    fileprivate init(_ refusal: DesiredRefusal) {
        switch refusal {
        case .rollback(let inForce, let isTaken):
            let way = isTaken ? "" : ", or withdraw that one with 'tandem configuration withdraw'"
            self.init(
                name: Rejection.rollback.rawValue, text: "version \(inForce) is desired; sign a higher version\(way)")
        case .equivocation(let version):
            self.init(
                name: Rejection.equivocation.rawValue,
                text: "a secondary has taken other bytes of version \(version), or may take them; sign a higher version"
            )
        case .full:
            self.init(
                .full,
                "the limit of desired configurations is reached; 'tandem configuration withdraw' removes one")
        }
    }

    /// A rejection by the primary's own check.
    init(_ failure: VerificationFailure) {
        let hint = failure.rejection == .threshold ? " ('tandem trust list' shows the trusted keys)" : ""
        self.init(name: failure.rejection.rawValue, text: failure.detail + hint)
    }

    /// A change that could not be stored.
    init(_ error: StoreError) { self.init(error.isFull ? .full : .store, error.description) }
}

extension StoreError {
    /// Whether freeing space helps.
    var isFull: Bool { if case .full = self { true } else { false } }
}
