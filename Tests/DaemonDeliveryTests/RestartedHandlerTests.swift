// Apps that leave and come back while a slow disk writes the attempt of an item, and commits that fail: one item of a
// queue is with the app, and no attempt counts that it has not seen.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct RestartedHandlerTests {
    private let device: OneDevice
    private var scheduler: ManualScheduler { device.simulation.scheduler }

    init() throws { device = try OneDevice() }

    /// An item comes over the link, in a turn of its own.
    private func arrive(_ sequence: UInt64, on channel: Channel = .userInfo, revision: UInt64? = nil) {
        let item = Envelope(
            .item, app: device.queue.app, pairing: device.queue.pairing, id: .random(), channel: channel,
            sequence: sequence, revision: revision, body: [1])
        #expect(device.delivery.receive(item))
        device.run()
    }

    private func disconnect(_ app: Client) {
        app.disconnect()
        device.run()
    }

    private func goOn() {
        device.store.goOn()
        device.run()
    }

    /// The app has so many items, one after the other, each at its first attempt.
    private func handle(_ items: Int, by app: Client) throws {
        for number in 1...items {
            let deliveries = app.received(.delivery)
            #expect(deliveries.map(\.attempt) == Array(repeating: 1, count: number))
            try app.deliver(#require(deliveries.last).verdict())
        }
        scheduler.advance(by: .seconds(10))
        #expect(app.received(.delivery).count == items)
        let outcomes = device.sent.filter { $0.kind == .outcome }.compactMap(\.sequence)
        #expect(outcomes == Array(1...UInt64(items)))
    }

    @Test(
        "SES-51, DEL-47: an app that restarts while a commit is under way has one item at a time, at its first attempt",
        arguments: [0, 5])
    func backBeforeTheCommit(seconds: Int) throws {
        let first = try device.simulation.app(.primary)
        device.store.hold(commits: true)
        for sequence in 1...3 as ClosedRange<UInt64> { arrive(sequence) }
        disconnect(first)
        let second = try device.simulation.app(.primary)
        scheduler.advance(by: .seconds(seconds))
        #expect(second.received(.delivery).isEmpty, "no attempt is durable")
        goOn()
        try handle(3, by: second)
        #expect(first.received(.delivery).isEmpty)
    }

    @Test("SES-51, DEL-47: an app that comes after the commit of an item that another run was to get has it at once")
    func backAfterTheCommit() throws {
        let first = try device.simulation.app(.primary)
        device.store.hold(commits: true)
        for sequence in 1...3 as ClosedRange<UInt64> { arrive(sequence) }
        disconnect(first)
        goOn()
        let second = try device.simulation.app(.primary)
        device.run()
        try handle(3, by: second)
    }

    @Test("SES-51, DEL-47: each run of an app that restarts again and again finds at most one item")
    func manyRestarts() throws {
        device.store.hold(commits: true)
        for sequence in 1...3 as ClosedRange<UInt64> { arrive(sequence) }
        for _ in 0..<4 {
            let app = try device.simulation.app(.primary)
            device.store.doOne()
            device.run()
            #expect(app.received(.delivery).count <= 1)
            disconnect(app)
            scheduler.advance(by: .seconds(20))
        }
        let last = try device.simulation.app(.primary)
        goOn()
        for _ in 0..<3 {
            scheduler.advance(by: .seconds(20))
            try last.deliver(#require(last.received(.delivery).last).verdict())
        }
        #expect(Set(last.received(.delivery).map(\.id)).count == 3 && last.received(.delivery).count == 3)
    }

    @Test("DEL-47: a commit that fails on a full disk gives no item once more, and marks none as a redelivery")
    func fullDisk() throws {
        let app = try device.simulation.app(.primary)
        for sequence in 1...3 as ClosedRange<UInt64> { arrive(sequence) }
        scheduler.advance(by: .seconds(1))
        (device.store.isFull, device.store.hasReserve) = (true, true)
        arrive(4)
        scheduler.advance(by: .seconds(1))
        #expect(app.received(.delivery).map(\.attempt) == [1])
        device.store.isFull = false
        scheduler.advance(by: .seconds(3))
        try handle(3, by: app)
    }

    @Test(
        "DEL-47: an item whose body is read while a commit fails goes to the next run of the app, at its first attempt")
    func leftWhileReadBack() throws {
        device.store.hold(fetches: true)
        arrive(1)
        let first = try device.simulation.app(.primary)
        device.run()
        let reads = device.store.heldCount
        #expect(first.received(.delivery).isEmpty && reads > 0, "its body is being read")
        (device.store.isFull, device.store.hasReserve) = (true, true)
        arrive(2)
        scheduler.advance(by: .seconds(1))
        disconnect(first)
        let second = try device.simulation.app(.primary)
        device.store.isFull = false
        for _ in 0..<reads { device.store.doOne() }
        device.run()
        #expect(first.received(.delivery).isEmpty && second.received(.delivery).isEmpty, "the rows are not read yet")
        goOn()
        scheduler.advance(by: .seconds(3))
        // The peer sends it again.
        arrive(2)
        try handle(2, by: second)
    }

    @Test("SES-52: a pairing that ends and begins again may send an app the same context once more")
    func contextOfNewPairing() throws {
        let app = try device.simulation.app(.primary)
        for expected in 1...2 {
            arrive(1, on: .context, revision: 1)
            #expect(app.received(.context).filter { $0.name == "received" }.count == expected)
            let pairing = device.queue.pairing
            device.delivery.removePairing(pairing)
            device.channels.unpaired(pairing)
            device.store.commit(DurableDelivery.removal(of: pairing), room: .reserve) { _ in }
            device.delivery.setPairing(pairing, epoch: 1)
            device.delivery.linkOpened(pairing, received: [])
            device.run()
        }
    }

    @Test("SES-52: an app that registers while contexts become durable is sent none that is below one before")
    func risingContexts() throws {
        device.store.hold(commits: true, fetches: true)
        arrive(1, on: .context, revision: 1)
        let receiver = try device.simulation.app(.primary)
        for number in 2...6 as ClosedRange<UInt64> { arrive(number, on: .context, revision: number) }
        device.store.doOne()
        device.run()
        // It reads the last one. The notices of those before wait until the body of the first is read.
        let late = try device.simulation.app(.primary, receives: false)
        while device.store.heldCount > 0 {
            device.store.doOne()
            device.run()
        }
        for client in [receiver, late] {
            let revisions = client.received(.context).filter { $0.name == "received" }.compactMap(\.revision)
            #expect(revisions == revisions.sorted() && Set(revisions).count == revisions.count)
            #expect(revisions.last == 6)
        }
    }
}
