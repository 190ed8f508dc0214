// One receiver's place in a session, of messages or of durable items, and how it is given up.

import Synchronization

/// A receiver; usable from any thread.
public final class MessageSubscription: Sendable {
    private enum State {
        case beginning
        case receiving(UInt64)
        case ended
    }

    private let state = Mutex(State.beginning)
    private let session: WeakSession
    private let close: @Sendable () -> Void
    private let remove: @Sendable (isolated SessionActor, UInt64) -> Void
    /// Runs the handler.
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - close: ends what its receiver reads.
    ///   - remove: takes the receiver with this number out of the session, on its scheduler.
    init(
        _ session: SessionActor, close: @escaping @Sendable () -> Void,
        remove: @escaping @Sendable (isolated SessionActor, UInt64) -> Void
    ) {
        self.session = WeakSession(session)
        self.close = close
        self.remove = remove
    }

    /// Receives no more. Messages that were received and not answered answer themselves.
    public func cancel() {
        let previous = state.withLock { state in
            defer { state = .ended }
            return state
        }
        if case .receiving(let number) = previous { leave(number) }
        close()
    }

    /// As ``cancel()``, and waits until its handler has returned and the answer or verdict has been given to the
    /// session: ``PairedSession/end()`` sends it before it ends. Not to be called from within the handler, which would
    /// wait for itself.
    public func finish() async {
        cancel()
        await work.withLock { $0 }?.value
    }

    /// The handler's task ends with what it reads.
    func handled(by task: Task<Void, Never>) { work.withLock { $0 = task } }

    func began(_ number: UInt64) {
        let isWanted = state.withLock { state in
            guard case .beginning = state else { return false }
            state = .receiving(number)
            return true
        }
        if !isWanted { leave(number) }
    }

    private func leave(_ number: UInt64) {
        let remove = remove
        session.value?.run { core in remove(core, number) }
    }
}

/// A session that its subscriptions, transfers and mirrors do not keep alive.
package struct WeakSession: Sendable {
    package weak let value: SessionActor?

    package init(_ value: SessionActor) { self.value = value }
}
