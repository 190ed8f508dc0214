// The configuration service of a carrier between one primary and one secondary, without links: a test plays both.

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

final class OneCarrier {
    let scheduler = ManualScheduler()
    let disk = UnwillingStore()
    let service: ConfigurationService
    let delivery: DurableDelivery
    let app: ApplicationIdentifier
    /// The pairings with the primary above and with the secondary below.
    let above = UniqueIdentifier.random()
    let below = UniqueIdentifier.random()
    /// The secondary, which may carry itself, and the key of its reports.
    let secondary: ConfigurationPeer
    let key = ReportPrivateKey.generate()
    private let facts: Facts
    private let host: LoneHost
    private let directory = TemporaryDirectory()
    private var ordinal: UInt64 = 0

    /// The lines that the service has logged.
    private final class Facts {
        var notes: [String] = []
    }

    /// - Parameter room: the items that each queue takes; nil for as many as usual.
    init(room: Int? = nil) throws {
        app = try ApplicationIdentifier("org.example.alarm")
        let (scheduler, facts, device) = (scheduler, Facts(), UniqueIdentifier.random())
        self.facts = facts
        let rows = LoopStore(disk, on: scheduler)
        let peer = { (pairing: UniqueIdentifier, role: DeviceRole, key: ReportPrivateKey) in
            ConfigurationPeer(
                pairing: pairing, role: role, name: "the \(role)", device: .random(),
                reportKey: key.publicKey.key.subjectPublicKeyInfo)
        }
        let primary = peer(above, .secondary, .generate())
        secondary = peer(below, .primary, key)
        delivery = DurableDelivery(store: rows, scheduler: scheduler) { channel in
            var limits = DeliveryLimits.standard(channel)
            if let room { limits.items = room }
            return limits
        }
        for peer in [primary, secondary] { delivery.setPairing(peer.pairing, epoch: 1) }
        host = LoneHost(.vendor(device), peers: [primary, secondary], isCarrier: true)
        service = try ConfigurationService(
            ConfigurationService.Options(
                device: device, name: "the carrier", role: .secondary, signer: .generate(),
                allowsInvalidSignatures: false),
            in: host, delivery: delivery, store: rows,
            applications: try OwnedDirectory(path: directory.path("apps"), mode: 0o700), scheduler: scheduler,
            rows: { _ in [] }, log: { facts.notes.append("\($0.message)") })
        delivery.connect(
            send: { _, _ in }, queuedBytes: { _ in 0 },
            onEvent: { [unowned service] event in
                if case .received(let item) = event { service.received(item) }
            })
        service.start()
        service.linked(above, readsTrials: true, carries: true)
    }

    func pass(_ time: Duration = .milliseconds(1)) { scheduler.advance(by: time) }

    /// The secondary has the app, or no longer.
    func install(_ isInstalled: Bool = true, _ other: ApplicationIdentifier? = nil) {
        if isInstalled { host.apps.insert(other ?? app) } else { host.apps.remove(other ?? app) }
        service.secondariesChanged()
    }

    /// The secondary announces the app with a key, or with none.
    func announce(_ trust: TrustMark) {
        host.trust = trust
        service.announced(app, at: below)
    }

    func hasNoted(_ message: String) -> Bool { facts.notes.contains(message) }

    func queue(_ pairing: UniqueIdentifier, of other: ApplicationIdentifier? = nil) -> QueueKey {
        QueueKey.configuration(of: other ?? app, at: pairing)
    }

    /// An item arrives from one of the two.
    @discardableResult
    func receive(
        _ payload: [UInt8], from pairing: UniqueIdentifier, about other: ApplicationIdentifier? = nil
    ) -> UniqueIdentifier {
        ordinal += 1
        let id = UniqueIdentifier.random()
        service.received(ReceivedItem(queue: queue(pairing, of: other), id: id, ordinal: ordinal, payload: payload))
        pass()
        return id
    }

    /// The same by a frame: the item waits here until the service has taken it.
    func arrive(_ payload: [UInt8], as sequence: UInt64, from pairing: UniqueIdentifier) -> UniqueIdentifier {
        let id = UniqueIdentifier.random()
        let item = Envelope(
            .item, app: app, pairing: pairing, id: id, channel: .configuration, sequence: sequence, body: payload)
        _ = delivery.receive(item)
        pass()
        return id
    }

    /// The items that wait for one of the two.
    func waiting(for pairing: UniqueIdentifier, of other: ApplicationIdentifier? = nil) -> [UniqueIdentifier] {
        delivery.submissions.outstanding(in: queue(pairing, of: other)).map(\.id)
    }
}
