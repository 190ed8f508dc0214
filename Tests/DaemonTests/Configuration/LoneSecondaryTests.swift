// The configuration of a secondary alone: reports for which their queue has no room, and verdicts for which the disk
// has none.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct LoneSecondaryTests {
    private static let room = 4
    private let scheduler = ManualScheduler()
    private let store = UnwillingStore()
    private let host: LoneHost
    private let service: ConfigurationService
    private let delivery: DurableDelivery
    private let queue: QueueKey
    private let device = UniqueIdentifier.random()
    private let signer = ConfigurationPrivateKey.generate()
    private let log = LogLines()
    private let directory = TemporaryDirectory()

    init() throws {
        let (scheduler, app) = (scheduler, try ApplicationIdentifier("org.example.alarm"))
        let rows = LoopStore(store, on: scheduler)
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
        host = LoneHost(.vendor(device), peers: [primary])
        service = try ConfigurationService(
            ConfigurationService.Options(
                device: device, name: "the secondary", role: .secondary, signer: .generate(),
                allowsInvalidSignatures: false),
            in: host, delivery: delivery, store: rows,
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

    @Test("CFG-43, CFG-62: a verdict, a start and an end of an app for which the disk has no room are made up for")
    func fullDisk() throws {
        func answer(_ number: Int) throws {
            let (body, completion) = host.offers[number]
            let envelope = try #require(try PropertyListReader.readDictionary(body)["tandem.configuration"]?.dataValue)
            let reply: PropertyListDictionary = [
                "tandem.verdict": "applied", "tandem.digest": .data(SHA256.digest(envelope)),
            ]
            completion(.reply(try PropertyListWriter.write(reply)))
            scheduler.run()
        }
        host.takesOffers = true
        try receive(1)
        #expect(host.offers.isEmpty)
        // The start.
        store.isFull = true
        service.connected(queue.app, as: .secondary, TandemSession.Registration())
        scheduler.run()
        #expect(host.offers.isEmpty)
        store.isFull = false
        scheduler.advance(by: .seconds(11))
        #expect(host.offers.count == 1)
        // The verdict.
        store.isFull = true
        try answer(0)
        store.isFull = false
        scheduler.advance(by: .seconds(21))
        #expect(host.offers.count == 2)
        // The end of the app, and its next start.
        store.isFull = true
        host.offers[1].completion(.disconnected)
        service.disconnected(queue.app, as: .secondary, inOrder: false)
        service.connected(queue.app, as: .secondary, TandemSession.Registration())
        scheduler.run()
        store.isFull = false
        scheduler.advance(by: .seconds(21))
        try #require(host.offers.count == 3)
        try answer(2)
        scheduler.advance(by: .seconds(1))
        #expect(service.status.stateName(of: queue.app) == "applied")
    }
}
