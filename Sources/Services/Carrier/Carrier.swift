// Signed configuration in a daemon: what operators give, what links bring, what apps answer, what secondaries report. The
// carrier composes the two halves of the one apply path; every verdict is the SignedConfiguration room's or the app's.

package import TandemCrypto
import TandemDelivery
package import TandemFiles
import TandemHostApps
package import TandemIdentity
package import TandemLog
import TandemPropertyList
package import TandemReactor
package import TandemRelay
import TandemSignedConfiguration
package import TandemStore
import TandemWire

/// The carrier of one daemon; confined to its loop.
package final class Carrier {
    /// What the carrier is told of its device.
    package struct Options {
        package let device: UniqueIdentifier
        /// This device's name, for results about its own app.
        package let name: String
        /// The side that the local socket serves.
        package let role: DeviceRole
        package let signer: ReportPrivateKey
        /// The daemon's half of the waiver (CFG-22).
        package let allowsInvalidSignatures: Bool

        package init(
            device: UniqueIdentifier, name: String, role: DeviceRole, signer: ReportPrivateKey,
            allowsInvalidSignatures: Bool
        ) {
            self.device = device
            self.name = name
            self.role = role
            self.signer = signer
            self.allowsInvalidSignatures = allowsInvalidSignatures
        }
    }

    package weak var delegate: (any CarrierDelegate)?
    let options: Options
    let exchange: ItemExchange
    let scheduler: any Scheduler
    let log: LogHandler
    private var halves: (receiver: ConfigurationReceiver, forwarder: ConfigurationForwarder)?
    private var submitting: Set<UniqueIdentifier> = []
    var lastTick: MonotonicTime

    /// - Parameter rows: the rows of a key space, as they were committed.
    package init(
        _ options: Options, exchange: ItemExchange, store: LoopStore, applications: OwnedDirectory,
        scheduler: any Scheduler, rows: (RowSpace) throws -> [Row], log: @escaping LogHandler
    ) throws {
        self.options = options
        self.exchange = exchange
        self.scheduler = scheduler
        self.log = log
        lastTick = scheduler.now
        let received = try ReceiverState(device: options.device, rows: rows)
        let forwarded = try ForwardingState(rows: rows)
        halves = (
            ConfigurationReceiver(
                self, files: ConfigurationFiles(applications: applications), state: received, store: store),
            ConfigurationForwarder(self, state: forwarded, store: store)
        )
    }

    var receiver: ConfigurationReceiver {
        guard let halves else { preconditionFailure("the halves are made in init") }
        return halves.receiver
    }

    var forwarder: ConfigurationForwarder {
        guard let halves else { preconditionFailure("the halves are made in init") }
        return halves.forwarder
    }

    var signer: ReportPrivateKey { options.signer }
    var allowsInvalidSignatures: Bool { options.allowsInvalidSignatures }
    var reading: Reading { Reading(monotonic: scheduler.now, wall: scheduler.wallNow) }

    // MARK: reports to their queue

    func beginSubmission(of id: UniqueIdentifier) -> Bool { submitting.insert(id).inserted }

    func endSubmission(of id: UniqueIdentifier) { submitting.remove(id) }

    func submit(_ report: OwedReport, then completion: @escaping (Bool) -> Void) {
        guard delegate?.carrier(self, record: report.pairing) != nil else { return completion(true) }
        let queue = QueueKey(pairing: report.pairing, app: report.application, channel: .configuration)
        do throws(DeliveryError) {
            try exchange.submit(OutboundItem(id: report.id, payload: report.envelope), to: queue) { result in
                if case .success = result { completion(true) } else { completion(false) }
            }
        } catch {
            log(
                LogEvent(
                    .error, "report not queued", .text("app", "\(report.application)"),
                    .text("error", error.description)))
            completion(false)
        }
    }

    /// Gives a message to the app of a slot, over its receiving connection.
    func handOver(
        _ message: PropertyListDictionary, to key: ConfigurationSlotKey,
        completion: @escaping (HandOverOutcome) -> Void
    ) {
        let pairing = receiver.committed.state.slots[key]?.staged?.delivery?.pairing ?? Self.noPairing
        guard let delegate, let body = try? PropertyListWriter.write(message) else { return completion(.notConnected) }
        delegate.carrier(self, handOver: body, to: key.application, pairing: pairing, completion: completion)
    }

    /// Stands in the frame of a configuration that came through no pairing: sixteen zero bytes.
    private static let noPairing: UniqueIdentifier = {
        guard let identifier = UniqueIdentifier(bytes: [UInt8](repeating: 0, count: 16)) else {
            preconditionFailure("sixteen bytes are an identifier")
        }
        return identifier
    }()
}
