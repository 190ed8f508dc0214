// User infos: durable, in order, each handled. The call returns when the daemon has made the item durable, so that
// whatever ends then (this process, the daemon, the machine) does not lose it.

public import TandemBase
public import TandemPropertyList
public import TandemWire

extension PairedSession {
    /// Gives an item to the counterpart, now or when it can be reached: in the order of the calls, each once.
    /// WCSession's `transferUserInfo` (SES-48 to SES-50).
    /// - Parameters:
    ///   - userInfo: up to 65,536 bytes encoded, without top-level keys that start with `tandem.`.
    ///   - options: topic, supersede key, time to live, barrier.
    ///   - level: returns when the item has got this far.
    /// - Throws: the first that applies of 7004, 7016, 7005, 7006 or 7018, 7008, 7010, 7009 (over 65,536 bytes); 7001
    ///   `queue-full` (10,000 items or 64 MiB wait), 7015 (this device's disk is full); for a level above `accepted`
    ///   the error of an item that ends before it, and 7004 `ended` if the session does; 7001 `cancelled` if the
    ///   caller's task is cancelled. If it was before the call, nothing is queued. Otherwise a cancelled wait, and one
    ///   that the session's end ends, change nothing for the item: it may still be accepted, and an accepted one goes
    ///   on and arrives. Its identifier is the error's ``SessionError/messageID``, by which
    ///   ``outstandingTransfers(_:)`` has it for ``cancelTransfer(_:)``, and ``observeTransfers(_:)`` reports its end.
    @discardableResult
    public func transferUserInfo(
        _ userInfo: PropertyListDictionary, options: TransferOptions = TransferOptions(),
        until level: AcknowledgementLevel = .accepted
    ) async throws(SessionError) -> Transfer {
        var submission = Submission(.userInfo, to: pairing, OutgoingContent(userInfo))
        submission.options = options
        return try await transfer(submission, until: level)
    }

    /// Gives an item for what the counterpart shows at a glance: it passes user infos. Each device and app has a budget
    /// (``urgentBudget()``); beyond it the item is an ordinary user info, and ``Transfer/isDemoted`` says so.
    /// WCSession's `transferCurrentComplicationUserInfo` (SES-48).
    /// - Parameters:
    ///   - userInfo: as for ``transferUserInfo(_:options:until:)``.
    ///   - kind: 1 to 128 bytes without NUL; of each kind the newest item is the current one; an older one still
    ///     arrives.
    ///   - options: topic, supersede key, time to live, barrier.
    ///   - level: returns when the item has got this far.
    /// - Throws: as ``transferUserInfo(_:options:until:)``.
    @discardableResult
    public func transferUrgentUserInfo(
        _ userInfo: PropertyListDictionary, kind: String = "main", options: TransferOptions = TransferOptions(),
        until level: AcknowledgementLevel = .accepted
    ) async throws(SessionError) -> Transfer {
        var submission = Submission(.urgent, to: pairing, OutgoingContent(userInfo))
        submission.options = options
        submission.name = kind
        if !kind.isShortText { submission.content.badArgument = .kind }
        return try await transfer(submission, until: level)
    }

    /// Calls back for each step of each item of this app until ``end()``: there is no token, and the session keeps the
    /// observer so long, so one that uses the session should capture it weakly.
    ///
    /// Items that a former process submitted are reported, too: first, once, those that ended while no process of the
    /// app ran. Without any observer the daemon keeps the ends. An end counts as reported when the observer returns: if
    /// the process ends before, its successor gets it, perhaps again. WCSession's `didFinish` callbacks (SES-50,
    /// SES-85).
    public func observeTransfers(_ observer: @escaping @Sendable (TransferUpdate) -> Void) {
        core.run { core in
            core.observeTransfers { event in
                if let update = TransferUpdate(event) { observer(update) }
            }
        }
    }

    func transfer(
        _ submission: Submission, until level: AcknowledgementLevel = .accepted
    ) async throws(SessionError) -> Transfer {
        let transfer = try await core.result(submission.id) { core, accepted in
            core.transfer(submission, accepted: accepted)
        }
        try await transfer.reached(level)
        return transfer
    }

    // MARK: questions about items

    /// The items of this app for the counterpart that have not ended, in their order, those of former processes too.
    /// WCSession's `outstandingUserInfoTransfers` (SES-54). Calls that are open at once share questions to the daemon:
    /// one that comes while a question is under way shares the next one, so that it sees what was submitted before it.
    /// - Throws: 7004, 7005, 7012 (the daemon does not answer for 30 s), 7014 `daemon-lost`; 7001 `too-many-requests`
    ///   beyond 1,024 open calls of this session, `cancelled`.
    public func outstandingTransfers(_ kind: Transfer.Kind = .userInfo) async throws(SessionError)
        -> [OutstandingTransfer]
    {
        try await core.result { [pairing] core, completion in core.outstanding(kind, to: pairing, then: completion) }
    }

    /// Takes an item back that a former process submitted. As ``Transfer/cancel()``, but it does not wait for the other
    /// device's answer: the result is ``TransferCancellation/unknown`` then, and ``observeTransfers(_:)`` reports the
    /// end.
    public func cancelTransfer(_ transfer: OutstandingTransfer) async throws(SessionError) -> TransferCancellation {
        try await core.takeBack(transfer.id, transfer.kind, in: transfer.pairing)
    }

    /// The rest of the budget of urgent items for the counterpart. WCSession's
    /// `remainingComplicationUserInfoTransfers` (SES-54). Calls share questions as those of
    /// ``outstandingTransfers(_:)``.
    /// - Throws: as ``outstandingTransfers(_:)``.
    public func urgentBudget() async throws(SessionError) -> UrgentBudgetStatus {
        let answer = try await core.result { [pairing] core, completion in
            core.urgentBudget(of: pairing, then: completion)
        }
        let budget = BudgetAnswer(answer.body)
        return UrgentBudgetStatus(remaining: budget.remaining, limit: budget.limit, resetsIn: budget.resets)
    }
}

/// A step of a durable item.
public struct TransferUpdate: Sendable {
    /// The item's identifier, as in ``Transfer/id``.
    public let id: UniqueIdentifier
    /// The pairing that it goes through.
    public let pairing: UniqueIdentifier
    /// How it travels.
    public let kind: Transfer.Kind
    /// Never ``Transfer/State/accepted``.
    public let state: Transfer.State

    init?(_ event: TransferEvent) {
        guard let kind = Transfer.Kind(event.channel) else { return nil }
        (id, pairing, self.kind) = (event.id, event.item.queue.pairing, kind)
        switch event.step {
        case .stored: state = .stored
        case .finished(let outcome): state = .finished(outcome)
        }
    }
}

/// An item that has not ended, perhaps of a former process.
public struct OutstandingTransfer: Sendable {
    /// The item's identifier, as in ``Transfer/id``.
    public let id: UniqueIdentifier
    /// The pairing that it goes through.
    public let pairing: UniqueIdentifier
    /// How it travels.
    public let kind: Transfer.Kind
    /// ``Transfer/State/accepted`` or ``Transfer/State/stored``.
    public let state: Transfer.State
    /// Bytes of its body; of a file its size.
    public let size: Int
    /// Which handler is meant; nil: those without a topic.
    public let topic: String?
    /// Of the urgent items of a kind, whether this is the current one.
    public let isCurrent: Bool
    /// Why the other device did not take it the last time, `insufficient-space` for one; nil if it has not said so.
    public let refusal: String?
    /// The item's content; nil when the other device has it already.
    public let body: [UInt8]?

    init(_ item: OutstandingPage.Item, _ pairing: UniqueIdentifier, _ kind: Transfer.Kind) {
        (id, self.pairing, self.kind) = (item.id, pairing, kind)
        state = item.isStored ? .stored : .accepted
        (size, topic, isCurrent, refusal, body) = (item.size, item.topic, item.isCurrent, item.refusal, item.body)
    }
}

/// How many urgent items may still pass.
public struct UrgentBudgetStatus: Sendable, Equatable {
    /// Urgent items that may pass the others now.
    public let remaining: Int
    /// Urgent items a day.
    public let limit: Int
    /// Until the budget is whole again; nothing if it is.
    public let resetsIn: Duration
}
