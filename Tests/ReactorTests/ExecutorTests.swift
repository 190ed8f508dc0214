// A scheduler as an executor: an actor pinned to it runs on its thread, an event on that thread enters the actor
// without a hop, and straight-line asynchronous code stays on it.

import Synchronization
import TandemReactor
import TandemTestSupport
import Testing

private actor Pinned {
    private let scheduler: any Scheduler
    private var calls = 0

    init(scheduler: any Scheduler) { self.scheduler = scheduler }

    nonisolated var unownedExecutor: UnownedSerialExecutor { scheduler.asUnownedSerialExecutor() }

    func callFromAnywhere() -> (atHome: Bool, calls: Int) {
        calls += 1
        return (scheduler.isCurrent, calls)
    }

    /// An event's entry to the actor: it is on the loop's thread already.
    nonisolated func eventHappened() -> Int {
        assumeIsolated { isolated in
            isolated.calls += 1
            return isolated.calls
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct ExecutorTests {
    @Test func anActorPinnedToALoopRunsOnItsThread() async throws {
        let loop = try EventLoop()
        try loop.startThread()
        let actor = Pinned(scheduler: loop)
        for call in 1...3 {
            let seen = await actor.callFromAnywhere()
            #expect(seen.atHome)
            #expect(seen.calls == call)
        }
        #expect(!loop.isCurrent)
        loop.stop()
        loop.join()
    }

    @Test func anEventEntersTheActorWithoutAHop() async throws {
        let loop = try EventLoop()
        try loop.startThread()
        let actor = Pinned(scheduler: loop)
        let calls = await withCheckedContinuation { continuation in
            loop.submit { continuation.resume(returning: actor.eventHappened()) }
        }
        #expect(calls == 1)
        loop.stop()
        loop.join()
    }

    @Test func manyTasksOfOneActorNeverOverlap() async throws {
        let loop = try EventLoop()
        try loop.startThread()
        let actor = Pinned(scheduler: loop)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 { group.addTask { _ = await actor.callFromAnywhere() } }
        }
        #expect(await actor.callFromAnywhere().calls == 201)
        loop.stop()
        loop.join()
    }

    @Test func enteringTheActorFromAnotherThreadTraps() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            try loop.startThread()
            _ = Pinned(scheduler: loop).eventHappened()
        }
    }
}

/// A class of one thread, for code that never leaves it.
private final class Diary {
    var lines: [String] = []
}

/// Straight-line asynchronous code on a scheduler: it may use what is confined to the scheduler's thread.
@Suite(.timeLimit(.minutes(10))) struct StraightLineTests {
    @Test func codeStartsAtOnceAndResumesInSubmissionOrder() {
        let scheduler = ManualScheduler()
        let diary = Diary()
        var waiting: CheckedContinuation<Int, Never>?
        scheduler.start {
            diary.lines.append("started")
            let value = await withCheckedContinuation { waiting = $0 }
            diary.lines.append("resumed with \(value) at home: \(scheduler.isCurrent)")
        }
        #expect(diary.lines == ["started"])
        let bound = LoopBound(diary, to: scheduler)
        scheduler.submit { bound.value.lines.append("before") }
        waiting?.resume(returning: 7)
        scheduler.submit { bound.value.lines.append("after") }
        #expect(diary.lines == ["started"])
        scheduler.run()
        #expect(diary.lines == ["started", "before", "resumed with 7 at home: true", "after"])
    }

    @Test func sleepersWakeInTheOrderOfTheirTimers() {
        let scheduler = ManualScheduler()
        let diary = Diary()
        for seconds in [3, 1, 2] {
            scheduler.start {
                await scheduler.sleep(for: .seconds(seconds))
                diary.lines.append("\(seconds) s")
                await scheduler.sleep(for: .seconds(3))
                diary.lines.append("\(seconds) s and 3 s")
            }
        }
        scheduler.advance(by: .seconds(3))
        #expect(diary.lines == ["1 s", "2 s", "3 s"])
        scheduler.advance(by: .seconds(3))
        #expect(diary.lines.suffix(3) == ["1 s and 3 s", "2 s and 3 s", "3 s and 3 s"])
    }

    @Test func codeThatIsStartedByCodeRunsInside() {
        let scheduler = ManualScheduler()
        let diary = Diary()
        scheduler.start {
            diary.lines.append("outer")
            await scheduler.sleep(for: .zero)
            scheduler.start {
                diary.lines.append("inner")
                await scheduler.sleep(for: .zero)
                diary.lines.append("inner, later")
            }
            diary.lines.append("outer, after it")
        }
        scheduler.run()
        #expect(diary.lines == ["outer", "inner", "outer, after it", "inner, later"])
    }

    @Test func anAnswerFromAnotherThreadResumesOnTheLoop() async throws {
        let loop = try EventLoop()
        try loop.startThread()
        let lines = await withCheckedContinuation { finished in
            loop.submit {
                let diary = Diary()
                var asked: CheckedContinuation<Int, Never>?
                loop.start {
                    let value = await withCheckedContinuation { asked = $0 }
                    diary.lines.append("\(value) on the loop: \(loop.isCurrent)")
                    await loop.sleep(for: .zero)
                    diary.lines.append("awake on the loop: \(loop.isCurrent)")
                    await helper(loop, diary)
                    finished.resume(returning: diary.lines)
                }
                diary.lines.append("went on")
                // Only now: a continuation that is resumed before the code suspends needs no hop back to the loop.
                _ = Task.detached { [asked] in asked?.resume(returning: 3) }
            }
        }
        #expect(
            lines == ["went on", "3 on the loop: true", "awake on the loop: true", "helped on the loop: true"])
        loop.stop()
        loop.join()
    }

    @Test func anActorOnAManualSchedulerIsEnteredWithoutAHop() {
        let scheduler = ManualScheduler()
        let actor = Pinned(scheduler: scheduler)
        #expect(actor.eventHappened() == 1)
        var calls = 0
        scheduler.start {
            let seen = await actor.callFromAnywhere()
            #expect(seen.atHome)
            calls = seen.calls
            #expect(actor.eventHappened() == 3)
        }
        #expect(calls == 0 || calls == 2)
        scheduler.run()
        #expect(calls == 2)
    }

    @Test func aLoopThatStopsDropsItsSleepers() async throws {
        let loop = try EventLoop()
        try loop.startThread()
        loop.submit {
            loop.start {
                await loop.sleep(for: .seconds(3600))
                Issue.record("awake after the stop")
            }
        }
        loop.stop()
        loop.join()
    }

    @Test func startingOnAnotherThreadTraps() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            try loop.startThread()
            loop.start {}
        }
    }
}

/// An asynchronous function stays on its caller's executor.
private func helper(_ loop: EventLoop, _ diary: Diary) async {
    await Task.yield()
    diary.lines.append("helped on the loop: \(loop.isCurrent)")
}
