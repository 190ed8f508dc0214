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
    ///   `queue-full` (10,000 items or 64 MiB wait), 7015 (this device's disk is full); and for a level above
    ///   `accepted` the error of an item that ends before it.
    @discardableResult
    public func transferUserInfo(
        _ userInfo: PropertyListDictionary, options: TransferOptions = TransferOptions(),
        until level: AcknowledgementLevel = .accepted
    ) async throws(SessionError) -> Transfer {
        var submission = Submission(.userInfo, to: pairing, OutgoingContent(userInfo))
        submission.options = options
        let transfer = try await handle.transfer(submission)
        try await transfer.reached(level)
        return transfer
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
        let transfer = try await handle.transfer(submission)
        try await transfer.reached(level)
        return transfer
    }

    /// Calls back for each step of each item of this app, also of items that a former process submitted: what ended
    /// while no process of the app ran is told once, first. Without any observer the daemon keeps the ends.
    /// WCSession's `didFinish` callbacks (SES-50).
    public func observeTransfers(_ observer: @escaping @Sendable (TransferUpdate) -> Void) {
        handle.run { core in
            core.observeTransfers { event in
                guard let update = TransferUpdate(event) else { return }
                observer(update)
            }
        }
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
        guard let kind = Transfer.Kind(rawValue: event.channel.rawValue) else { return nil }
        (id, pairing, self.kind) = (event.id, event.pairing, kind)
        switch event.step {
        case .stored: state = .stored
        case .finished(let outcome): state = .finished(outcome)
        }
    }
}

extension SessionHandle {
    /// Submits an item and follows it.
    func transfer(_ submission: Submission) async throws(SessionError) -> Transfer {
        let handle = self
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Accepted, Never>) in
            handle.run { core in
                core.transfer(submission, of: handle) { continuation.resume(returning: $0) }
            }
        }
        return try result.get()
    }

    private typealias Accepted = Result<Transfer, SessionError>
}

extension SessionCore {
    /// Submits an item; the transfer is followed from the moment of its acceptance.
    package func transfer(
        _ submission: Submission, of handle: SessionHandle,
        accepted: @escaping (Result<Transfer, SessionError>) -> Void
    ) {
        let id = submission.id
        // Strong: the table lets it go with the item, at the latest when the session ends.
        submit(submission) { [self] result in
            switch result {
            case .failure(let error): accepted(.failure(error))
            case .success(let acceptance):
                let isDemoted = acceptance.name == "demoted"
                let kind = isDemoted ? .userInfo : Transfer.Kind(rawValue: submission.channel.rawValue)
                let transfer = Transfer(
                    id: id, pairing: transfers[id]?.pairing ?? .zero, kind: kind ?? .userInfo, isDemoted: isDemoted,
                    handle: handle)
                follow(id, with: transfer)
                accepted(.success(transfer))
            }
        }
    }
}
