// Calls of tasks that wait for the session. A cancelled task stops waiting, even while the daemon does not answer. The
// documentation of each call says what happens to the work that it has begun.

import Synchronization
import TandemBase
import TandemWire

extension SessionActor {
    /// Suspends the caller until the completion is called, which the part that keeps it does exactly once, or until the
    /// caller's task is cancelled: then it throws 7001 `cancelled` with the identifier.
    /// - Parameters:
    ///   - id: the message or the item that the call is about.
    ///   - cancel: run when the caller's task is cancelled meanwhile; it leads to the completion. nil for a call whose
    ///     result is dropped then: what it began goes on.
    ///   - begin: not called for a caller that was cancelled before.
    func result<Value: Sendable>(
        _ id: UniqueIdentifier? = nil,
        cancel: (@Sendable (isolated SessionActor) -> Void)? = nil,
        of begin: @Sendable (isolated SessionActor, @escaping Completion<Value>) -> Void
    ) async throws(SessionError) -> Value {
        if Task.isCancelled { throw .cancelled(id) }
        let caller = WaitingCaller<Value>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, SessionError>, Never>) in
                if caller.waits(continuation) { begin(self) { caller.resume($0) } }
            }
        } onCancel: {
            if let cancel { run(cancel) } else { caller.resume(.failure(.cancelled(id))) }
        }
        return try result.get()
    }

    /// As ``takeBack(_:on:in:then:)``, for a caller that waits.
    nonisolated func takeBack(
        _ id: UniqueIdentifier, _ kind: Transfer.Kind, in pairing: UniqueIdentifier
    ) async throws(SessionError) -> TransferCancellation {
        try await result { core, completion in core.takeBack(id, on: kind.channel, in: pairing, then: completion) }
    }

    nonisolated func takeBack(_ file: FileTransfer) async throws(SessionError) -> TransferCancellation {
        try await result { core, completion in
            if let refusal = file.refusal {
                return completion(refusal.isNamed(.cancelled) ? .success(.cancelled) : .failure(refusal))
            }
            core.takeBack(file.id, on: .file, in: file.transfer?.pairing, then: completion)
        }
    }
}

/// A task that waits for one result; usable from any thread.
private final class WaitingCaller<Value: Sendable>: Sendable {
    private typealias Continuation = CheckedContinuation<Result<Value, SessionError>, Never>

    private enum State {
        case idle
        case waiting(Continuation)
        /// The result, until the task waits for it.
        case early(Result<Value, SessionError>)
        case done
    }

    private let state = Mutex(State.idle)

    /// - Returns: false if the task was cancelled before: nothing begins then.
    func waits(_ continuation: CheckedContinuation<Result<Value, SessionError>, Never>) -> Bool {
        let early = state.withLock { state -> Result<Value, SessionError>? in
            if case .early(let result) = state {
                state = .done
                return result
            }
            state = .waiting(continuation)
            return nil
        }
        if let early { continuation.resume(returning: early) }
        return early == nil
    }

    /// Ends the wait; the first result counts.
    func resume(_ result: Result<Value, SessionError>) {
        let continuation = state.withLock { state -> Continuation? in
            switch state {
            case .waiting(let continuation):
                state = .done
                return continuation
            case .idle: state = .early(result)
            case .early, .done: break
            }
            return nil
        }
        continuation?.resume(returning: result)
    }
}
