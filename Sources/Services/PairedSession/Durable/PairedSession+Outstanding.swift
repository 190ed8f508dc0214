// What an app may ask about its own items: which have not ended, and how many urgent ones may still pass. The daemon
// knows; nothing of it is kept here.

public import TandemBase
import TandemPropertyList
public import TandemWire

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

    init?(_ fields: PropertyListDictionary, _ pairing: UniqueIdentifier, _ kind: Transfer.Kind) {
        guard let id = fields["id"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }) else { return nil }
        self.id = id
        self.pairing = pairing
        self.kind = kind
        state = fields["state"]?.stringValue == "stored" ? .stored : .accepted
        size = fields["size"]?.integerValue.flatMap { Int(exactly: $0) } ?? 0
        topic = fields["topic"]?.stringValue
        isCurrent = fields["current"]?.booleanValue ?? false
        refusal = fields["refusal"]?.stringValue
        body = fields["body"]?.dataValue
    }
}

extension PairedSession {
    /// The items of this app for the counterpart that have not ended, in their order, those of former processes too.
    /// WCSession's `outstandingUserInfoTransfers` (SES-54).
    /// - Throws: 7004, 7005, 7014 `daemon-lost`.
    public func outstandingTransfers(_ kind: Transfer.Kind = .userInfo) async throws(SessionError)
        -> [OutstandingTransfer]
    {
        let (handle, pairing) = (handle, pairing)
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<[OutstandingTransfer], SessionError>, Never>) in
            handle.run { core in core.outstanding(kind, to: pairing) { continuation.resume(returning: $0) } }
        }
        return try result.get()
    }

    /// Takes an item back that a former process submitted; otherwise as ``Transfer/cancel()``.
    public func cancelTransfer(_ transfer: OutstandingTransfer) async throws(SessionError) -> TransferCancellation {
        try await handle.cancelTransfer(
            transfer.id, transfer.pairing, Channel(rawValue: transfer.kind.rawValue) ?? .userInfo)
    }

    /// What is left of the budget of urgent items for the counterpart. WCSession's
    /// `remainingComplicationUserInfoTransfers` (SES-54).
    /// - Throws: 7004, 7005, 7014 `daemon-lost`.
    public func urgentBudget() async throws(SessionError) -> UrgentBudgetStatus {
        let answer = try await handle.ask("budget", pairing: pairing, channel: .urgent)
        let body = (try? answer.dictionaryBody()) ?? [:]
        func number(_ key: String) -> Int64 { body[key]?.integerValue ?? 0 }
        return UrgentBudgetStatus(
            remaining: Int(number("remaining")), limit: Int(number("limit")),
            resetsIn: .milliseconds(number("resets")))
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
