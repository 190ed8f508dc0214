// Queues whose commits fail: they are read back, and go on from their rows as if nothing had been said meanwhile.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FailingCommitTests {
    private let pair: DeliveryPair
    private var sender: MemoryDevice { pair.sender }
    private var receiver: MemoryDevice { pair.receiver }

    init() throws { pair = try DeliveryPair() }

    @Test("DEL-1: a commit that fails accepts nothing, and the queue goes on from its rows")
    func failingCommits() {
        sender.link()
        sender.submit(payloadItem(1), to: .userInfo)
        sender.memory.failNext([.full(path: "disk")])
        #expect(sender.submit(payloadItem(2), to: .userInfo) == .failure(.store(.full(path: "disk"))))
        pair.advance(2)
        #expect(sender.submit(payloadItem(3), to: .userInfo) == .success(SubmitReceipt()))
        pair.heal()
        #expect(receiver.received.map(\.number) == [1, 3])
    }

    @Test("DEL-7: an outcome whose commit fails is not lost: it counts when the queue was read back, on the same link")
    func failingOutcome() {
        let item = payloadItem(1)
        receiver.verdict = { _ in .none }
        sender.link()
        sender.submit(item, to: .userInfo)
        let given = receiver.received[0]
        sender.memory.failNext([.full(path: "disk"), .full(path: "disk")])
        receiver.delivery.arrivals.handled(given.ordinal, in: given.queue)
        pair.advance(5)
        #expect(sender.endings[item.id] == [.handled])
    }

    @Test(
        "DEL-10: an epoch whose commit fails begins when the queue was read back, before anything is said of old numbers"
    )
    func failingEpoch() {
        sender.link()
        sender.submit(payloadItem(1), to: .userInfo)
        let item = payloadItem(2)
        receiver.memory.failNext([.full(path: "disk")])
        for device in [sender, receiver] {
            device.epoch = 2
            device.delivery.setPairing(device.pairing, epoch: 2)
        }
        pair.advance(2)
        sender.submit(item, to: .userInfo)
        pair.heal()
        #expect(receiver.received.map(\.number) == [1, 2] && sender.endings[item.id] == [.handled])
        #expect(sender.violations == 0 && receiver.violations == 0)
    }

    @Test("CTL-22: what came while a ledger was read back may wait for an app that is away, though its frame is over")
    func awayWhileReadingBack() {
        receiver.delivery.arrivals.consumerLeft(receiver.app)
        sender.link()
        sender.submit(payloadItem(1), to: .userInfo)
        #expect(receiver.mayWait.isEmpty)
        receiver.memory.failNext([.overloaded(path: "disk", limit: 1)])
        sender.submit(payloadItem(2), to: .userInfo)
        pair.advance(2)
        #expect(receiver.mayWait == [receiver.app])
    }

    @Test("LIM-42: while a queue cannot be read back it holds a bounded number of bytes; the rest is refused at once")
    func floodWhileReadingBack() {
        sender.memory.failNext([.overloaded(path: "disk", limit: 1), .overloaded(path: "disk", limit: 1)])
        for number in 1...2 { sender.submit(payloadItem(number), to: .userInfo) }
        var answers: [Result<SubmitReceipt, DeliveryFailure>] = []
        for _ in 0..<17 {
            let item = OutboundItem(id: .random(), payload: Array(repeating: 0, count: 65_536))
            sender.delivery.submissions.submit(item, to: sender.key(.userInfo)) { answers.append($0) }
        }
        pair.scheduler.run()
        #expect(answers == [.failure(.store(.overloaded(path: "disk", limit: 1)))])
        pair.advance(5)
        #expect(answers.count == 17 && answers.dropFirst().allSatisfy { $0 == .success(SubmitReceipt()) })
    }

    @Test("DEL-10: what the peer says while a queue is read back counts for nothing in another epoch")
    func oldNumbers() throws {
        let device = try OneDevice()
        let app = try device.simulation.app(.primary, receives: false)
        try device.submit(from: app)
        device.run()
        (device.store.isFull, device.store.hasReserve) = (true, false)
        device.store.hold(fetches: true)
        try device.submit(from: app)
        device.run()
        device.store.isFull = false
        device.handled(1...1)
        device.delivery.setPairing(device.queue.pairing, epoch: 2)
        device.store.goOn()
        // The device records a violation as an issue.
        device.simulation.scheduler.advance(by: .seconds(3))
        let waiting = device.delivery.submissions.outstanding(in: device.queue)
        #expect(waiting.count == 1)
    }
}
