// State behind a store: in force only once it is durable, in order, and as before when a commit fails.

import TandemReactor
import TandemStore
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct CommittedStateReentryTests {
    private let directory = TemporaryDirectory()
    private let faults = FaultyFileSystem()
    private let loop: EventLoop
    private let store: Store
    private let bound: LoopStore

    init() throws {
        loop = try EventLoop()
        store = try Store(path: directory.path("store"), fileSystem: faults.name)
        bound = LoopStore(store, on: loop)
    }

    private func put(_ number: Int) -> [RowChange] { [.put(space, key: [UInt8(number)], value: [])] }

    @Test func transitionsAreInForceInOrderAndOnlyAfterTheirCommit() {
        let state = CommittedState<[Int]>([], in: bound)
        var told: [[Int]] = []
        for number in 1...3 {
            state.perform(
                { next in
                    next.append(number)
                    return (put(number), { told.append(state.state) })
                }, failure: { Issue.record("\($0)") })
        }
        #expect(state.state.isEmpty, "nothing is durable yet")
        loop.run(until: { told.count == 3 })
        #expect(told == [[1], [1, 2], [1, 2, 3]])
        store.close()
    }

    @Test func aFailedCommitLeavesTheStateAndTheNextTransitionStartsFromIt() {
        let state = CommittedState<[Int]>([], in: bound)
        var failures = 0
        faults.fill(true)
        state.perform(
            { next in
                next.append(1)
                return (put(1), { Issue.record("its effect ran") })
            },
            failure: { _ in
                failures += 1; faults.fill(false)
            })
        state.perform(
            { next in
                next.append(2)
                return (put(2), {})
            }, failure: { Issue.record("\($0)") })
        loop.run(until: { state.state == [2] })
        #expect(failures == 1)
        store.close()
    }

    @Test func whatATransitionOrEffectPerformsComesAfterItAndIsNotLost() {
        let state = CommittedState<[Int]>([], in: bound)
        state.perform(
            { next in
                state.perform(
                    { inner in
                        inner.append(2)
                        return (
                            [],
                            {
                                state.perform(
                                    {
                                        $0.append(3); return (put(3), {})
                                    }, failure: { _ in })
                            }
                        )
                    }, failure: { _ in })
                next.append(1)
                return ([], {})
            }, failure: { _ in })
        loop.run(until: { state.state.count == 3 })
        #expect(state.state == [1, 2, 3])
        store.close()
    }

    @Test("DEL-31: a full disk is told when commits begin to fail and when there is room again, once each")
    func aFullDiskIsToldOnce() {
        var told: [String] = []
        var changes: [Bool] = []
        bound.onSpaceChange = { told.append($0 == nil ? "room" : "full") }
        bound.onFailingChange = { [bound] in changes.append(bound.isFailing) }
        var ended = 0
        faults.fill(true)
        for number in 1...3 { bound.commit(put(number)) { _ in ended += 1 } }
        loop.run(until: { ended == 3 })
        #expect(told == ["full"] && changes == [true] && bound.failure == .full(path: store.path))
        faults.fill(false)
        loop.run(until: { bound.fullDisk == nil })
        bound.commit(put(4)) { _ in ended += 1 }
        loop.run(until: { ended == 4 })
        #expect(told == ["full", "room"] && bound.failure == nil)
        #expect(changes == [true, false] && !bound.isFailing)
        store.close()
    }

    @Test func aPoisonedStoreIsToldBeforeTheCommitsOwner() {
        var events: [String] = []
        bound.whenPoisoned = { _ in events.append("poisoned") }
        faults.failSyncs(true)
        bound.commit(put(1)) { result in if case .failure = result { events.append("failed") } }
        loop.run(until: { events.count == 2 })
        #expect(events == ["poisoned", "failed"])
        store.close()
    }
}
