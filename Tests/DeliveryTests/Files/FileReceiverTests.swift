// A sender without manners: what it sends beyond what was asked for is never held.

import TandemBase
import TandemDelivery
import Testing

@Suite struct FileReceiverTests {
    @Test("FIL-7, LIM-29: however many holes it is shown, it holds no more than two windows that are not written")
    func holes() {
        let now = MonotonicTime(nanoseconds: 1)
        var receiver = FileReceiver(size: 1 << 30, written: 0, at: now)
        var offset: Int64 = 0
        for _ in 0..<200 {
            if receiver.chunk(at: offset, count: 65_536, at: now) == .write { offset += 65_536 }
            _ = receiver.chunk(at: offset + 131_072, count: 65_536, at: now)
        }
        #expect(offset == 2 * 262_144)
        // Once that is written it goes on.
        for _ in 0..<8 { _ = receiver.wrote(65_536, at: now) }
        #expect(receiver.chunk(at: offset, count: 65_536, at: now) == .write)
    }
}
