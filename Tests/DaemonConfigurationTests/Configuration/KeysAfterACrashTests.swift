// A change of keys that a crash cuts off from its consequences: the next start makes up for them, at a primary and at a
// device whose own app is a secondary's.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct KeysAfterACrashTests {
    private let scheduler = ManualScheduler()
    private let store = UnwillingStore()
    private let app: ApplicationIdentifier
    private let device = UniqueIdentifier.random()
    private let secondary: ConfigurationPeer
    private let signer = ConfigurationPrivateKey.generate()
    private let directory = TemporaryDirectory()

    init() throws {
        app = try ApplicationIdentifier("org.example.alarm")
        secondary = ConfigurationPeer(
            pairing: .random(), role: .primary, name: "the secondary", device: .random(),
            reportKey: ReportPrivateKey.generate().publicKey.key.subjectPublicKeyInfo)
    }

    /// The device starts with the rows that are in the store.
    private func start(as role: DeviceRole) throws -> (service: ConfigurationService, delivery: DurableDelivery) {
        let (rows, memory) = (LoopStore(store, on: scheduler), store.memory)
        let delivery = DurableDelivery(store: rows, scheduler: scheduler)
        delivery.connect(send: { _, _ in }, queuedBytes: { _ in 0 }, onEvent: { _ in })
        delivery.setPairing(secondary.pairing, epoch: 1)
        try delivery.restore { memory.read($0) }
        let service = try ConfigurationService(
            ConfigurationService.Options(
                device: device, name: "the device", role: role, signer: .generate(), allowsInvalidSignatures: false),
            in: LoneHost(.vendor(device), peers: [secondary], isCarrier: role == .secondary), delivery: delivery,
            store: rows, applications: try OwnedDirectory(path: directory.path("apps"), mode: 0o700),
            scheduler: scheduler, rows: { memory.read(RowRange(space: $0)) }, log: { _ in })
        service.start()
        scheduler.run()
        return (service, delivery)
    }

    /// The first set of the holders is trusted.
    private func trust(_ holders: KeyHolders, at service: ConfigurationService) throws {
        let text = KeySetText.text(of: try holders.set(1, [signer]))
        scheduler.start { _ = await service.trust(text, for: holders.subject) }
        scheduler.run()
    }

    private func begin(_ envelope: [UInt8], at service: ConfigurationService) {
        scheduler.start { [app] in _ = await service.apply(envelope, app: app, wait: .zero) }
        scheduler.run()
    }

    private func desired(at service: ConfigurationService) -> [UInt64] {
        var versions: [UInt64] = []
        scheduler.start { versions = await service.desired.list(nil).rows.compactMap { $0["version"]?.unsignedValue } }
        return versions
    }

    @Test(
        "CFG-94: a start ends what a revocation refuses if a crash came between the two, also at a secondary's device",
        arguments: DeviceRole.allCases)
    func aCrashBetweenTheStepAndTheEnd(_ role: DeviceRole) throws {
        let (before, holders) = (try start(as: role), KeyHolders(of: app))
        try trust(holders, at: before.service)
        let payload = ConfigurationPayload(
            application: app, role: .secondary, target: .vendor(device), version: 1, transaction: .random(),
            issued: scheduler.wallNow.seconds - 60, values: ["volume": 80])
        begin(try ConfigurationSigner.sign(payload, with: [signer]), at: before.service)
        #expect(desired(at: before.service) == [1])
        let revocation = try holders.revocation(of: signer, under: 1)
        store.hold(commits: true)
        begin(revocation, at: before.service)
        store.doOne()
        scheduler.run()
        #expect(store.heldCount == 1, "the revocation is durable, and the end is not")
        store.hold()
        let after = try start(as: role)
        #expect(desired(at: after.service) == [])
    }

    @Test(
        "CFG-92, CFG-112: a start brings secondaries the chain of their app, and not that of the primary's",
        arguments: DeviceRole.allCases)
    func aStart(_ role: DeviceRole) throws {
        let (before, holders) = (try start(as: .primary), KeyHolders(of: app, as: role))
        try trust(holders, at: before.service)
        begin(try holders.set(2, [signer]), at: before.service)
        let after = try start(as: .primary)
        let queue = QueueKey.configuration(of: app, at: secondary.pairing)
        #expect(after.delivery.submissions.outstanding(in: queue).isEmpty == (role == .primary))
    }
}
