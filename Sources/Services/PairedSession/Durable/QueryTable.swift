// Queries to the daemon about this app's own items (SES-54), each until its answer.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

/// The open queries of one session; confined to its scheduler.
final class QueryTable {
    private let app: ApplicationIdentifier
    private let daemon: DaemonChannel
    private let scheduler: any Scheduler
    private let timer: DeadlineTimer
    private var open = PendingRequests<Completion<AnswerFrame>>(capacity: Limits.openRequests)

    init(app: ApplicationIdentifier, daemon: DaemonChannel, scheduler: any Scheduler) {
        self.app = app
        self.daemon = daemon
        self.scheduler = scheduler
        timer = DeadlineTimer(on: scheduler)
        timer.onDeadline = { [weak self] in self?.expire() }
    }

    /// Asks the daemon.
    /// - Parameters:
    ///   - pairing: nil: there is none.
    ///   - completion: called once.
    func ask(
        _ question: QueryFrame.Question, of pairing: UniqueIdentifier?, on channel: Channel,
        then completion: @escaping Completion<AnswerFrame>
    ) {
        let id = UniqueIdentifier.random()
        guard daemon.isRegistered, let pairing else {
            let refusal: SendRefusal = daemon.isRegistered ? .notPaired : .notActivated
            return completion(.failure(SessionError(refusal, messageID: id)))
        }
        let deadline = scheduler.now + Limits.standardDeadline
        guard open.open(id, to: pairing, deadline: deadline, token: completion) else {
            return completion(.failure(.tooManyRequests(id)))
        }
        timer.watch(deadline)
        daemon.send(QueryFrame(question, id: id, app: app, pairing: pairing, channel: channel))
    }

    /// The items of a kind that have not ended, page by page.
    func outstanding(
        _ kind: Transfer.Kind, of pairing: UniqueIdentifier?, after: UInt64 = 0, _ found: [OutstandingTransfer] = [],
        then completion: @escaping Completion<[OutstandingTransfer]>
    ) {
        ask(.outstanding(after: after), of: pairing, on: kind.channel) { [weak self] result in
            guard let self, let pairing, case .success(let answer) = result else {
                return completion(result.map { _ in found })
            }
            let page = OutstandingPage(answer.body)
            let all = found + page.items.map { OutstandingTransfer($0, pairing, kind) }
            guard let more = page.more, more > after else { return completion(.success(all)) }
            outstanding(kind, of: pairing, after: more, all, then: completion)
        }
    }

    func answered(_ answer: AnswerFrame) {
        guard let waiter = open.abandoned(answer.id) else { return }
        guard answer.code != 0 else { return waiter(.success(answer)) }
        waiter(
            .failure(
                SessionError(
                    SessionError.Code(rawValue: answer.code) ?? .genericError, name: answer.name,
                    reason: "the daemon does not answer '\(answer.command)'", messageID: answer.id)))
    }

    /// Fails the queries about a pairing that is gone, or all.
    func fail(to pairing: UniqueIdentifier?, _ error: SessionError) {
        let waiters = pairing.map { open.closed(pairing: $0) } ?? open.closedAll()
        for waiter in waiters { waiter(.failure(error)) }
    }

    private func expire() {
        let late = open.expired(now: scheduler.now)
        if let next = open.nextDeadline { timer.watch(next) }
        for waiter in late { waiter(.failure(.timedOut(nil))) }
    }
}
