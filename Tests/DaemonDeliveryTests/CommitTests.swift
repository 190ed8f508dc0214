// Commits of durable delivery: a row once for each, however often it changed in that turn, and one for many events that
// no caller awaits.

import Synchronization
import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

/// Rows in memory that remember each commit's changes.
private final class RecordingStore: RowBackend {
    let memory = MemoryStore()
    var path: String { memory.path }
    let commits = Mutex<[[RowChange]]>([])

    func commit(
        _ changes: [RowChange], room: CommitRoom, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        commits.withLock { $0.append(changes) }
        memory.commit(changes, completion: completion)
    }

    func fetch(_ range: RowRange, completion: @escaping @Sendable (Result<[Row], StoreError>) -> Void) {
        memory.fetch(range, completion: completion)
    }
}

extension RowChange {
    fileprivate var place: [UInt8] {
        switch self {
        case .put(let space, let key, _), .delete(let space, let key): [space.rawValue] + key
        case .deleteAll(let range): [range.space.rawValue] + range.lower
        }
    }
}

@Suite struct CommitTests {
    private let device: Device

    init() throws { device = try Device() }

    @Test("DEL-26: after the wall clock was set the queues note it some at a time, and at a stop all in one turn")
    func clockOfManyQueues() throws {
        let (scheduler, memory, pairing) = (ManualScheduler(), MemoryStore(), UniqueIdentifier.random())
        let delivery = DurableDelivery(store: LoopStore(memory, on: scheduler), scheduler: scheduler)
        delivery.setPairing(pairing, epoch: 1)
        for number in 0..<200 {
            let app = try ApplicationIdentifier("app\(number)")
            let key = QueueKey(pairing: pairing, app: app, channel: .userInfo)
            delivery.submissions.submit(payloadItem(number), to: key) { _ in }
        }
        scheduler.run()
        let before = memory.commits
        scheduler.setWallClock(scheduler.wallNow + .seconds(3600))
        var commits: [Int] = []
        func turn() {
            commits.append(memory.commits)
            guard commits.count < 10 else { return }
            scheduler.atEndOfTurn { scheduler.schedule(after: .zero) { turn() } }
        }
        scheduler.schedule(after: .seconds(60)) { turn() }
        scheduler.advance(by: .seconds(60))
        #expect(commits.count == 10 && commits.last == before + 200, "each queue has its row")
        #expect(zip(commits, commits.dropFirst()).allSatisfy { $1 - $0 <= 64 }, "\(commits)")

        scheduler.advance(by: .seconds(5))
        delivery.stop()
        var atStop = 0
        scheduler.atEndOfTurn { atStop = memory.commits }
        scheduler.run()
        #expect(atStop == before + 400, "there may be no later turn")
    }

    @Test func anItemThatIsAcceptedAndSentInOneTurnIsWrittenOnce() throws {
        let (delivery, key) = (device.delivery, device.key)
        var accepted = 0
        for number in 0..<10 {
            delivery.submissions.submit(payloadItem(number), to: key) { if case .success = $0 { accepted += 1 } }
        }
        device.scheduler.run()
        let commits = device.store.commits.withLock { $0 }.filter { !$0.isEmpty }
        #expect(accepted == 10 && commits.count == 1, "one commit for all that was given in a turn")
        #expect(commits.allSatisfy { Set($0.map(\.place)).count == $0.count }, "each row once")
        #expect(delivery.positions(of: key.pairing).sent.map(\.sequence) == [10], "all are sent")
        let read = try device.readBack()
        #expect(read.positions(of: key.pairing).sent.map(\.sequence) == [10], "the rows tell the last of its changes")
    }

    /// A device whose peer and handler are the test.
    private final class Device {
        let scheduler = ManualScheduler()
        let store = RecordingStore()
        let delivery: DurableDelivery
        let key: QueueKey
        private(set) var sent: [Envelope] = []
        private(set) var handed: [ReceivedItem] = []

        init(limits: @escaping (Channel) -> DeliveryLimits = DeliveryLimits.standard) throws {
            delivery = DurableDelivery(store: LoopStore(store, on: scheduler), scheduler: scheduler, limits: limits)
            key = QueueKey(pairing: .random(), app: try ApplicationIdentifier("org.example.app"), channel: .userInfo)
            delivery.connect(
                send: { [unowned self] envelope, _ in sent.append(envelope) },
                onEvent: { [unowned self] in if case .received(let item) = $0 { handed.append(item) } })
            delivery.setPairing(key.pairing, epoch: 1)
            delivery.linkOpened(key.pairing, received: [])
            delivery.arrivals.consumerArrived(key.app, channels: [.userInfo])
        }

        var commits: Int { store.commits.withLock { $0 }.count { !$0.isEmpty } }

        func sent(_ kind: FrameKind) -> Int { sent.count { $0.kind == kind } }

        func arrive(_ sequences: ClosedRange<UInt64>) {
            for sequence in sequences {
                let item = ItemFrame(ItemKey(key, .random()), sequence: sequence, body: [1])
                #expect(delivery.store(item.envelope))
            }
            scheduler.run()
        }

        /// Durable delivery as another run of the daemon reads it from the rows.
        func readBack() throws -> DurableDelivery {
            let read = DurableDelivery(store: LoopStore(store, on: scheduler), scheduler: scheduler)
            read.setPairing(key.pairing, epoch: 1)
            try read.restore { store.memory.read($0) }
            return read
        }

        /// The handler has taken so many more items, each in a turn of its own.
        func handle(_ count: Int) {
            for _ in 0..<count {
                guard let item = handed.last else { return }
                delivery.arrivals.handled(item.ordinal, in: key)
                scheduler.run()
            }
        }
    }

    @Test("A record that one event changes twice is written once, in its last form, also in a pack", arguments: [1, 8])
    func twiceInOneEvent(items: Int) throws {
        let device = try Device(limits: DeliveryLimits.standard(with: \.attempts, 1))
        let ids = (0..<items).map { _ in UniqueIdentifier.random() }
        for id in ids {
            device.delivery.submissions.submit(OutboundItem(id: id, payload: [1]), to: device.key) { _ in }
        }
        device.scheduler.run()
        let id = ids[0]
        // Counts the attempt, and takes the item back because it was the last.
        #expect(device.delivery.take(FailureFrame(of: ItemKey(device.key, id), code: .deliveryFailed)))
        device.scheduler.run()
        let commits = device.store.commits.withLock { $0 }.filter { !$0.isEmpty }
        #expect(commits.count == 2 && commits.allSatisfy { Set($0.map(\.place)).count == $0.count })
        let packs = device.store.memory.read(RowRange(space: DeliveryTable.outboundPack.space))
        #expect(packs.count == (items == 8 ? 1 : 0))
        let read = try device.readBack()
        let record = try #require(read.submissions.record(of: id, in: device.key)?.record)
        #expect(record.withdrawal == .dead && record.attempts == 1)
    }

    @Test("DEL-4: the items that one commit stores are acknowledged by one frame")
    func oneAcknowledgement() throws {
        device.arrive(1...30)
        #expect(device.commits == 1)
        let sequences: [UInt64?] = device.sent.filter { $0.kind == .stored }.map { $0[.sequence] }
        #expect(sequences == [30])
    }

    @Test("DEL-42, LIM-75: verdicts share a commit while the handler has the next item; the last one does not wait")
    func verdictsShareACommit() throws {
        device.arrive(1...30)
        let before = device.commits
        device.handle(7)
        #expect(device.handed.count == 8 && device.commits == before && device.sent(.outcome) == 0)
        device.scheduler.advance(by: .milliseconds(5))
        #expect(device.commits == before + 1 && device.sent(.outcome) == 7)
        device.handle(15)
        #expect(device.commits == before + 1)
        device.handle(1)
        #expect(device.commits == before + 2 && device.sent(.outcome) == 23, "sixteen do not wait")
        device.handle(6)
        #expect(device.commits == before + 2)
        device.handle(1)
        #expect(device.commits == before + 3 && device.sent(.outcome) == 30, "no item follows the last one")
    }

    @Test("DEL-42, LIM-75: items that arrive while the handler has another one share a commit")
    func arrivalsShareACommit() throws {
        device.arrive(1...1)
        let before = device.commits
        for sequence in 2...10 as ClosedRange<UInt64> { device.arrive(sequence...sequence) }
        #expect(device.commits == before && device.sent(.stored) == 1, "none is acknowledged before it is durable")
        device.scheduler.advance(by: .milliseconds(5))
        #expect(device.commits == before + 1 && device.sent(.stored) == 2, "one frame acknowledges all nine")
        #expect(device.sent.last { $0.kind == .stored }?[.sequence] == 10 as UInt64)
    }

    @Test("DEL-42: a commit that a caller awaits takes along what waits")
    func awaited() throws {
        device.arrive(1...3)
        let before = device.commits
        device.handle(1)
        #expect(device.commits == before && device.sent(.outcome) == 0)
        var isDurable = false
        device.delivery.act(.drop, on: 99, in: device.key, .inbound) { _ in isDurable = true }
        device.scheduler.run()
        #expect(isDurable && device.commits == before + 1 && device.sent(.outcome) == 1)
    }

    @Test("DEL-42: what waits for other commits is durable when the daemon stops in order")
    func stop() throws {
        let id = UniqueIdentifier.random()
        let item = OutboundItem(id: id, payload: [1])
        device.delivery.submissions.submit(item, to: device.key) { _ in }
        device.scheduler.run()
        for envelope in [
            PositionFrame.stored(device.key, through: 1).envelope,
            OutcomeFrame(device.key, sequence: 1, .handled).envelope,
        ] { #expect(device.delivery.store(envelope)) }
        device.scheduler.run()
        let before = device.commits
        device.delivery.submissions.forget(id, in: device.key)
        device.scheduler.run()
        #expect(device.commits == before)
        device.delivery.stop()
        device.scheduler.run()
        #expect(device.commits == before + 1)
    }
}
