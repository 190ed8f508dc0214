// Writes of durable delivery: a row once for each commit, however often it changed in that turn.

import Synchronization
import TandemBase
import TandemDaemon
import TandemDelivery
import TandemReactor
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

/// Rows in memory that remember each commit's changes.
private final class RecordingStore: RowBackend {
    let memory = MemoryStore()
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
    @Test func anItemThatIsAcceptedAndSentInOneTurnIsWrittenOnce() throws {
        let scheduler = ManualScheduler()
        let store = RecordingStore()
        let delivery = DurableDelivery(store: LoopStore(store, on: scheduler), scheduler: scheduler)
        let key = QueueKey(pairing: .random(), app: try ApplicationIdentifier("org.example.app"), channel: .userInfo)
        delivery.setPairing(key.pairing, epoch: 1)
        delivery.linkOpened(key.pairing, received: [])
        var accepted = 0
        for number in 0..<10 {
            delivery.submissions.submit(payloadItem(number), to: key) { if case .success = $0 { accepted += 1 } }
        }
        scheduler.run()
        let commits = store.commits.withLock { $0 }.filter { !$0.isEmpty }
        #expect(accepted == 10 && commits.count == 1, "one commit for all that was given in a turn")
        #expect(commits.allSatisfy { Set($0.map(\.place)).count == $0.count }, "each row once")
        #expect(delivery.positions(of: key.pairing).sent.map(\.sequence) == [10], "all are sent")
        let read = DurableDelivery(store: LoopStore(store, on: scheduler), scheduler: scheduler)
        read.setPairing(key.pairing, epoch: 1)
        try read.restore { store.memory.read(RowRange(space: $0)) }
        #expect(read.positions(of: key.pairing).sent.map(\.sequence) == [10], "the rows tell the last of its changes")
    }
}
