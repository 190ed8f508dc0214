// Only what is durable is in force: order, failure and calls from inside an effect.

import TandemReactor
import TandemStore
import TandemTestSupport
import Testing

@Suite struct CommittedStateTests {
    private let place = TemporaryDirectory()
    private let loop: EventLoop
    private let store: Store
    private let committed: CommittedState<[Int]>

    init() throws {
        loop = try EventLoop()
        store = try Store(path: place.path("rows.sqlite"))
        committed = CommittedState([], in: LoopStore(store, on: loop))
    }

    private static func row(_ number: Int) -> RowChange {
        .put(RowSpace(rawValue: 1), key: [UInt8(number)], value: [UInt8(number)])
    }

    private func append(_ number: Int, then effect: @escaping () -> Void = {}) {
        committed.perform(
            { state in
                state.append(number)
                return ([Self.row(number)], effect)
            }, failure: { _ in Issue.record("the store works") })
    }

    @Test func aStateIsNotInForceBeforeItsCommit() throws {
        append(1)
        #expect(committed.state == [])
        loop.run(until: { committed.state == [1] })
        #expect(try store.read(RowRange(space: RowSpace(rawValue: 1))).map(\.key) == [[1]])
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
                return ([], {})
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
                    return ([Self.row(number)], { count })
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
                    return ([Self.row(1)], {})
                }
            } catch { failure = error }
        }
        loop.run(until: { failure != nil })
        loop.runOnce()
        #expect(failure == .closed(path: store.path))
        #expect(committed.state == [])
    }

    @Test func aCommitThatFailsLeavesTheStateAsItWasAndTheNextOneRuns() {
        append(1)
        loop.run(until: { committed.state == [1] })
        store.close()
        var errors: [StoreError] = []
        for number in 2...3 {
            committed.perform(
                { state in
                    state.append(number)
                    return ([Self.row(number)], { Issue.record("an effect without its commit") })
                }, failure: { errors.append($0) })
        }
        loop.run(until: { errors.count == 2 })
        #expect(committed.state == [1])
        #expect(errors == [.closed(path: store.path), .closed(path: store.path)])
    }
}
