// One file as its sender sees it: first it is handed over to this device's daemon, then the other device's pulls it.
// Both parts have a progress; from the acceptance on the file is a durable item like any other, and this object can be
// let go.

import Synchronization
public import TandemBase
public import TandemWire

/// How far a file is; all in bytes.
public struct FileTransferProgress: Sendable, Equatable {
    /// The file's size; 0 until it was looked at.
    public let total: Int64
    /// Bytes that this device's daemon has.
    public internal(set) var handedOver: Int64 = 0
    /// Bytes that the other device has.
    public internal(set) var transferred: Int64 = 0
}

/// A file that is transferred; usable from any thread.
public final class FileTransfer: Sendable {
    private enum Phase {
        case handingOver
        case accepted(Transfer)
        case refused(SessionError)
    }

    private struct Observer {
        let send: @Sendable (FileTransferProgress) -> Void
        let finish: @Sendable () -> Void
        var known: FileTransferProgress?
    }

    /// The least time between two values: ten a second at most, as for a file that comes (FIL-10).
    private static let pause = Duration.milliseconds(100)

    private struct Contents {
        var phase = Phase.handingOver
        var progress = FileTransferProgress(total: 0)
        var hasEnded = false
        var observers: [UInt64: Observer] = [:]
        var lastObserver: UInt64 = 0
        /// Observers get no value until the pause is over.
        var isPausing = false
        var waiting: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var nextWaiter: UInt64 = 0

        /// Sends the progress to each observer that does not have it; true if a pause begins with that.
        mutating func publish() -> Bool {
            guard !isPausing else { return false }
            for (number, observer) in observers where observer.known != progress {
                observers[number]?.known = progress
                observer.send(progress)
                isPausing = true
            }
            return isPausing
        }
    }

    /// The item's identifier, the same on both devices and in every log.
    public let id: UniqueIdentifier
    /// The file as it was named, as an absolute path; nothing is read from there after the acceptance.
    public let path: String
    /// The file is the target of a symbolic link at the path.
    let followsLinks: Bool
    private let contents = Mutex(Contents())
    private let session: WeakSession
    /// Called on the session's thread: the callbacks of WCSession's names wait for no task.
    private let onChange: @Sendable (FileTransferProgress) -> Void
    private let onRefusal: @Sendable (SessionError) -> Void

    init(
        id: UniqueIdentifier, path: String, followsLinks: Bool, session: SessionActor,
        onChange: @escaping @Sendable (FileTransferProgress) -> Void,
        onRefusal: @escaping @Sendable (SessionError) -> Void
    ) {
        self.id = id
        self.path = path
        self.followsLinks = followsLinks
        self.onChange = onChange
        self.onRefusal = onRefusal
        self.session = WeakSession(session)
    }

    /// The durable item; nil until this device's daemon has accepted it.
    public var transfer: Transfer? {
        contents.withLock { if case .accepted(let transfer) = $0.phase { transfer } else { nil } }
    }

    /// Why it never will be an item; nil as long as it may be.
    package var refusal: SessionError? {
        contents.withLock { if case .refused(let error) = $0.phase { error } else { nil } }
    }

    /// How far the file is now.
    public var progress: FileTransferProgress { contents.withLock { $0.progress } }

    /// The present progress and its changes, ten a second at most, the last one always. Ends when the other device has
    /// the whole file, or never will. A reader that is slow sees the newest.
    public var progressUpdates: AsyncStream<FileTransferProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: FileTransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        // A file may wait for weeks, and a reader for as long as a view is shown.
        guard let number = observe({ continuation.yield($0) }, ended: { continuation.finish() }) else { return stream }
        continuation.onTermination = { [weak self] _ in
            self?.contents.withLock { _ = $0.observers.removeValue(forKey: number) }
        }
        return stream
    }

    /// Calls back as ``progressUpdates`` says. `send` runs with a lock held, `ended` once, with or without it.
    /// - Returns: the observer's number; nil if the file has ended.
    @discardableResult
    package func observe(
        _ send: @escaping @Sendable (FileTransferProgress) -> Void, ended: @escaping @Sendable () -> Void
    ) -> UInt64? {
        contents.withLock { contents in
            send(contents.progress)
            if contents.hasEnded {
                ended()
                return nil
            }
            contents.lastObserver += 1
            contents.observers[contents.lastObserver] = Observer(
                send: send, finish: ended, known: contents.progress)
            return contents.lastObserver
        }
    }

    /// The readers and observers of the progress that there are.
    package var observers: Int { contents.withLock { $0.observers.count } }

    /// Waits until the file has reached a level.
    /// - Throws: why it never will; 7001 `cancelled` if the caller's task is cancelled, which changes nothing for the
    ///   file. ``SessionError/messageID`` is ``id``.
    public func reached(_ level: AcknowledgementLevel) async throws(SessionError) {
        try await accepted().reached(level)
    }

    /// Waits for the end.
    /// - Throws: 7001 `cancelled` if the caller's task is cancelled; the reason if the file was never accepted.
    public func outcome() async throws(SessionError) -> TransferOutcome { try await accepted().outcome() }

    /// Takes the file back, in any phase, if no handler has it; what was copied of it is removed on both devices. Waits
    /// for the answers as ``Transfer/cancel()`` does. ``outcome()`` of a file that was never accepted throws 7001
    /// `cancelled` then.
    /// - Throws: as ``Transfer/cancel()``; the reason if the file was refused before.
    public func cancel() async throws(SessionError) -> TransferCancellation {
        guard let session = session.value else { throw SessionError(.ended, messageID: id) }
        let answer = try await session.takeBack(self)
        guard let transfer else { return answer }
        return try await transfer.ending(session, answer)
    }

    private func accepted() async throws(SessionError) -> Transfer {
        await waitForDaemon()
        switch contents.withLock({ $0.phase }) {
        case .accepted(let transfer): return transfer
        case .refused(let error): throw error
        case .handingOver: throw .cancelled(id)
        }
    }

    private func waitForDaemon() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = contents.withLock { contents -> UInt64? in
            guard case .handingOver = contents.phase else { return nil }
            contents.nextWaiter += 1
            contents.waiting[contents.nextWaiter] = continuation
            return contents.nextWaiter
        }
        guard let number else { return }
        // Ends with the daemon's word, or with the caller's task.
        for await _ in stream {}
        contents.withLock { $0.waiting[number] = nil }
    }

    // MARK: events of the session

    func found(size: Int64) { update { $0 = FileTransferProgress(total: size) } }

    func update(_ change: (inout FileTransferProgress) -> Void) {
        let (progress, isPausing) = contents.withLock { contents in
            change(&contents.progress)
            return (contents.progress, contents.publish())
        }
        if isPausing { pause() }
        onChange(progress)
    }

    /// Changes during the pause reach the observers as one value at its end.
    private func pause() {
        session.value?.run { core in
            core.schedule(after: Self.pause) { [weak self] _ in self?.pauseEnded() }
        }
    }

    private func pauseEnded() {
        let isPausing = contents.withLock { contents in
            contents.isPausing = false
            return contents.publish()
        }
        if isPausing { pause() }
    }

    /// The daemon has accepted the file, or it is refused.
    @Sendable func answered(_ result: Result<Transfer, SessionError>) {
        switch result {
        case .failure(let error):
            leave(.refused(error), hasEnded: true)
            onRefusal(error)
        case .success(let transfer): leave(.accepted(transfer), hasEnded: false)
        }
    }

    private func leave(_ phase: Phase, hasEnded: Bool) {
        let waiting = contents.withLock { contents in
            guard case .handingOver = contents.phase else { return [AsyncStream<Void>.Continuation]() }
            contents.phase = phase
            return Array(contents.waiting.values)
        }
        for waiter in waiting { waiter.finish() }
        if hasEnded { ended(isStored: false) }
    }

    /// The other device has it all, or never will.
    func ended(isStored: Bool) {
        if isStored { update { $0.transferred = $0.total } }
        let observers = contents.withLock { contents in
            (contents.hasEnded, contents.isPausing) = (true, false)
            _ = contents.publish()
            defer { contents.observers = [:] }
            return contents.observers.values
        }
        for observer in observers { observer.finish() }
    }
}
