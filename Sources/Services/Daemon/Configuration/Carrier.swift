// Signed configuration in a daemon: what operators give, what links bring, what apps answer, what secondaries report.
// The carrier composes the two halves of the one apply path; every verdict is the SignedConfiguration room's or the
// app's.

package import TandemBase
package import TandemCrypto
import TandemDelivery
package import TandemFiles
import TandemPropertyList
package import TandemReactor
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

    let context: CarrierContext
    let receiver: ConfigurationReceiver
    let forwarder: ConfigurationForwarder
    var lastTick: MonotonicTime

    /// - Parameter rows: the rows of a key space, as they were committed.
    package init(
        _ options: Options, exchange: DurableDelivery, store: LoopStore, applications: OwnedDirectory,
        scheduler: any Scheduler, rows: (RowSpace) throws -> [Row], log: @escaping LogHandler
    ) throws {
        context = CarrierContext(options, exchange: exchange, scheduler: scheduler, log: log)
        receiver = ConfigurationReceiver(
            context, files: ConfigurationFiles(applications: applications),
            state: try ReceiverState(device: options.device, rows: rows), store: store)
        forwarder = ConfigurationForwarder(context, state: try ForwardingState(rows: rows), store: store)
        lastTick = scheduler.now
    }

    package var delegate: (any CarrierDelegate)? {
        get { context.delegate }
        set { context.delegate = newValue }
    }

    var options: Options { context.options }
    var scheduler: any Scheduler { context.scheduler }
}
