// Two ends of durable delivery over rows in memory or in real stores, on one clock that a test moves, without a link:
// the frames of one end arrive at the other, unless the test loses or repeats them. A restart makes a new end from the
// rows.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

/// One device: its durable delivery, its rows, and the events that it received.
final class MemoryDevice {
    enum Verdict { case handled, rejected(Int64), failed, none }

    struct Released: Hashable {
        let id: UniqueIdentifier
        let direction: DeliveryDirection
    }

    /// Events, in order.
    enum Event: Equatable {
        case received(UniqueIdentifier)
        case ended(UniqueIdentifier)
    }

    let scheduler: ManualScheduler
    let pairing: UniqueIdentifier
    let memory = MemoryStore()
    /// The rows' store; nil if they are in memory.
    private(set) var store: Store?
    private(set) var delivery: DurableDelivery
    weak var other: MemoryDevice?
    let limits: (Channel) -> DeliveryLimits
    let app: ApplicationIdentifier
    var epoch: UInt64 = 1
    var isLinked = false
    var received: [ReceivedItem] = []
    var endings: [UniqueIdentifier: [Outcome]] = [:]
    var codes: [UniqueIdentifier: Int64] = [:]
    var refusals: [UniqueIdentifier: String] = [:]
    var stored: [UniqueIdentifier] = []
    /// Items whose file is no longer needed.
    var released: [Released] = []
    var contexts: [LatestContext] = []
    /// The apps of the events that an item may wait.
    var mayWait: [ApplicationIdentifier] = []
    var epochsWanted = 0
    var violations = 0
    var verdict: (ReceivedItem) -> Verdict = { _ in .handled }
    /// How often a frame arrives.
    var copies: (Envelope) -> Int = { _ in 1 }
    /// Told of everything, with the other device's.
    var log: (Event) -> Void = { _ in }
    var hearsAtOnce = true
    let counters = Counters()
    let lines = LogLines()

    init(
        _ pairing: UniqueIdentifier, _ app: ApplicationIdentifier, _ scheduler: ManualScheduler, store: Store?,
        _ limits: @escaping (Channel) -> DeliveryLimits
    ) {
        (self.pairing, self.app, self.scheduler, self.store, self.limits) = (pairing, app, scheduler, store, limits)
        delivery = DurableDelivery(
            store: LoopStore(store ?? memory, on: scheduler), scheduler: scheduler, limits: limits, counters: counters,
            log: lines.append)
        connect()
        delivery.setPairing(pairing, epoch: 1)
        delivery.arrivals.consumerArrived(app, channels: Set(Channel.allCases))
    }

    /// Restarts one end as after a kill: only the rows are left.
    func restart() throws {
        unlink()
        delivery.connect(send: { _, _ in }, onEvent: { _ in })
        delivery.removePairing(pairing)
        if let path = store?.path {
            store?.close()
            store = try Store(path: path)
        }
        delivery = DurableDelivery(
            store: rows, scheduler: scheduler, limits: limits, counters: counters, log: lines.append)
        connect()
        delivery.setPairing(pairing, epoch: epoch)
        try delivery.restore { try read($0) }
        delivery.resume()
        for key in delivery.submissions.queuesWithEnds(of: app) {
            for record in delivery.submissions.unacknowledged(in: key, limit: .max) {
                guard case .finished(let outcome) = record.phase else { continue }
                take(.ended(record.id, key, outcome, record.endingRefusal))
            }
        }
        delivery.arrivals.consumerArrived(app, channels: Set(Channel.allCases))
    }

    var rows: LoopStore { LoopStore(store ?? memory, on: scheduler) }

    /// The rows of a key space. Those of a store are read after its commits so far.
    func read(_ range: RowRange) throws -> [Row] { try store?.read(range) ?? memory.read(range) }

    /// Runs what is due. A store's thread takes no time on this clock.
    func run() {
        for _ in 0..<(store == nil ? 0 : 8) {
            scheduler.run()
            for device in [self, other] {
                _ = try? device?.store?.read(RowRange(space: DeliveryTable.outboundRecord.space, limit: 1))
            }
        }
        scheduler.run()
    }

    func link(channels: Set<Channel> = Set(Channel.allCases)) {
        guard let other else { return }
        run()
        (isLinked, other.isLinked) = (true, true)
        let (own, peer) = (marks, other.marks)
        delivery.linkOpened(pairing, received: peer, channels: channels)
        other.delivery.linkOpened(pairing, received: own, channels: channels)
        run()
    }

    func unlink() {
        for device in [self, other].compactMap({ $0 }) where device.isLinked {
            device.isLinked = false
            device.delivery.linkClosed(pairing)
        }
    }

    private var marks: [SequenceMark] {
        delivery.positions(of: pairing).received.map {
            SequenceMark(app: $0.key.app, channel: $0.key.channel, sequence: $0.sequence)
        }
    }

    func key(_ channel: Channel) -> QueueKey { QueueKey(pairing: pairing, app: app, channel: channel) }

    /// The peer's `failure` for a file.
    /// - Returns: whether it is one of this device's.
    func hearsRefusal(
        of id: UniqueIdentifier, code: Int, _ name: String? = nil, app: ApplicationIdentifier? = nil
    ) -> Bool {
        let envelope = Envelope(
            .failure, app: app ?? self.app, pairing: pairing, id: id, channel: .file, code: code, name: name)
        guard let failure = try? FailureFrame(envelope) else { return false }
        return delivery.take(failure)
    }

    @discardableResult
    func submit(_ item: OutboundItem, to channel: Channel) -> Result<SubmitReceipt, DeliveryFailure>? {
        var answers: [Result<SubmitReceipt, DeliveryFailure>] = []
        delivery.submissions.submit(item, to: key(channel)) { answers.append($0) }
        #expect(answers.isEmpty, "DEL-1: nothing is accepted before its commit")
        run()
        #expect(answers.count == 1, "one answer")
        return answers.first
    }

    /// The items of a channel that have not ended.
    func outstanding(_ channel: Channel) -> [OutboundRecord] {
        delivery.submissions.outstanding(in: key(channel))
    }

    // MARK: outlets

    private func connect() {
        delivery.connect(
            send: { [unowned self] in send($0, $1) }, onEvent: { [unowned self] in take($0) })
    }

    private func send(_ envelope: Envelope, _ pairing: UniqueIdentifier) {
        guard isLinked else { return }
        for _ in 0..<copies(envelope) {
            scheduler.schedule(after: .zero) { [weak self] in
                guard let self, isLinked, let other, other.isLinked else { return }
                switch envelope.kind {
                case .ping, .pong: other.delivery.take(marker: PingFrame(envelope), over: pairing)
                default: #expect(other.delivery.receive(envelope), "\(envelope.kind) reads")
                }
            }
        }
    }

    private func take(_ event: DeliveryEvent) {
        switch event {
        case .received(let item):
            received.append(item)
            log(.received(item.id))
            answer(item)
        case .stored(let id, _): stored.append(id)
        case .ended(let id, let queue, let outcome, let refusal):
            endings[id, default: []].append(outcome)
            codes[id] = outcome.code ?? refusal?.code
            refusals[id] = refusal?.name
            log(.ended(id))
            if hearsAtOnce { delivery.submissions.forget(id, in: queue) }
        case .fileReleased(let id, _, let direction): released.append(Released(id: id, direction: direction))
        case .contextChanged(let context): contexts.append(context)
        case .needsEpoch: epochsWanted += 1
        case .violation, .stalled: violations += 1
        case .itemsMayWait(let app): mayWait.append(app)
        }
    }

    func answer(_ item: ReceivedItem) {
        switch verdict(item) {
        case .handled: delivery.arrivals.handled(item.ordinal, in: item.queue)
        case .rejected(let code): delivery.arrivals.rejected(item.ordinal, code: code, in: item.queue)
        case .failed: delivery.arrivals.failed(item.ordinal, in: item.queue)
        case .none: break
        }
    }
}

/// Two such devices.
struct DeliveryPair {
    let scheduler = ManualScheduler()
    let sender: MemoryDevice
    let receiver: MemoryDevice

    /// - Parameter directory: where both have a store; nil keeps the rows in memory.
    init(
        in directory: TemporaryDirectory? = nil,
        limits: @escaping (Channel) -> DeliveryLimits = DeliveryLimits.standard
    ) throws {
        let pairing = UniqueIdentifier.random()
        let app = try ApplicationIdentifier("org.example.app")
        sender = MemoryDevice(
            pairing, app, scheduler, store: try directory.map { try Store(path: $0.path("sender")) }, limits)
        receiver = MemoryDevice(
            pairing, app, scheduler, store: try directory.map { try Store(path: $0.path("receiver")) }, limits)
        (sender.other, receiver.other) = (receiver, sender)
    }

    /// Runs until the condition holds: at most a minute of the clock.
    func run(until condition: () -> Bool) {
        for _ in 0..<600 {
            sender.run()
            if condition() { return }
            scheduler.advance(by: .milliseconds(100))
        }
        Issue.record("the condition did not hold within a minute")
    }

    /// Links again and lets time pass until everything has come again that was lost.
    func heal() {
        for device in [sender, receiver] { device.copies = { _ in 1 } }
        sender.unlink()
        sender.link()
        for _ in 0..<40 { scheduler.advance(by: .seconds(2)) }
    }

    func advance(_ seconds: Int) { scheduler.advance(by: .seconds(seconds)) }
}
