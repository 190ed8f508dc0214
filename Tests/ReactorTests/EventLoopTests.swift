// The loop's promises: the thread and the order of its calls to handlers.

import Glibc
import Synchronization
import TandemBase
import TandemReactor
import TandemTestSupport
import Testing

/// Remembers what its descriptor was ready for.
private final class ReadinessRecorder: ReadinessTarget {
    private(set) var seen: [Readiness] = []
    var onReady: (() -> Void)?

    func isReady(_ readiness: Readiness) {
        seen.append(readiness)
        onReady?()
    }
}

@Suite(.timeLimit(.minutes(10))) struct EventLoopTests {
    private let loop: EventLoop

    init() throws { loop = try EventLoop() }

    private func write(_ descriptor: CInt) throws {
        #expect(try [UInt8](repeating: 1, count: 1).withUnsafeBytes { try Linux.write(descriptor, $0) } == .bytes(1))
    }

    @Test func aReadableDescriptorIsReported() throws {
        let pipe = try DescriptorPair.pipe()
        let recorder = ReadinessRecorder()
        let registration = try loop.register(pipe.first.raw, for: .readable, target: recorder)
        loop.runOnce()
        #expect(recorder.seen.isEmpty)
        try write(pipe.second.raw)
        loop.runOnce()
        #expect(recorder.seen == [.readable])
        loop.deregister(registration)
        loop.runOnce()
        #expect(recorder.seen.count == 1)
    }

    @Test func anEventOfAClosedAndReopenedDescriptorIsDropped() throws {
        let first = ReadinessRecorder()
        let second = ReadinessRecorder()
        let reopened = ReadinessRecorder()
        var pipes: [RawPipe] = try [RawPipe(), RawPipe()]
        var registrations = [
            try loop.register(pipes[0].reading, for: .readable, target: first),
            try loop.register(pipes[1].reading, for: .readable, target: second),
        ]
        for pipe in pipes { try write(pipe.writing) }
        // Both are ready in one wait. The first to run closes the other and gives its number to another pipe, in one
        // step: a test that runs beside this one cannot open anything under that number in between.
        let replaceOther = { (other: Int) in
            loop.deregister(registrations[other])
            let number = pipes[other].reading
            let replacement = try RawPipe()
            #expect(dup2(replacement.reading, number) == number)
            try self.write(replacement.writing)
            registrations[other] = try loop.register(number, for: .readable, target: reopened)
            pipes.append(replacement)
        }
        first.onReady = {
            first.onReady = nil
            #expect(throws: Never.self) { try replaceOther(1) }
        }
        loop.runOnce()
        #expect(first.seen == [.readable])
        #expect(second.seen.isEmpty)
        #expect(reopened.seen.isEmpty, "the old pipe's event must not reach the new one")
        #expect(loop.staleEvents == 1)
        loop.runOnce()
        #expect(reopened.seen == [.readable])
    }

    @Test func aSleepingLoopIsWokenOnceByTheFirstOfManyJobs() throws {
        let counter = Atomic<Int>(0)
        let counts = SystemCallCounter.counting {
            for _ in 0..<100 { loop.submit { counter.wrappingAdd(1, ordering: .relaxed) } }
        }
        #expect(counts.wakeUps == 0, "nobody sleeps: nothing to wake")
        loop.runOnce()
        let ran = counter.load(ordering: .relaxed)
        #expect(ran == 100)
    }

    @Test func jobsFromManyThreadsAllRunInTheOrderOfEachThread() throws {
        let log = Mutex<[Int]>([])
        let finished = Atomic<Int>(0)
        let threads = try (0..<4).map { thread in
            try LoopThread(named: "submitter") {
                for number in 0..<500 { loop.submit { log.withLock { $0.append(thread * 1000 + number) } } }
                loop.submit { finished.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        loop.run { finished.load(ordering: .relaxed) == 4 }
        for thread in threads { thread.join() }
        let numbers = log.withLock { $0 }
        #expect(numbers.count == 2000)
        for thread in 0..<4 {
            #expect(numbers.filter { $0 / 1000 == thread } == (0..<500).map { thread * 1000 + $0 })
        }
    }

    @Test func `a timer of no time that makes another one keeps no event waiting`() throws {
        var fired = 0
        func fire() {
            fired += 1
            if fired < 1000 { loop.schedule(after: .zero, fire) }
        }
        loop.schedule(after: .zero, fire)
        loop.runOnce()
        #expect(fired == 1)
        loop.runOnce()
        #expect(fired == 2)
    }

    @Test func `LIM-66: a loop rests once after a burst of turns, and not after a few`() throws {
        var rests = 0
        loop.afterBursts(of: 10, rest: .milliseconds(200)) { rests += 1 }
        for _ in 0..<30 { loop.runOnce() }
        loop.run { rests == 1 }
        for _ in 0..<5 { loop.runOnce() }
        var isOver = false
        loop.schedule(after: .milliseconds(300)) { isOver = true }
        loop.run { isOver }
        #expect(rests == 1)
    }

    @Test func `LIM-66: the usual burst is 64 turns, and a second with fewer is the rest`() throws {
        var rests: [MonotonicTime] = []
        loop.afterBursts { rests.append(loop.now) }
        for _ in 0..<60 { loop.runOnce() }
        // Longer than the rest, and two turns at most: no look is under way before the burst.
        var isAfterRest = false
        loop.schedule(after: .milliseconds(1100)) { isAfterRest = true }
        loop.run { isAfterRest }
        loop.runOnce()
        #expect(rests.isEmpty)
        // The next turn begins the rest: 64 more turns begin another one, and 40 do not.
        for (turns, expected) in [(40, Duration.seconds(1) ..< .seconds(2)), (64, .seconds(2) ..< .seconds(3))] {
            let first = loop.now
            rests = []
            if turns == 64 { for _ in 0..<63 { loop.runOnce() } }
            for _ in 0...turns { loop.runOnce() }
            var isLate = false
            loop.schedule(after: .seconds(4)) { isLate = true }
            loop.run { !rests.isEmpty || isLate }
            let rest = rests.first?.since(first) ?? .zero
            #expect(expected.contains(rest), "rested after \(rest), with \(turns) more turns")
        }
    }

    @Test func aJobSubmittedByAJobRunsInALaterTurn() throws {
        let order = Mutex<[String]>([])
        loop.submit {
            loop.submit { order.withLock { $0.append("later") } }
            loop.atEndOfTurn { order.withLock { $0.append("end of turn") } }
        }
        loop.runOnce()
        #expect(order.withLock { $0 } == ["end of turn"])
        loop.runOnce()
        #expect(order.withLock { $0 } == ["end of turn", "later"])
    }

    @Test func timersRunInOrderOfDeadlineThenOfMaking() throws {
        var order: [String] = []
        loop.schedule(after: .milliseconds(4)) { order.append("4") }
        loop.schedule(after: .milliseconds(2)) { order.append("2") }
        let cancelled = loop.schedule(after: .milliseconds(3)) { order.append("cancelled") }
        loop.schedule(after: .zero) { order.append("0 first") }
        loop.schedule(after: .zero) { order.append("0 second") }
        loop.cancel(cancelled)
        loop.run { order.count == 4 }
        #expect(order == ["0 first", "0 second", "2", "4"])
    }

    @Test func aTimerNeverRunsEarly() throws {
        let start = loop.now
        var end = start
        loop.schedule(after: .milliseconds(5)) { end = loop.now }
        loop.run { end > start }
        #expect(end.since(start) >= .milliseconds(5))
    }

    @Test func timeIsReadOnceInATurnAndFreshBetweenTurns() throws {
        var inTurn: [MonotonicTime] = []
        loop.atEndOfTurn { for _ in 0..<1000 { inTurn.append(loop.now) } }
        loop.runOnce()
        #expect(Set(inTurn).count == 1)
        let before = loop.now
        var after = loop.now
        while after == before { after = loop.now }
        #expect(after > before)
    }

    @Test func aTurnsEndMayAddToItself() throws {
        var order: [Int] = []
        loop.atEndOfTurn {
            order.append(1)
            loop.atEndOfTurn { order.append(2) }
        }
        loop.runOnce()
        #expect(order == [1, 2])
    }

    @Test func stopRunsWhatWasAcceptedAndRefusesTheRest() throws {
        let ran = Atomic<Int>(0)
        for _ in 0..<10 { loop.submit { ran.wrappingAdd(1, ordering: .relaxed) } }
        loop.stop()
        loop.run()
        let accepted = ran.load(ordering: .relaxed)
        #expect(accepted == 10)
        loop.submit { ran.wrappingAdd(1, ordering: .relaxed) }
        loop.runOnce()
        let afterwards = ran.load(ordering: .relaxed)
        #expect(afterwards == 10)
    }

    @Test func aLoopOnItsOwnThreadStopsAndJoins() throws {
        try loop.startThread()
        let isElsewhere = Atomic<Bool>(false)
        loop.submit {
            isElsewhere.store(loop.isCurrent, ordering: .releasing)
            loop.stop()
        }
        loop.join()
        let wasElsewhere = isElsewhere.load(ordering: .acquiring)
        #expect(wasElsewhere)
    }

    @Test func aStoppedLoopLetsGoOfItsTimersAndTargets() throws {
        final class Token {}
        weak var kept: Token?
        do {
            let token = Token()
            kept = token
            loop.schedule(after: .seconds(1000)) { withExtendedLifetime(token) {} }
        }
        #expect(kept != nil)
        loop.stop()
        loop.run()
        #expect(kept == nil)
    }

    @Test func anotherThreadMayNotTouchALoop() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            let thread = try LoopThread(named: "intruder") { loop.schedule(after: .zero) {} }
            thread.join()
        }
    }
}

/// A pipe that an array can contain.
private final class RawPipe {
    private let pair: DescriptorPair

    init() throws { pair = try DescriptorPair.pipe() }

    var reading: CInt { pair.first.raw }
    var writing: CInt { pair.second.raw }
}
