// Frames about the items of a queue that are copied from the one before: the bytes of those that are written.

import TandemBase
import TandemWire
import Testing

@Suite struct ItemFramesTests {
    private static func queue(_ app: String) throws -> QueueKey {
        QueueKey(
            pairing: UniqueIdentifier(bytes: Array(1...16)) ?? .zero, app: try ApplicationIdentifier(app),
            channel: .userInfo)
    }

    @Test("FRM-7: a frame about an item that is copied from the one before is the frame that would be written")
    func copies() throws {
        var frames = ItemFrames()
        // The pairing's own identifier is written once and not copied, and so are the names of keys.
        let apps = ["com.example.app", "com.example.app", "a", "com.example.other", "app", "stored", "id"]
        for app in apps {
            let queue = try Self.queue(app)
            let zeros = UniqueIdentifier.zero
            for id in [.random(), .random(), queue.pairing, .random(), zeros, UniqueIdentifier(high: 1, low: .max)] {
                let item = ItemKey(queue, id)
                #expect(try frames.accepted(item) == AcceptedFrame(item).frame())
                #expect(try frames.stored(item) == ProgressFrame(item, .stored).frame())
                #expect(try frames.handled(item) == FinishedFrame(item, .handled).frame())
            }
        }
    }
}
