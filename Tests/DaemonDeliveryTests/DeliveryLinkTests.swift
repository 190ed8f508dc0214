// A link as durable delivery uses it: what waits for room in its queue.

import TandemBase
import TandemDaemonTestSupport
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct DeliveryLinkTests {
    private final class Queue {
        var bytes = 0
        var sent: [Envelope] = []
    }

    private let scheduler = ManualScheduler()
    private let queue = Queue()
    private let link: DeliveryLink

    init() {
        let queue = queue
        link = DeliveryLink(
            DeliveryLink.Path(send: { queue.sent.append($0) }, queuedBytes: { queue.bytes }), channels: [],
            scheduler: scheduler)
    }

    @Test func `DEL-27: a frame waits while the link's own queue is half full, and the loop goes on`() {
        queue.bytes = Limits.queuedBytes / 2 - 1
        var isOver = false
        link.whenRoom(for: DeliveryLink.frameSize) { isOver = true }
        scheduler.advance(by: .milliseconds(50))
        #expect(!isOver)
        queue.bytes = 0
        link.drained()
        #expect(isOver)
    }

    @Test func `DEL-27: a burst that leaves at the end of its turn holds up nothing`() {
        queue.bytes = Limits.queuedBytes
        var isOver = false
        link.whenRoom(for: DeliveryLink.frameSize) { isOver = true }
        queue.bytes = 0
        scheduler.advance(by: .milliseconds(50))
        #expect(isOver)
    }

    @Test func `DEL-37: small frames pass the bodies that wait for room`() {
        var passed: [String] = []
        for number in 0..<9 {
            link.whenRoom(for: 65_536) { [link] in
                link.send(Envelope(.item), reserved: 65_536)
                passed.append("body \(number)")
            }
        }
        #expect(passed.count == 8)
        link.whenRoom(for: DeliveryLink.frameSize) { passed.append("small") }
        #expect(passed.last == "small")
        let markers = queue.sent.filter { $0.kind == .ping }.compactMap(\.id)
        #expect(Set(markers).count == 8)
        for id in [UniqueIdentifier(high: 0, low: 1), .random()] { link.answered(id) }
        #expect(passed.count == 9, "DEL-27: a marker that nobody sent makes no room")
        link.answered(markers[1])
        #expect(passed.last == "body 8")
    }

    @Test func `DEL-9, DEL-27: frames that a link repeats are made as there is room for them, and others take turns`() {
        var made = 0
        var isOver = false
        let next = { () -> Envelope? in
            made += 1
            return made <= 3_000 ? Envelope(.outcome) : nil
        }
        link.send(each: next) { isOver = true }
        // The window and what is kept for small frames, one that waits, and no more.
        let burst = made
        #expect(burst > 1_000 && burst < 1_200 && !isOver)
        var isOtherSent = false
        link.send(Envelope(.stored)) { isOtherSent = true }
        #expect(!isOtherSent)
        var answered = 0
        func answer() {
            let markers = queue.sent.filter { $0.kind == .ping }.compactMap(\.id)
            guard answered < markers.count else { return }
            link.answered(markers[answered])
            answered += 1
        }
        answer()
        #expect(isOtherSent && made < burst + 200)
        for _ in 0..<100 { answer() }
        #expect(isOver && queue.sent.count { $0.kind == .outcome } == 3_000)
    }

    @Test func `DEL-44: of frames that a link repeats none is made once it has closed`() {
        var (made, isOver) = (0, false)
        let next = { () -> Envelope? in
            made += 1
            return Envelope(.outcome)
        }
        link.send(each: next) { isOver = true }
        let (before, sent) = (made, queue.sent.count)
        link.close()
        #expect(isOver && made == before && queue.sent.count == sent)
    }

    @Test func `DEL-27: what waits on a link that closes goes nowhere, and its queue goes on`() {
        queue.bytes = Limits.queuedBytes
        var isOver = false
        link.whenRoom(for: DeliveryLink.frameSize) { [link] in
            link.send(Envelope(.ping), reserved: DeliveryLink.frameSize)
            isOver = true
        }
        link.close()
        #expect(isOver && queue.sent.isEmpty)
    }
}
