// Contexts between two exchanges: the latest wins, once, whatever happens on the way.

import TandemBase
import TandemDaemonTestSupport
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct ContextTests {
    private let pair: DeliveryPair
    private var sender: MemoryDevice { pair.sender }
    private var receiver: MemoryDevice { pair.receiver }

    init() throws { pair = try DeliveryPair() }

    private func set(_ bytes: [UInt8], always: Bool = false) -> Result<SubmitReceipt, DeliveryFailure>? {
        let item = OutboundItem(id: .random(), payload: bytes, policy: always ? .always : .ifChanged)
        return sender.submit(item, to: .context)
    }

    private func standing(_ device: MemoryDevice) -> [LatestContext] {
        var contexts: [LatestContext] = []
        device.delivery.contexts.read(
            of: device.app,
            each: { context, next in
                contexts.append(context)
                next()
            }, then: {})
        #expect(contexts.isEmpty)
        pair.scheduler.run()
        return contexts
    }

    @Test("DEL-19: 1,000 updates without a link are one delivery, of the last")
    func offlineUpdates() throws {
        for number in 1...1000 {
            #expect(set(Array("\(number)".utf8)) == .success(SubmitReceipt(revision: UInt64(number))))
        }
        try sender.restart()
        sender.link()
        #expect(receiver.received.map(\.number) == [1000] && receiver.received.map(\.revision) == [1000])
        #expect(standing(receiver).map(\.revision) == [1000] && standing(sender).map(\.direction) == [.sent])
    }

    @Test("DEL-19: a context that was never set differs from one with an empty body, here and at the peer")
    func threeStates() throws {
        sender.link()
        #expect(standing(sender).isEmpty && standing(receiver).isEmpty)
        let dictionary = Array("empty".utf8)
        for (revision, body) in [(1, []), (2, dictionary), (3, [])] as [(UInt64, [UInt8])] {
            #expect(set(body) == .success(SubmitReceipt(revision: revision)))
            for device in [sender, receiver] {
                try device.restart()
                sender.link()
                #expect(standing(device).map(\.body) == [body] && standing(device).map(\.revision) == [revision])
            }
        }
    }

    @Test("DEL-19: the same bytes are a new revision only if that is asked for, also after a restart")
    func sameBytes() throws {
        sender.link()
        #expect(set([1]) == .success(SubmitReceipt(revision: 1)))
        #expect(set([1]) == .success(SubmitReceipt(.unchanged, revision: 1)))
        try sender.restart()
        sender.link()
        #expect(set([1]) == .success(SubmitReceipt(.unchanged, revision: 1)))
        #expect(set([1], always: true) == .success(SubmitReceipt(revision: 2)))
        #expect(set([2]) == .success(SubmitReceipt(revision: 3)))
        #expect(receiver.received.map(\.revision) == [1, 2, 3])
        #expect(
            receiver.contexts.map(\.revision) == [1, 2, 3] && sender.contexts.map(\.direction) == [.sent, .sent, .sent])
    }

    @Test("DEL-19: bytes that the peer rejected are set again when asked")
    func rejectedBytes() {
        sender.link()
        receiver.verdict = { _ in .rejected(7014) }
        #expect(set([1]) == .success(SubmitReceipt(revision: 1)))
        receiver.verdict = { _ in .handled }
        #expect(set([1]) == .success(SubmitReceipt(revision: 2)))
    }

    @Test(
        "DEL-20: 1,000 updates lost, repeated and replayed end at the highest, and none goes back",
        arguments: Repetition.seeds(2, long: 4))
    func randomUpdates(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for device in [sender, receiver] {
            device.copies = { _ in [0, 1, 1, 1, 2, 3].randomElement(using: &generator) ?? 1 }
        }
        sender.link()
        for number in 1...1000 {
            _ = set(Array("\(number)".utf8))
            switch Int.random(in: 0..<40, using: &generator) {
            case 0: try sender.restart()
            case 1: try receiver.restart()
            case 2: sender.unlink()
            case 3...5: sender.link()
            case 6: pair.advance(31)
            default: break
            }
        }
        pair.heal()
        let revisions = receiver.received.filter { $0.attempt == 1 }.compactMap(\.revision)
        #expect(revisions == revisions.sorted() && Set(revisions).count == revisions.count)
        #expect(revisions.last == 1000 && standing(receiver).map(\.revision) == [1000])
    }

    @Test("SES-88: an app is not started for a context that it has put off, until its pairing is chosen")
    func putOff() throws {
        var waits: Bool { receiver.delivery.hasDueItems(for: receiver.app) }
        receiver.verdict = { _ in .none }
        sender.link()
        _ = set([1])
        let item = try #require(receiver.received.last)
        #expect(waits)
        receiver.delivery.arrivals.putOff(item.ordinal, in: item.queue)
        pair.advance(5)
        #expect(!waits && receiver.received.count == 1)
        receiver.delivery.arrivals.consumerLeft(receiver.app)
        #expect(!waits)
        receiver.delivery.arrivals.chosen(receiver.pairing)
        #expect(waits)
        receiver.delivery.arrivals.consumerArrived(receiver.app, channels: [.context])
        pair.advance(5)
        #expect(receiver.received.map(\.attempt) == [1, 1])
    }

    @Test("DEL-20: a context that is not newer than the last one is counted, and reaches nobody")
    func stale() {
        for (sequence, revision) in [(1, 2), (2, 2), (3, 1), (4, 3)] as [(UInt64, UInt64)] {
            let item = Envelope(
                .item, app: receiver.app, pairing: receiver.pairing, id: .random(), channel: .context,
                sequence: sequence, revision: revision, body: [1])
            #expect(receiver.delivery.receive(item))
            pair.scheduler.run()
        }
        #expect(receiver.received.map(\.revision) == [2, 3])
        #expect(receiver.counters.counter("contexts.stale").value == 2)
    }

    @Test("CTL-16, DEL-24: the retry of a context that another one has followed says that it was dropped")
    func outdatedLetter() throws {
        sender.link()
        receiver.verdict = { _ in .failed }
        _ = set([1])
        pair.advance(120)
        receiver.verdict = { _ in .handled }
        _ = set([2])
        let letter = try #require(receiver.delivery.deadLetters().first)
        var results: [DeadLetterResult] = []
        for _ in 0..<2 {
            receiver.delivery.act(.retry, on: letter.ordinal, in: letter.queue, letter.direction) { results.append($0) }
            pair.scheduler.run()
        }
        #expect(results == [.outdated, .undone] && receiver.received.last?.revision == 2)
    }

    @Test("DEL-21: after a new epoch the context is set again, with its revision")
    func newEpoch() throws {
        sender.link()
        _ = set([1])
        #expect(receiver.received.map(\.revision) == [1])
        receiver.delivery.removePairing(receiver.pairing)
        for device in [sender, receiver] {
            device.epoch = 2
            device.delivery.setPairing(device.pairing, epoch: 2)
        }
        pair.heal()
        #expect(receiver.received.map(\.revision) == [1, 1], "what the peer may have lost")
        #expect(standing(receiver).map(\.revision) == [1])
        try sender.restart()
        pair.heal()
        #expect(receiver.received.count == 2, "once in each epoch")
    }
}
