// Queries to the daemon about this app's own items (SES-54), each until its answer.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
package import TandemWire

/// Completes one query.
package typealias AnswerWaiter = (Result<Envelope, SessionError>) -> Void

/// The open queries of one session; confined to its scheduler.
final class QueryTable {
    private let app: ApplicationIdentifier
    private let daemon: DaemonChannel
    private let scheduler: any Scheduler
    private let timer: DeadlineTimer
    private var open = PendingRequests<AnswerWaiter>(capacity: Limits.openRequests)

    init(app: ApplicationIdentifier, daemon: DaemonChannel, scheduler: any Scheduler) {
        self.app = app
        self.daemon = daemon
        self.scheduler = scheduler
        timer = DeadlineTimer(on: scheduler)
    }

    /// Asks the daemon.
    /// - Parameters:
    ///   - pairing: nil: there is none.
    ///   - completion: called once.
    func ask(
        _ command: String, of pairing: UniqueIdentifier?, on channel: Channel?, _ body: PropertyListDictionary = [:],
        then completion: @escaping AnswerWaiter
    ) {
        let id = UniqueIdentifier.random()
        guard daemon.isRegistered, let pairing else {
            let refusal: SendRefusal = daemon.isRegistered ? .notPaired : .notActivated
            return completion(.failure(SessionError(refusal, messageID: id)))
        }
        let envelope = Envelope(
            .query, app: app, pairing: pairing, id: id, channel: channel, command: command)
        let deadline = scheduler.now + Limits.standardDeadline
        guard let whole = try? envelope.with(body: body),
            open.open(id, to: pairing, deadline: deadline, token: completion)
        else { return completion(.failure(.tooManyRequests(id))) }
        watch(deadline)
        daemon.send(whole)
    }

    /// Takes an item back.
    func cancel(
        _ item: UniqueIdentifier, of pairing: UniqueIdentifier?, on channel: Channel,
        then completion: @escaping AnswerWaiter = { _ in }
    ) { ask("cancel", of: pairing, on: channel, ["item": .data(item.bytes)], then: completion) }

    /// The items of a kind that have not ended, page by page.
    func outstanding(
        _ kind: Transfer.Kind, of pairing: UniqueIdentifier?, after: Int64 = 0, _ found: [OutstandingTransfer] = [],
        then completion: @escaping (Result<[OutstandingTransfer], SessionError>) -> Void
    ) {
        ask("outstanding", of: pairing, on: kind.channel, ["after": .integer(after)]) { [weak self] result in
            guard let self, let pairing, case .success(let answer) = result else {
                return completion(result.map { _ in found })
            }
            let body = (try? answer.dictionaryBody()) ?? [:]
            let items = (body["items"]?.arrayValue ?? []).compactMap(\.dictionaryValue)
            let all = found + items.compactMap { OutstandingTransfer($0, pairing, kind) }
            guard let more = body["more"]?.integerValue, more > after else { return completion(.success(all)) }
            outstanding(kind, of: pairing, after: more, all, then: completion)
        }
    }

    func answered(_ envelope: Envelope) {
        guard let id = envelope.id, let waiter = open.abandoned(id) else { return }
        guard let code = envelope.code, code != 0 else { return waiter(.success(envelope)) }
        waiter(
            .failure(
                SessionError(
                    SessionError.Code(rawValue: code) ?? .genericError, name: envelope.name,
                    reason: "the daemon does not answer '\(envelope.command ?? "")'", messageID: id)))
    }

    /// Fails the queries about a pairing that is gone, or all.
    func fail(to pairing: UniqueIdentifier?, _ error: SessionError) {
        let waiters = pairing.map { open.closed(pairing: $0) } ?? open.closedAll()
        for waiter in waiters { waiter(.failure(error)) }
    }

    private func watch(_ deadline: MonotonicTime) {
        timer.watch(deadline) { [weak self] in self?.expire() }
    }

    private func expire() {
        let late = open.expired(now: scheduler.now)
        if let next = open.nextDeadline { watch(next) }
        for waiter in late { waiter(.failure(.timedOut(nil))) }
    }
}
