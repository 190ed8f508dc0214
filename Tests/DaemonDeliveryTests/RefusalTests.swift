// A refusal promises nothing that would have to be durable, and so is sent in the turn in which it was decided: whoever
// has no room must not wait for a disk that is slow, perhaps because it is full.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

struct RefusalTests {
    /// A device whose queues take two items.
    private func narrowDevice() throws -> OneDevice {
        try OneDevice(limits: DeliveryLimits.standard(with: \.items, 2))
    }

    @Test(
        "LIM-14, DEL-1: a queue without room is told at once, with no commit before it; what was accepted waits for its own"
    )
    func queueFull() throws {
        let device = try narrowDevice()
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

    @Test func `SES-60, LIM-65: a user's submissions that wait for the disk hold back its own apps, and none fails`()
        throws
    {
        let device = try OneDevice()
        let app = try device.simulation.app(.primary)
        device.store.hold(commits: true)
        let item = try Envelope(.submit, app: device.queue.app, pairing: device.queue.pairing, channel: .userInfo)
            .with(body: ["a": .data([UInt8](repeating: 7, count: 60_000))])
        for _ in 0..<200 {
            var item = item
            item.id = .random()
            try app.send(item)
        }
        device.run()
        #expect((5_000_000..<6_500_000).contains(app.stream.queuedBytes), "half of LIM-65 was read (LIM-47)")
        device.store.goOn()
        device.run()
        #expect(app.received(.accepted).count == 200 && app.received(.failure).isEmpty)
    }

    @Test func `SES-60, LIM-65: the descriptions of files that wait for the disk hold back their apps, too`() throws {
        let temporary = TemporaryDirectory()
        let device = try OneDevice(filesIn: try OwnedDirectory(path: temporary.path("state")))
        let app = try device.simulation.app(.primary)
        device.store.hold(commits: true)
        let metadata: PropertyListValue = .dictionary(["a": .data([UInt8](repeating: 7, count: 60_000))])
        for _ in 0..<120 {
            try app.send(
                Envelope(.submit, app: device.queue.app, pairing: device.queue.pairing, id: .random(), channel: .file)
                    .with(body: ["name": "x", "size": 0, "metadata": metadata]))
        }
        var sent = 120
        // The disk of the files is a thread: until all descriptions wait for the store, a further item is read.
        while app.stream.queuedBytes == 0, sent < 400 {
            device.settle()
            try device.submit(from: app)
            device.run()
            sent += 1
        }
        #expect(app.stream.queuedBytes > 0 && app.received(.failure).isEmpty, "it is not read")
        device.store.goOn()
        for _ in 0..<200 where app.received(.accepted).count < sent { device.settle() }
        #expect(app.received(.accepted).count == sent)
    }

    @Test func `SES-49: a submission for which the store has no room now may be repeated`() throws {
        let device = try OneDevice()
        let app = try device.simulation.app(.primary)
        device.store.isBusy = true
        try device.submit(from: app)
        device.run()
        let error = try app.onlyFailure()
        #expect(error.code == .genericError && error.name == "store" && error.isRetryable)
        device.store.isBusy = false
        device.simulation.scheduler.advance(by: .seconds(2))
        try device.submit(from: app)
        device.run()
        #expect(app.received(.accepted).count == 1)
    }

    @Test("DEL-48: a submission whose sync has failed is not answered, and a repetition of it neither")
    func failedSync() throws {
        let device = try OneDevice()
        let app = try device.simulation.app(.primary)
        let id = UniqueIdentifier.random()
        device.store.isBroken = true
        for _ in 0..<3 {
            try device.submit(id, from: app)
            device.run()
            device.simulation.scheduler.advance(by: .seconds(2))
        }
        #expect(app.received(.failure).isEmpty && app.received(.accepted).isEmpty && app.refusal == nil)
    }

    @Test(
        "DEL-48, DEL-31: a file whose sync has failed is not answered and stays; a full disk refuses it and drops it",
        arguments: [true, false])
    func fileInDoubt(isBroken: Bool) throws {
        let temporary = TemporaryDirectory()
        let directory = try OwnedDirectory(path: temporary.path("state"))
        let device = try OneDevice(filesIn: directory)
        let app = try device.simulation.app(.primary)
        (device.store.isBroken, device.store.isFull) = (isBroken, !isBroken)
        let id = UniqueIdentifier.random()
        try app.send(
            Envelope(.submit, app: device.queue.app, pairing: device.queue.pairing, id: id, channel: .file)
                .with(body: ["name": "x", "size": 0]))
        device.settle()
        #expect(app.received(.progress).map(\.name) == ["taking"] && app.received(.accepted).isEmpty)
        #expect(app.received(.failure).map(\.name) == (isBroken ? [] : ["insufficient-space"]))
        let key = SpoolKey(pairing: device.queue.pairing, app: device.queue.app, item: id)
        #expect(try (FileSpool(hashed: "spool", in: directory).read(key) != nil) == isBroken)
    }

    @Test(
        "SES-90, CTL-14: a submission that is refused during a drain may be retried, and one taken back may not"
    )
    func retry() throws {
        let device = try narrowDevice()
        let app = try device.simulation.app(.primary)
        device.delivery.submissions.isDraining = true
        try device.submit(from: app)
        device.run()
        let error = try app.onlyFailure()
        #expect(error.name == "draining" && error.isRetryable)
        device.delivery.submissions.isDraining = false
        let id = UniqueIdentifier.random()
        try app.deliver(device.queue.query("cancel").with(body: ["item": .data(id.bytes)]))
        try device.submit(id, from: app)
        device.run()
        let takenBack = try SessionError(failure: #require(app.received(.failure).last))
        #expect(takenBack.name == "cancelled" && !takenBack.isRetryable)
        for refusal in [FileRefusal.cancelled, .takenOver] {
            #expect(refusal.body["retry"] == false, "\(refusal.name)")
        }
    }

    @Test("DEL-33, SES-90: a known item whose commit has failed is lost, and refused for what keeps new ones out")
    func lostRepetition() throws {
        let device = try OneDevice()
        let app = try device.simulation.app(.primary)
        let id = UniqueIdentifier.random()
        device.store.isBusy = true
        for item in [.random(), id] {
            try device.submit(item, from: app)
            device.run()
        }
        // After two failures in a row the queue is read back a second later, and knows the lost item until then.
        device.store.isBusy = false
        device.delivery.submissions.isDraining = true
        #expect(device.delivery.submissions.hasAccepted(id, in: device.queue))
        try device.submit(id, from: app)
        device.simulation.scheduler.advance(by: .seconds(2))
        #expect(app.received(.failure).map(\.name) == ["store", "store", "draining"])
        #expect(app.received(.accepted).isEmpty)
    }

    @Test("LIM-14: refusals alone ask nothing of the disk")
    func noCommit() throws {
        let device = try narrowDevice()
        let app = try device.simulation.app(.primary)
        for _ in 0..<2 { try device.submit(from: app) }
        device.run()
        let before = device.store.commits
        for _ in 0..<100 { try device.submit(from: app) }
        device.run()
        #expect(app.received(.failure).count == 100 && device.store.commits == before)
    }
}
