// Starting with long queues (100,000 items in the long form): everything is there, nothing is written and no body is
// read.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct StartTests {
    private static let queues = 10
    private static let items = Repetition.times(1_000, long: 10_000)

    /// The rows of one full queue, and of others that hold the same.
    private func fill(_ memory: MemoryStore, _ keys: [QueueKey], at reading: ClockReading) throws {
        guard let first = keys.first else { return }
        var queue = OutboundQueue(first, header: OutboundHeader(epoch: 1, at: reading), at: reading)
        for number in 0..<Self.items {
            let changes = try queue.enqueue(payloadItem(number, topic: "news"), at: reading).changes
            for case .put(let place, let value) in changes {
                let bytes = value.bytes
                let rows = keys.map { key in
                    let own = DeliveryRowKey(place.table, key, place.ordinal)
                    return RowChange.put(own.table.space, key: own.bytes, value: bytes)
                }
                memory.commit(rows) { _ in }
            }
        }
    }

    @Test(
        "Thousands of items over ten queues are back after a start that writes nothing, and the first goes out at once")
    func start() throws {
        let scheduler = ManualScheduler()
        let memory = MemoryStore()
        let pairing = UniqueIdentifier.random()
        let keys = try (0..<Self.queues).map { number in
            QueueKey(pairing: pairing, app: try ApplicationIdentifier("app\(number)"), channel: .userInfo)
        }
        try fill(memory, keys, at: ClockReading(monotonic: scheduler.now, wall: scheduler.wallNow))
        let before = memory.commits
        let delivery = DurableDelivery(store: LoopStore(memory, on: scheduler), scheduler: scheduler)
        delivery.setPairing(pairing, epoch: 1)
        var spaces: [RowSpace] = []
        try delivery.restore { range in
            spaces.append(range.space)
            #expect(range.limit != nil, "a table is read in parts")
            return memory.read(range)
        }
        delivery.resume()
        scheduler.run()
        #expect(delivery.queues.map(\.count) == Array(repeating: Self.items, count: Self.queues))
        #expect(memory.commits == before, "nothing is written")
        #expect(!spaces.contains(DeliveryTable.outboundPayload.space), "no body is read")
        #expect(scheduler.timerCount == Self.queues + 1, "a timer for each queue, and one for the clock")
        #expect(
            delivery.submissions.outstanding(in: keys[3], after: UInt64(Self.items - 10)).map(\.ordinal).count == 10)
    }

    @Test("DEL-32: a damaged short body leaves the item whose record has a row of its own, and is refused otherwise")
    func damagedBody() throws {
        let (scheduler, memory) = (ManualScheduler(), MemoryStore())
        let key = QueueKey(pairing: .random(), app: try ApplicationIdentifier("app"), channel: .userInfo)
        let reading = ClockReading(monotonic: scheduler.now, wall: scheduler.wallNow)
        var queue = OutboundQueue(key, header: OutboundHeader(epoch: 1, at: reading), at: reading)
        let item = payloadItem(1)
        for case .put(let place, let value) in try queue.enqueue(item, at: reading).changes {
            memory.commit([.put(place.table.space, key: place.bytes, value: value.bytes)]) { _ in }
        }
        func count() throws -> [Int] {
            let delivery = DurableDelivery(store: LoopStore(memory, on: scheduler), scheduler: scheduler)
            delivery.setPairing(key.pairing, epoch: 1)
            try delivery.restore { (range: RowRange) -> [Row] in
                guard range.passesDamaged else { return memory.read(range) }
                return memory.read(range).map { Row(space: $0.space, key: $0.key, value: [], isDamaged: true) }
            }
            return delivery.queues.map(\.count)
        }
        #expect(throws: DeliveryRecordError.self) { try count() }
        let stored = queue.record(of: item.id)
        let record = try #require(stored)
        let row = DeliveryRowKey(.outboundRecord, key, record.ordinal)
        memory.commit([.put(row.table.space, key: row.bytes, value: DeliveryValue.outboundRecord(record).bytes)]) { _ in
        }
        #expect(try count() == [1])
    }

    @Test("FIL-14: a start removes the file of an item that the peer has stored, and keeps that of one it has not")
    func filesOfStoredItems() throws {
        let (temporary, pair) = (TemporaryDirectory(), try DeliveryPair())
        let (sender, items) = (pair.sender, [payloadItem(1), payloadItem(2)])
        pair.receiver.verdict = { _ in .none }
        sender.link()
        sender.submit(items[0], to: .file)
        pair.advance(1)
        #expect(sender.stored == [items[0].id] && sender.outstanding(.file).count == 1)
        sender.unlink()
        sender.submit(items[1], to: .file)
        let directory = try OwnedDirectory(path: temporary.path("state"))
        let spool = FileSpool(hashed: "spool", in: directory)
        let keys = items.map { SpoolKey(pairing: sender.pairing, app: sender.app, item: $0.id) }
        for key in keys { try spool.open(key).append([1]) }
        let files = FileDelivery(in: directory, scheduler: pair.scheduler, inbox: { _ in nil })
        defer { files.close() }
        let again = DurableDelivery(store: sender.rows, files: files, scheduler: pair.scheduler)
        again.setPairing(sender.pairing, epoch: 1)
        try again.restore { try sender.read($0) }
        again.restoreFiles(of: [sender.pairing], apps: [sender.app])
        files.waitForDisk()
        pair.scheduler.run()
        #expect(try keys.map { try spool.read($0) != nil } == [false, true])
    }

    @Test("LIM-43: a file that its app was given and has not handled counts also after a restart")
    func receivedFilesCount() throws {
        let (temporary, pair) = (TemporaryDirectory(), try DeliveryPair())
        let receiver = pair.receiver
        let file = FileManifest(FileDescription(name: "x", size: 100), digest: [UInt8](repeating: 7, count: 32))
        receiver.verdict = { _ in .none }
        pair.sender.link()
        pair.sender.submit(OutboundItem(id: .random(), payload: try Body.bytes(file.dictionary)), to: .file)
        pair.advance(1)
        #expect(receiver.received.count == 1)
        let directory = try OwnedDirectory(path: temporary.path("state"))
        // Files have come before; the bytes of this one are in its app's directory.
        _ = try FileSpool(hashed: "partial", in: directory)
            .open(SpoolKey(pairing: receiver.pairing, app: receiver.app, item: .random()))
        let files = FileDelivery(
            in: directory, scheduler: pair.scheduler, limits: FileLimits { $0.received = 150 }, inbox: { _ in nil })
        defer { files.close() }
        var sent: [Envelope] = []
        let again = DurableDelivery(store: receiver.rows, files: files, scheduler: pair.scheduler)
        again.connect(send: { envelope, _ in sent.append(envelope) }, onEvent: { _ in })
        again.setPairing(receiver.pairing, epoch: 1)
        try again.restore { try receiver.read($0) }
        again.restoreFiles(of: [receiver.pairing], apps: [receiver.app])
        files.waitForDisk()
        pair.scheduler.run()
        let next = Envelope(
            .item, app: receiver.app, pairing: receiver.pairing, id: .random(), channel: .file, sequence: 2)
        #expect(again.receive(try next.with(body: file.dictionary)))
        #expect(sent.map(\.name) == ["queue-full"])
    }

    @Test func `DEL-31: a start removes what is left of a pairing that ended on a full disk`() throws {
        let scheduler = ManualScheduler()
        let memory = MemoryStore()
        let pairings = (0..<2).map { _ in UniqueIdentifier.random() }
        let keys = try pairings.map {
            QueueKey(pairing: $0, app: try ApplicationIdentifier("app"), channel: .userInfo)
        }
        try fill(memory, keys, at: ClockReading(monotonic: scheduler.now, wall: scheduler.wallNow))
        func rows() -> [Row] { DeliveryTable.allCases.flatMap { memory.read(RowRange(space: $0.space)) } }
        // The rows of items go first: those of one table went before the crash.
        memory.commit(Array(DurableDelivery.removal(of: pairings[1]).prefix(1))) { _ in }
        #expect(rows().contains { $0.key.starts(with: pairings[1].bytes) })
        let delivery = DurableDelivery(store: LoopStore(memory, on: scheduler), scheduler: scheduler)
        delivery.setPairing(pairings[0], epoch: 1)
        try delivery.restore { memory.read($0) }
        delivery.resume()
        scheduler.run()
        #expect(delivery.queues.map(\.count) == [Self.items])
        #expect(rows().allSatisfy { $0.key.starts(with: pairings[0].bytes) })
    }
}
