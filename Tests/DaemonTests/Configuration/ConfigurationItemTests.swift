// Durable items between two real stores: each arrives once, in order, and ends once, whatever the link and restarts do.

import TandemBase
import TandemDaemon
import TandemDelivery
import TandemReactor
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct ConfigurationItemTests {
    private let fixture: DeliveryFixture

    init() throws { fixture = try DeliveryFixture() }

    private var payloads: [UInt8] { fixture.receiver.received.compactMap(\.payload.first) }

    private func runUntilAllEnded(_ ids: [UniqueIdentifier]) {
        fixture.loop.run(until: { ids.allSatisfy { fixture.sender.endings[$0] != nil } })
    }

    @Test("DEL-1, DEL-2: items queued without a link arrive in order, once, and end as handled")
    func queuedItems() throws {
        let ids = try (1...20).map { try fixture.submit($0) }
        #expect(fixture.receiver.received.isEmpty)
        fixture.link()
        runUntilAllEnded(ids)
        #expect(payloads == Array(1...20))
        #expect(ids.allSatisfy { fixture.sender.endings[$0] == [.handled] })
    }

    @Test(
        "DEL-3, DEL-9: lost frames come again on the next link and nothing is handled twice", arguments: [1, 2, 3, 4])
    func lostFrames(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for side in [fixture.sender, fixture.receiver] {
            side.loses = { _ in Bool.random(using: &generator) }
        }
        fixture.link()
        let ids = try (UInt8(1)...30).map { number in
            let id = try fixture.submit(number)
            if number.isMultiple(of: 5) {
                fixture.unlink()
                fixture.link()
            }
            return id
        }
        for side in [fixture.sender, fixture.receiver] { side.loses = { _ in false } }
        fixture.unlink()
        fixture.link()
        runUntilAllEnded(ids)
        #expect(payloads == Array(1...30))
        #expect(ids.allSatisfy { fixture.sender.endings[$0] == [.handled] })
    }

    @Test("A restart of either side at any point loses nothing that was accepted", arguments: 0..<6)
    func restarts(point: Int) throws {
        let ids = try (1...6).map { try fixture.submit($0) }
        if point >= 1 { fixture.link() }
        if point >= 2 { fixture.loop.run(until: { !payloads.isEmpty }) }
        if point >= 3 { fixture.loop.run(until: { payloads.count >= 3 }) }
        try fixture.receiver.restart(pairing: fixture.pairing)
        if point.isMultiple(of: 2) { try fixture.sender.restart(pairing: fixture.pairing) }
        fixture.unlink()
        fixture.link()
        runUntilAllEnded(ids)
        // A handler's item that was not settled before the restart is given again; the order never changes.
        var first: [UInt8] = []
        for payload in payloads where !first.contains(payload) { first.append(payload) }
        #expect(first == Array(1...6))
        #expect(ids.allSatisfy { fixture.sender.endings[$0] == [.handled] })
    }

    @Test("The same identifier submitted again is the same item")
    func sameIdentifier() throws {
        let id = try fixture.submit(1)
        var isAccepted = false
        fixture.sender.delivery.submissions.submit(OutboundItem(id: id, payload: [1]), to: fixture.queue) { _ in
            isAccepted = true
        }
        fixture.loop.run(until: { isAccepted })
        fixture.link()
        runUntilAllEnded([id])
        #expect(payloads == [1])
    }

    @Test("A store that takes nothing more refuses the item and tells its submitter")
    func closedStore() throws {
        fixture.sender.store.close()
        var failure: StoreError?
        fixture.sender.delivery.submissions.submit(OutboundItem(id: .random(), payload: [1]), to: fixture.queue) {
            result in
            if case .failure(.store(let error)) = result { failure = error }
        }
        fixture.loop.run(until: { failure != nil })
        #expect(failure == .closed(path: fixture.sender.store.path))
    }

    @Test("LIM-11: a peer that names ever new applications gets a bounded number of ledgers")
    func manyApplications() throws {
        // Its acknowledgements go nowhere: the sender never had these items.
        fixture.receiver.loses = { _ in true }
        fixture.link()
        let limit = Limits.applications
        for number in 0..<(limit + 50) {
            let envelope = Envelope(
                .item, app: try ApplicationIdentifier("app\(number)"), pairing: fixture.pairing, id: .random(),
                channel: .configuration, sequence: 1, body: [1])
            #expect(fixture.receiver.delivery.receive(envelope))
        }
        fixture.loop.run(until: { fixture.receiver.received.count == limit })
        #expect(fixture.receiver.received.count == limit)
    }

    @Test("DEL-13: an acknowledgement of what was never sent is a violation; one for an unknown queue does not read")
    func acknowledgementOfNothing() throws {
        _ = try fixture.submit(1)
        fixture.link()
        let stored = Envelope(
            .stored, app: fixture.queue.app, pairing: fixture.pairing, channel: .configuration, sequence: 99)
        #expect(fixture.sender.delivery.receive(stored))
        fixture.loop.run(until: { fixture.sender.violations == 1 })
        let unknown = Envelope(
            .stored, app: try ApplicationIdentifier("other"), pairing: fixture.pairing, channel: .configuration,
            sequence: 1)
        #expect(!fixture.sender.delivery.receive(unknown))
    }

    @Test("DEL-10: a peer that has more than was ever sent makes the sender ask for a new epoch")
    func restoredSender() throws {
        let app = fixture.queue.app
        fixture.sender.delivery.linkOpened(fixture.pairing, received: [(app, .configuration, 7)])
        fixture.loop.run(until: { fixture.sender.epochRequests == 1 })
        let id = try fixture.submit(1)
        for side in [fixture.sender, fixture.receiver] { side.delivery.setPairing(fixture.pairing, epoch: 2) }
        fixture.unlink()
        fixture.link()
        runUntilAllEnded([id])
        #expect(payloads == [1])
    }

    @Test("Removing a pairing removes its rows and nothing of another")
    func removal() throws {
        _ = try fixture.submit(1)
        let other = UniqueIdentifier.random()
        fixture.sender.delivery.setPairing(other, epoch: 1)
        let key = QueueKey(pairing: other, app: fixture.queue.app, channel: .configuration)
        var isAccepted = false
        fixture.sender.delivery.submissions.submit(OutboundItem(id: .random(), payload: [2]), to: key) { _ in
            isAccepted = true
        }
        fixture.loop.run(until: { isAccepted })
        fixture.sender.delivery.removePairing(fixture.pairing)
        var isDone = false
        LoopStore(fixture.sender.store, on: fixture.loop).commit(DurableDelivery.removal(of: fixture.pairing)) { _ in
            isDone = true
        }
        fixture.loop.run(until: { isDone })
        for table in DeliveryTable.allCases {
            let rows = try fixture.sender.store.read(RowRange(space: table.space))
            #expect(rows.allSatisfy { $0.key.starts(with: other.bytes) })
        }
        #expect(fixture.sender.delivery.queues.map(\.key) == [key])
    }
}
