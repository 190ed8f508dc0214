// A disk that ends no commit, and one that is only slow, by a manual clock (CTL-77).

import Synchronization
import TandemBase
import TandemReactor
import TandemStore
import TandemTestSupport
import Testing

/// Rows in memory; while it is held, its commits end when the test says so.
private final class HeldStore: RowBackend {
    private let memory = MemoryStore()
    /// Nil while it is not held.
    private let waiting = Mutex<[@Sendable () -> Void]?>(nil)

    let path = "held"

    func commit(
        _ changes: [RowChange], room: CommitRoom, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let end: @Sendable () -> Void = { [memory] in memory.commit(changes, room: room, completion: completion) }
        let isHeld = waiting.withLock { waiting -> Bool in
            waiting?.append(end)
            return waiting != nil
        }
        if !isHeld { end() }
    }

    func fetch(_ range: RowRange, completion: @escaping @Sendable (Result<[Row], StoreError>) -> Void) {
        memory.fetch(range, completion: completion)
    }

    func hold() { waiting.withLock { $0 = [] } }

    /// Ends the oldest commit.
    func endOne() { waiting.withLock { $0?.removeFirst() }?() }

    /// Ends all, and each further one at once.
    func goOn() {
        let ends = waiting.withLock { waiting -> [@Sendable () -> Void] in
            defer { waiting = nil }
            return waiting ?? []
        }
        for end in ends { end() }
    }
}

@Suite struct CommitWatchTests {
    private let scheduler = ManualScheduler()
    private let disk = HeldStore()
    private let store: LoopStore
    private let reports = Reports()

    private final class Reports {
        var all: [ClockReading?] = []
        var failing: [Bool] = []
    }

    init() {
        store = LoopStore(disk, on: scheduler)
        store.watchDisk(for: .seconds(5))
        store.onStallChange = { [reports] in reports.all.append($0) }
        store.onFailingChange = { [reports, unowned store] in reports.failing.append(store.isFailing) }
    }

    private func commit(_ number: UInt8) {
        store.commit([.put(space, key: [number], value: [number])]) { _ in }
        scheduler.run()
    }

    @Test func `CTL-77: a disk that ends no commit for 5 s is reported once, since when, and once when it goes on`() {
        commit(1)
        scheduler.advance(by: .seconds(3600))
        disk.hold()
        let begun = scheduler.reading
        for number in UInt8(2)...9 { commit(number) }
        #expect(!store.mayBeStalled)
        scheduler.advance(by: .milliseconds(4999))
        #expect(reports.all.isEmpty && !store.isFailing && store.mayBeStalled)
        scheduler.advance(by: .milliseconds(1))
        #expect(reports.all == [begun] && store.stalledSince == begun && store.isFailing && !store.mayBeStalled)
        scheduler.advance(by: .seconds(3600))
        commit(10)
        scheduler.advance(by: .seconds(3600))
        #expect(reports.all == [begun])
        disk.goOn()
        scheduler.run()
        #expect(reports.all == [begun, nil] && reports.failing == [true, false] && store.stalledSince == nil)
    }

    @Test func `CTL-77: a disk that stalls again, with other commits behind the first, is reported again`() {
        disk.hold()
        for number in UInt8(1)...3 { commit(number) }
        scheduler.advance(by: .seconds(5))
        disk.endOne()
        scheduler.run()
        #expect(reports.all.count == 2)
        scheduler.advance(by: .seconds(5))
        #expect(reports.all.count == 3 && store.isFailing)
    }

    @Test func `CTL-77: a stall begins with the last end or the first commit after it, whenever the watch looks`() {
        disk.hold()
        commit(1)
        scheduler.advance(by: .milliseconds(700))
        commit(2)
        disk.endOne()
        scheduler.run()
        let ended = scheduler.reading
        scheduler.advance(by: .milliseconds(5300))
        #expect(reports.all == [ended])
        disk.goOn()
        scheduler.run()
        commit(3)
        scheduler.advance(by: .milliseconds(600))
        disk.hold()
        commit(4)
        let begun = scheduler.reading
        scheduler.advance(by: .seconds(6))
        #expect(reports.all == [ended, nil, begun])
    }

    @Test func `CTL-77: a slow disk, which ends one commit in 4 s, answers`() {
        disk.hold()
        commit(0)
        for number in UInt8(1)...40 {
            commit(number)
            scheduler.advance(by: .seconds(4))
            disk.endOne()
            scheduler.run()
        }
        #expect(reports.all.isEmpty && reports.failing.isEmpty)
    }

    @Test func `no timer runs while no commit is under way`() {
        #expect(scheduler.timerCount == 0)
        for number in UInt8(1)...9 { commit(number) }
        #expect(scheduler.timerCount == 1)
        scheduler.advance(by: .seconds(1))
        #expect(scheduler.timerCount == 0)
    }
}
