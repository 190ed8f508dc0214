// Durable items between two real stores: each arrives once, in order, and ends once, whatever the link and restarts do.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct DurableDeliveryTests {
    private let directory = TemporaryDirectory()
    private let pair: DeliveryPair
    private let key: QueueKey

    init() throws {
        pair = try DeliveryPair(in: directory)
        key = pair.sender.key(.configuration)
    }

    private var sender: MemoryDevice { pair.sender }
    private var receiver: MemoryDevice { pair.receiver }
    private var numbers: [Int] { receiver.received.map(\.number) }

    /// Submits an item, which is accepted.
    private func submit(_ number: Int) throws -> UniqueIdentifier {
        let item = payloadItem(number)
        _ = try #require(sender.submit(item, to: .configuration)).get()
        return item.id
    }

    private func item(_ app: ApplicationIdentifier, pairing: UniqueIdentifier? = nil, _ channel: Channel) -> Envelope {
        Envelope(
            .item, app: app, pairing: pairing ?? key.pairing, id: .random(), channel: channel, sequence: 1, body: [1])
    }

    /// Until all have ended; each has ended as handled, and is reported once.
    /// - Parameter isDuplicate: a restart may have come before it was durable that an end was heard (DEL-42).
    private func runUntilEnded(_ ids: [UniqueIdentifier], isDuplicate: Bool = false) {
        pair.run(until: { ids.allSatisfy { sender.endings[$0] != nil } })
        #expect(ids.allSatisfy { Set(sender.endings[$0] ?? []) == [.handled] })
        #expect(isDuplicate || ids.allSatisfy { sender.endings[$0]?.count == 1 })
    }

    @Test("DEL-1, DEL-2: items queued without a link and over one arrive in order, once, and end as handled")
    func queuedItems() throws {
        let ids = try (1...20).map { try submit($0) }
        #expect(receiver.received.isEmpty)
        sender.link()
        let others = try (21...30).map { try submit($0) }
        runUntilEnded(ids + others)
        #expect(numbers == Array(1...30))
    }

    @Test(
        "DEL-3, DEL-9: lost frames come again on the next link and nothing is handled twice", arguments: [1, 2, 3, 4])
    func lostFrames(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for device in [sender, receiver] { device.copies = { _ in Bool.random(using: &generator) ? 1 : 0 } }
        sender.link()
        let ids = try (1...30).map { number in
            let id = try submit(number)
            if number.isMultiple(of: 5) {
                sender.unlink()
                sender.link()
            }
            return id
        }
        for device in [sender, receiver] { device.copies = { _ in 1 } }
        sender.unlink()
        sender.link()
        runUntilEnded(ids)
        #expect(numbers == Array(1...30))
    }

    @Test("DEL-1: a restart of either side at any point loses nothing that was accepted", arguments: 0..<6)
    func restarts(point: Int) throws {
        let ids = try (1...6).map { try submit($0) }
        if point >= 1 { sender.link() }
        if point >= 2 { pair.run(until: { !numbers.isEmpty }) }
        if point >= 3 { pair.run(until: { numbers.count >= 3 }) }
        try receiver.restart()
        if point.isMultiple(of: 2) { try sender.restart() }
        sender.link()
        runUntilEnded(ids, isDuplicate: true)
        // An item without a verdict before the restart is delivered again; the order never changes.
        var first: [Int] = []
        for number in numbers where !first.contains(number) { first.append(number) }
        #expect(first == Array(1...6))
    }

    @Test("DEL-11: an item that a restart took from its handler comes again, marked")
    func redelivery() throws {
        let ids = try (1...3).map { try submit($0) }
        try sender.restart()
        receiver.verdict = { _ in .none }
        sender.link()
        pair.run(until: { numbers == [1] && sender.delivery.positions(of: key.pairing).sent.count == 1 })
        try receiver.restart()
        receiver.verdict = { _ in .handled }
        try sender.restart()
        sender.link()
        runUntilEnded(ids)
        let first = receiver.received.filter { $0.number == 1 }
        #expect(first.map(\.attempt).last ?? 0 >= 2)
        #expect(numbers.dropFirst(first.count) == [2, 3])
    }

    @Test("DEL-1: the same identifier submitted again is the same item")
    func sameIdentifier() throws {
        let item = payloadItem(1)
        for _ in 0..<2 { _ = try #require(sender.submit(item, to: .configuration)).get() }
        sender.link()
        runUntilEnded([item.id])
        #expect(numbers == [1])
    }

    @Test func `a store that is closed refuses the item and its submitter learns why`() throws {
        let store = try #require(sender.store)
        store.close()
        guard case .failure(.store(let error))? = sender.submit(payloadItem(1), to: .configuration)
        else { throw Unexpected("accepted") }
        #expect(error == .closed(path: store.path))
    }

    @Test("LIM-11: a peer that names ever new applications gets a bounded number of ledgers")
    func manyApplications() throws {
        // Its acknowledgements go nowhere: the sender never had these items.
        receiver.copies = { _ in 0 }
        sender.link()
        let limit = Limits.applications
        for number in 0..<(limit + 50) {
            #expect(receiver.delivery.receive(item(try ApplicationIdentifier("app\(number)"), .configuration)))
        }
        pair.run(until: { receiver.received.count == limit })
        #expect(receiver.received.count == limit)
    }

    @Test("DEL-13: an acknowledgement of what was never sent is a violation, also for a queue that never was")
    func acknowledgementOfNothing() throws {
        _ = try submit(1)
        sender.link()
        let stored = Envelope(.stored, app: key.app, pairing: key.pairing, channel: .configuration, sequence: 99)
        #expect(sender.delivery.receive(stored))
        pair.run(until: { sender.violations == 1 })
        for (kind, name) in [(FrameKind.stored, nil), (.outcome, "handled")] {
            let unknown = Envelope(
                kind, app: try ApplicationIdentifier("other"), pairing: key.pairing, channel: .configuration,
                sequence: 1,
                name: name)
            #expect(sender.delivery.receive(unknown))
        }
        pair.run(until: { sender.violations == 3 })
    }

    @Test("DEL-20: a context without a revision and an item of a foreign pairing do not read")
    func unreadable() {
        #expect(!receiver.delivery.receive(item(key.app, .context)))
        #expect(!receiver.delivery.receive(item(key.app, pairing: .random(), .configuration)))
        #expect(receiver.received.isEmpty)
    }

    @Test("DEL-10: a peer that has more than was ever sent makes the sender ask for a new epoch, and makes no queue")
    func restoredSender() throws {
        let unknown = try (0..<50).map { try ApplicationIdentifier("org.example.app\($0)") }
        let marks = unknown.map { SequenceMark(app: $0, channel: .configuration, sequence: 7) }
        sender.delivery.linkOpened(key.pairing, received: marks)
        pair.run(until: { sender.epochsWanted == 1 })
        #expect(sender.delivery.queues.isEmpty)
        let id = try submit(1)
        for device in [sender, receiver] { device.delivery.setPairing(key.pairing, epoch: 2) }
        sender.unlink()
        sender.link()
        runUntilEnded([id])
        #expect(numbers == [1])
    }

    @Test("PAR-13: removing a pairing removes its rows, also those under way, and nothing of another")
    func removal() throws {
        _ = try submit(1)
        let other = QueueKey.configuration(of: key.app, at: .random())
        sender.delivery.setPairing(other.pairing, epoch: 1)
        var isAccepted = false
        sender.delivery.submissions.submit(payloadItem(2), to: other) { _ in isAccepted = true }
        pair.run(until: { isAccepted })
        for number in 3...7 { sender.delivery.submissions.submit(payloadItem(number), to: key) { _ in } }
        sender.delivery.removePairing(key.pairing)
        var isDone = false
        sender.rows.commit(DurableDelivery.removal(of: key.pairing)) { _ in isDone = true }
        pair.run(until: { isDone })
        for table in DeliveryTable.allCases {
            #expect(
                try sender.read(RowRange(space: table.space)).allSatisfy { $0.key.starts(with: other.pairing.bytes) })
        }
        #expect(sender.delivery.queues.map(\.key) == [other])
    }
}
