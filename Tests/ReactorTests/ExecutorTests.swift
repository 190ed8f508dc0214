// The loop as an executor: an actor pinned to it runs on its thread, and an event on that thread enters the actor without
// a hop.

import Synchronization
import TandemReactor
import Testing

/// An actor that lives on a loop.
private actor Pinned {
    private let loop: EventLoop
    private var calls = 0

    init(loop: EventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func callFromAnywhere() -> (onLoop: Bool, calls: Int) {
        calls += 1
        return (loop.isCurrent, calls)
    }

    /// What an event does: it is on the loop's thread already.
    nonisolated func eventHappened() -> Int {
        assumeIsolated { isolated in
            isolated.calls += 1
            return isolated.calls
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct ExecutorTests {
    @Test func anActorPinnedToALoopRunsOnItsThread() async throws {
        let loop = try EventLoop()
        try loop.startThread()
        let actor = Pinned(loop: loop)
        for call in 1...3 {
            let seen = await actor.callFromAnywhere()
            #expect(seen.onLoop)
            #expect(seen.calls == call)
        }
        #expect(!loop.isCurrent)
        loop.stop()
        loop.join()
    }

    @Test func anEventEntersTheActorWithoutAHop() async throws {
        let loop = try EventLoop()
        try loop.startThread()
        let actor = Pinned(loop: loop)
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
        let actor = Pinned(loop: loop)
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
            _ = Pinned(loop: loop).eventHappened()
        }
    }
}
