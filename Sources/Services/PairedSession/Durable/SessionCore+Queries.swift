// Questions to the daemon about this app's own items (SES-54): what is outstanding, taking one back, the budget.

public import TandemIdentity
import TandemPropertyList
import TandemReactor
import TandemSession
public import TandemWire

/// Completes one question.
package typealias AnswerWaiter = (Result<Envelope, SessionError>) -> Void

extension SessionCore {
    /// Asks the daemon; the completion is called once.
    package func ask(
        _ command: String, pairing: UniqueIdentifier?, channel: Channel? = nil, _ body: PropertyListDictionary = [:],
        then completion: @escaping AnswerWaiter
    ) {
        let id = UniqueIdentifier.random()
        guard machine.phase == .active, let pairing = machine.situation?.pairing(pairing)?.pairing else {
            let refusal: SendRefusal = machine.phase == .active ? .notPaired : .notActivated
            return completion(.failure(SessionError(refusal, messageID: id)))
        }
        let envelope = Envelope(
            .query, app: settings.application, pairing: pairing, id: id, channel: channel, command: command)
        let deadline = scheduler.now + Limits.standardDeadline
        guard let whole = try? envelope.with(body: body),
            questions.open(id, to: pairing, deadline: deadline, token: completion)
        else { return completion(.failure(.tooManyRequests(id))) }
        watch(deadline: deadline)
        send(whole)
    }

    /// Takes an item back; its end tells what came of it.
    package func cancelTransfer(_ id: UniqueIdentifier, onChannel name: String) {
        ask("cancel", pairing: transfers[id]?.pairing, channel: Channel(rawValue: name), ["item": .data(id.bytes)]) {
            _ in
        }
    }

    /// The items of a kind for a pairing that have not ended; page by page, as the daemon gives them.
    package func outstanding(
        _ kind: Transfer.Kind, to pairing: UniqueIdentifier?, after: Int64 = 0, _ found: [OutstandingTransfer] = [],
        then completion: @escaping (Result<[OutstandingTransfer], SessionError>) -> Void
    ) {
        let target = machine.situation?.pairing(pairing)?.pairing
        let channel = Channel(rawValue: kind.rawValue)
        ask("outstanding", pairing: target, channel: channel, ["after": .integer(after)]) { [weak self] result in
            guard let self, let target, case .success(let answer) = result else {
                return completion(result.map { _ in found })
            }
            let body = (try? answer.dictionaryBody()) ?? [:]
            let items = (body["items"]?.arrayValue ?? []).compactMap(\.dictionaryValue)
            let all = found + items.compactMap { OutstandingTransfer($0, target, kind) }
            guard let more = body["more"]?.integerValue, more > after else { return completion(.success(all)) }
            outstanding(kind, to: target, after: more, all, then: completion)
        }
    }

    func answered(_ envelope: Envelope) {
        guard let id = envelope.id, let waiter = questions.abandoned(id) else { return }
        guard let code = envelope.code, code != 0 else { return waiter(.success(envelope)) }
        waiter(
            .failure(
                SessionError(
                    SessionError.Code(rawValue: code) ?? .genericError, name: envelope.name,
                    reason: "the daemon does not answer '\(envelope.command ?? "")'", messageID: id)))
    }
}

extension SessionHandle {
    func ask(
        _ command: String, pairing: UniqueIdentifier?, channel: Channel? = nil, _ body: PropertyListDictionary = [:]
    ) async throws(SessionError) -> Envelope {
        let handle = self
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Envelope, SessionError>, Never>) in
            handle.run { core in
                core.ask(command, pairing: pairing, channel: channel, body) { continuation.resume(returning: $0) }
            }
        }
        return try result.get()
    }

    func cancelTransfer(
        _ id: UniqueIdentifier, _ pairing: UniqueIdentifier, _ channel: Channel
    ) async throws(SessionError) -> TransferCancellation {
        let answer = try await ask("cancel", pairing: pairing, channel: channel, ["item": .data(id.bytes)])
        return TransferCancellation(answer)
    }
}

extension TransferCancellation {
    init(_ answer: Envelope) {
        switch answer.name {
        case "cancelled": self = .cancelled
        case "too-late":
            let outcome = (try? answer.dictionaryBody())?["outcome"]?.stringValue
            let code = (try? answer.dictionaryBody())?["code"]?.integerValue.flatMap { Int(exactly: $0) }
            self = .tooLate(TransferOutcome(finished: Envelope(.finished, code: code, name: outcome), peer: nil))
        default: self = .unknown
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
