// Two item exchanges with stores of their own, and a wire between them that loses what it is told to lose. Everything
// runs on one loop; a restart makes a new durable delivery over the same store.

import TandemBase
import TandemDaemon
import TandemDelivery
import TandemReactor
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

/// One side: durable delivery, its store, and what it was told.
final class DeliveryEnd {
    let loop: EventLoop
    let store: Store
    private(set) var delivery: DurableDelivery
    weak var other: DeliveryEnd?
    var received: [ReceivedItem] = []
    var endings: [UniqueIdentifier: [Outcome]] = [:]
    var epochRequests = 0
    var violations = 0
    /// Whether a frame is lost.
    var loses: (Envelope) -> Bool = { _ in false }
    /// Whether the handler takes an item now.
    var handles: (ReceivedItem) -> Bool = { _ in true }
    private var isLinked = false

    init(_ loop: EventLoop, _ path: String) throws {
        self.loop = loop
        store = try Store(path: path)
        delivery = DurableDelivery(store: LoopStore(store, on: loop), scheduler: loop)
        connect()
    }

    /// Starts anew from the rows that are durable.
    func restart(pairing: UniqueIdentifier, epoch: UInt64 = 1) throws {
        unlink(pairing)
        delivery.removePairing(pairing)
        delivery = DurableDelivery(store: LoopStore(store, on: loop), scheduler: loop)
        connect()
        delivery.setPairing(pairing, epoch: epoch)
        try delivery.restore { try store.read(RowRange(space: $0)) }
        delivery.resume()
    }

    func link(_ pairing: UniqueIdentifier, to other: DeliveryEnd) {
        isLinked = true
        let peer = other.delivery.positions(of: pairing).received
        delivery.linkOpened(pairing, received: peer.map { ($0.key.app, $0.key.channel, $0.sequence) })
    }

    func unlink(_ pairing: UniqueIdentifier) {
        isLinked = false
        delivery.linkClosed(pairing)
    }

    // MARK: outlets

    private func connect() {
        delivery.connect(
            send: { [unowned self] envelope, _ in send(envelope) }, onEvent: { [unowned self] in take($0) })
    }

    private func send(_ envelope: Envelope) {
        guard isLinked, !loses(envelope) else { return }
        loop.submit { [weak other] in
            guard let other, other.isLinked else { return }
            #expect(other.delivery.receive(envelope), "\(envelope.kind) reads")
        }
    }

    private func take(_ event: DeliveryEvent) {
        switch event {
        case .received(let item):
            received.append(item)
            if handles(item) {
                delivery.arrivals.handled(item.ordinal, in: item.queue)
            } else {
                delivery.arrivals.failed(item.ordinal, in: item.queue)
            }
        case .ended(let id, _, let outcome, _): endings[id, default: []].append(outcome)
        case .needsEpoch: epochRequests += 1
        case .violation: violations += 1
        case .stored, .contextChanged, .fileReleased, .fileArrived: break
        }
    }
}

extension DeliveryEnd: @unchecked Sendable {
    // @unchecked: confined to the loop's thread, which is the test's.
}

/// Two linked sides.
final class DeliveryFixture {
    let place = TemporaryDirectory()
    let loop: EventLoop
    let sender: DeliveryEnd
    let receiver: DeliveryEnd
    let pairing = UniqueIdentifier.random()
    let queue: QueueKey

    init() throws {
        loop = try EventLoop()
        sender = try DeliveryEnd(loop, place.path("sender.sqlite"))
        receiver = try DeliveryEnd(loop, place.path("receiver.sqlite"))
        sender.other = receiver
        receiver.other = sender
        queue = QueueKey(pairing: pairing, app: try ApplicationIdentifier("app"), channel: .configuration)
        for side in [sender, receiver] { side.delivery.setPairing(pairing, epoch: 1) }
    }

    func link() {
        sender.link(pairing, to: receiver)
        receiver.link(pairing, to: sender)
    }

    func unlink() {
        sender.unlink(pairing)
        receiver.unlink(pairing)
    }

    /// Submits an item and waits until it is accepted.
    func submit(_ number: UInt8) throws -> UniqueIdentifier {
        let id = UniqueIdentifier.random()
        var isAccepted: Bool?
        sender.delivery.submissions.submit(OutboundItem(id: id, payload: [number]), to: queue) { result in
            if case .success = result { isAccepted = true } else { isAccepted = false }
        }
        #expect(isAccepted == nil, "nothing is accepted before its commit")
        loop.run(until: { isAccepted != nil })
        #expect(isAccepted == true)
        return id
    }
}
