// The configuration service of a primary with one secondary, on a store that a test holds up or fills.

import TandemBase
import TandemCrypto
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
    let root = PrivateKey.generate(.ed25519)
    let revoker = PrivateKey.generate(.ed25519)
    private let device = UniqueIdentifier.random()
    private let directory = TemporaryDirectory()

    init() throws {
        let app = try ApplicationIdentifier("org.example.alarm")
        subject = KeySubject(application: app, role: .secondary)
        let (scheduler, target, rows) = (scheduler, PairedIdentifier.vendor(device), LoopStore(store, on: scheduler))
        let peer = ConfigurationPeer(
            pairing: .random(), role: .primary, name: "the secondary", device: .random(),
            reportKey: ReportPrivateKey.generate().publicKey.key.subjectPublicKeyInfo)
        delivery = DurableDelivery(store: rows, scheduler: scheduler)
        delivery.connect(send: { _, _ in }, queuedBytes: { _ in 0 }, onEvent: { _ in })
        delivery.setPairing(peer.pairing, epoch: 1)
        service = try ConfigurationService(
            ConfigurationService.Options(
                device: device, name: "the primary", role: .primary, signer: .generate(),
                allowsInvalidSignatures: false),
            in: LoneHost(target, peers: [peer]), delivery: delivery, store: rows,
            applications: try OwnedDirectory(path: directory.path("apps"), mode: 0o700), scheduler: scheduler,
            rows: { _ in [] }, log: { _ in })
        service.start()
        let trusted = try set(1)
        scheduler.start { [service, subject] in _ = await service.trust(KeySetText.text(of: trusted), for: subject) }
        scheduler.run()
    }

    func set(_ version: UInt64) throws -> [UInt8] {
        try KeyStatementSigner.sign(
            KeySetDocument(
                subject: subject, version: version, issued: 1_790_000_000,
                roles: [
                    .configuration: ([signer.key.publicKey], 1), .keySet: ([root.publicKey], 1),
                    .revocation: ([revoker.publicKey], 1),
                ]), with: [root])
    }

    /// The revocation of the signer's key.
    func revocation(under keySet: UInt64 = 1) throws -> [UInt8] {
        try KeyStatementSigner.sign(
            RevocationDocument(
                subject: subject, keySetVersion: keySet, issued: 1_790_000_000, revoked: [signer.publicKey.identifier],
                withdraws: false), with: [revoker])
    }

    func envelope(_ version: UInt64, under keySet: UInt64 = 1) throws -> [UInt8] {
        var payload = ConfigurationPayload(
            application: subject.application, role: .secondary, target: .vendor(device), version: version,
            transaction: .random(), issued: scheduler.wallNow.seconds - 60, values: ["volume": 80])
        payload.keySetVersion = keySet
        return try ConfigurationSigner.sign(payload, with: [signer])
    }

    /// Begins to apply bytes.
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

    /// The versions that are desired.
    var desired: [UInt64] { service.desired.list(nil).rows.compactMap { $0["version"]?.unsignedValue } }
}
