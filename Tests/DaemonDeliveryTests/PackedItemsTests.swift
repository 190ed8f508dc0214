// Items that are accepted in one turn share a row (Decisions/0040): through restarts of both ends.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemWire
import Testing

@Suite struct PackedItemsTests {
    private let pair: DeliveryPair
    private var sender: MemoryDevice { pair.sender }
    private var receiver: MemoryDevice { pair.receiver }

    init() throws { pair = try DeliveryPair() }

    private func rows(_ table: DeliveryTable, of device: MemoryDevice) throws -> Int {
        try device.read(RowRange(space: table.space)).count
    }

    private func submit(_ items: [OutboundItem]) {
        for item in items { sender.delivery.submissions.submit(item, to: sender.key(.userInfo)) { _ in } }
        sender.run()
    }

    /// Items with bodies of this many bytes; each second one if `mixed`, the others short.
    private func items(_ numbers: ClosedRange<UInt8>, _ size: Int, mixed: Bool) -> [OutboundItem] {
        numbers.map {
            OutboundItem(id: .random(), payload: Array(repeating: $0, count: mixed && $0.isMultiple(of: 2) ? 5 : size))
        }
    }

    @Test(
        "DEL-1, DEL-6: after restarts of both ends each item of a pack is handled once, in order, with its own body",
        arguments: [(5, false), (900, false), (900, true)])
    func restarts(size: Int, mixed: Bool) throws {
        let items = items(1...20, size, mixed: mixed)
        submit(items)
        #expect(try rows(.outboundPack, of: sender) == 1 && rows(.outboundItem, of: sender) == 0)
        sender.delivery.submissions.cancel(items[4].id, in: sender.key(.userInfo)) { _ in }
        sender.run()
        #expect(try rows(.outboundEnd, of: sender) == 1)
        try sender.restart()
        receiver.verdict = { _ in .none }
        sender.link()
        pair.advance(1)
        #expect(try rows(.inboundPack, of: receiver) > 0)
        try receiver.restart()
        receiver.received = []
        receiver.verdict = { _ in .handled }
        sender.link()
        pair.advance(60)
        let kept = items.filter { $0.id != items[4].id }
        #expect(receiver.received.map(\.id) == kept.map(\.id))
        #expect(receiver.received.map(\.payload) == kept.map(\.payload))
        #expect(kept.allSatisfy { sender.endings[$0.id] == [.handled] })
        for table in [DeliveryTable.outboundPack, .outboundEnd, .outboundItem, .outboundPayload] {
            #expect(try rows(table, of: sender) == 0)
        }
        for table in [DeliveryTable.inboundPack, .inboundEnd, .inboundItem, .inboundPayload] {
            #expect(try rows(table, of: receiver) == 0)
        }
    }

    @Test("DEL-1: a pack whose commit fails is written nowhere, and the same items can be accepted again")
    func failure() throws {
        let items = (1...10).map { payloadItem($0) }
        sender.memory.failNext([.full(path: "disk")])
        submit(items)
        #expect(try rows(.outboundPack, of: sender) == 0)
        pair.advance(5)
        submit(items)
        #expect(try rows(.outboundPack, of: sender) == 1)
        try sender.restart()
        sender.link()
        pair.advance(60)
        #expect(receiver.received.map(\.id) == items.map(\.id))
    }

    @Test("DEL-31: an item whose end the full disk does not take stays in its pack, and ends when there is room")
    func endOnAFullDisk() throws {
        let items = (1...10).map { payloadItem($0) }
        submit(items)
        var results: [Cancellation] = []
        for failures in [[StoreError.full(path: "disk")], []] {
            sender.memory.failNext(failures)
            sender.delivery.submissions.cancel(items[4].id, in: sender.key(.userInfo)) { results.append($0) }
            sender.run()
            #expect(try rows(.outboundEnd, of: sender) == (failures.isEmpty ? 1 : 0))
            #expect(try rows(.outboundPack, of: sender) == 1)
            pair.advance(5)
        }
        #expect(results == [.notStored, .cancelled])
        try sender.restart()
        sender.link()
        pair.advance(60)
        #expect(receiver.received.map(\.payload) == items.filter { $0.id != items[4].id }.map(\.payload))
    }

    @Test("DEL-1: after the last item of a pack has ended and a restart, new items make a pack behind it")
    func packBehindAnEndedItem() throws {
        let items = (1...20).map { payloadItem($0) }
        submit(Array(items[..<10]))
        sender.delivery.submissions.cancel(items[9].id, in: sender.key(.userInfo)) { _ in }
        sender.run()
        sender.delivery.submissions.forget(items[9].id, in: sender.key(.userInfo))
        pair.advance(1)
        try sender.restart()
        submit(Array(items[10...]))
        #expect(try rows(.outboundPack, of: sender) == 2)
        try sender.restart()
        sender.link()
        pair.advance(60)
        #expect(receiver.received.map(\.id) == items.filter { $0.id != items[9].id }.map(\.id))
    }
}
