// Waiting until thousands are done: one after the other, in any order, and for some that were done before.

import TandemDaemonTestSupport
import TandemReactor
import TandemTestSupport
import Testing

@testable import TandemDaemon

struct ChangeWaitersTests {
    private final class Work {
        var done: [Bool]
        var looks = 0
        var isOver = false

        init(_ count: Int) { done = Array(repeating: false, count: count) }
    }

    private let scheduler = ManualScheduler()
    private let changes: ChangeWaiters

    init() { changes = ChangeWaiters(on: scheduler) }

    private func wait(for work: Work) {
        scheduler.start { [changes] in
            await changes.wait(atMost: .seconds(10), untilEach: Array(work.done.indices)) { index in
                work.looks += 1
                return work.done[index]
            }
            work.isOver = true
        }
        scheduler.run()
    }

    private func change(_ work: Work, _ index: Int, to isDone: Bool = true) {
        work.done[index] = isDone
        changes.count()
        changes.notify()
        scheduler.run()
    }

    @Test func `a change looks at few of a thousand elements that become done in order`() {
        let work = Work(1000)
        wait(for: work)
        for index in 0..<999 { change(work, index) }
        #expect(!work.isOver && work.looks < 3000)
        change(work, 999)
        #expect(work.isOver && work.looks < 5000)
    }

    @Test func `one that is no longer done is waited for again`() {
        let work = Work(3)
        wait(for: work)
        change(work, 1)
        change(work, 0)
        change(work, 1, to: false)
        change(work, 2)
        #expect(!work.isOver)
        change(work, 1)
        #expect(work.isOver)
    }

    @Test func `nothing to wait for is done at once, and the wait ends at its time`() {
        let (none, some) = (Work(0), Work(1))
        wait(for: none)
        #expect(none.isOver)
        wait(for: some)
        scheduler.advance(by: .seconds(10))
        scheduler.run()
        #expect(some.isOver)
    }
}
