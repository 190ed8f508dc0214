// Durable items between two exchanges over real stores: in order, none lost, none twice, each ending once.

import TandemBase
import TandemDaemon
import TandemDelivery
import TandemPropertyList
import TandemReactor
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

/// One end: durable delivery, its store, and what came of its items.
private final class End {
    let path: String
    let loop: EventLoop
    let pairing: UniqueIdentifier
    var store: Store
    var delivery: DurableDelivery
    weak var peer: End?
    var isLinked = false
    var handlesAtOnce = true
    var received: [ReceivedItem] = []
    var ended: [(id: UniqueIdentifier, outcome: Outcome)] = []
    var epochsWanted = 0
    var violations = 0

    init(_ path: String, _ pairing: UniqueIdentifier, _ loop: EventLoop) throws {
        (self.path, self.pairing, self.loop) = (path, pairing, loop)
        store = try Store(path: path)
        delivery = DurableDelivery(store: LoopStore(store, on: loop), scheduler: loop)
        try open()
    }

    private func open() throws {
        delivery.connect(
            send: { [unowned self] envelope, _ in send(envelope) }, onEvent: { [unowned self] in take($0) })
        delivery.setPairing(pairing, epoch: 1)
        try delivery.restore { try store.read(RowRange(space: $0)) }
        delivery.resume()
    }

    /// What a daemon does that is killed and starts again: only the rows are left.
    func restart() throws {
        isLinked = false
        peer?.isLinked = false
        peer?.delivery.linkClosed(pairing)
        delivery.connect(send: { _, _ in }, onEvent: { _ in })
        store.close()
        store = try Store(path: path)
        delivery = DurableDelivery(store: LoopStore(store, on: loop), scheduler: loop)
        try open()
    }

    private func send(_ envelope: Envelope) {
        loop.schedule(after: .zero) { [self] in
            guard isLinked, let peer, peer.isLinked else { return }
            #expect(peer.delivery.receive(envelope))
        }
    }

    private func take(_ event: DeliveryEvent) {
        switch event {
        case .received(let item):
            received.append(item)
            if handlesAtOnce { delivery.arrivals.handled(item.ordinal, in: item.queue) }
        case .ended(let id, _, let outcome, _): ended.append((id, outcome))
        case .needsEpoch: epochsWanted += 1
        case .violation: violations += 1
        case .stored, .contextChanged, .fileReleased, .fileArrived: break
        }
    }

    /// The hello's positions.
    var marks: [(app: ApplicationIdentifier, channel: Channel, sequence: UInt64)] {
        delivery.positions(of: pairing).received.map { ($0.key.app, $0.key.channel, $0.sequence) }
    }
}

@Suite(.timeLimit(.minutes(1))) struct DurableDeliveryTests {
    private let directory = TemporaryDirectory()
    private let loop: EventLoop
    private let pairing = UniqueIdentifier.random()
    private let key: QueueKey
    private let sender: End
    private let receiver: End

    init() throws {
        loop = try EventLoop()
        key = QueueKey(
            pairing: pairing, app: try ApplicationIdentifier("org.example.app"), channel: .configuration)
        sender = try End(directory.path("sender"), pairing, loop)
        receiver = try End(directory.path("receiver"), pairing, loop)
        (sender.peer, receiver.peer) = (receiver, sender)
    }

    private func link() {
        (sender.isLinked, receiver.isLinked) = (true, true)
        let (fromSender, fromReceiver) = (sender.marks, receiver.marks)
        sender.delivery.linkOpened(pairing, received: fromReceiver)
        receiver.delivery.linkOpened(pairing, received: fromSender)
    }

    private func submit(_ bytes: [UInt8]) throws -> UniqueIdentifier {
        let id = UniqueIdentifier.random()
        var result: Result<SubmitReceipt, SubmitFailure>?
        sender.delivery.submissions.submit(OutboundItem(id: id, payload: bytes), to: key) { result = $0 }
        #expect(result == nil, "DEL-1: nothing is accepted before its commit")
        loop.run(until: { result != nil })
        _ = try result?.get()
        return id
    }

    private func close() {
        sender.store.close()
        receiver.store.close()
    }

    @Test func itemsArriveInOrderOnceAndEachEndsOnce() throws {
        link()
        var ids: [UniqueIdentifier] = []
        for number in 1...20 { ids.append(try submit([UInt8(number)])) }
        loop.run(until: { sender.ended.count == 20 })
        #expect(receiver.received.map(\.payload) == (1...20).map { [UInt8($0)] })
        #expect(sender.ended.map(\.id) == ids)
        #expect(sender.ended.allSatisfy { $0.outcome == .handled })
        close()
    }

    @Test func whatWasAcceptedWithoutALinkSurvivesRestartsOfBothAndArrivesOnce() throws {
        for number in 1...3 { _ = try submit([UInt8(number)]) }
        try sender.restart()
        receiver.handlesAtOnce = false
        link()
        loop.run(until: { receiver.received.count == 1 && sender.delivery.positions(of: pairing).sent.count == 1 })
        try receiver.restart()
        receiver.handlesAtOnce = true
        try sender.restart()
        link()
        loop.run(until: { sender.ended.count == 3 })
        let first = receiver.received.filter { $0.payload == [1] }
        #expect(first.map(\.attempt).last ?? 0 >= 2, "DEL-11: the second time is marked")
        #expect(receiver.received.dropFirst(first.count).map(\.payload) == [[2], [3]])
        close()
    }

    @Test func aPeerThatKnowsMoreThanThisDeviceEverSentMakesANewEpochAndNoQueue() throws {
        let unknown = try (0..<50).map { try ApplicationIdentifier("org.example.app\($0)") }
        sender.delivery.linkOpened(pairing, received: unknown.map { ($0, .configuration, 7) })
        #expect(sender.epochsWanted == 1)
        #expect(sender.delivery.queues.isEmpty, "a peer's word makes no queue")
        close()
    }

    @Test func aContextWithoutARevisionAndAForeignPairingAreRefused() {
        let context = Envelope(
            .item, app: key.app, pairing: pairing, id: .random(), channel: .context, sequence: 1, body: [1])
        #expect(!receiver.delivery.receive(context))
        let foreign = Envelope(
            .item, app: key.app, pairing: .random(), id: .random(), channel: .configuration, sequence: 1, body: [1])
        #expect(!receiver.delivery.receive(foreign))
        #expect(receiver.received.isEmpty)
        close()
    }

    @Test func aRemovedPairingLeavesNoRowBehindWhateverWasUnderWay() throws {
        for number: UInt8 in 1...5 {
            sender.delivery.submissions.submit(OutboundItem(id: .random(), payload: [number]), to: key) { _ in }
        }
        sender.delivery.removePairing(pairing)
        var isDone = false
        LoopStore(sender.store, on: loop).commit(DurableDelivery.removal(of: pairing)) { _ in isDone = true }
        loop.run(until: { isDone })
        for table in DeliveryTable.allCases { #expect(try sender.store.read(RowRange(space: table.space)).isEmpty) }
        close()
    }
}
