// A value of which only what is durable is in force. Transitions run one at a time: each works on a copy, its rows are
// committed, and only then the copy becomes the state and its effects run. A commit that fails changes nothing, so
// memory and disk never tell two stories. For state that changes rarely (pairings, owners, configurations), not for
// queues.

/// The answer of a transition: the rows to commit, and what to do once they are durable.
package struct Commit<Outcome> {
    package let changes: [RowChange]
    package let effect: () -> Outcome

    package init(_ changes: [RowChange], then effect: @escaping () -> Outcome) {
        self.changes = changes
        self.effect = effect
    }
}

/// A state machine's value behind a store.
package final class CommittedState<State> {
    /// Works on a copy of the state.
    package typealias Transition = (inout State) -> Commit<Void>

    private enum Turn {
        case step(Step)
        case holder(UnsafeContinuation<Void, Never>)
    }

    private struct Step {
        let transition: Transition
        let room: CommitRoom
        let failure: (StoreError) -> Void
    }

    /// The state as it is durable.
    package private(set) var state: State
    private let store: LoopStore
    private var waiting: [Turn] = []
    /// A commit is under way, or the state is held.
    private var isCommitting = false
    /// A transition or an effect runs: what it performs itself comes after it, never inside it.
    private var isRunning = false

    package init(_ state: State, in store: LoopStore) {
        self.state = state
        self.store = store
    }

    /// Runs the transition after those before it. One without changes takes effect without a commit.
    /// - Parameters:
    ///   - room: what the commit may use of a full disk.
    ///   - failure: called instead of the effect if the changes could not be stored; the state is as before.
    package func perform(
        room: CommitRoom = .ordinary, _ transition: @escaping Transition, failure: @escaping (StoreError) -> Void
    ) {
        waiting.append(.step(Step(transition: transition, room: room, failure: failure)))
        runWaiting()
    }

    /// Runs the transition after those before it. Its effect runs once its rows are durable and before any other
    /// transition; the result of the effect is returned in a later turn, when the state may have changed again.
    package func commit<Outcome: Sendable>(
        room: CommitRoom = .ordinary, _ transition: @escaping (inout State) -> Commit<Outcome>
    ) async throws(StoreError) -> Outcome {
        // Unsafe, because a scheduler that stops drops its commits and with them the callers: no misuse to report.
        let result = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<Outcome, StoreError>, Never>) in
            perform(
                room: room,
                { next in
                    let answer = transition(&next)
                    return Commit(answer.changes) { continuation.resume(returning: .success(answer.effect())) }
                }, failure: { continuation.resume(returning: .failure($0)) })
        }
        return try result.get()
    }

    /// Runs the transition like ``commit(room:_:)``; returns whether it was stored.
    /// - Parameter failure: called if it was not.
    package func isStored(
        room: CommitRoom = .ordinary, _ transition: @escaping Transition, failure: (StoreError) -> Void
    ) async -> Bool {
        do throws(StoreError) {
            try await commit(room: room, transition)
            return true
        } catch {
            failure(error)
            return false
        }
    }

    /// Runs the effect after the transitions before it, and before any other one.
    package func inTurn(_ effect: @escaping () -> Void) {
        perform({ _ in Commit([], then: effect) }, failure: { _ in })
    }

    /// Holds back the transitions that follow until ``release(_:then:)``, for a change that another state's commit
    /// makes durable with its own. Returns after the transitions before.
    package func hold() async {
        await withUnsafeContinuation { continuation in
            waiting.append(.holder(continuation))
            runWaiting()
        }
    }

    /// Ends ``hold()``.
    /// - Parameters:
    ///   - next: the state whose rows are durable now; nil leaves it as it was.
    ///   - effect: runs before any other transition.
    package func release(_ next: State? = nil, then effect: () -> Void = {}) {
        if let next { state = next }
        isRunning = true
        effect()
        isCommitting = false
        isRunning = false
        runWaiting()
    }

    private func runWaiting() {
        guard !isRunning else { return }
        isRunning = true
        while !isCommitting, !waiting.isEmpty {
            switch waiting.removeFirst() {
            case .step(let step): begin(step)
            case .holder(let continuation):
                isCommitting = true
                continuation.resume()
            }
        }
        isRunning = false
    }

    private func begin(_ step: Step) {
        var next = state
        let answer = step.transition(&next)
        guard !answer.changes.isEmpty else {
            state = next
            return answer.effect()
        }
        isCommitting = true
        store.commit(answer.changes, room: step.room) { [self] result in finish(step, next, answer.effect, result) }
    }

    private func finish(_ step: Step, _ next: State, _ effect: () -> Void, _ result: Result<Void, StoreError>) {
        isRunning = true
        switch result {
        case .success:
            state = next
            effect()
        case .failure(let error): step.failure(error)
        }
        isCommitting = false
        isRunning = false
        runWaiting()
    }
}
