// One device with its apps: its durable delivery over rows whose store a test can hold up or fill, and in place of a
// peer the test itself.

import Synchronization
import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

/// The primary of a simulation, with a link to the test.
final class OneDevice {
    let simulation = Simulation()
    let store = UnwillingStore()
    let log = LogLines()
    let delivery: DurableDelivery
    let channels: AppDelivery
    let queue: QueueKey
    private(set) var sent: [Envelope] = []
    /// Bytes that wait in the link's own queue.
    var queuedBytes = 0

    /// - Parameter directory: where the files of its apps are; nil takes none.
    init(
        limits: @escaping (Channel) -> DeliveryLimits = DeliveryLimits.standard,
        filesIn directory: OwnedDirectory? = nil
    ) throws {
        let (scheduler, pairing) = (simulation.scheduler, simulation.pairing)
        queue = try simulation.queue()
        let files = directory.map { [log] in
            FileDelivery(in: $0, scheduler: scheduler, inbox: { _ in nil }, log: log.append)
        }
        delivery = DurableDelivery(
            store: LoopStore(store, on: scheduler), files: files, scheduler: scheduler, limits: limits, log: log.append)
        channels = AppDelivery(delivery: delivery, endpoint: simulation.simulator.primary)
        simulation.simulator.primary.items = channels
        files?.connect(notify: { [unowned channels] in channels.notify($0, $1, $2) })
        delivery.connect(
            send: { [unowned self] envelope, _ in sent.append(envelope) },
            queuedBytes: { [unowned self] _ in queuedBytes }, onEvent: { [unowned self] in take($0) })
        delivery.setPairing(pairing, epoch: 1)
        delivery.linkOpened(pairing, received: [])
        // The counterpart is installed.
        try simulation.app(.secondary).disconnect()
        simulation.scheduler.run()
    }

    deinit { delivery.files?.close() }

    func run() { simulation.scheduler.run() }

    /// Runs, and lets the disk of the files finish.
    func settle() {
        for _ in 0..<8 {
            run()
            delivery.files?.waitForDisk()
        }
        run()
    }

    func submit(_ id: UniqueIdentifier = .random(), from app: Client) throws {
        try app.send(
            Envelope(.submit, app: queue.app, pairing: queue.pairing, id: id, channel: queue.channel)
                .with(body: ["n": 1]))
    }

    /// The peer has stored and handled these.
    func handled(_ sequences: ClosedRange<UInt64>) {
        #expect(
            delivery.receive(
                Envelope(
                    .stored, app: queue.app, pairing: queue.pairing, channel: queue.channel,
                    sequence: sequences.upperBound)))
        for sequence in sequences {
            let outcome = Envelope(
                .outcome, app: queue.app, pairing: queue.pairing, channel: queue.channel, sequence: sequence,
                name: "handled")
            #expect(delivery.receive(outcome))
        }
        run()
    }

    /// As many of so many items as the window lets out, until all are handled.
    func handleAll(_ count: Int) throws {
        var done: UInt64 = 0
        while done < count {
            let sent = sent.filter { $0.kind == .item }.compactMap(\.sequence).max() ?? 0
            try #require(sent > done)
            handled(done + 1...sent)
            done = sent
        }
    }

    private func take(_ event: DeliveryEvent) {
        switch event {
        case .needsEpoch: Issue.record("the link of a test contradicts nothing")
        case .violation, .stalled: Issue.record("the peer of a test keeps to the rules")
        default: channels.take(event)
        }
    }
}
