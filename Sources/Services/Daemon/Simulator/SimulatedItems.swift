// The durable channels of simulated devices: an exchange for each, kept in memory, and joined by calls where real
// devices have a link. The rules and the machines are those of a daemon; only what a restart would need is missing.

import TandemBase
import TandemDelivery
import TandemFiles
import TandemReactor
import TandemStore
import TandemWire

/// One simulated device's durable items; confined to its loop.
final class SimulatedItems {
    let channels: DurableChannels
    private let exchange: ItemExchange
    private let files: FileExchange?
    /// Where the directories of its apps are.
    private let applications: (directory: OwnedDirectory, name: String)?
    private let scheduler: any Scheduler
    private let log: LogHandler
    /// The other device of each pairing. The simulator keeps all devices.
    private var peers: [UniqueIdentifier: Peer] = [:]

    private struct Peer {
        weak var items: SimulatedItems?
    }

    /// - Parameter directory: for files; nil takes none. `name` tells the device apart there.
    init(
        endpoint: LocalEndpoint, directory: OwnedDirectory?, name: String, scheduler: any Scheduler,
        log: @escaping LogHandler
    ) {
        let channels: Set<Channel> =
            directory == nil ? [.context, .userInfo, .urgent] : [.context, .userInfo, .urgent, .file]
        exchange = ItemExchange(
            store: LoopStore(MemoryStore(), on: scheduler), scheduler: scheduler,
            channels: channels, log: log)
        self.channels = DurableChannels(exchange: exchange, endpoint: endpoint)
        applications = directory.map { ($0, "apps." + name) }
        files = directory.map { FileExchange(in: $0, suffix: "." + name, scheduler: scheduler, log: log) }
        self.scheduler = scheduler
        self.log = log
        exchange.delegate = self
        self.channels.files = files
        files?.items = exchange
        files?.delegate = self
    }

    /// Waits for its files' thread: for a clock that a test moves.
    func waitForDisk() { files?.waitForDisk() }

    /// Ends its files' thread.
    func close() { files?.close() }

    /// Joins two devices by a pairing; once, before any app is there.
    static func join(_ pairing: UniqueIdentifier, _ first: SimulatedItems, _ second: SimulatedItems) {
        for (own, other) in [(first, second), (second, first)] {
            own.peers[pairing] = Peer(items: other)
            own.exchange.setPairing(pairing, epoch: 1)
        }
        first.exchange.linkOpened(pairing, received: [])
        second.exchange.linkOpened(pairing, received: [])
    }
}

extension SimulatedItems: ItemExchangeDelegate {
    func exchange(_ exchange: ItemExchange, send envelope: Envelope, over pairing: UniqueIdentifier) {
        pass(envelope, to: peers[pairing]?.items)
    }

    private func pass(_ envelope: Envelope, to peer: SimulatedItems?) {
        // In a later turn, in order, as from a link.
        scheduler.schedule(after: .zero) { [log] in
            guard let peer, !peer.take(envelope) else { return }
            log(
                LogEvent(
                    .error, "a simulated device does not take an item's frame", .text("kind", envelope.kind.rawValue)))
        }
    }

    private func take(_ envelope: Envelope) -> Bool {
        switch (envelope.kind, envelope.channel) {
        case (.failure, _):
            files?.refused(envelope)
            return envelope.pairing.map { exchange.takeFailure(envelope, from: $0) } ?? false
        case (.item, .file), (.gap, .file), (.chunk, _), (.want, _): return files?.receive(envelope) ?? false
        default: return exchange.receive(envelope)
        }
    }

    func exchange(_ exchange: ItemExchange, received item: ReceivedItem) { channels.received(item) }

    func exchange(_ exchange: ItemExchange, item id: UniqueIdentifier, storedIn queue: QueueKey) {
        channels.stored(id, in: queue)
    }

    func exchange(
        _ exchange: ItemExchange, item id: UniqueIdentifier, in queue: QueueKey, ended outcome: Outcome,
        _ refusal: ItemRefusal?
    ) {
        channels.ended(id, in: queue, outcome, refusal)
    }

    func exchange(
        _ exchange: ItemExchange, releasedFileOf id: UniqueIdentifier, in queue: QueueKey,
        _ direction: DeliveryDirection
    ) {
        files?.released(id, in: queue, direction)
    }

    func exchange(_ exchange: ItemExchange, changed context: ContextStanding) { channels.contextChanged(context) }

    func exchange(_ exchange: ItemExchange, needsEpochOf pairing: UniqueIdentifier) { contradiction(pairing) }

    func exchange(_ exchange: ItemExchange, violationBy pairing: UniqueIdentifier) { contradiction(pairing) }

    /// Nothing here is ever restored from a backup.
    private func contradiction(_ pairing: UniqueIdentifier) {
        log(LogEvent(.error, "two simulated devices contradict each other", .text("pairing", "\(pairing)")))
    }
}

extension SimulatedItems: FileExchangeDelegate {
    func files(_ files: FileExchange, send envelope: Envelope, over pairing: UniqueIdentifier) {
        pass(envelope, to: peers[pairing]?.items)
    }

    func files(_ files: FileExchange, tell envelope: Envelope, to app: ApplicationIdentifier) {
        channels.tell(envelope, to: app)
    }

    func files(_ files: FileExchange, completed app: ApplicationIdentifier) {}

    func files(_ files: FileExchange, inboxOf app: ApplicationIdentifier) -> FileInbox? {
        guard let applications else { return nil }
        return FileInbox(of: app, owner: nil, log: log) { () throws(FileError) in
            try applications.directory.directory(named: applications.name).directory(named: app.description)
        }
    }
}
