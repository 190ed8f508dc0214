// Items for which the peer has no room: they wait without using up attempts, ever more patiently, and not beyond their
// time.

import TandemBase
import TandemDelivery
import TandemWire
import Testing

@Suite struct OutboundQueueRoomTests {
    private let noRoom = ItemRefusal(code: 7015, name: "insufficient-space")

    private func sentQueue(lifetime: Duration? = nil) throws -> OutboundQueue {
        var queue = try outbound()
        _ = try queue.enqueue(item(1, lifetime: lifetime), at: reading(0))
        _ = try queue.enqueue(item(2), at: reading(0))
        _ = queue.linkOpened(received: 0, at: reading(0))
        return queue
    }

    @Test(
        "DEL-12, LIM-15: want of room is no attempt, and the pause before the item comes again doubles to a minute")
    func pauses() throws {
        var queue = try sentQueue()
        var time: Int64 = 0
        for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60] as [Int64] {
            #expect(queue.blockedOnSpace(identifier(1), noRoom, at: reading(time)).sent.isEmpty)
            #expect(queue.nextDeadline == reading(time + pause).monotonic)
            #expect(queue.timeAdvanced(at: reading(time + pause - 1)).sent.isEmpty)
            time += pause
            #expect(queue.timeAdvanced(at: reading(time)).sent == [1, 2])
        }
        #expect(queue.record(of: identifier(1))?.attempts == 0 && queue.headRefusal == noRoom)
        #expect(queue.stored(through: 1, at: reading(time)).gaps.isEmpty)
        #expect(queue.headRefusal == nil, "that of the next one is not told yet")
        _ = queue.blockedOnSpace(identifier(2), noRoom, at: reading(time))
        #expect(queue.nextDeadline == reading(time + 1).monotonic, "another item begins with a short pause")
    }

    @Test("CTL-12, LIM-14: a queue is a backlog from four fifths of its items or of its bytes on")
    func backlog() {
        let (limits, mebibyte) = (DeliveryLimits(), 1 << 20)
        #expect(limits.isBacklog(count: 8000, bytes: 0) && !limits.isBacklog(count: 7999, bytes: 0))
        #expect(limits.isBacklog(count: 1, bytes: 52 * mebibyte) && !limits.isBacklog(count: 1, bytes: 51 * mebibyte))
    }

    @Test("DEL-12: what was said before is not written again, and a new link asks at once")
    func writesOnce() throws {
        var queue = try sentQueue()
        let first = queue.blockedOnSpace(identifier(1), noRoom, at: reading(0))
        #expect(!first.changes.isEmpty)
        _ = queue.timeAdvanced(at: reading(1))
        let second = queue.blockedOnSpace(identifier(1), noRoom, at: reading(1))
        #expect(second.changes.isEmpty && second.effects.isEmpty)
        queue.linkClosed()
        #expect(queue.linkOpened(received: 0, at: reading(2)).sent == [1, 2])
        #expect(queue.blockedOnSpace(identifier(7), noRoom, at: reading(2)).changes.isEmpty, "no such item")
    }

    @Test(
        "DEL-8, DEL-12: an item that waits for room expires in its time, also within a pause, and the next one goes on")
    func expires() throws {
        var queue = try sentQueue(lifetime: .seconds(100))
        for time in [0, 1, 3, 7, 15, 31, 63] as [Int64] {
            _ = queue.timeAdvanced(at: reading(time))
            _ = queue.blockedOnSpace(identifier(1), noRoom, at: reading(time))
        }
        #expect(queue.nextDeadline == reading(100).monotonic)
        #expect(queue.timeAdvanced(at: reading(100)).gaps == [1])
        let ended = queue.ended(1, .withdrawn(.expired), at: reading(101))
        #expect(ended.finished == [.withdrawn(.expired)])
        #expect(queue.stored(through: 2, at: reading(102)).gaps.isEmpty && queue.lastStored == 2)
    }

    @Test("DEL-12, DEL-25: other refusals count from the first, however long the item has waited for room")
    func otherRefusals() throws {
        var queue = try sentQueue()
        for minute in Int64(0)..<10 {
            _ = queue.blockedOnSpace(identifier(1), noRoom, at: reading(minute * 60))
            #expect(queue.timeAdvanced(at: reading((minute + 1) * 60)).sent == [1, 2])
        }
        let damaged = ItemRefusal(code: 7014, name: "digest-mismatch")
        for minute in Int64(10)..<14 {
            #expect(queue.refused(identifier(1), damaged, at: reading(minute * 60)).gaps.isEmpty)
            #expect(queue.timeAdvanced(at: reading((minute + 1) * 60)).sent == [1, 2])
        }
        #expect(queue.refused(identifier(1), damaged, at: reading(14 * 60)).gaps == [1])
    }

    @Test("DEL-12: an answer counts once for each sending, whatever the peer says again within the pause")
    func saidAgain() throws {
        var queue = try sentQueue()
        _ = queue.blockedOnSpace(identifier(1), noRoom, at: reading(0))
        for number in 0..<20 {
            let other = ItemRefusal(code: 7015, name: "other-\(number)")
            #expect(queue.blockedOnSpace(identifier(1), other, at: reading(0)) == OutboundTransition())
            #expect(queue.refused(identifier(1), other, at: reading(0)) == OutboundTransition())
        }
        #expect(queue.record(of: identifier(1))?.attempts == 0 && queue.headRefusal == noRoom)
        #expect(queue.nextDeadline == reading(1).monotonic)
        #expect(queue.timeAdvanced(at: reading(1)).sent == [1, 2])
        _ = queue.blockedOnSpace(identifier(1), noRoom, at: reading(1))
        #expect(queue.nextDeadline == reading(3).monotonic, "the second pause, not the last one")
    }
}
