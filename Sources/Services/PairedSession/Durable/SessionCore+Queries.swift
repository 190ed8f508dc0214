// Questions to the daemon about this app's own items (SES-54), and its answers.

package import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
package import TandemWire

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
    /// - Parameter pairing: of an item that a former process submitted.
    package func cancelTransfer(_ id: UniqueIdentifier, on channel: Channel, in pairing: UniqueIdentifier? = nil) {
        ask("cancel", pairing: transfers[id]?.pairing ?? pairing, channel: channel, ["item": .data(id.bytes)]) { _ in }
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
