// The promise of durable delivery under random schedules of links, losses, repetitions, crashes and failing handlers:
// every accepted item ends exactly once, both sides agree, order is kept, nothing is handled twice (DEL-1 to DEL-11).

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct DeliveryPropertyTests {
    @Test(arguments: Repetition.seeds(8, long: 24)) func everyItemEndsExactlyOnceAndInOrder(seed: UInt64) throws {
        var devices = try TwoDevices(seed: seed)
        for _ in 0..<1000 { try devices.step() }
        try devices.heal()
        #expect(!devices.accepted.isEmpty)
        for id in devices.accepted { #expect(devices.outcomes[id] != nil, "accepted, so it ends") }
        #expect(devices.sender.count == 0 && devices.sender.bytes == 0)
        #expect(devices.receiver.count == 0 && devices.receiver.bytes == 0)
        try checkNothingIsLeft(devices)
        checkOrder(devices)
    }

    /// DEL-7, DEL-33: when all ends have been reported, both disks contain only headers, dead letters and acknowledged
    /// ends.
    private func checkNothingIsLeft(_ devices: borrowing TwoDevices) throws {
        for case .outboundRecord(let record) in try devices.senderDisk.values(.outboundRecord) {
            #expect(!record.isUnfinished && record.isAcknowledged)
        }
        for table in [DeliveryTable.outboundPayload, .outboundItem] {
            #expect(try devices.senderDisk.values(table).isEmpty)
        }
        let letters = devices.receiver.deadLetters.count
        #expect(try devices.receiverDisk.values(.inboundRecord).count == letters)
        let rows = try [.inboundPayload, .inboundItem].flatMap { try devices.receiverDisk.values($0) }
        #expect(rows.count { $0.body != nil } == letters && rows.count <= 2 * letters)
    }

    /// DEL-2: items are first handed over in the order of acceptance.
    private func checkOrder(_ devices: borrowing TwoDevices) {
        let handed = devices.handed
        let acceptance = devices.accepted.filter { handed.contains($0) }
        #expect(handed.filter { acceptance.contains($0) } == acceptance)
    }

    /// Without crashes a handler sees an item again only after it failed.
    @Test(arguments: 0..<10) func withoutCrashesNoHandlerReturnsTwice(seed: UInt64) throws {
        var devices = try TwoDevices(seed: 1000 + seed)
        devices.hasCrashes = false
        for _ in 0..<1000 { try devices.step() }
        try devices.heal()
        for (id, times) in devices.handlersReturned {
            #expect(times == 1)
            #expect(devices.outcomes[id] == .handled)
        }
        #expect(devices.outcomes.values.filter { $0 == .handled }.count == devices.handlersReturned.count)
    }
}
