// Device router: the wiring of one device between durable delivery, file delivery, apps, configuration and the paths to
// its peers. It names each kind of frame that devices exchange and each event of delivery once; a daemon and the
// simulator use the same router. The rules are the parts' own.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemSession
import TandemWire

/// A ready path to the router of a paired device: a device link, or in the simulator the other device itself.
protocol PeerPath: AnyObject {
    /// Queues an envelope of this device's own making.
    func send(_ envelope: Envelope)

    /// The peer broke the protocol.
    func refuse(_ name: RefusalName, _ text: String)
}

/// Routes the frames and items of one device; confined to its loop.
final class DeviceRouter {
    /// Outlets to the device around the router.
    struct Outlets {
        /// The directory for an app's files; nil if it has none.
        var inbox: (ApplicationIdentifier) -> FileInbox?
        /// One of two stores was restored: the pairing needs a new epoch (DEL-10).
        var needsEpoch: (UniqueIdentifier) -> Void
        /// A frame of durable delivery was sent to a peer, or came from one.
        var frameMoved: (_ envelope: Envelope, _ isSent: Bool) -> Void = { _, _ in }
        /// An item may wait for an absent app.
        var itemsMayWait: () -> Void = {}
    }

    /// A peer's breach of the protocol: the refusal that ends its path.
    typealias Breach = (name: RefusalName, text: String)

    private struct Peer {
        let path: any PeerPath
        /// Where the relay takes the path's messages; nil if the relay reaches the peer by itself.
        let port: RelayPort?
    }

    let apps: DurableChannels
    private let exchange: ItemExchange
    private let files: FileExchange?
    private let configuration: Carrier?
    private var peers: [UniqueIdentifier: Peer] = [:]
    private var outlets: Outlets?

    /// - Parameters:
    ///   - files: nil if the device takes no files.
    ///   - configuration: nil if the device takes no configuration.
    init(endpoint: LocalEndpoint, exchange: ItemExchange, files: FileExchange?, configuration: Carrier?) {
        self.exchange = exchange
        self.files = files
        self.configuration = configuration
        apps = DurableChannels(exchange: exchange, endpoint: endpoint)
        apps.files = files
        endpoint.items = apps
        exchange.delegate = self
        files?.items = exchange
        files?.delegate = self
    }

    /// Connects the outlets; once, before the first frame.
    func connect(_ outlets: Outlets) { self.outlets = outlets }

    // MARK: paths

    /// A path to the peer of a pairing is ready.
    /// - Parameters:
    ///   - port: where the relay takes the path's messages; nil if the relay reaches the peer by itself.
    ///   - received: the last items that the peer has stored, by its hello.
    ///   - channels: the channels that both ends know.
    func open(
        _ pairing: UniqueIdentifier, over path: any PeerPath, port: RelayPort? = nil,
        received: [(app: ApplicationIdentifier, channel: Channel, sequence: UInt64)] = [],
        channels: Set<Channel> = Set(Channel.allCases)
    ) {
        peers[pairing] = Peer(path: path, port: port)
        exchange.linkOpened(pairing, received: received, channels: channels)
    }

    /// The path is gone.
    func close(_ pairing: UniqueIdentifier, _ reason: ReachabilityReason) {
        let peer = peers.removeValue(forKey: pairing)
        exchange.linkClosed(pairing)
        files?.linkClosed(pairing)
        peer?.port?.closed(reason)
    }

    /// The path's queue has drained.
    func drained(_ pairing: UniqueIdentifier) { peers[pairing]?.port?.drained() }

    /// Takes a frame that came over a path.
    /// - Parameter frame: the bytes for the relay to forward; nil on a path that carries no messages.
    /// - Returns: nil if all is well.
    func receive(_ envelope: Envelope, in frame: Frame? = nil, from pairing: UniqueIdentifier) -> Breach? {
        switch envelope.kind {
        case .item, .gap, .stored, .outcome, .settled, .chunk, .want:
            return receiveDurable(envelope) ? nil : (.envelope, "\(envelope.kind.rawValue) does not read")
        case .failure where envelope.channel != nil:
            guard let failure = try? FailureFrame(envelope) else { return (.malformed, "a failure does not read") }
            if exchange.takeFailure(failure) { files?.refused(failure) }
            return nil
        default:
            guard let frame, let port = peers[pairing]?.port else {
                return (.unexpected, "\(envelope.kind.rawValue) has no place here")
            }
            return port.receive(frame, envelope).map { ($0, "in \(envelope.kind.rawValue)") }
        }
    }

    private func receiveDurable(_ envelope: Envelope) -> Bool {
        outlets?.frameMoved(envelope, false)
        defer { if envelope.kind == .item { outlets?.itemsMayWait() } }
        let isFile = envelope.channel == .file
        switch envelope.kind {
        case .chunk, .want: return isFile && files?.receive(envelope) == true
        case .item where isFile, .gap where isFile: return files?.receive(envelope) == true
        default: return exchange.receive(envelope)
        }
    }
}

extension DeviceRouter: ItemExchangeDelegate {
    func exchange(_ exchange: ItemExchange, send envelope: Envelope, over pairing: UniqueIdentifier) {
        guard let path = peers[pairing]?.path else { return }
        outlets?.frameMoved(envelope, true)
        path.send(envelope)
    }

    func exchange(_ exchange: ItemExchange, received item: ReceivedItem) {
        guard item.queue.channel == .configuration else { return apps.received(item) }
        guard let configuration else { return exchange.failed(item.ordinal, in: item.queue) }
        configuration.received(item)
    }

    func exchange(
        _ exchange: ItemExchange, item id: UniqueIdentifier, in queue: QueueKey, ended outcome: Outcome,
        _ refusal: ItemRefusal?
    ) {
        switch queue.channel {
        case .configuration: configuration?.ended(id, outcome)
        case .context, .userInfo, .urgent, .file: apps.ended(id, in: queue, outcome, refusal)
        }
    }

    func exchange(_ exchange: ItemExchange, item id: UniqueIdentifier, storedIn queue: QueueKey) {
        if queue.channel != .configuration { apps.stored(id, in: queue) }
    }

    func exchange(
        _ exchange: ItemExchange, releasedFileOf id: UniqueIdentifier, in queue: QueueKey,
        _ direction: DeliveryDirection
    ) {
        files?.released(id, in: queue, direction)
    }

    func exchange(_ exchange: ItemExchange, changed context: ContextStanding) { apps.contextChanged(context) }

    func exchange(_ exchange: ItemExchange, needsEpochOf pairing: UniqueIdentifier) { outlets?.needsEpoch(pairing) }

    func exchange(_ exchange: ItemExchange, violationBy pairing: UniqueIdentifier) {
        peers[pairing]?.path.refuse(.unexpected, "an acknowledgement of what was never sent")
    }
}

extension DeviceRouter: FileExchangeDelegate {
    func files(_ files: FileExchange, send envelope: Envelope, over pairing: UniqueIdentifier) {
        peers[pairing]?.path.send(envelope)
    }

    func files(_ files: FileExchange, tell envelope: Envelope, to app: ApplicationIdentifier) {
        apps.tell(envelope, to: app)
    }

    func files(_ files: FileExchange, completed app: ApplicationIdentifier) { outlets?.itemsMayWait() }

    func files(_ files: FileExchange, inboxOf app: ApplicationIdentifier) -> FileInbox? { outlets?.inbox(app) }
}

extension Link: PeerPath {}
