// The heap of timers against a sorted list: whatever is added, cancelled and run, timers come in the order of their
// deadlines, each once, and none that was cancelled.

import TandemBase
import TandemTestSupport
import Testing

@testable import TandemReactor

@Suite struct TimerQueueTests {
    /// A slow model of a timer queue.
    private struct Model {
        var live: [(deadline: UInt64, order: Int, token: TimerToken)] = []

        mutating func sort() { live.sort { ($0.deadline, $0.order) < ($1.deadline, $1.order) } }
    }

    @Test(arguments: 0..<40)
    func timersRunInOrderAndNoneThatWasCancelled(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var (queue, model, ran) = (TimerQueue(), Model(), [Int]())
        var now: UInt64 = 0
        for order in 0..<600 {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0..<3:
                let deadline = now + UInt64.random(in: 0..<50, using: &generator)
                let token = queue.add(deadline: MonotonicTime(nanoseconds: deadline)) { ran.append(order) }
                model.live.append((deadline, order, token))
            case 3:
                guard let index = model.live.indices.randomElement(using: &generator) else { continue }
                #expect(queue.cancel(model.live.remove(at: index).token) != nil)
            default:
                now += UInt64.random(in: 0..<20, using: &generator)
                while let action = queue.popDue(at: MonotonicTime(nanoseconds: now)) { action() }
                model.sort()
                let due = model.live.prefix { $0.deadline <= now }
                #expect(ran == due.map(\.order))
                model.live.removeFirst(due.count)
                ran = []
            }
            model.sort()
            #expect(queue.nextDeadline()?.nanoseconds == model.live.first?.deadline)
            #expect(queue.count == model.live.count)
        }
    }

    @Test func cancellingTheFirstGivesTheNextOne() {
        var queue = TimerQueue()
        let first = queue.add(deadline: MonotonicTime(nanoseconds: 1)) {}
        _ = queue.add(deadline: MonotonicTime(nanoseconds: 2)) {}
        #expect(queue.nextDeadline()?.nanoseconds == 1)
        #expect(queue.cancel(first) != nil)
        #expect(queue.cancel(first) == nil)
        #expect(queue.nextDeadline()?.nanoseconds == 2)
    }
}
