// One receiver's place in a session, and how it is given up.

import Synchronization

/// A receiver of messages; usable from any thread.
public final class MessageSubscription: Sendable {
    private enum State {
        case beginning
        case receiving(UInt64)
        case ended
    }

    private let state = Mutex(State.beginning)
    private let handle: WeakHandle
    private let continuation: AsyncStream<ReceivedMessage>.Continuation

    init(_ handle: SessionHandle, _ continuation: AsyncStream<ReceivedMessage>.Continuation) {
        self.handle = WeakHandle(handle)
        self.continuation = continuation
    }

    /// Receives no more. Messages that were received and not answered answer themselves.
    public func cancel() {
        let previous = state.withLock { state in
            defer { state = .ended }
            return state
        }
        if case .receiving(let number) = previous { remove(number) }
        continuation.finish()
    }

    func began(_ number: UInt64) {
        let isWanted = state.withLock { state in
            guard case .beginning = state else { return false }
            state = .receiving(number)
            return true
        }
        if !isWanted { remove(number) }
    }

    private func remove(_ number: UInt64) { handle.value?.run { core in core.inbox.remove(number) } }
}

/// A subscription must not keep the session alive.
private struct WeakHandle: Sendable {
    weak let value: SessionHandle?

    init(_ value: SessionHandle) { self.value = value }
}
