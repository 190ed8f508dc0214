// Health of a daemon (CTL-11 to CTL-13): its problems, one line each, and whether it is ready for work. The ledger
// decides which problems count; this service observes them.

import TandemBase
import TandemDelivery
import TandemOperations
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemStore
import TandemWire

/// Observes the health of one daemon; confined to its loop.
final class HealthService {
    /// Expiry of signed configuration depends on the clocks: a larger difference is a problem.
    private static var clockTolerance: Duration { .seconds(300) }

    private var ledger = HealthLedger()
    private let pairings: PairingService
    private let links: LinkService
    private let relay: Relay
    private let delivery: DurableDelivery
    private let configuration: ConfigurationService
    private let store: LoopStore
    /// Whether the next start would find the state that this daemon writes.
    private let isStateInPlace: () -> Bool
    private let scheduler: any Scheduler
    private var isStopping = false
    // Looked for once in an observation, and not for each problem: a hub has thousands of queues, and one app that
    // hangs is a problem of each pairing.
    /// The apps of primaries whose custom identifiers had no room here (PAR-18) at the last observation.
    private var unclaimed: [UniqueIdentifier: [ApplicationIdentifier]] = [:]
    /// The items that apps had had for too long, the oldest first.
    private var inHandler: [UniqueIdentifier: [Arrivals.ItemInHandler]] = [:]
    /// The pairings of which items of a further app had no room.
    private var crowded: Set<UniqueIdentifier> = []

    init(
        pairings: PairingService, links: LinkService, relay: Relay, delivery: DurableDelivery,
        configuration: ConfigurationService, store: LoopStore, isStateInPlace: @escaping () -> Bool,
        scheduler: any Scheduler
    ) {
        self.pairings = pairings
        self.links = links
        self.relay = relay
        self.delivery = delivery
        self.configuration = configuration
        self.store = store
        self.isStateInPlace = isStateInPlace
        self.scheduler = scheduler
    }

    /// The daemon is not ready from now on.
    func stop() { isStopping = true }

    /// A link has come or gone: the ledger must see every short loss. Looks at this pairing only, because thousands of
    /// links may end together.
    func linkChanged(_ pairing: UniqueIdentifier) {
        let isUnlinked = links[pairing] == nil && pairings[pairing].map(Self.awaitsLink) == true
        ledger.observe(HealthProblem(.unlinked, pairing: pairing), isPresent: isUnlinked, at: scheduler.now)
    }

    /// Whether the pairing should have a link. A pending one waits for its first; a primary cannot know whether the
    /// device that joined has given up, and lets it lapse (PAR-10).
    private static func awaitsLink(_ record: PairingRecord) -> Bool {
        record.state == .active || record.role == .secondary
    }

    /// The pairing has ended, and its problems with it.
    func forget(_ pairing: UniqueIdentifier) { ledger.forget(pairing) }

    /// Commits begin or cease to fail. That a disk does not answer is noticed late, and counts from its beginning.
    func storeChanged() {
        if let since = store.stalledSince {
            return ledger.observe(HealthProblem(.store), since: since.monotonic, at: scheduler.now)
        }
        ledger.observe(HealthProblem(.store), isPresent: store.isFailing, at: scheduler.now)
    }

    /// Reports all present problems to the ledger: at the start, and whenever `health` or `status` asks.
    func observe() {
        observeIdentifiers()
        inHandler = Dictionary(grouping: delivery.arrivals.inHandler, by: \.key.pairing)
        crowded = delivery.arrivals.crowded
        let problems = problems
        // A far secondary is no peer of a pairing of this device.
        ledger.keepOnly(Set(pairings.all.map(\.pairing)).union(problems.compactMap(\.pairing)))
        let store = HealthProblem(.store)
        let isUndecided = self.store.mayBeStalled && !problems.contains(store)
        ledger.observe(problems, undecided: isUndecided ? [store] : [], at: scheduler.now)
    }

    private var problems: Set<HealthProblem> {
        var problems: Set<HealthProblem> = []
        for record in pairings.all where Self.awaitsLink(record) {
            if links.sharedKey(in: record.pairing) != nil {
                problems.insert(HealthProblem(.sharedKey, pairing: record.pairing))
            }
            if links.move(of: record.pairing)?.failure != nil {
                problems.insert(HealthProblem(.address, pairing: record.pairing))
            }
            guard let link = links[record.pairing] else {
                problems.insert(HealthProblem(.unlinked, pairing: record.pairing))
                continue
            }
            let skew = link.clockSkew ?? .zero
            if skew > Self.clockTolerance || skew < .zero - Self.clockTolerance {
                problems.insert(HealthProblem(.clock, pairing: record.pairing))
            }
        }
        let limits = DeliveryLimits()
        let backlogs = delivery.pairings { count, bytes, _ in limits.isBacklog(count: count, bytes: bytes) }
        problems.formUnion(backlogs.map { HealthProblem(.backlog, pairing: $0) })
        problems.formUnion(crowded.union(unclaimed.keys).map { HealthProblem(.crowded, pairing: $0) })
        let blocked = delivery.pairings { _, _, refusal in refusal?.isInsufficientSpace == true }
        problems.formUnion(blocked.map { HealthProblem(.noSpace, pairing: $0) })
        problems.formUnion(configuration.unloadedPairings.map { HealthProblem(.notLoaded, pairing: $0) })
        problems.formUnion(inHandler.keys.map { HealthProblem(.inHandler, pairing: $0) })
        let keys = configuration.keyStatus
        let ofDevice: KeyValuePairs<HealthProblem.Word, Bool> = [
            .noneActive: !unchosen.isEmpty, .clock: !configuration.waitingForClock.isEmpty,
            .notLoaded: !configuration.notLoaded.isEmpty,
            .appFiles: !configuration.unwrittenFiles.isEmpty || !unmovedFiles.isEmpty,
            .refusedKeys: !keys.refusals.isEmpty, .expiringKeys: !keys.expiring.isEmpty,
            .expiredKeys: !keys.expired.isEmpty, .deadLetters: delivery.deadLetterCount > 0,
            .store: store.isFailing, .noState: !isStateInPlace(), .draining: delivery.submissions.isDraining,
        ]
        return problems.union(ofDevice.filter(\.value).map { HealthProblem($0.key) })
    }

    /// Looks at what primaries have announced last, once for each answer.
    private func observeIdentifiers() {
        unclaimed = [:]
        for (pairing, app, announcement) in relay.announced(to: .secondary)
        where announcement.isInstalled && pairings.leavesOut(announcement.identifier, of: app, in: pairing) {
            unclaimed[pairing, default: []].append(app)
        }
    }

    /// The pairings of which the operator has to choose one: of one role, as only one can be mended at a time.
    private var unchosen: [PairingRecord] {
        DeviceRole.allCases.lazy.map { self.pairings.unchosen(as: $0) }.first { !$0.isEmpty } ?? []
    }

    /// The answer to `health`.
    func report() -> PropertyListDictionary {
        observe()
        let standing = ledger.standing(at: scheduler.now)
        // CTL-13: there are pairings, and none has had a link since the start.
        let waitsForFirstLink = !links.hasBeenLinked && pairings.all.contains { $0.state == .active }
        let obstacle: ReachabilityReason? = isStopping ? .stopping : waitsForFirstLink ? .noLink : nil
        return PropertyListDictionary(present: [
            "state": .string(standing.isEmpty ? "healthy" : "degraded"),
            "problems": .array(standing.map { .dictionary(describe($0)) }),
            "ready": .boolean(obstacle == nil), "draining": .boolean(delivery.submissions.isDraining),
            "reason": obstacle.map { .string($0.rawValue) },
        ])
    }

    private func describe(_ standing: HealthLedger.Standing) -> PropertyListDictionary {
        let time = scheduler.now.since(standing.since)
        return PropertyListDictionary(present: [
            "name": .string(standing.problem.word.rawValue), "since": .integer(time.saturatingMilliseconds),
            "text": .string(text(of: standing.problem)), "pairing": standing.problem.pairing.map { .data($0.bytes) },
        ])
    }

    private var storeText: String {
        if let since = store.stalledSince {
            return "the disk does not answer: no change has been stored since \(since.wall), and nothing new is "
                + "accepted; look at the disk of \(store.path), and whether its file system is frozen"
        }
        if let full = store.fullDisk { return "the disk is full: \(full)" }
        guard let failure = store.failure else {
            return "changes could not be stored for a while; they are stored again"
        }
        return "the last change could not be stored: \(failure)"
    }

    /// The first names and the number of the others: a text has bounds, however many apps or items it is about.
    private static func listed(_ names: [String], atMost limit: Int = 8) -> String {
        let more = names.count > limit ? " and \(names.count - limit) more" : ""
        return names.prefix(limit).joined(separator: ", ") + more
    }

    private var unmovedFiles: [String] { delivery.files?.offers.unmoved ?? [] }

    private var appFilesText: String {
        let (unwritten, unmoved) = (configuration.unwrittenFiles, unmovedFiles)
        let texts = [
            unwritten.isEmpty
                ? nil
                : "files of apps cannot be written or removed, so that these apps may see older ones: "
                    + "\(Self.listed(unwritten)); mend what it names: the daemon tries again every 10 s",
            unmoved.isEmpty
                ? nil
                : "received files cannot be given to their apps: \(Self.listed(unmoved)); mend what it names, and give "
                    + "those that have failed too often again by 'tandem dead-letters retry'",
        ]
        return texts.compactMap(\.self).joined(separator: "; ")
    }

    private func clockText(_ record: PairingRecord?, _ name: String) -> String {
        let skew = record.flatMap { links[$0.pairing]?.clockSkew }?.saturatingMilliseconds ?? 0
        let span = Fact.span(milliseconds: Int64(clamping: skew.magnitude))
        return "the clock of \(name) is \(span) \(skew < 0 ? "behind" : "ahead of") ours; set the one that is wrong"
    }

    private func sharedKeyText(_ record: PairingRecord?, _ name: String) -> String {
        let isOwn = record.flatMap { links.sharedKey(in: $0.pairing) } == .own
        let device = isOwn ? "this device" : name
        return "two daemons use the key of \(device) and take the link \(isOwn ? "to \(name) " : "")from each other: "
            + "find the one that runs with a copy of its state directory and stop it"
    }

    /// Names the oldest items; each is the first of its queue.
    private func inHandlerText(_ pairing: UniqueIdentifier?, _ name: String) -> String {
        let items = pairing.flatMap { inHandler[$0] } ?? []
        let named = Self.listed(items.map { "\($0.key.app) (\($0.key.channel.rawValue) \($0.id))" }, atMost: 3)
        let time = Fact.span(milliseconds: DeliveryLimits().handling.saturatingMilliseconds)
        return "apps have had an item from \(name) for over \(time) and have not answered: "
            + "\(named); the items behind it wait; look into the app, or restart it: then the item comes again"
    }

    /// - Parameter pairing: of the secondary whose apps they are; nil for those of this device.
    private func notLoadedText(_ pairing: UniqueIdentifier?) -> String {
        guard let pairing else {
            let own = Self.listed(configuration.notLoaded.map { "\($0.app) [\($0.fault)]" })
            return "apps do not load the configuration that is applied: \(own); 'tandem status' says why"
        }
        guard let (device, apps) = configuration.unloaded(at: pairing), let first = apps.first else {
            let name = pairings[pairing]?.name ?? "a device"
            return "by its last report, apps of \(name) do not load the configuration that is applied there"
        }
        return "by its last report, apps of \(device) do not load the configuration that is applied there: "
            + "\(Self.listed(apps.map(\.description))); 'tandem configuration show --app \(first)' says why"
    }

    /// Items of a further app wait, or identifiers of further ones have no effect.
    private func crowdedText(_ pairing: UniqueIdentifier?, _ name: String) -> String {
        var texts: [String] = []
        if pairing.map(crowded.contains) == true {
            texts.append(
                "\(name) has named too many apps, and items of a further one wait there; they come once items of other "
                    + "apps have been handled here; if they do not, unpair the device and pair it again")
        }
        let apps = (pairing.flatMap { unclaimed[$0] } ?? []).map(\.description)
        if !apps.isEmpty {
            texts.append(
                "\(name) has declared custom identifiers for too many apps, and those of further ones have no effect "
                    + "here: \(Self.listed(apps)); sign their configuration for the vendor identifier of \(name), or "
                    + "unpair the device and pair it again")
        }
        return texts.joined(separator: "; ")
    }

    private func keysText(_ word: HealthProblem.Word) -> String {
        let keys = configuration.keyStatus
        switch word {
        case .refusedKeys:
            return "secondaries refuse key sets or revocations: \(Self.listed(keys.refusals)); "
                + "'tandem status' says why"
        case .expiringKeys:
            return "the key set in force expires soon, and nothing new is accepted from then on: "
                + "\(Self.listed(keys.expiring)); apply the next one before that ('tandem keyset rotate')"
        default:
            return "the key set in force has expired, and nothing new is accepted: \(Self.listed(keys.expired)); "
                + "apply the next one ('tandem keyset rotate')"
        }
    }

    /// The text of a problem that counts. Only `unlinked` and `store` outlast their cause (CTL-12), and have a text for
    /// that. For every other problem the fact that the text names has just been observed, and the words for a missing
    /// fact are there only because the types require them.
    private func text(of problem: HealthProblem) -> String {
        let record = problem.pairing.flatMap { pairings[$0] }
        let name = record?.name ?? "a device"
        switch problem.word {
        case .unlinked:
            if let record, let link = links[record.pairing] {
                let time = scheduler.now.since(link.readySince).saturatingMilliseconds
                let grace = HealthLedger.gracePeriod.saturatingMilliseconds
                return "the link to \(name) has been up again for \(Fact.span(milliseconds: time)); this is over once "
                    + "it has lasted \(Fact.span(milliseconds: grace))"
            }
            let reason = "no link to \(name): \(record.map(links.unreachableReason) ?? "unknown")"
            guard let record else { return reason }
            if let said = links.endedThere(record.pairing) {
                let time = said.saturatingMilliseconds
                return "\(reason); \(EndedPairing.advice("\(record.pairing)", with: name, milliseconds: time))"
            }
            if record.role == .primary, !links.wasRefused(record.pairing) {
                return "\(reason); \(SilentSecondary.advice("\(record.pairing)", with: name))"
            }
            return links.meetsOtherDevice(record.pairing) ? "\(reason); \(OtherDevice.ways)" : reason
        case .address:
            let move = record.flatMap { links.move(of: $0.pairing) }
            return MovedPrimary.advice(
                record.map { "\($0.pairing)" } ?? name, with: name,
                at: move.map { "\($0.address)" } ?? "its new address",
                failure: move?.failure.map { "\($0)" } ?? "unknown")
        case .sharedKey: return sharedKeyText(record, name)
        case .noneActive:
            return ActiveDevice.advice(toChoose: unchosen.map { (pairing: "\($0.pairing)", name: $0.name) })
        case .backlog: return "a queue for \(name) is nearly full"
        case .crowded: return crowdedText(problem.pairing, name)
        case .noSpace:
            return
                "\(name) has no space for an item, which waits for it, or fails if it can never fit; 'tandem status' "
                + "names the queue"
        case .notLoaded: return notLoadedText(problem.pairing)
        case .appFiles: return appFilesText
        case .refusedKeys, .expiringKeys, .expiredKeys: return keysText(problem.word)
        case .inHandler: return inHandlerText(problem.pairing, name)
        case .deadLetters: return "items failed too often; see 'tandem dead-letters list'"
        case .clock where problem.pairing == nil:
            let apps = Self.listed(configuration.waitingForClock.map { "\($0.app) until \($0.floor)" })
            return
                "this device's clock shows \(scheduler.wallNow), and configuration waits: \(apps); set the clock, or, "
                + "if it is right, remove the app's key ('tandem trust remove')"
        case .clock: return clockText(record, name)
        case .store: return storeText
        case .noState:
            return "the state was removed, moved or replaced while this daemon runs: the next start does not find "
                + "\(store.path) as it is now, and all that is accepted until then is lost; stop this daemon, put the "
                + "directory back, and start it again"
        case .draining: return "new items are refused until 'tandem drain --end'"
        }
    }
}
