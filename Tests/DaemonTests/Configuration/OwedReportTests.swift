// Reports of a secondary whose primary takes none of them: its queue is full, and the reports wait.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct OwedReportTests {
    private static let room = 4
    private let scheduler = ManualScheduler()
    private let service: ConfigurationService
    private let delivery: DurableDelivery
    private let queue: QueueKey
    private let device = UniqueIdentifier.random()
    private let signer = ConfigurationPrivateKey.generate()
    private let log = LogLines()
    private let directory = TemporaryDirectory()

    init() throws {
        let (scheduler, app) = (scheduler, try ApplicationIdentifier("org.example.alarm"))
        let rows = LoopStore(UnwillingStore(), on: scheduler)
        let primary = ConfigurationPeer(
            pairing: .random(), role: .secondary, name: "the primary", device: .random(),
            reportKey: ReportPrivateKey.generate().publicKey.key.subjectPublicKeyInfo)
        queue = .configuration(of: app, at: primary.pairing)
        delivery = DurableDelivery(store: rows, scheduler: scheduler) { channel in
            var limits = DeliveryLimits.standard(channel)
            limits.items = Self.room
            return limits
        }
        delivery.connect(send: { _, _ in }, queuedBytes: { _ in 0 }, onEvent: { _ in })
        delivery.setPairing(primary.pairing, epoch: 1)
        service = try ConfigurationService(
            ConfigurationService.Options(
                device: device, name: "the secondary", role: .secondary, signer: .generate(),
                allowsInvalidSignatures: false),
            in: LoneHost(.vendor(device), peers: [primary]), delivery: delivery, store: rows,
            applications: try OwnedDirectory(path: directory.path("apps"), mode: 0o700), scheduler: scheduler,
            rows: { _ in [] }, log: log.append)
        service.start()
        let key = signer.publicKey.key.pem
        scheduler.start { [service, app] in
            _ = await service.trust(key, for: KeySubject(application: app, role: .secondary))
        }
        scheduler.run()
    }

    private func receive(_ version: UInt64) throws {
        let payload = ConfigurationPayload(
            application: queue.app, role: .secondary, target: .vendor(device), version: version, transaction: .random(),
            issued: scheduler.wallNow.seconds - 60, values: ["volume": 80])
        let envelope = try ConfigurationSigner.sign(payload, with: [signer])
        service.received(ReceivedItem(queue: queue, id: .random(), ordinal: version, payload: envelope))
        scheduler.advance(by: .milliseconds(1))
    }

    private var waiting: [UniqueIdentifier] { delivery.submissions.outstanding(in: queue).map(\.id) }
    private var refused: Int { log.all.count { "\($0.message)" == "report not queued" } }

    @Test("CFG-50: of a full queue one report asks for room, and again at the next tick; all leave when there is room")
    func fullQueue() throws {
        for version in 1...100 { try receive(UInt64(version)) }
        #expect(waiting.count == Self.room)
        #expect((1...2).contains(refused), "\(refused)")
        let before = refused
        scheduler.advance(by: .seconds(30))
        #expect(refused - before <= 4, "\(refused - before): one for each tick, and not for each report")
        let first = waiting
        for id in first { delivery.submissions.cancel(id, in: queue) { _ in } }
        scheduler.advance(by: .seconds(11))
        #expect(waiting.count == Self.room && Set(waiting).isDisjoint(with: first))
    }
}
