// Configuration service: signed configuration in a device. It takes what operators apply, what peers send, what apps
// answer and what secondaries report, and passes each to one of its halves: the receiver of this device's own
// configuration or the forwarder to its secondaries. Every verdict is the SignedConfiguration room's or the app's.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// Signed configuration of one device; confined to its loop.
final class ConfigurationService {
    struct Options {
        let device: UniqueIdentifier
        /// This device's name, for results about its own app.
        let name: String
        /// The side that the daemon was started for.
        let role: DeviceRole
        let signer: ReportPrivateKey
        /// The daemon's half of the waiver (CFG-22).
        let allowsInvalidSignatures: Bool
    }

    private let context: ConfigurationContext
    private let files: ConfigurationSlotFiles
    private let receiver: ConfigurationReceiver
    private let forwarder: ConfigurationForwarder
    private let chains: KeyChainForwarder
    private let keys: KeyChanges
    private let carrier: ConfigurationCarrier
    private var lastTick: MonotonicTime
    /// How often each peer's app was announced within the time of LIM-134.
    private var announcements: [QueueKey: Int] = [:]
    /// The secondaries for which a delivery could not be stored; they are served again later.
    private var unserved: Set<UniqueIdentifier> = []
    private let retry: LaterAttempt

    /// - Parameter rows: the rows of a key space, as they were committed.
    init(
        _ options: Options, in device: any ConfigurationHost, delivery: DurableDelivery, store: LoopStore,
        applications: OwnedDirectory, scheduler: any Scheduler, rows: (RowSpace) throws -> [Row],
        log: @escaping LogHandler
    ) throws {
        context = ConfigurationContext(
            options: options, device: device, delivery: delivery, scheduler: scheduler, log: log)
        files = ConfigurationSlotFiles(context, applications: applications)
        receiver = ConfigurationReceiver(
            context, files: files, state: try ReceiverState(device: options.device, rows: rows), store: store)
        forwarder = ConfigurationForwarder(context, state: try DesiredConfigurations(rows: rows), store: store)
        chains = KeyChainForwarder(context, state: try KeyChainDeliveries(rows: rows), store: store) {
            [receiver] subject in receiver.state.anchors[subject]?.steps ?? []
        }
        keys = KeyChanges(context, receiver, forwarder, chains)
        carrier = ConfigurationCarrier(context, state: try ConfigurationCarrier.State(rows: rows), store: store)
        (forwarder.chains, forwarder.keys) = (chains, keys)
        chains.forwarder = forwarder
        receiver.keys = keys
        context.carrier = carrier
        retry = LaterAttempt(on: scheduler)
        lastTick = scheduler.now
        context.whenNotStored = { [weak self] in self?.notStored(for: $0) }
        carrier.outlets = ConfigurationCarrier.Outlets(
            present: { [weak self] app, peers in self?.deliverMissing(of: app, to: peers) },
            gone: { [forwarder, chains] pairings in
                for pairing in pairings {
                    chains.unpaired(pairing)
                    forwarder.unpaired(pairing, isLost: true)
                }
            })
    }

    private var device: any ConfigurationHost { context.device }
    private var scheduler: any Scheduler { context.scheduler }

    /// Connects the schemas of apps; before the first connection.
    func connect(_ judge: @escaping SchemaJudge) { context.schemaJudge = judge }

    // MARK: life

    /// Brings the apps' files up to date and sends the owed reports; once, before the first connection.
    func start() {
        receiver.started()
        for app in configuredApplications { receiver.closeAbandonedSlots(of: app) }
        let apps = Set(receiver.state.slots.keys.map(\.subject).filter(context.isHere).map(\.application))
        for app in apps.sorted() { files.reconcile(context.subject(of: app), with: receiver.state) }
        let followed = receiver.state.anchors.all.filter { !$0.steps.isEmpty }.map(\.key)
        for subject in followed where !apps.contains(subject.application) {
            files.writeChain(of: subject, in: receiver.state)
        }
        keys.started(followed)
        forgetUnknownPairings()
        carrier.started()
        receiver.submitOwed()
        scheduleTick()
    }

    /// A crash or a full disk may have left rows of a pairing that is gone: a rollout would wait for it.
    private func forgetUnknownPairings() {
        let known = forwarder.state.pairings.union(chains.state.pairings).union(receiver.state.pairings)
            .union(carrier.pairings)
        for pairing in known where context.peer(pairing) == nil {
            // It may be a far one, which no operator has ended.
            unpaired(pairing, targets: [:], isLost: true)
        }
    }

    /// The daemon stops. Called before its apps learn of that.
    func stop() { context.isStopping = true }

    private func scheduleTick() {
        scheduler.schedule(after: ConfigurationLimits.tick) { [weak self] in
            guard let self else { return }
            receiver.timePassed(running: scheduler.now.since(lastTick), now: scheduler.wallNow)
            lastTick = scheduler.now
            keys.endAll()
            scheduleTick()
        }
    }

    // MARK: events of the device

    /// Reads the anchor of an app that registers now. Its registration is complete later, and its place among the
    /// operator's decisions is this one (SES-93).
    func readAnchor(_ pem: String, of app: ApplicationIdentifier, as role: DeviceRole) -> RegisteredAnchor {
        receiver.readAnchor(pem, of: KeySubject(application: app, role: role))
    }

    /// An app's receiving connection has registered.
    func connected(_ application: ConnectedApplication) {
        // An operator may have trusted a key before the app first registered.
        let key = KeySubject(application: application.app, role: application.role)
        device.trustChanged(for: key, to: receiver.state.anchors[key].trust)
        receiver.connected(key, application.registration, application.anchor)
    }

    /// An app's receiving connection is gone.
    /// - Parameter inOrder: the app ended its session; it has not failed.
    func disconnected(_ app: ApplicationIdentifier, as role: DeviceRole, inOrder: Bool) {
        guard !context.isStopping else { return }
        receiver.disconnected(KeySubject(application: app, role: role), inOrder ? .inOrder : .lost)
    }

    /// Configuration of this side's app has another target: another primary, or another identifier of it.
    func targetChanged(of app: ApplicationIdentifier, as role: DeviceRole, isConnected: Bool) {
        receiver.targetChanged(of: KeySubject(application: app, role: role), isConnected: isConnected)
        switch role {
        case .secondary: receiver.closeAbandonedSlots(of: app)
        case .primary:
            forwarder.changed(app, at: device.receivers)
            carrier.announcements.changed()
        }
    }

    /// A durable item of the channel `configuration` has arrived. It is handled once its consequences are durable.
    func received(_ item: ReceivedItem) { scheduler.start { [self] in await take(item) } }

    private func take(_ item: ReceivedItem) async {
        let passage =
            switch device.peer(item.queue.pairing) {
            case nil: ConfigurationCarrier.Passage.done
            case let peer? where peer.role == .primary: await take(item, from: peer)
            default: await takeFromPrimary(item)
            }
        switch passage {
        case .done: context.delivery.arrivals.handled(item.ordinal, in: item.queue)
        // The consequences of an item are a commit of their own, which a full disk refuses.
        case .failed where context.delivery.isDiskFull:
            context.delivery.arrivals.pauseWithoutAttempt(item.ordinal, in: item.queue)
        case .failed: context.delivery.arrivals.failed(item.ordinal, in: item.queue)
        case .noRoom: context.delivery.arrivals.pauseWithoutAttempt(item.ordinal, in: item.queue)
        }
    }

    private func take(
        _ item: ReceivedItem, from secondary: ConfigurationPeer
    ) async -> ConfigurationCarrier.Passage {
        switch await carrier.received(item, from: secondary) {
        case .taken(let passage): passage
        case .report(let bytes, let peer):
            await report(bytes, of: item.queue.app, from: peer) ? .done : .failed
        }
    }

    private func report(
        _ bytes: [UInt8], of app: ApplicationIdentifier, from peer: ConfigurationPeer
    ) async -> Bool {
        // The commit that enters the epoch failed, on a full disk, or a carrier has just stated it. The report is
        // dropped, and everything that the secondary lacks is delivered again.
        if chains.awaits(bytes) ? chains.mustEnterEpoch(of: peer) : forwarder.mustEnterEpoch(of: peer) {
            if peer.carrier == nil { deliverMissing(to: [peer]) } else { carrier.lookAgain(at: peer, for: app) }
            return true
        }
        if let isDurable = await chains.received(bytes, from: peer) { return isDurable }
        return await forwarder.received(bytes, from: peer)
    }

    private func takeFromPrimary(_ item: ReceivedItem) async -> ConfigurationCarrier.Passage {
        if let passage = await carrier.carry(item) { return passage }
        return await receiver.received(item) ? .done : .failed
    }

    /// Key sets and revocations first, and then configurations (CFG-92).
    private func deliverMissing(of app: ApplicationIdentifier, to peers: [ConfigurationPeer]) {
        keys.advance(of: app, at: peers, because: .announced)
        chains.whenDecided { [forwarder] in forwarder.changed(app, at: peers) }
    }

    private func deliverMissing(to peers: [ConfigurationPeer]) {
        keys.advance(at: peers, because: .linked)
        peers.forEach(forwarder.linked)
        chains.whenDecided { [forwarder, receiver] in
            forwarder.deliverMissing(to: peers) { receiver.state.anchors[$0] != nil }
        }
    }

    /// Brings later what a full disk keeps from a secondary (LIM-56), unless its next link has brought it.
    private func notStored(for pairing: UniqueIdentifier) {
        unserved.insert(pairing)
        retry.request { [weak self] in self?.serveAgain() }
    }

    private func serveAgain() {
        guard !context.delivery.isDiskFull else { return retry.request { [weak self] in self?.serveAgain() } }
        let peers = unserved.sorted().compactMap { context.peer($0) }
        unserved = []
        deliverMissing(to: peers.filter(forwarder.isLinked))
    }

    /// An item that this device submitted has ended.
    func ended(_ id: UniqueIdentifier, in queue: QueueKey, _ outcome: Outcome) {
        forwarder.ended(id, in: queue, outcome) { [weak self] peer in
            self?.keys.advance(of: queue.app, at: [peer], because: .changed)
        }
        carrier.announcements.ended(id, in: queue, outcome)
    }

    /// A path to the peer of a pairing is ready: a secondary gets what it lacks (CFG-72).
    /// - Parameters:
    ///   - readsTrials: both ends know reports of the second form (CFG-67).
    ///   - carries: both ends know carriers (CFG-100).
    func linked(_ pairing: UniqueIdentifier, readsTrials: Bool, carries: Bool) {
        receiver.linked(pairing, readsTrials: readsTrials)
        carrier.announcements.linked(pairing, reads: carries)
        guard let peer = device.peer(pairing), peer.role == .primary else { return }
        deliverMissing(to: [peer] + carrier.peers(behind: pairing))
    }

    /// The path is gone.
    func unlinked(_ pairing: UniqueIdentifier) {
        forwarder.unlinked(pairing)
        carrier.announcements.unlinked(pairing)
    }

    /// The secondaries of this device, or their apps, have changed: its primaries learn of it.
    func secondariesChanged() { carrier.announcements.changed() }

    /// A peer's app may take a configuration that it could not take before, or has lost one.
    func announced(_ app: ApplicationIdentifier, at pairing: UniqueIdentifier) {
        guard let peer = device.peer(pairing), peer.role == .primary else { return }
        // The app may trust another key, which the primaries above must learn.
        carrier.announcements.changed()
        let key = QueueKey.configuration(of: app, at: pairing)
        let count = announcements[key, default: 0] + 1
        announcements[key] = count
        if count == 1 {
            scheduler.schedule(after: ConfigurationLimits.announcementsTime) { [weak self] in
                let count = self?.announcements.removeValue(forKey: key) ?? 0
                if count > ConfigurationLimits.announcements { self?.announced(app, at: pairing) }
            }
        }
        if count <= ConfigurationLimits.announcements { deliverMissing(of: app, to: [peer]) }
    }

    /// A pairing is gone.
    /// - Parameters:
    ///   - targets: the targets that configuration through it had, for each app; empty on the primary.
    ///   - isLost: a crash has cut its end short.
    func unpaired(
        _ pairing: UniqueIdentifier, targets: [ApplicationIdentifier: PairedIdentifier], isLost: Bool = false
    ) {
        chains.unpaired(pairing)
        forwarder.unpaired(pairing, isLost: isLost)
        carrier.unpaired(pairing)
        receiver.unpaired(pairing, targets: targets)
    }

    /// The names of the far secondaries behind a carrier, as many as an answer has room for.
    func far(behind carrier: UniqueIdentifier) -> [String] {
        self.carrier.peers(behind: carrier).prefix(DesiredStatus.rowLimit).map(\.name).sorted()
    }

    // MARK: the operator

    /// Trusts a key by the operator's word (CFG-17); the key has been judged. Nil if it could not be stored.
    func trust(_ pem: String, for key: KeySubject) async -> ConfigurationAnchors.Learning? {
        await receiver.learn(pem, for: key)
    }

    /// Replaces the trusted key of an app's configuration, or removes it if there is no other one (CTL-33), and ends
    /// what was verified with it.
    func replaceKey(_ key: KeySubject, with pem: String?) async throws(StoreError) {
        let former = receiver.state.anchors[key]
        try await receiver.end(key) { next in
            let forgotten = next.untrust(key)
            // The new anchor's row takes the place of the former one's.
            return forgotten + (pem.map { next.learn($0, for: key, from: .operator).changes } ?? [])
        }
        device.trustChanged(for: key, to: receiver.state.anchors[key].trust)
        context.log(.trustChanged(of: key, from: former, to: receiver.state.anchors[key]))
    }

    /// The operator removes an app of this device: registrations that begin from now on are behind that (SES-93).
    func decideRemoval(of app: ApplicationIdentifier) -> KeyDecision { receiver.decide(context.subject(of: app)) }

    /// Ends everything of an app of this device, which is removed: its configurations and its trusted key, in one
    /// commit with the rows of another part (SES-73).
    /// - Parameter decision: made when the app's registrations began to wait for the end of this.
    func remove(
        _ app: ApplicationIdentifier, by decision: KeyDecision, with rows: [RowChange]
    ) async throws(StoreError) {
        let key = context.subject(of: app)
        try await receiver.end(key, by: decision, with: rows) { next in next.untrust(key) }
        receiver.removed(key)
    }

    /// The apps whose configuration waits until this device's clock shows their clock floor (CFG-33).
    var waitingForClock: [(app: ApplicationIdentifier, floor: WallTime)] {
        Set(receiver.state.slots.values.filter { $0.phase == .waitingForClock }.map(\.key.subject))
            .map { ($0.application, receiver.state.clockFloor(of: $0)) }.sorted { $0 < $1 }
    }

    /// The apps that do not load what is applied for the present target, as they have said (CFG-42, CFG-115), each with
    /// the name of its fault.
    var notLoaded: [(app: ApplicationIdentifier, fault: String)] {
        receiver.state.slots.values.filter { context.isShown($0.key) }.compactMap { slot in
            receiver.loadFault(of: slot).map { (slot.key.subject.application, $0.name) }
        }.sorted { $0 < $1 }
    }

    /// The secondaries whose apps do not load what is active there (CTL-75).
    var unloadedPairings: [UniqueIdentifier] { forwarder.unloadedPairings }

    func unloaded(at pairing: UniqueIdentifier) -> (device: String, apps: [ApplicationIdentifier])? {
        forwarder.unloaded(at: pairing)
    }

    /// The files of apps that could not be written or removed, with the reasons.
    var unwrittenFiles: [String] { files.unwritten }

    /// Whether trust in the text alone is what is in force for the app's configuration.
    func isTrusted(_ key: KeySubject, onlyAs pem: String) -> Bool {
        receiver.state.anchors[key]?.isOnly(pem) ?? false
    }

    /// Whether a key is trusted for the app's configuration.
    func isTrusted(_ key: KeySubject) -> Bool { receiver.state.anchors[key] != nil }

    /// Writes the files of an app of this device for its new user.
    func ownerChanged(of app: ApplicationIdentifier) {
        files.ownerChanged(of: context.subject(of: app), in: receiver.state)
    }

    /// Applies or forwards the exact bytes of an envelope.
    /// - Parameters:
    ///   - wait: for verdicts; a result without one by then says so.
    ///   - begins: whether only an app of this device is waited for.
    ///   - stage: the secondaries that get it first (CFG-79); nil for all at once.
    func apply(
        _ envelope: [UInt8], app: ApplicationIdentifier, wait: Duration, begins: Bool = false,
        stage: RolloutStage? = nil
    ) async -> ApplyOutcome {
        let waitForOthers = begins ? .zero : wait
        if let statement = ClaimedStatement(envelope) {
            guard stage == nil else {
                return .failed(ControlFailure(.badRequest, "a change of keys is for all secondaries at once"))
            }
            let subject = statement.subject ?? KeySubject(application: app, role: .secondary)
            return await keys.follow(envelope, of: subject, app, waitForOthers)
        }
        let payload: ConfigurationPayload
        let isForwarded: Bool
        do throws(VerificationFailure) {
            payload = try UnverifiedEnvelope(envelope).claimedConfiguration(of: app)
            isForwarded = isForOthers(payload)
            if isForwarded { try keys.check(envelope, payload) }
        } catch { return .failed(ControlFailure(error)) }
        if isForwarded {
            guard payload.role == .secondary else { return .failed(.noPrimaryApp) }
            return await forward(envelope, payload, waitForOthers, stage)
        }
        guard stage == nil else {
            return .failed(ControlFailure(.badRequest, "it is for this device's own app; there is no rollout"))
        }
        return await applyHere(envelope, payload, wait)
    }

    /// Whether this device forwards a configuration that it cannot verify, because it trusts no key for it (CFG-21).
    func isUnchecked(_ envelope: [UInt8], app: ApplicationIdentifier) -> Bool {
        forOthers(envelope, app).map { !isTrusted(KeySubject(application: app, role: $0.role)) } ?? false
    }

    /// The devices that a configuration names and that are no secondaries of its target here (CTL-25).
    func absentDevices(_ envelope: [UInt8], app: ApplicationIdentifier) -> [UniqueIdentifier] {
        guard let payload = forOthers(envelope, app) else { return [] }
        let present = context.receivers.filter { payload.isFor(context.target(of: app, through: $0.pairing)) }
        return payload.absent(from: present.map(\.device))
    }

    /// The claims of a configuration that is not for this device's own app; nil for anything else.
    private func forOthers(_ envelope: [UInt8], _ app: ApplicationIdentifier) -> ConfigurationPayload? {
        guard ClaimedStatement(envelope) == nil,
            let payload = try? UnverifiedEnvelope(envelope).claimedConfiguration(of: app)
        else { return nil }
        return isForOthers(payload) ? payload : nil
    }

    /// Whether it is for the other side, or for the secondaries of a device whose own app is a secondary's.
    private func isForOthers(_ payload: ConfigurationPayload) -> Bool {
        let app = payload.application
        guard payload.role == context.side(of: app) else { return true }
        return payload.role == .secondary && !payload.isFor(device.target(of: app, as: .secondary))
            && context.receivers.contains { payload.isFor(context.target(of: app, through: $0.pairing)) }
    }

    /// The secondaries that the configuration is for.
    private func receivers(of payload: ConfigurationPayload) throws(VerificationFailure) -> [ConfigurationPeer] {
        let app = payload.application
        return try payload.selection(
            from: context.receivers, known: device.target(of: app, as: .primary)
        ) { (context.target(of: app, through: $0.pairing), $0.device) }
    }

    /// The results of an envelope that was applied before, once anything has changed after an ordinal (CTL-25).
    func follow(
        _ envelope: [UInt8], app: ApplicationIdentifier, after ordinal: UInt64?, wait: Duration
    ) async -> ApplyOutcome {
        if let subject = ClaimedStatement(envelope)?.subject, subject.application == app {
            return await keys.results(of: subject, envelope, after: ordinal, wait)
        }
        guard let desired = try? DesiredConfiguration(envelope: envelope, accepted: scheduler.wallNow),
            desired.key.application == app
        else { return .failed(ControlFailure(.badRequest, "this is no configuration of '\(app)'")) }
        let named = try? receivers(of: desired.payload)
        return await forwarder.follow(desired, at: named ?? [], after: ordinal, wait: wait)
    }

    /// Takes an envelope for an app of this device that the app itself brings, as it got it by a link (CFG-60).
    func submit(_ envelope: [UInt8], app: ApplicationIdentifier) async -> ApplyAnswer {
        let payload: ConfigurationPayload
        do throws(VerificationFailure) {
            payload = try UnverifiedEnvelope(envelope).claimedConfiguration(of: app)
            guard payload.role == context.side(of: app) else {
                throw VerificationFailure(.wrongRole, "it is for the other side's app")
            }
        } catch {
            return ApplyAnswer(verdict: error.rejection.rawValue, text: error.detail)
        }
        switch await applyHere(envelope, payload, Self.patience, isBrought: true) {
        case .failed(let failure): return ApplyAnswer(verdict: failure.name, text: failure.text)
        case .results(let results, _):
            return ApplyAnswer(verdict: results.first?.verdict, text: results.first?.text ?? "")
        }
    }

    /// How long an app that has brought a configuration waits for its own verdict; less than a query's deadline.
    private static var patience: Duration { .seconds(20) }

    private func forward(
        _ envelope: [UInt8], _ payload: ConfigurationPayload, _ wait: Duration, _ stage: RolloutStage?
    ) async -> ApplyOutcome {
        guard !device.receivers.isEmpty else {
            return .failed(ControlFailure(.notFound, "no secondary is paired; run 'tandem pair' first"))
        }
        let named: [ConfigurationPeer]
        do throws(VerificationFailure) { named = try receivers(of: payload) } catch {
            return .failed(ControlFailure(error))
        }
        let first: Set<UniqueIdentifier>?
        do throws(ControlFailure) {
            first = try stage?.first(of: forwarder.rolloutOrder(of: named, for: payload.application))
        } catch {
            return .failed(error)
        }
        do throws(FieldError) {
            let desired = try DesiredConfiguration(envelope: envelope, accepted: scheduler.wallNow)
            return await forwarder.apply(desired, first: first, to: named, wait: wait) {
                [self] () throws(VerificationFailure) in try keys.check(envelope, payload)
            }
        } catch {
            return .failed(ControlFailure(name: Rejection.payloadMalformed.rawValue, text: error.description))
        }
    }

    private func applyHere(
        _ envelope: [UInt8], _ payload: ConfigurationPayload, _ wait: Duration, isBrought: Bool = false
    ) async -> ApplyOutcome {
        guard let key = context.shownKey(of: payload.subject) else {
            return .failed(ControlFailure(.notFound, "this device has no primary; run 'tandem join' first"))
        }
        let digest = SHA256.digest(envelope)
        // Before the app can be asked: its answer may come in the turn in which the bytes are staged.
        let answer = receiver.observers.observe(digest)
        defer { receiver.observers.stop(answer, of: digest) }
        guard var transition = await receiver.received(envelope, by: nil, of: key, isBrought: isBrought) else {
            return .failed(ControlFailure(.store, "the configuration could not be stored; see the log"))
        }
        if transition.verdict == nil, let verdict = await answer.value(within: wait) { transition = verdict }
        let result = ApplyResult(
            pairing: nil, name: context.options.name, verdict: transition.verdict?.name, text: transition.detail,
            version: payload.version, digest: digest)
        return .results([result], ordinal: nil)
    }

    /// Ends the desired state of one slot (CTL-24).
    /// - Parameter version: only this version; nil for all.
    /// - Returns: the versions that were desired.
    func withdraw(
        _ key: ConfigurationSlotKey, version: UInt64?
    ) async throws(ControlFailure) -> [UInt64] {
        do throws(StoreError) { return try await forwarder.withdraw(key, version: version) } catch {
            throw ControlFailure(error)
        }
    }

    /// Waits until the desired state or a report has changed after an ordinal; returns the present ordinal.
    func waitForChange(after ordinal: UInt64?, atMost wait: Duration) async -> UInt64 {
        if let ordinal { await forwarder.changes.change(after: ordinal, atMost: wait) }
        return forwarder.changes.ordinal
    }

    // MARK: status

    /// The configurations of this device and those on their way to its secondaries.
    var status: ConfigurationStatus { ConfigurationStatus(of: receiver, forwarder, context) }

    /// The values that are signed for an app of this device and applied.
    func signedValues(of app: ApplicationIdentifier) -> SignedValues {
        let slot = context.shownKey(of: context.subject(of: app)).flatMap { receiver.state.slots[$0] }
        let values = slot?.shown?.record.payload.values ?? [:]
        return SignedValues(
            values: values, isWaived: slot?.waived != nil,
            isNotLoaded: slot.flatMap { receiver.loadFault(of: $0) } != nil)
    }

    /// Has an app read its files again (CFG-42).
    static var reloadBody: [UInt8] { ConfigurationOffer.reloadMessage.ownBytes }

    /// The desired state beside the reports of the secondaries.
    var desired: DesiredStatus {
        DesiredStatus(
            state: forwarder.state,
            secondaries: context.receivers.map { peer in
                DesiredStatus.Secondary(
                    name: peer.name, via: peer.via, addressee: forwarder.addressee(peer),
                    isLinked: peer.carrier == nil ? forwarder.isLinked(peer) : nil,
                    // Of one behind a carrier this device sees the way to the carrier only.
                    hasTaken: { [forwarder] in peer.carrier == nil && forwarder.isTaken($0) })
            }, now: scheduler.wallNow, parts: context.parts)
    }

    /// The far secondaries that carriers state or have stated.
    var farSecondaries: FarSecondaryRows { carrier.rows }

    /// The rows of a far secondary that is gone end (CTL-68).
    func forget(_ device: UniqueIdentifier) async throws(StoreError) { try await carrier.forget(device) }

    /// The trusted keys, and the key statements at the secondaries.
    var keyStatus: KeyStatus {
        KeyStatus(chains.state, receiver.state.anchors, context, isConflicting: receiver.isConflicting)
    }

    /// The apps for which there is any configuration state.
    var configuredApplications: Set<ApplicationIdentifier> {
        Set(receiver.state.slots.keys.map(\.application))
    }

    /// The anchor that configuration of an app of this device is verified with; nil if none is trusted.
    func anchor(of app: ApplicationIdentifier) -> KnownAnchor? { receiver.state.anchors[context.subject(of: app)] }

    /// Whether an app of this device is given configuration whose signature is invalid (CFG-22), as its code said last.
    func waives(_ app: ApplicationIdentifier) -> Bool { receiver.waives(app) }

    /// The app's own directory, made if it is missing; nil if it cannot be.
    func directory(of app: ApplicationIdentifier) -> String? { files.directory(of: app) }
}
