// Surroundings of signed configuration in a daemon: what its parts use of the device, and its peers near and far. Lines
// of the log that peers and apps can cause go through here, so that nobody fills it.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemOperations
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemWire

/// The other end of a pairing, for configuration.
struct ConfigurationPeer {
    let pairing: UniqueIdentifier
    /// This device's part in the pairing.
    let role: DeviceRole
    /// For people.
    let name: String
    let device: UniqueIdentifier?
    /// Verifies the peer's reports.
    let reportKey: [UInt8]
    /// The epoch of the pairing, which only rises. For a far secondary, a number made of that of its carrier's pairing
    /// and its own.
    var epoch: UInt64 = 1
    /// For a far secondary (CFG-101) the pairing with the secondary that carries for it, and that one's name.
    private(set) var carrier: UniqueIdentifier?
    private(set) var via: String?

    /// Its name, for people: a far one's with the carrier's, because that one has told it (CTL-37).
    var label: String { name + (via.map { " (via \($0))" } ?? "") }

    /// The pairing whose link and queues lead to it.
    var link: UniqueIdentifier { carrier ?? pairing }

    /// The device that its reports are from, with their key; nil if none can be accepted.
    var reporter: (device: UniqueIdentifier, key: ReportPublicKey)? {
        guard let device, let key = try? PublicKey(subjectPublicKeyInfo: reportKey) else { return nil }
        return (device, ReportPublicKey(key))
    }
}

extension ConfigurationPeer {
    init(_ record: PairingRecord) {
        self.init(
            pairing: record.pairing, role: record.role, name: record.name, device: record.peerVendorIdentifier,
            reportKey: record.reportKey, epoch: record.epoch)
    }
}

extension [ConfigurationPeer] {
    /// Batches that share one commit. Thousands of secondaries may be behind one link: a commit for each would copy the
    /// whole state as often, and one for all would hold up the loop.
    var commitBatches: [[ConfigurationPeer]] {
        let size = ConfigurationLimits.secondariesInCommit
        return stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}

/// The words in which the schema of an app refuses values, and its digest; nil if it takes them, or cannot be read.
typealias SchemaJudge = (
    _ values: PropertyListDictionary, _ optional: [String], ApplicationIdentifier
) async -> (text: String, schema: [UInt8])?

/// Surroundings of the parts of the service; confined to its loop.
final class ConfigurationContext {
    let options: ConfigurationService.Options
    let device: any ConfigurationHost
    let delivery: DurableDelivery
    let scheduler: any Scheduler
    /// The parts of answers that are worked out.
    let parts: LoopWork
    /// Knows the far secondaries.
    weak var carrier: ConfigurationCarrier?
    /// Called when something for a secondary could not be stored.
    var whenNotStored: (UniqueIdentifier) -> Void = { _ in }
    /// Judges values by the schema that an app has sent; nil where no schemas are kept.
    var schemaJudge: SchemaJudge?
    /// The daemon stops and ends the connections of its apps: such an end says nothing about an app (CFG-62).
    var isStopping = false
    private let sink: LogHandler
    /// Paces of the warnings, which peers cause, and of the lines that the apps of each user cause (LIM-54).
    private var paces = (peers: LogPaces.ofLinks, users: LogPaces<UInt32?>(burst: 20))

    init(
        options: ConfigurationService.Options, device: any ConfigurationHost, delivery: DurableDelivery,
        scheduler: any Scheduler, log: @escaping LogHandler
    ) {
        self.options = options
        self.device = device
        self.delivery = delivery
        self.scheduler = scheduler
        parts = LoopWork(on: scheduler)
        sink = log
    }

    func log(_ event: LogEvent) {
        guard event.level == .warning else { return sink(event) }
        if let line = paces.peers.admit(event, at: scheduler.now) { sink(line) }
    }

    func log(_ level: LogLevel, _ message: StaticString, _ fields: LogField...) {
        log(LogEvent(level, message, fields: fields))
    }

    /// A line that an app's registration causes.
    func log(_ event: LogEvent, causedBy app: ApplicationIdentifier) {
        if let line = paces.users.admit(event, of: device.owner(of: app), at: scheduler.now) { sink(line) }
    }

    /// A report of a secondary that is not accepted.
    func log(_ failure: ReportFailure, from peer: ConfigurationPeer) {
        log(.warning, "report refused", .text("pairing", "\(peer.pairing)"), .text("reason", failure.rawValue))
    }

    var reading: ClockReading { scheduler.reading }

    // MARK: apps

    /// The side that an app is on; of one that never registered the side that the daemon was started for.
    func side(of app: ApplicationIdentifier) -> DeviceRole { device.side(of: app) ?? options.role }

    /// An app of this device, on its side.
    func subject(of app: ApplicationIdentifier) -> KeySubject { KeySubject(application: app, role: side(of: app)) }

    /// Whether the app is on the side that is meant. For the other one it is an app that is not installed (SES-83):
    /// nothing of that side is shown to it or judged by it.
    func isHere(_ subject: KeySubject) -> Bool { side(of: subject.application) == subject.role }

    /// The slot whose files the app sees now; nil if nothing pairs this device on the app's side.
    func shownKey(of subject: KeySubject) -> ConfigurationSlotKey? {
        guard isHere(subject) else { return nil }
        let (app, role) = (subject.application, subject.role)
        return device.target(of: app, as: role).map { ConfigurationSlotKey(application: app, role: role, target: $0) }
    }

    /// Whether the app sees the files of a slot now.
    func isShown(_ key: ConfigurationSlotKey) -> Bool { shownKey(of: key.subject) == key }

    /// Whether the app sees the files of another slot, because another primary is the active one.
    func isHidden(_ key: ConfigurationSlotKey) -> Bool {
        shownKey(of: key.subject).map { $0 != key } ?? false
    }

    // MARK: peers

    /// The secondaries of this device, those of its carriers included.
    var receivers: [ConfigurationPeer] { device.receivers + (carrier?.peers ?? []) }

    var hasReceivers: Bool { carrier?.hasPeers == true || !device.receivers.isEmpty }

    /// The peer of a pairing, or a far secondary.
    func peer(_ pairing: UniqueIdentifier) -> ConfigurationPeer? { device.peer(pairing) ?? carrier?.peer(pairing) }

    /// The target of configuration through a pairing, near or far.
    func target(of app: ApplicationIdentifier, through pairing: UniqueIdentifier) -> PairedIdentifier? {
        device.target(of: app, through: pairing) ?? carrier?.target(of: app, at: pairing)
    }

    /// The key that a secondary trusts for an app. Of one behind a carrier another key is another epoch.
    func trust(of app: ApplicationIdentifier, at peer: ConfigurationPeer) -> TrustMark {
        peer.carrier == nil ? device.trust(of: app, at: peer.pairing) : .unnamed
    }

    /// Whether a secondary has announced an app. A carrier states only those that have it.
    func hasApplication(_ app: ApplicationIdentifier, at peer: ConfigurationPeer) -> Bool {
        peer.carrier != nil || device.hasInstalled(app, at: peer.pairing)
    }

    /// The secondaries of this device, and the far ones that have an app.
    /// - Parameter peers: only those among these; nil for all.
    func receivers(of app: ApplicationIdentifier, among peers: [ConfigurationPeer]? = nil) -> [ConfigurationPeer] {
        (peers ?? receivers).filter { $0.carrier == nil || target(of: app, through: $0.pairing) != nil }
    }

    /// Whether a secondary of this device does not have an app, and only carries for others that have it.
    func onlyCarries(_ app: ApplicationIdentifier, _ peer: ConfigurationPeer) -> Bool {
        peer.carrier == nil && !device.installed(at: peer.pairing).contains(app)
            && carrier?.states(app, behind: peer.pairing) == true
    }

    // MARK: items for secondaries

    /// The queue that leads to a secondary: its own, or that of the one that carries for it.
    func queue(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> QueueKey {
        QueueKey.configuration(of: app, at: peer(pairing)?.link ?? pairing)
    }

    /// Queues the exact bytes of an envelope for a secondary.
    /// - Parameter slot: 32 bytes; a later item of the same slot takes its place in the queues. Nil: only the same
    ///   bytes again take its place, and not here.
    func submit(
        _ envelope: [UInt8], as id: UniqueIdentifier, slot: [UInt8]?, of app: ApplicationIdentifier,
        to pairing: UniqueIdentifier, then completion: @escaping Submissions.Completion
    ) {
        let item =
            if peer(pairing)?.carrier == nil {
                OutboundItem(id: id, payload: envelope, supersedeKey: slot)
            } else {
                OutboundItem(
                    id: id,
                    payload: CarriedConfiguration(
                        to: pairing, slot: slot ?? SHA256.digest(envelope), envelope: envelope
                    ).bytes, supersedeKey: slot.map { SHA256.digest(pairing.bytes + $0) })
            }
        delivery.submissions.submit(item, to: queue(of: app, at: pairing), then: completion)
    }

    /// Takes an item back: from the queue here, and from those of the carriers that may have it by now (CFG-103). Also
    /// one that waits here may have left: in an epoch before, or before this device's store was restored.
    func takeBack(_ id: UniqueIdentifier, of app: ApplicationIdentifier, from pairing: UniqueIdentifier) {
        let queue = queue(of: app, at: pairing)
        delivery.submissions.cancel(id, in: queue) { _ in }
        // Ahead of what is submitted next: a revocation must not pass it (CFG-94).
        guard peer(pairing)?.carrier != nil else { return }
        let cancellation = OutboundItem(id: .random(), payload: CarriedCancellation(to: pairing, item: id).bytes)
        delivery.submissions.submit(cancellation, to: queue) { [weak self] result in
            guard case .failure(let error) = result else { return }
            self?.log(
                .error, "not taken back", .text("app", "\(queue.app)"), .text("pairing", "\(pairing)"),
                .text("error", error.description))
        }
    }
}
