// The configuration service of a primary with one secondary, on a store that a test holds up or fills. A test plays the
// secondary, which may carry for others.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemTestSupport
import TandemWire

@testable import TandemDaemon

final class OnePrimary {
    let scheduler = ManualScheduler()
    let store = UnwillingStore()
    let service: ConfigurationService
    let delivery: DurableDelivery
    let subject: KeySubject
    let signer = ConfigurationPrivateKey.generate()
    let holders: KeyHolders
    let device = UniqueIdentifier.random()
    /// The secondary, and the key of its reports.
    let secondary: ConfigurationPeer
    let reporter = ReportPrivateKey.generate()
    private let host: LoneHost
    private var ordinal: UInt64 = 0
    private let directory = TemporaryDirectory()

    init() throws {
        let app = try ApplicationIdentifier("org.example.alarm")
        (subject, holders) = (KeySubject(application: app, role: .secondary), KeyHolders(of: app))
        let (scheduler, target, rows) = (scheduler, PairedIdentifier.vendor(device), LoopStore(store, on: scheduler))
        let peer = ConfigurationPeer(
            pairing: .random(), role: .primary, name: "the secondary", device: .random(),
            reportKey: reporter.publicKey.key.subjectPublicKeyInfo)
        (secondary, host) = (peer, LoneHost(target, peers: [peer]))
        delivery = DurableDelivery(store: rows, scheduler: scheduler)
        delivery.connect(send: { _, _ in }, queuedBytes: { _ in 0 }, onEvent: { _ in })
        delivery.setPairing(peer.pairing, epoch: 1)
        service = try ConfigurationService(
            ConfigurationService.Options(
                device: device, name: "the primary", role: .primary, signer: .generate(),
                allowsInvalidSignatures: false),
            in: host, delivery: delivery, store: rows,
            applications: try OwnedDirectory(path: directory.path("apps"), mode: 0o700), scheduler: scheduler,
            rows: { _ in [] }, log: { _ in })
        service.start()
        let trusted = try set(1)
        scheduler.start { [service, subject] in _ = await service.trust(KeySetText.text(of: trusted), for: subject) }
        scheduler.run()
    }

    func set(_ version: UInt64) throws -> [UInt8] { try holders.set(version, [signer]) }

    func revocation(under keySet: UInt64 = 1) throws -> [UInt8] { try holders.revocation(of: signer, under: keySet) }

    func envelope(_ version: UInt64, under keySet: UInt64 = 1, lifetime: UInt64? = nil) throws -> [UInt8] {
        var payload = ConfigurationPayload(
            application: subject.application, role: .secondary, target: .vendor(device), version: version,
            transaction: .random(), issued: scheduler.wallNow.seconds - 60, values: ["volume": 80])
        payload.keySetVersion = keySet
        payload.lifetime = lifetime
        return try ConfigurationSigner.sign(payload, with: [signer])
    }

    func begin(
        _ envelope: [UInt8], wait: Duration = .zero, _ completion: @escaping (ApplyOutcome) -> Void = { _ in }
    ) {
        scheduler.start { [service, subject] in
            completion(await service.apply(envelope, app: subject.application, wait: wait))
        }
        scheduler.run()
    }

    /// Applies bytes; the name of the failure, or nil.
    func apply(_ envelope: [UInt8]) -> String? {
        var outcome: ApplyOutcome?
        begin(envelope) { outcome = $0 }
        scheduler.advance(by: .milliseconds(1))
        guard case .failed(let failure) = outcome else { return outcome == nil ? "no answer" : nil }
        return failure.name
    }

    // MARK: the secondary

    /// Whether it has announced the app.
    var isAnnounced: Bool {
        get { host.isAnnounced }
        set { host.isAnnounced = newValue }
    }

    var epoch: UInt64 {
        get { host.peers[0].epoch }
        set { host.peers[0].epoch = newValue }
    }

    func link() {
        service.linked(secondary.pairing, readsTrials: true, carries: true)
        scheduler.run()
    }

    /// It announces the app with another key.
    func announceAnotherKey() {
        host.trust = .key(.random())
        announce()
    }

    func announce() {
        host.isAnnounced = true
        service.announced(subject.application, at: secondary.pairing)
        scheduler.run()
    }

    private var queue: QueueKey {
        QueueKey.configuration(of: subject.application, at: secondary.pairing)
    }

    /// The items that wait for it.
    var waiting: [UniqueIdentifier] { delivery.submissions.outstanding(in: queue).map(\.id) }

    /// All items for it leave the queue, and no report answers them.
    func lose() {
        for item in waiting { delivery.submissions.cancel(item, in: queue) { _ in } }
        scheduler.run()
    }

    func receive(_ payload: [UInt8]) {
        ordinal += 1
        service.received(ReceivedItem(queue: queue, id: .random(), ordinal: ordinal, payload: payload))
        scheduler.advance(by: .milliseconds(10))
    }

    /// A report that says that an envelope was applied, or refused.
    /// - Parameters:
    ///   - item: the last item that waits, if nil.
    ///   - peer: a far one, and its key; the secondary, if nil.
    func applied(
        _ envelope: [UInt8], counter: UInt64, nonce item: UniqueIdentifier? = nil, verdict: Verdict = .applied,
        by peer: (pairing: UniqueIdentifier, device: UniqueIdentifier, key: ReportPrivateKey)? = nil
    ) throws -> [UInt8] {
        let digest = SHA256.digest(envelope)
        let facts = ReportFacts(
            delivery: ConfigurationDelivery(
                pairing: peer?.pairing ?? secondary.pairing, nonce: item ?? waiting.last ?? .zero),
            key: ConfigurationSlotKey(application: subject.application, role: .secondary, target: .vendor(device)),
            digest: digest, transaction: nil, version: 1, verdict: verdict, text: nil,
            good: verdict == .applied ? GoodConfiguration(version: 1, digest: digest) : nil)
        return ConfigurationReport(
            facts, device: peer?.device ?? secondary.device ?? .zero, counter: counter, time: scheduler.wallNow
        ).signed(with: peer?.key ?? reporter)
    }

    /// How many secondaries have applied the highest desired version.
    var appliedCount: Int64? { listed.first?["applied"]?.integerValue }

    var desired: [UInt64] { listed.compactMap { $0["version"]?.unsignedValue } }

    /// The rows of `configuration-list`.
    var listed: [PropertyListDictionary] {
        var rows: [PropertyListDictionary] = []
        scheduler.start { [service] in rows = await service.desired.list(nil).rows }
        return rows
    }
}
