// Pairings of one device: the registry in force and every change of it. A change is durable first; then the daemon's
// parts follow it, before any other change can run, and only then its caller answers the peer or the operator (PAR-9,
// PAR-10).

import TandemBase
import TandemCrypto
import TandemOperations
import TandemPairing
import TandemReactor
import TandemStore
import TandemTransport
import TandemWire

/// The pairings of one daemon; confined to its loop.
final class PairingService {
    /// A change in force, for the parts of the daemon that follow the pairings.
    enum Event {
        /// A pairing is new or has changed.
        case paired(PairingRecord)
        /// A pairing is gone, with the targets that configuration through it had.
        case unpaired(PairingRecord, targets: [ApplicationIdentifier: PairedIdentifier])
        /// The default sessions of a role are bound to this pairing; nil for none.
        case chosen(UniqueIdentifier?, as: DeviceRole)
        /// Configuration of a secondary's app has another target.
        case retargeted(ApplicationIdentifier)
        /// The pairing continues in a new epoch.
        case newEpoch(PairingRecord)
    }

    private let registry: CommittedState<PairingRegistry>
    private let installed: CommittedState<InstalledApplications>
    private let own: PairingRegistry.OwnDevice
    private let vendor: UniqueIdentifier
    private let scheduler: any Scheduler
    private let log: LogHandler
    /// The primary whose configuration the apps of this secondary have.
    private var activePrimary: UniqueIdentifier?
    private var isStopping = false
    /// Paces of warnings that peers cause: joins with made-up tokens, and hellos of other pairings.
    private var warningPaces = LogPaces<String>(burst: 1)
    /// Paces of alarms about changed identifiers, by pairing (LIM-54). They are errors, which `ofLinks` does not limit.
    private var alarmPaces = LogPaces<UniqueIdentifier>(burst: 60)
    /// Paces of lines about new epochs and identifiers without room, by pairing.
    private var linkPaces = LogPaces.ofLinks
    /// Identifiers that primaries have announced and that are not judged yet.
    private lazy var declarations = PendingAnnouncements<CustomIdentifier?>(on: scheduler) { [weak self] in
        self?.judge($0, then: $1)
    }
    /// The daemon, whose parts follow each change in the turn in which it comes into force. Set before ``restore()``.
    weak var node: Node?

    /// - Parameters:
    ///   - own: this device as the other end of a join sees it.
    ///   - vendor: this device's vendor identifier.
    init(
        _ registry: CommittedState<PairingRegistry>, own: PairingRegistry.OwnDevice, vendor: UniqueIdentifier,
        installed: CommittedState<InstalledApplications>, scheduler: any Scheduler, log: @escaping LogHandler
    ) {
        self.registry = registry
        self.own = own
        self.vendor = vendor
        self.installed = installed
        self.scheduler = scheduler
        self.log = log
    }

    // MARK: life

    /// Reports what was stored.
    func restore() {
        for record in all { node?.follow(.paired(record)) }
        activePrimary = active(as: .secondary)?.pairing
        choose()
    }

    /// Removes lapsed pairings and tokens once a minute, until ``stop()``.
    func start() {
        scheduler.schedule(after: .seconds(60)) { [weak self] in
            guard let self, !isStopping else { return }
            scheduler.start { await self.expire() }
            start()
        }
    }

    func stop() { isStopping = true }

    // MARK: the registry in force

    var all: [PairingRecord] { registry.state.pairings }

    subscript(pairing: UniqueIdentifier) -> PairingRecord? { registry.state[pairing] }

    /// The pairing that the default sessions of the role are bound to.
    func active(as role: DeviceRole) -> PairingRecord? { registry.state.active(as: role) }

    /// The pairings of the role that are not pending.
    func allActive(as role: DeviceRole) -> [PairingRecord] { all.filter { $0.role == role && $0.state == .active } }

    /// The active pairings of a role of which the operator has yet to choose one (PAR-15).
    func unchosen(as role: DeviceRole) -> [PairingRecord] { active(as: role) == nil ? allActive(as: role) : [] }

    /// For each of these pairings the name of its device, or its identifier if another device has the same name.
    func labels(of records: [PairingRecord]) -> [String] {
        let names = uniqueNames
        return records.map { names[$0.pairing] ?? "\($0.pairing)" }
    }

    /// The names that only one device has, by its pairing.
    var uniqueNames: [UniqueIdentifier: String] {
        let groups = Dictionary(grouping: all, by: \.name).values.filter { $0.count == 1 }
        return Dictionary(uniqueKeysWithValues: groups.map { ($0[0].pairing, $0[0].name) })
    }

    /// The other devices that are trusted by hand.
    func trusted(as role: DeviceRole) -> [TrustedDevice] { registry.state.trusted.devices(as: role) }

    /// Whether a key is this device's own.
    func isOwn(_ pin: KeyIdentifier) -> Bool { pin == own.pin }

    /// A primary that is trusted by hand and not joined yet.
    func toBeJoined(_ primary: KeyIdentifier) -> TrustedDevice? {
        guard !all.contains(where: { $0.peer == primary && $0.role == .secondary }) else { return nil }
        return trusted(as: .primary).first { $0.pin == primary }
    }

    /// Whether a TLS peer with this pin may say hello: it has a pairing here that has not lapsed.
    func isPinned(_ pin: KeyIdentifier) -> Bool { registry.state.isPinned(pin, now: scheduler.wallNow) }

    /// The custom identifiers that the primaries of this device claim for an app.
    func claims(of app: ApplicationIdentifier) -> [(record: PairingRecord, claim: IdentifierClaim)] {
        all.compactMap { record in registry.state.claim(of: app, in: record.pairing).map { (record, $0) } }
    }

    /// Whether the identifier that a primary's app declares has no room here, and so no effect (PAR-18).
    func leavesOut(
        _ identifier: CustomIdentifier?, of app: ApplicationIdentifier, in pairing: UniqueIdentifier
    ) -> Bool {
        registry.state.leavesOut(identifier, of: app, in: pairing)
    }

    /// The apps for which a primary claims an identifier.
    var claimedApplications: Set<ApplicationIdentifier> { registry.state.claimedApplications }

    /// The paired identifiers of this device's apps.
    var targets: PairedTargets { targets(in: registry.state) }

    private func targets(in registry: PairingRegistry) -> PairedTargets {
        PairedTargets(registry, vendor: vendor) { [installed] app in
            guard let record = installed.state[app], record.role == .primary else { return nil }
            return record.identifier
        }
    }

    /// The targets of all apps that end with a pairing.
    /// - Parameter next: the registry without the pairing; nil if nothing takes its place.
    private func targets(
        endingWith record: PairingRecord, in registry: PairingRegistry, next: PairingRegistry? = nil
    ) -> [ApplicationIdentifier: PairedIdentifier] {
        let apps = Set(installed.state.records.keys).union(node?.configuration.configuredApplications ?? [])
        return targets(in: registry).ending(with: record, of: apps, next: next)
    }

    // MARK: changes in force

    /// Runs a transition after those before it. Its effect runs as soon as its rows are durable and before any other
    /// transition; the result of the effect comes back in a later turn, when the registry may have changed again.
    private func commit<Outcome: Sendable>(
        room: CommitRoom = .ordinary, _ transition: @escaping (inout PairingRegistry) -> Commit<Outcome>
    ) async throws(StoreError) -> Outcome {
        do throws(StoreError) { return try await registry.commit(room: room, transition) } catch {
            log(.notStored(error))
            throw error
        }
    }

    /// A pairing is new or has become active.
    private func announce(_ record: PairingRecord) { node?.follow(.paired(record)) }

    /// A pairing has been removed from the registry.
    private func forget(
        _ record: PairingRecord, targets: [ApplicationIdentifier: PairedIdentifier], _ level: LogLevel = .info,
        _ message: StaticString = "unpaired"
    ) {
        declarations.remove(record.pairing)
        node?.follow(.unpaired(record, targets: targets))
        choose()
        log(LogEvent(level, message, .text("pairing", "\(record.pairing)"), .outside("peer", record.name)))
    }

    /// Binds the default sessions of both roles to the chosen pairings. With another primary the apps of a secondary
    /// have that primary's configuration, or none.
    private func choose() {
        for role in DeviceRole.allCases { node?.follow(.chosen(active(as: role)?.pairing, as: role)) }
        let primary = active(as: .secondary)?.pairing
        guard primary != activePrimary else { return }
        activePrimary = primary
        for app in installed.state.records.keys.sorted() { node?.follow(.retargeted(app)) }
    }

    // MARK: peers

    /// Judges a peer's hello; returns when the changes are durable.
    func judge(_ hello: PairingRegistry.PeerHello) async -> HelloVerdict {
        let now = scheduler.wallNow
        do throws(StoreError) {
            return try await commit { [self] next in
                let before = next
                switch next.hello(hello, now: now) {
                case .refused(let name, let event):
                    next = before
                    return Commit([]) { [self] in logged(event, .refused(name)) }
                case .restored(let record, let changes, let event):
                    return Commit(changes.map(\.rowChange)) { [self] in
                        write(event)
                        node?.follow(.newEpoch(record))
                        return .refused(.epoch)
                    }
                case .accepted(let record, let changes, let superseded, let isNewEpoch, let event):
                    let after = next
                    let old = superseded.compactMap { before[$0] }.map { record in
                        (record, targets(endingWith: record, in: before, next: after))
                    }
                    let rows = changes.map(\.rowChange) + superseded.flatMap { DurableDelivery.removal(of: $0) }
                    return Commit(rows) { [self] in
                        for (record, targets) in old { forget(record, targets: targets) }
                        if let event { write(event) }
                        announce(record)
                        // A ready link of before has the old epoch.
                        if isNewEpoch { node?.follow(.newEpoch(record)) }
                        choose()
                        return .accepted(record)
                    }
                }
            }
        } catch {
            return .refused(.stopping)
        }
    }

    /// Judges a `join` at this device, the primary; returns when the changes are durable.
    func judge(_ join: JoinRequest, peer: KeyIdentifier, exporter: [UInt8]) async -> JoinVerdict {
        let circumstances = PairingRegistry.JoinCircumstances(
            peer: peer, exporter: exporter, newPairing: .random(), now: scheduler.wallNow)
        // A refused join has the same name where its rows cannot be stored: another one would reveal that the token
        // exists (PAR-8).
        var nameIfNotStored = RefusalName.stopping
        do throws(StoreError) {
            return try await commit { [self] next in
                switch next.join(join, own: own, at: circumstances) {
                case .joined(let answer, let changes, let event):
                    let record = next[answer.pairing]
                    return Commit(changes.map(\.rowChange)) { [self] in
                        if let record { announce(record) }
                        return logged(event, .joined(answer))
                    }
                case .refused(let changes, let event):
                    nameIfNotStored = .joinRefused
                    return Commit(changes.map(\.rowChange)) { [self] in logged(event, .refused(.joinRefused)) }
                }
            }
        } catch {
            return .refused(nameIfNotStored)
        }
    }

    private func logged<Verdict>(_ event: PairingEvent?, _ verdict: Verdict) -> Verdict {
        if let event { write(event) }
        return verdict
    }

    /// Writes an event, before the daemon follows it. Of each warning, and of each kind of join that is refused or
    /// repeated, one is written in a minute (LIM-54), because a peer causes as many as it likes. Lines about new epochs
    /// and identifiers have the pace of their pairing.
    private func write(_ event: PairingEvent) {
        let entry = event.logEvent
        let line: LogEvent? =
            switch event {
            case .epochBegun, .identifierLeftOut: linkPaces.admit(entry, at: scheduler.now)
            case .joinRefused, .joinRepeated, .helloFromStranger, .epochRefused:
                warningPaces.admit(entry, of: "\(entry.message)", at: scheduler.now)
            case .identifierChanged(let claim): alarmPaces.admit(entry, of: claim.pairing, at: scheduler.now)
            case .joined, .activated, .versionLowered: entry
            }
        if let line { log(line) }
    }

    /// Adds the pairing that a primary's answer to a join has made, or renews it. A primary that does not know the
    /// pairing of before makes another one, which ends that one with all that waits in it.
    /// - Parameters:
    ///   - mayReplace: whether the operator knows what is lost with a pairing of before.
    ///   - byTrust: whether the join rests on the primary's being trusted by hand, which may have ended meanwhile.
    func add(_ record: PairingRecord, mayReplace: Bool, byTrust: Bool) async throws(JoinFailure) {
        let outcome: Result<Void, JoinFailure>
        do throws(StoreError) {
            outcome = try await commit { [self] next in
                guard !byTrust || next.isTrusted(record.peer, as: .primary) else {
                    return Commit([]) { .failure(.notTrusted) }
                }
                let lost = next.replaced(by: record).reduce(PairingContents()) { $0 + contents(of: $1, [:]) }
                guard mayReplace || lost.isEmpty else { return Commit([]) { .failure(.wouldReplace(lost)) } }
                do throws(JoinAnswerError) {
                    let changes = try next.joined(record)
                    let stored = next[record.pairing] ?? record
                    return Commit(changes.map(\.rowChange)) { [self] in
                        announce(stored)
                        return .success(())
                    }
                } catch {
                    return Commit([]) { .failure(.answer(error)) }
                }
            }
        } catch { throw .notStored(error.description) }
        try outcome.get()
    }

    /// A primary's app has announced its identifier over the pairing's link, or that it has none again.
    func declared(_ identifier: CustomIdentifier?, for app: ApplicationIdentifier, pairing: UniqueIdentifier) {
        declarations.add(identifier, for: app, in: pairing)
    }

    /// Judges announced identifiers, all with one commit. Those of a pairing that has ended change nothing.
    private func judge(
        _ declared: [UniqueIdentifier: [ApplicationIdentifier: CustomIdentifier?]],
        then done: @escaping (_ isStored: Bool) -> Void
    ) {
        registry.perform(
            { [self] next in
                var rows: [RowChange] = []
                var events: [PairingEvent] = []
                var retargeted: Set<ApplicationIdentifier> = []
                for (pairing, apps) in declared {
                    for (app, identifier) in apps {
                        let (changes, event) = next.declared(identifier, for: app, pairing: pairing)
                        rows += changes.map(\.rowChange)
                        if let event { events.append(event) }
                        if !changes.isEmpty { retargeted.insert(app) }
                    }
                }
                return Commit(rows) { [self, events, retargeted] in
                    for event in events { write(event) }
                    for app in retargeted.sorted() { node?.follow(.retargeted(app)) }
                    done(true)
                }
            },
            failure: { [self] error in
                log(.notStored(error))
                done(false)
            })
    }

    /// One of the two stores was restored: the pairing needs a new epoch (DEL-10).
    func beginEpoch(of pairing: UniqueIdentifier) async {
        _ = try? await commit { [self] next in
            let changes = next.beginEpoch(pairing).map(\.rowChange)
            let record = next[pairing]
            return Commit(changes) { [self] () -> Void in
                guard let record else { return }
                write(.epochBegun(pairing))
                node?.follow(.newEpoch(record))
            }
        }
    }

    /// Removes lapsed pairings and expired tokens.
    private func expire() async {
        let now = scheduler.wallNow
        _ = try? await commit { [self] next in
            let before = next.pairings
            let changes = next.expire(now: now)
            let gone = before.filter { next[$0.pairing] == nil }
            let rows = changes.map(\.rowChange) + gone.flatMap { DurableDelivery.removal(of: $0.pairing) }
            return Commit(rows) { [self] in
                for record in gone {
                    forget(record, targets: [:], .warning, "a pairing lapsed, pending for 24 h by this device's clock")
                }
            }
        }
    }

    // MARK: the operator

    /// Makes a join link to an address of this device, and issues its token (PAR-4); nil for an address that no link
    /// can carry.
    func issueLink(to address: SocketAddress, life: Duration) async throws(StoreError) -> JoinLink? {
        guard let token = JoinTokenIdentifier(bytes: SecureRandom.bytes(JoinTokenIdentifier.byteCount)),
            let link = try? JoinLink(
                to: own, at: address.description, token: token,
                secret: SecretBytes(randomCount: JoinTokenIdentifier.byteCount), life: life, now: scheduler.wallNow)
        else { return nil }
        try await commit { next in Commit(next.issue(link).map(\.rowChange)) {} }
        return link
    }

    /// The join links that have not expired.
    var links: [JoinToken] { registry.state.tokens.current(now: scheduler.wallNow) }

    /// Commits a change, and then runs its effect; false, without either, if the change finds nothing to change (nil).
    private func commitIfKnown(
        _ change: @escaping (inout PairingRegistry) -> [PairingChange]?, then effect: @escaping () -> Void = {}
    ) async throws(StoreError) -> Bool {
        try await commit { next in
            guard let changes = change(&next) else { return Commit([]) { false } }
            return Commit(changes.map(\.rowChange)) {
                effect()
                return true
            }
        }
    }

    /// Takes an unused join link back; returns whether there was one.
    func cancelLink(_ token: JoinTokenIdentifier) async throws(StoreError) -> Bool {
        try await commitIfKnown { next in next.cancel(token) }
    }

    func trust(_ device: TrustedDevice) async throws(StoreError) {
        try await commit { next in Commit(next.trust(device).map(\.rowChange)) {} }
    }

    /// Trusts a device by its fingerprint no longer; returns whether it was trusted.
    func untrust(_ pin: KeyIdentifier, as role: DeviceRole) async throws(StoreError) -> Bool {
        try await commitIfKnown { next in next.untrust(pin, as: role) }
    }

    /// The contents that would end with a pairing.
    func contents(endingWith record: PairingRecord) -> PairingContents {
        contents(of: record, targets(endingWith: record, in: registry.state))
    }

    private func contents(
        of record: PairingRecord, _ targets: [ApplicationIdentifier: PairedIdentifier]
    ) -> PairingContents {
        node?.contents(of: record, targets) ?? PairingContents()
    }

    /// Ends a pairing; returns what ended with it.
    func end(_ record: PairingRecord) async throws(StoreError) -> PairingContents {
        try await commit(room: .reserve) { [self] next in
            let targets = targets(endingWith: record, in: next)
            let rows = next.unpair(record.pairing).map(\.rowChange) + DurableDelivery.removal(of: record.pairing)
            return Commit(rows) { [self] in
                let ended = contents(of: record, targets)
                forget(record, targets: targets)
                return ended
            }
        }
    }

    /// Changes the address at which this secondary dials its primary; returns whether there is such a pairing.
    func setAddress(_ address: SocketAddress, of record: PairingRecord) async throws(StoreError) -> Bool {
        try await commitIfKnown(
            { next in next.setAddress(address.description, of: record.pairing) },
            then: { [self] in announce(self[record.pairing] ?? record) })
    }

    /// Chooses a pairing for its role; returns whether it was another one before, or nil for a pending one.
    func select(_ record: PairingRecord) async throws(StoreError) -> Bool? {
        try await commit { [self] next in
            guard let changes = next.select(record.pairing) else { return Commit([]) { nil } }
            return Commit(changes.map(\.rowChange)) { [self] in
                choose()
                guard !changes.isEmpty else { return false }
                log(
                    LogEvent(
                        .info, "switched", .text("pairing", "\(record.pairing)"), .outside("peer", record.name)))
                return true
            }
        }
    }

    /// Accepts a changed identifier of a primary's app; false if it is not the one that waits.
    func accept(
        _ offer: IdentifierClaim.Offer, of app: ApplicationIdentifier, pairing: UniqueIdentifier
    ) async throws(StoreError) -> Bool {
        try await commitIfKnown(
            { next in
                guard next.claim(of: app, in: pairing)?.offered == offer else { return nil }
                return next.acceptIdentifier(of: app, pairing: pairing)?.changes
            }, then: { [self] in node?.follow(.retargeted(app)) })
    }

    enum VersionAllowance {
        case allowed, unknownPairing
        case neverSeen(VersionNeverSeen)
    }

    /// Allows a version below the highest one seen.
    func allow(
        _ version: ProtocolVersion, for pairing: UniqueIdentifier
    ) async throws(StoreError) -> VersionAllowance {
        try await commit { next in
            do throws(VersionNeverSeen) {
                guard let changes = try next.allowVersion(version, for: pairing) else {
                    return Commit([]) { .unknownPairing }
                }
                return Commit(changes.map(\.rowChange)) { .allowed }
            } catch {
                return Commit([]) { .neverSeen(error) }
            }
        }
    }
}

extension LogEvent {
    /// A commit failed and its change did not happen. A full disk may recover; a store that failed for good ends the
    /// daemon (``Node/onFatal``), and its next start reports the cause.
    static func notStored(_ error: StoreError) -> LogEvent {
        LogEvent(.error, "not stored", .text("error", error.description))
    }

    /// The disk completes no commit, or completes them again. A daemon that stops can only wait for such a disk.
    static func stall(since: ClockReading?, of path: String) -> LogEvent {
        guard let since else { return LogEvent(.info, "the disk answers again", .text("store", path)) }
        return LogEvent(
            .warning, "the disk does not answer, and nothing new is stored until it does; look at it",
            .text("store", path), .text("since", "\(since.wall)"))
    }

    /// The disk is full, so that commits fail, or it has room again.
    static func space(_ error: StoreError?, for path: String) -> LogEvent {
        error == nil
            ? LogEvent(.info, "the disk has room for the store again", .text("store", path))
            : LogEvent(.error, "the disk is full, nothing new is stored; free some space", .text("store", path))
    }
}

extension PairingChange {
    /// The change of the store's row.
    fileprivate var rowChange: RowChange {
        let row = self.row
        return .set(.pairing, key: row.key, to: row.value)
    }
}
