// State behind a store: in force only once it is durable, in order, and as before when a commit fails; and calls from
// inside a transition or an effect.

import TandemReactor
import TandemStore
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct CommittedStateTests {
    private let place = TemporaryDirectory()
    private let faults = FaultyFileSystem()
    private let loop: EventLoop
    private let store: Store
    private let bound: LoopStore
    private let committed: CommittedState<[Int]>

    init() throws {
        loop = try EventLoop()
        store = try Store(path: place.path("rows.sqlite"), fileSystem: faults.name)
        bound = LoopStore(store, on: loop)
        committed = CommittedState([], in: bound)
    }

    private static func row(_ number: Int) -> RowChange {
        .put(space, key: [UInt8(number)], value: [UInt8(number)])
    }

    private func append(_ number: Int, then effect: @escaping () -> Void = {}) {
        committed.perform(
            { state in
                state.append(number)
                return Commit([Self.row(number)], then: effect)
            }, failure: { _ in Issue.record("the store works") })
    }

    @Test func aStateIsNotInForceBeforeItsCommit() throws {
        append(1)
        #expect(committed.state == [])
        loop.run(until: { committed.state == [1] })
        #expect(try store.keys(RowRange(space: space)) == [[1]])
    }

    @Test func transitionsRunOneAfterAnotherEachOnTheResultOfTheLast() {
        var seen: [[Int]] = []
        for number in 1...5 { append(number) { [committed] in seen.append(committed.state) } }
        loop.run(until: { seen.count == 5 })
        #expect(seen == [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5]])
    }

    @Test func anEffectMayPerformTheNextTransition() {
        append(1) { append(2) { append(3) } }
        loop.run(until: { committed.state.count == 3 })
        #expect(committed.state == [1, 2, 3])
    }

    @Test func whatATransitionOrEffectPerformsComesAfterItAndIsNotLost() {
        committed.perform(
            { state in
                committed.perform(
                    { inner in
                        inner.append(2)
                        return Commit([]) { append(3) }
                    }, failure: { _ in })
                state.append(1)
                return Commit([]) {}
            }, failure: { _ in })
        loop.run(until: { committed.state.count == 3 })
        #expect(committed.state == [1, 2, 3])
    }

    @Test func aHeldStateChangesWithAnothersCommit() {
        append(1)
        var effects: [[Int]] = []
        loop.start { [committed] in
            await committed.hold()
            committed.release(committed.state + [2]) { effects.append(committed.state) }
            await committed.hold()
            committed.release()
        }
        append(3)
        loop.run(until: { committed.state.count == 3 })
        #expect(committed.state.first == 1 && Set(committed.state) == [1, 2, 3])
        #expect(effects.count == 1 && effects.first?.last == 2)
    }

    @Test func aTransitionWithoutRowsIsInForceAtOnce() {
        committed.perform(
            { state in
                state.append(9)
                return Commit([]) {}
            }, failure: { _ in Issue.record("nothing was to be stored") })
        #expect(committed.state == [9])
    }

    @Test func awaitedTransitionsReturnInOrderAndInForce() throws {
        var seen: [[Int]] = []
        for number in 1...3 {
            loop.start { [committed] in
                let length = try? await committed.commit { state in
                    state.append(number)
                    let count = state.count
                    return Commit([Self.row(number)]) { count }
                }
                #expect(length == number && loop.isCurrent)
                #expect(committed.state.starts(with: 1...number))
                seen.append(committed.state)
            }
        }
        #expect(seen.isEmpty && committed.state.isEmpty, "nothing is durable yet")
        loop.run(until: { seen.count == 3 })
        #expect(seen.last == [1, 2, 3])
    }

    @Test func anAwaitedTransitionThatCannotBeStoredThrows() {
        store.close()
        var failure: StoreError?
        loop.start { [committed] in
            do throws(StoreError) {
                try await committed.commit { state in
                    state.append(1)
                    return Commit([Self.row(1)]) {}
                }
            } catch { failure = error }
        }
        loop.run(until: { failure != nil })
        loop.runOnce()
        #expect(failure == .closed(path: store.path))
        #expect(committed.state == [])
    }

    @Test func aFailedCommitLeavesTheStateAndTheNextTransitionStartsFromIt() {
        var failures = 0
        faults.fill(true)
        committed.perform(
            { state in
                state.append(1)
                return Commit([Self.row(1)]) { Issue.record("an effect without its commit") }
            },
            failure: { _ in
                failures += 1
                faults.fill(false)
            })
        append(2)
        loop.run(until: { committed.state == [2] })
        #expect(failures == 1)
    }

    @Test("DEL-31: a full disk is told when commits begin to fail and when there is room again, once each")
    func aFullDiskIsToldOnce() {
        var told: [String] = []
        var changes: [Bool] = []
        bound.onSpaceChange = { told.append($0 == nil ? "room" : "full") }
        bound.onFailingChange = { [bound] in changes.append(bound.isFailing) }
        var ended = 0
        faults.fill(true)
        for number in 1...3 { bound.commit([Self.row(number)]) { _ in ended += 1 } }
        loop.run(until: { ended == 3 })
        #expect(told == ["full"] && changes == [true] && bound.failure == .full(path: store.path))
        faults.fill(false)
        loop.run(until: { bound.fullDisk == nil })
        bound.commit([Self.row(4)]) { _ in ended += 1 }
        loop.run(until: { ended == 4 })
        #expect(told == ["full", "room"] && bound.failure == nil)
        #expect(changes == [true, false] && !bound.isFailing)
    }

    @Test func aPoisonedStoreIsToldBeforeTheCommitsOwner() {
        var events: [String] = []
        bound.whenPoisoned = { _ in events.append("poisoned") }
        faults.failSyncs(true)
        bound.commit([Self.row(1)]) { result in if case .failure = result { events.append("failed") } }
        loop.run(until: { events.count == 2 })
        #expect(events == ["poisoned", "failed"])
    }
}
