// The configuration service of a secondary alone, on a store that a test fills. The test plays the app and the primary.

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
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

final class LoneSecondary {
    /// Items that the queue to the primary has room for.
    static let room = 4

    let scheduler = ManualScheduler()
    let store: UnwillingStore
    let host: LoneHost
    let service: ConfigurationService
    let delivery: DurableDelivery
    let queue: QueueKey
    let log = LogLines()
    let signer: ConfigurationPrivateKey
    private let device: UniqueIdentifier
    private let directory: TemporaryDirectory
    private var ordinal: UInt64 = 0

    /// - Parameters:
    ///   - former: the daemon that has stopped, whose store and directory the new one opens; nil for a new device.
    ///   - allowsInvalidSignatures: the daemon's half of CFG-22.
    init(after former: LoneSecondary? = nil, allowsInvalidSignatures: Bool = false) throws {
        let (scheduler, app) = (scheduler, try ApplicationIdentifier("org.example.alarm"))
        let (store, device) = (former?.store ?? UnwillingStore(), former?.device ?? .random())
        (self.store, self.device) = (store, device)
        directory = former?.directory ?? TemporaryDirectory()
        signer = former?.signer ?? .generate()
        let rows = LoopStore(store, on: scheduler)
        let primary =
            former?.host.peers.first
            ?? ConfigurationPeer(
                pairing: .random(), role: .secondary, name: "the primary", device: .random(),
                reportKey: ReportPrivateKey.generate().publicKey.key.subjectPublicKeyInfo)
        queue = .configuration(of: app, at: primary.pairing)
        let limits = DeliveryLimits.standard(with: \.items, LoneSecondary.room)
        delivery = DurableDelivery(store: rows, scheduler: scheduler, limits: limits)
        delivery.connect(send: { _, _ in }, queuedBytes: { _ in 0 }, onEvent: { _ in })
        delivery.setPairing(primary.pairing, epoch: 1)
        host = LoneHost(.vendor(device), peers: [primary])
        service = try ConfigurationService(
            ConfigurationService.Options(
                device: device, name: "the secondary", role: .secondary, signer: .generate(),
                allowsInvalidSignatures: allowsInvalidSignatures),
            in: host, delivery: delivery, store: rows,
            applications: try OwnedDirectory(path: directory.path("apps"), mode: 0o700), scheduler: scheduler,
            rows: { space in store.memory.read(RowRange(space: space)) }, log: log.append)
        service.start()
        let key = signer.publicKey.key.pem
        scheduler.start { [service] in
            _ = await service.trust(key, for: KeySubject(application: app, role: .secondary))
        }
        scheduler.run()
    }

    // MARK: the primary

    func envelope(_ version: UInt64, signedWith key: ConfigurationPrivateKey? = nil) throws -> [UInt8] {
        let payload = ConfigurationPayload(
            application: queue.app, role: .secondary, target: .vendor(device), version: version, transaction: .random(),
            issued: scheduler.wallNow.seconds - 60, values: ["volume": 80])
        return try ConfigurationSigner.sign(payload, with: [key ?? signer])
    }

    /// Items arrive from it, all in one turn of the loop.
    func receive(_ payloads: [UInt8]...) {
        for payload in payloads {
            ordinal += 1
            service.received(ReceivedItem(queue: queue, id: .random(), ordinal: ordinal, payload: payload))
        }
        scheduler.advance(by: .milliseconds(1))
    }

    /// The reports that wait for it.
    var waiting: [UniqueIdentifier] { delivery.submissions.outstanding(in: queue).map(\.id) }

    // MARK: the app

    /// Its receiving connection registers.
    func connect(
        _ registration: TandemSession.Registration = TandemSession.Registration(), _ anchor: RegisteredAnchor? = nil
    ) {
        service.connected(
            ConnectedApplication(
                app: queue.app, role: .secondary, user: 1, registration: registration, takesConfiguration: true,
                anchor: anchor))
        scheduler.run()
    }

    /// Its connection is gone.
    func disconnect(inOrder: Bool = false) {
        service.disconnected(queue.app, as: .secondary, inOrder: inOrder)
        scheduler.run()
    }

    /// It answers a message of the daemon.
    /// - Parameter number: of the message, from 0.
    func answer(_ number: Int, _ reply: PropertyListDictionary) throws {
        host.offers[number].completion(.reply(try PropertyListWriter.write(reply)))
        scheduler.run()
    }

    func answer(_ number: Int, verdict: String = "applied") throws {
        let offer = try PropertyListReader.readDictionary(host.offers[number].body)
        let envelope = try #require(offer["tandem.configuration"]?.dataValue)
        try answer(
            number, ["tandem.verdict": .string(verdict), "tandem.digest": .data(SHA256.digest(envelope))])
    }

    /// It applies a configuration and lives with it.
    func apply(_ envelope: [UInt8]) throws {
        receive(envelope)
        try answer(host.offers.count - 1)
        scheduler.advance(by: .seconds(60))
    }

    /// The operator trusts a key set in place of the bare key.
    func trustKeySet(of holders: KeyHolders? = nil) throws {
        let holders = holders ?? KeyHolders(of: queue.app)
        let (text, subject) = (KeySetText.text(of: try holders.set(1, [signer])), holders.subject)
        scheduler.start { [service] in _ = await service.trust(text, for: subject) }
        scheduler.run()
    }

    // MARK: the app's key sets

    var keySets: [UInt8]? { TemporaryDirectory.read(file(KeySetChainFile.name)) }

    /// Makes their file another one.
    func writeKeySets(_ bytes: [UInt8]) { write(bytes, to: KeySetChainFile.name) }

    /// The file's number, which is another one once the file was replaced.
    var keySetsFile: UInt64? {
        var status = stat()
        return stat(file(KeySetChainFile.name), &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// Makes a file in its own directory another one.
    func write(_ bytes: [UInt8], to name: String) { directory.write(bytes, to: "apps/\(queue.app)/\(name)") }

    func file(_ name: String) -> String { directory.path("apps/\(queue.app)/\(name)") }

    // MARK: the operator

    /// Removes the app; its directory stays.
    func removeApp() {
        let decision = service.decideRemoval(of: queue.app)
        scheduler.start { [service, queue] in try? await service.remove(queue.app, by: decision, with: []) }
        scheduler.run()
    }

    /// The app's row of `status`.
    var status: PropertyListDictionary? {
        var rows: [PropertyListDictionary] = []
        scheduler.start { [service] in rows = await service.status.describe(nil, to: 0) }
        scheduler.run()
        return rows.first
    }
}
