// A refusal promises nothing that would have to be durable, and so is sent in the turn in which it was decided: whoever
// has no room must not wait for a disk that is slow, perhaps because it is full.

import TandemBase
import TandemDaemon
import TandemDelivery
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct RefusalTests {
    private static func limits(_ channel: Channel) -> DeliveryLimits {
        var limits = DeliveryLimits.standard(channel)
        limits.items = 2
        return limits
    }

    @Test(
        "LIM-14, DEL-1: a queue without room is told at once, with no commit before it; what was accepted waits for its own"
    )
    func queueFull() throws {
        let device = try OneDevice(limits: Self.limits)
        let app = try device.simulation.app(.primary)
        device.store.hold(commits: true)
        let ids = (0..<3).map { _ in UniqueIdentifier.random() }
        for id in ids { try device.submit(id, from: app) }
        device.run()
        #expect(device.store.commits == 1 && app.received(.accepted).isEmpty, "the disk has not answered")
        let error = try app.onlyFailure()
        #expect(error.name == "queue-full" && error.limit == 2 && app.received(.failure)[0].id == ids[2])
        device.store.goOn()
        device.run()
        #expect(app.received(.accepted).map(\.id) == [ids[0], ids[1]])
        #expect(app.received(.failure).count == 1)
    }

    @Test("LIM-14: refusals alone ask nothing of the disk")
    func noCommit() throws {
        let device = try OneDevice(limits: Self.limits)
        let app = try device.simulation.app(.primary)
        for _ in 0..<2 { try device.submit(from: app) }
        device.run()
        let before = device.store.commits
        for _ in 0..<100 { try device.submit(from: app) }
        device.run()
        #expect(app.received(.failure).count == 100 && device.store.commits == before)
    }
}
