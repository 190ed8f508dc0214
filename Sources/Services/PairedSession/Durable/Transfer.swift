// One durable item as its sender sees it. It can be let go at any time: the daemon has the item. Each level is reached
// once and in order; its waiters wake then, or when the item has ended without reaching it.

import Synchronization
public import TandemBase
public import TandemWire

/// A durable item that this device's daemon has accepted; usable from any thread.
public final class Transfer: Sendable {
    /// How far the item is.
    public enum State: Sendable, Equatable {
        /// Durable here.
        case accepted
        /// Durable on the other device.
        case stored
        /// Ended; nothing comes after it.
        case finished(TransferOutcome)
    }

    /// The channels that carry durable items.
    public enum Kind: String, CaseIterable, Sendable {
        /// In order, each handled once.
        case userInfo
        /// For what is shown at a glance: passes user infos, within a budget.
        case urgent
        /// A file with metadata.
        case file

        var channel: Channel {
            switch self {
            case .userInfo: .userInfo
            case .urgent: .urgent
            case .file: .file
            }
        }

        /// The kind of a channel; nil for one whose items are no transfers.
        init?(_ channel: Channel) {
            guard let kind = Self.allCases.first(where: { $0.channel == channel }) else { return nil }
            self = kind
        }
    }

    private struct Waiter {
        let level: AcknowledgementLevel
        let wake: @Sendable () -> Void
    }

    private struct Contents {
        var state = State.accepted
        var wasStored = false
        var waiting: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
        /// The daemon's last answer to a withdrawal: it has asked the other device, which decides.
        var isWithdrawalAsked = false
        /// Why nothing more is heard of the item, though it has not ended.
        var silence: SessionError?
    }

    /// The item's identifier, the same on both devices and in every log.
    public let id: UniqueIdentifier
    /// The pairing that it goes through, whichever is active later.
    public let pairing: UniqueIdentifier
    /// How it travels: an urgent item beyond its budget is a user info.
    public let kind: Kind
    /// It was submitted as urgent, and the budget was spent.
    public let isDemoted: Bool
    private let contents = Mutex(Contents())
    private let session: WeakSession

    init(id: UniqueIdentifier, pairing: UniqueIdentifier, kind: Kind, isDemoted: Bool, session: WeakSession) {
        self.id = id
        self.pairing = pairing
        self.kind = kind
        self.isDemoted = isDemoted
        self.session = session
    }

    /// Where the item stands now.
    public var state: State { contents.withLock { $0.state } }

    /// Neither stored on the other device nor ended: `isTransferring` of WCSession.
    public var isTransferring: Bool { state == .accepted }

    /// Waits until the item has reached a level.
    /// - Throws: why it never will: the error of its outcome; 7001 `cancelled` if the caller's task is cancelled, which
    ///   changes nothing for the item; 7004 if the session ends first. ``SessionError/messageID`` is ``id``.
    public func reached(_ level: AcknowledgementLevel) async throws(SessionError) {
        await wait(for: level)
        let (state, wasStored) = contents.withLock { ($0.state, $0.wasStored) }
        switch state {
        case .finished(let outcome):
            guard let error = outcome.error else { return }
            if level == .handled || !wasStored && level == .stored { throw error.about(message: id, peer: nil) }
        case .accepted, .stored: if !Self.has(state, wasStored, level) { throw silence }
        }
    }

    /// Waits for the end.
    /// - Throws: 7001 `cancelled` if the caller's task is cancelled, which changes nothing for the item; 7004 if the
    ///   session ends first.
    public func outcome() async throws(SessionError) -> TransferOutcome {
        await wait(for: .handled)
        guard case .finished(let outcome) = state else { throw silence }
        return outcome
    }

    /// Takes the item back, if no handler has it; returns what came of that. An item that was sent on is the other
    /// device's: as long as the two are linked this waits up to 30 s (LIM-8) for its answer, which it gives at once if
    /// no handler has the item. If one has, the answer comes when that handler returns or fails, and the item does not
    /// come again.
    ///
    /// The result is ``TransferCancellation/unknown`` without a daemon, if it does not answer for 30 s, without a link
    /// to the other device, and after the 30 s above. The item is taken back all the same, if that is still possible
    /// (the library asks until the daemon has answered, as long as the session lasts, SES-84), and ``outcome()`` waits
    /// for the end: ``TransferOutcome/cancelled``, or how it was too late.
    /// - Throws: 7004 if the session was ended, 7005 if the pairing was; 7001 `cancelled` if the caller's task is
    ///   cancelled, which does not end the withdrawal.
    public func cancel() async throws(SessionError) -> TransferCancellation {
        guard let session = session.value else { throw SessionError(.ended, messageID: id) }
        return try await ending(session, try await session.takeBack(id, kind, in: pairing))
    }

    /// Waits for the end of an item that is being taken back, if the other device decides it.
    /// - Parameter answer: the daemon's.
    func ending(
        _ session: SessionActor, _ answer: TransferCancellation
    ) async throws(SessionError) -> TransferCancellation {
        guard answer == .unknown, contents.withLock(\.isWithdrawalAsked), await session.isLinked(pairing) else {
            return answer
        }
        await wait(for: .handled) { ends in
            session.run { $0.schedule(after: Limits.standardDeadline) { _ in ends() } }
        }
        if case .finished(let outcome) = state { return TransferCancellation(outcome) }
        if Task.isCancelled { throw .cancelled(id) }
        return .unknown
    }

    private var silence: SessionError { contents.withLock { $0.silence } ?? .cancelled(id) }

    // MARK: events of the session

    /// The daemon has answered a withdrawal.
    func withdrawalAnswered(_ name: AnswerName?) { contents.withLock { $0.isWithdrawalAsked = name == .asked } }

    /// The session ends before the item does: its outcome will not be reported.
    func unfollowed(_ error: SessionError) {
        let waiters = contents.withLock { contents in
            contents.silence = error
            defer { contents.waiting = [:] }
            return Array(contents.waiting.values)
        }
        for waiter in waiters { waiter.wake() }
    }

    func stored() {
        advance { contents in
            contents.wasStored = true
            if contents.state == .accepted { contents.state = .stored }
        }
    }

    func finished(_ outcome: TransferOutcome) {
        advance { contents in
            if outcome == .handled { contents.wasStored = true }
            if case .finished = contents.state { return }
            contents.state = .finished(outcome)
        }
    }

    private func advance(_ change: (inout Contents) -> Void) {
        let ready = contents.withLock { contents in
            change(&contents)
            let ready = contents.waiting.filter { Self.has(contents.state, contents.wasStored, $0.value.level) }
            for number in ready.keys { contents.waiting[number] = nil }
            return Array(ready.values)
        }
        for waiter in ready { waiter.wake() }
    }

    private static func has(_ state: State, _ wasStored: Bool, _ level: AcknowledgementLevel) -> Bool {
        if case .finished = state { return true }
        return level == .accepted || level == .stored && wasStored
    }

    /// - Parameter limit: receives what ends the wait early.
    private func wait(
        for level: AcknowledgementLevel, limit: (@escaping @Sendable () -> Void) -> Void = { _ in }
    ) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard let number = whenReached(level, { continuation.finish() }) else { return }
        limit { continuation.finish() }
        // Ends with the level, or with the caller's task.
        for await _ in stream {}
        contents.withLock { $0.waiting[number] = nil }
    }

    /// Calls back once, when the item has reached a level or ended; nil, and no call, if it has already.
    func whenReached(_ level: AcknowledgementLevel, _ wake: @escaping @Sendable () -> Void) -> UInt64? {
        contents.withLock { contents in
            if Self.has(contents.state, contents.wasStored, level) || contents.silence != nil { return nil }
            contents.nextWaiter += 1
            contents.waiting[contents.nextWaiter] = Waiter(level: level, wake: wake)
            return contents.nextWaiter
        }
    }

    /// How far the item has got; nil if it ended before it was handled.
    var level: AcknowledgementLevel? {
        switch state {
        case .accepted: .accepted
        case .stored: .stored
        case .finished(.handled): .handled
        case .finished: nil
        }
    }
}
