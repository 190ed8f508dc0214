// A link as durable delivery uses it: what waits for room in its queue.

import TandemReactor
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
