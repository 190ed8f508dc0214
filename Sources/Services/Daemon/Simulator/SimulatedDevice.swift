// Simulated device: a local endpoint and a router over rows in memory, and the path that joins it with another one where
// real devices have a link. The rules and the machines are those of a daemon; only what a restart would need is missing.

import TandemBase
import TandemFiles
import TandemReactor
import TandemStore
import TandemWire

/// One device of the simulator; confined to its loop.
final class SimulatedDevice {
    let endpoint: LocalEndpoint
    private let router: DeviceRouter
    private let exchange: DurableDelivery
    private let files: FileDelivery?
    private let scheduler: any Scheduler
    private let log: LogHandler

    /// - Parameters:
    ///   - name: tells the device apart in the directory.
    ///   - directory: for files; nil takes none.
    init(
        _ name: String, endpoint: LocalEndpoint, directory: OwnedDirectory?, scheduler: any Scheduler,
        log: @escaping LogHandler
    ) {
        self.endpoint = endpoint
        self.scheduler = scheduler
        self.log = log
        files = directory.map { directory in
            FileDelivery(
                in: directory, suffix: "." + name, scheduler: scheduler,
                inbox: { app in
                    FileInbox(of: app, owner: nil, log: log) { () throws(FileError) in
                        try directory.directory(named: "apps." + name).directory(named: app.description)
                    }
                }, log: log)
        }
        exchange = DurableDelivery(
            store: LoopStore(MemoryStore(), on: scheduler), files: files, scheduler: scheduler,
            channels: directory == nil ? [.context, .userInfo, .urgent] : [.context, .userInfo, .urgent, .file],
            log: log)
        router = DeviceRouter(endpoint: endpoint, exchange: exchange, configuration: nil)
        // Nothing here is ever restored from a backup.
        router.connect(DeviceRouter.Outlets(needsEpoch: { InProcessPath.contradiction($0, log) }))
    }

    /// Joins two devices by a pairing; once, before any app is there.
    static func join(_ pairing: UniqueIdentifier, _ first: SimulatedDevice, _ second: SimulatedDevice) {
        for device in [first, second] { device.exchange.setPairing(pairing, epoch: 1) }
        first.router.open(pairing, over: InProcessPath(to: second.router, pairing, first.scheduler, first.log))
        second.router.open(pairing, over: InProcessPath(to: first.router, pairing, second.scheduler, second.log))
    }

    /// Waits for its files' thread: for a clock that a test moves.
    func waitForDisk() { files?.waitForDisk() }

    /// Ends its files' thread.
    func close() { files?.close() }
}

/// A path to the router of another simulated device.
private final class InProcessPath: PeerPath {
    private weak var router: DeviceRouter?
    private let pairing: UniqueIdentifier
    private let scheduler: any Scheduler
    private let log: LogHandler

    init(
        to router: DeviceRouter, _ pairing: UniqueIdentifier, _ scheduler: any Scheduler, _ log: @escaping LogHandler
    ) {
        self.router = router
        self.pairing = pairing
        self.scheduler = scheduler
        self.log = log
    }

    func send(_ envelope: Envelope) {
        // In a later turn, in order, as from a link.
        scheduler.schedule(after: .zero) { [self] in
            guard let breach = router?.receive(envelope, from: pairing) else { return }
            refuse(breach.name, breach.text)
        }
    }

    func refuse(_ name: RefusalName, _ text: String) {
        log(
            LogEvent(
                .error, "a simulated device does not take another's frame", .text("pairing", "\(pairing)"),
                .text("name", name.rawValue), .text("text", text)))
    }

    static func contradiction(_ pairing: UniqueIdentifier, _ log: LogHandler) {
        log(LogEvent(.error, "two simulated devices contradict each other", .text("pairing", "\(pairing)")))
    }
}
