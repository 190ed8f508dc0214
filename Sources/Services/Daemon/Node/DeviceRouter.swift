// Device router: the wiring of one device between durable delivery, file delivery, apps, configuration and the paths to
// its peers. It names each kind of frame that devices exchange and each event of delivery once; a daemon and the
// simulator use the same router. The rules are the parts' own.

import TandemBase
import TandemDelivery
import TandemOperations
import TandemSession
import TandemWire

/// A ready path to the router of a paired device: a device link, or in the simulator the other device itself.
protocol PeerPath: AnyObject {
    /// Queues an envelope of this device's own making.
    func send(_ envelope: Envelope)

    /// Bytes that wait for the peer.
    var queuedBytes: Int { get }

    /// The peer broke the protocol.
    func refuse(_ name: RefusalName, _ text: String)
}

/// Routes the frames and items of one device; confined to its loop.
final class DeviceRouter {
    /// Outlets to the device around the router.
    struct Outlets {
        /// One of two stores was restored: the pairing needs a new epoch (DEL-10).
        let needsEpoch: (UniqueIdentifier) -> Void
        /// A frame of durable delivery was sent to a peer, or came from one.
        private(set) var frameMoved: (_ envelope: Envelope, _ isSent: Bool) -> Void = { _, _ in }
        /// An item may wait for an absent app.
        private(set) var itemsMayWait: (ApplicationIdentifier) -> Void = { _ in }
        /// An app has handled an item: it works.
        let appHasHandled: (ApplicationIdentifier) -> Void
    }

    /// A peer's breach of the protocol: the refusal that ends its path.
    typealias Breach = (name: RefusalName, text: String)

    private struct Peer {
        let path: any PeerPath
        /// Where the relay takes the path's messages; nil if the relay reaches the peer by itself.
        let port: RelayPort?
    }

    private let apps: AppDelivery
    /// The apps of the device's other side; nil for a device of one side.
    private let otherApps: AppDelivery?
    private let delivery: DurableDelivery
    private let configuration: ConfigurationService?
    /// Requests about settings; nil if the device takes none.
    var settings: RemoteSettings?
    private var peers: [UniqueIdentifier: Peer] = [:]
    private var outlets: Outlets?

    /// - Parameters:
    ///   - other: the endpoint of the device's other side, if it has one.
    ///   - configuration: nil if the device takes no configuration.
    init(
        endpoint: LocalEndpoint, other: LocalEndpoint? = nil, delivery: DurableDelivery,
        configuration: ConfigurationService?
    ) {
        self.delivery = delivery
        self.configuration = configuration
        apps = AppDelivery(delivery: delivery, endpoint: endpoint)
        endpoint.items = apps
        otherApps = other.map { AppDelivery(delivery: delivery, endpoint: $0) }
        other?.items = otherApps
        delivery.files?.connect { [weak self] envelope, number, app in
            guard let self, let pairing: UniqueIdentifier = envelope[.pairing] else { return }
            apps(of: pairing).notify(envelope, number, app)
        }
        delivery.connect(
            send: { [weak self] in self?.send($0, over: $1) },
            queuedBytes: { [weak self] in self?.peers[$0]?.path.queuedBytes ?? 0 },
            onEvent: { [weak self] in self?.take($0) })
    }

    /// Connects the outlets; once, before the first frame.
    func connect(_ outlets: Outlets) {
        self.outlets = outlets
        apps.whenHandled = outlets.appHasHandled
        otherApps?.whenHandled = outlets.appHasHandled
    }

    /// Traces what the apps submit, are given and have handled.
    func onTrace(_ trace: @escaping (TraceEvent) -> Void) {
        apps.trace = trace
        otherApps?.trace = trace
    }

    /// The apps on the side of a pairing: they alone get what comes over it (SES-83).
    private func apps(of pairing: UniqueIdentifier) -> AppDelivery {
        if let otherApps, otherApps.serves(pairing) { otherApps } else { apps }
    }

    // MARK: paths

    /// A path to the peer of a pairing is ready.
    /// - Parameters:
    ///   - port: where the relay takes the path's messages; nil if the relay reaches the peer by itself.
    ///   - received: the last items that the peer has stored, by its hello.
    ///   - capabilities: those that both ends know.
    ///   - isSameRun: whether the same run of the peer's daemon had the last path.
    func open(
        _ pairing: UniqueIdentifier, over path: any PeerPath, port: RelayPort? = nil,
        received: [SequenceMark] = [], capabilities: Set<Capability>, isSameRun: Bool = false
    ) {
        peers[pairing] = Peer(path: path, port: port)
        delivery.linkOpened(
            pairing, received: received, channels: Set(capabilities.compactMap(\.channel)), isSameRun: isSameRun)
        configuration?.linked(
            pairing, readsTrials: capabilities.contains(.trial), carries: capabilities.contains(.chain))
        if let scope = RemoteSettings.Scope(capabilities) { settings?.opened(pairing, scope) { path.send($0) } }
    }

    /// The path is gone.
    func close(_ pairing: UniqueIdentifier, _ reason: ReachabilityReason) {
        let peer = peers.removeValue(forKey: pairing)
        delivery.linkClosed(pairing)
        configuration?.unlinked(pairing)
        settings?.closed(pairing)
        peer?.port?.closed(reason)
    }

    /// The path's queue has drained.
    func drained(_ pairing: UniqueIdentifier) {
        peers[pairing]?.port?.drained()
        delivery.linkDrained(pairing)
    }

    /// Takes a frame that came over a path.
    /// - Parameter frame: the bytes for the relay to forward; nil on a path that carries no messages.
    /// - Returns: nil if all is well.
    func receive(_ envelope: Envelope, in frame: Frame? = nil, from pairing: UniqueIdentifier) -> Breach? {
        switch envelope.kind {
        case .item, .gap, .stored, .outcome, .outcomeAck, .chunk, .fetch:
            outlets?.frameMoved(envelope, false)
            if envelope.kind == .item, let failure = apps(of: pairing).refusal(of: envelope) {
                peers[pairing]?.path.send(failure)
                return nil
            }
            defer {
                let app: ApplicationIdentifier? = envelope.kind == .item ? envelope[.app] : nil
                if let app { outlets?.itemsMayWait(app) }
            }
            return delivery.receive(envelope) ? nil : Self.refusal(.envelope, of: envelope)
        case .ping, .pong:
            delivery.take(marker: PingFrame(envelope), over: pairing)
            return nil
        case .query, .answer:
            do throws(WireError) {
                return try settings?.receive(envelope, from: pairing) == true ? nil : Self.misplaced(envelope)
            } catch { return (error.refusalName, Refusal.text(in: envelope.kind, error)) }
        case .failure where envelope.has(.channel):
            guard let failure = try? FailureFrame(envelope) else { return Self.refusal(.malformed, of: envelope) }
            delivery.take(failure)
            return nil
        default:
            guard let frame, let port = peers[pairing]?.port else { return Self.misplaced(envelope) }
            return port.receive(frame, envelope).map { ($0, port.refusal($0, of: envelope).text) }
        }
    }

    /// The refusal of a kind that has no place on the path.
    private static func misplaced(_ envelope: Envelope) -> Breach {
        (.unexpected, "\(envelope.kind.rawValue) has no place here")
    }

    /// The refusal of a frame of the durable channels, with its kind and the key that is wrong in it (SES-21). The
    /// frame is read once more for it: the connection ends here, and frames that are taken pay nothing for their
    /// refusals' texts. For the relay's frames ``RelayPort/refusal(_:of:)`` does the same.
    private static func refusal(_ name: RefusalName, of envelope: Envelope) -> Breach {
        var fault: WireError?
        do throws(WireError) {
            switch envelope.kind {
            case .item: _ = try ItemFrame(envelope)
            case .gap: _ = try GapFrame(envelope)
            case .stored, .outcomeAck: _ = try PositionFrame(envelope)
            case .outcome: _ = try OutcomeFrame(envelope)
            case .chunk: _ = try ChunkFrame(envelope)
            case .fetch: _ = try FetchFrame(envelope)
            case .failure: _ = try FailureFrame(envelope)
            default: break
            }
        } catch { fault = error }
        return (name, Refusal.text(in: envelope.kind, fault))
    }

    /// The pairing has ended. Both sides learn of it, because the relay no longer knows which one it was on.
    func unpaired(_ pairing: UniqueIdentifier) {
        apps.unpaired(pairing)
        otherApps?.unpaired(pairing)
    }

    // MARK: durable delivery

    private func send(_ envelope: Envelope, over pairing: UniqueIdentifier) {
        guard let path = peers[pairing]?.path else { return }
        outlets?.frameMoved(envelope, true)
        path.send(envelope)
    }

    private func take(_ event: DeliveryEvent) {
        switch event {
        case .received(let item) where item.queue.channel == .configuration:
            guard let configuration else { return delivery.arrivals.failed(item.ordinal, in: item.queue) }
            configuration.received(item)
        case .ended(let id, let queue, let outcome, _) where queue.channel == .configuration:
            configuration?.ended(id, in: queue, outcome)
        case .stored(_, let queue) where queue.channel == .configuration: break
        case .received(let item): apps(of: item.queue.pairing).take(event)
        case .stored(_, let queue), .ended(_, let queue, _, _): apps(of: queue.pairing).take(event)
        case .contextChanged(let context): apps(of: context.pairing).take(event)
        case .fileReleased: break
        case .itemsMayWait(let app): outlets?.itemsMayWait(app)
        case .needsEpoch(let pairing): outlets?.needsEpoch(pairing)
        case .violation(let pairing):
            peers[pairing]?.path.refuse(.unexpected, "an acknowledgement of what was never sent")
        case .stalled(let pairing): peers[pairing]?.path.refuse(.slowConsumer, "too many frames wait for an answer")
        }
    }
}

extension Link: PeerPath {}
