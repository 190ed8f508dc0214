// Queries to the daemon about this app's own items (SES-54), each until its answer.

import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// The open queries of one session; confined to its scheduler.
final class QueryTable {
    private let app: ApplicationIdentifier
    private let daemon: DaemonChannel
    private let connection: SessionConnection
    private let scheduler: any Scheduler
    private let timer: DeadlineTimer
    private let lists = SharedQuestions<ListKey, [OutstandingTransfer]>(atOnce: Limits.listsUnderWay)
    private let budgets = SharedQuestions<UniqueIdentifier?, AnswerFrame>(atOnce: .max)
    private var open = PendingRequests<Completion<AnswerFrame>>(capacity: Limits.openRequests)

    init(
        app: ApplicationIdentifier, daemon: DaemonChannel, connection: SessionConnection, scheduler: any Scheduler
    ) {
        self.app = app
        self.daemon = daemon
        self.connection = connection
        self.scheduler = scheduler
        timer = DeadlineTimer(on: scheduler)
        timer.onDeadline = { [weak self] in self?.expire() }
    }

    /// Asks the daemon.
    /// - Parameters:
    ///   - pairing: nil: there is none.
    ///   - named: the one that the caller names, which may be none; nil: the active one is meant.
    ///   - completion: called once.
    func ask(
        _ question: QueryFrame.Question, of pairing: UniqueIdentifier?, named: UniqueIdentifier? = nil,
        on channel: Channel,
        then completion: @escaping Completion<AnswerFrame>
    ) {
        let id = UniqueIdentifier.random()
        // The daemon judges a configuration for whom it is, and asks for no pairing (CFG-60).
        let needsPairing = question.command != .apply
        guard daemon.isRegistered, pairing != nil || !needsPairing else {
            let standing = connection.machine.standing(of: pairing)
            let refusal = daemon.isRegistered ? nil : standing.refusal
            return completion(.failure(SessionError(refusal ?? .withoutPairing(named), messageID: nil)))
        }
        let frame: Frame
        do throws(WireError) {
            frame = try QueryFrame(question, id: id, app: app, pairing: pairing, channel: channel).frame()
        } catch {
            return completion(.failure(.notWritten(error, messageID: nil)))
        }
        let deadline = scheduler.now + Limits.standardDeadline
        let target = needsPairing ? pairing ?? .zero : .zero
        guard open.open(id, to: target, deadline: deadline, token: completion) else {
            return completion(.failure(.tooManyRequests(nil)))
        }
        timer.watch(deadline)
        daemon.send(frame)
    }

    /// A list that calls share.
    private struct ListKey: Hashable {
        let kind: Transfer.Kind
        let pairing: UniqueIdentifier?
    }

    /// The items of a kind that have not ended; calls share questions.
    /// - Parameters:
    ///   - page: called with the items of each page as it comes, in the order of the connection: each later step of
    ///     them is reported behind it.
    ///   - completion: called once, with all of them.
    func outstanding(
        _ kind: Transfer.Kind, of pairing: UniqueIdentifier?, named: UniqueIdentifier?,
        page: @escaping ([OutstandingTransfer]) -> Void, then completion: @escaping Completion<[OutstandingTransfer]>
    ) {
        let key = ListKey(kind: kind, pairing: named ?? pairing)
        lists.ask(key, part: page, then: completion) { [weak self] page, ended in
            self?.pages(kind, of: pairing, named: named, page: page, then: ended)
        }
    }

    /// The rest of the budget of urgent items; calls share questions.
    func budget(
        of pairing: UniqueIdentifier?, named: UniqueIdentifier?, then completion: @escaping Completion<AnswerFrame>
    ) {
        budgets.ask(named ?? pairing, then: completion) { [weak self] _, ended in
            self?.ask(.budget, of: pairing, named: named, on: .urgent, then: ended)
        }
    }

    /// The items of a kind that have not ended, page by page.
    private func pages(
        _ kind: Transfer.Kind, of pairing: UniqueIdentifier?, named: UniqueIdentifier?, after: UInt64 = 0,
        _ found: [OutstandingTransfer] = [], page: @escaping ([OutstandingTransfer]) -> Void,
        then completion: @escaping Completion<[OutstandingTransfer]>
    ) {
        ask(.outstanding(after: after), of: pairing, named: named, on: kind.channel) { [weak self] result in
            guard let self, let pairing, case .success(let answer) = result else {
                return completion(result.map { _ in found })
            }
            let answered = OutstandingPage(answer.body)
            let items = answered.items.map { OutstandingTransfer($0, pairing, kind) }
            page(items)
            guard let more = answered.more, more > after else { return completion(.success(found + items)) }
            pages(kind, of: pairing, named: named, after: more, found + items, page: page, then: completion)
        }
    }

    func answered(_ answer: AnswerFrame) {
        guard let waiter = open.abandoned(answer.id) else { return }
        guard answer.code != 0 else { return waiter(.success(answer)) }
        waiter(
            .failure(
                SessionError(
                    SessionError.Code(rawValue: answer.code) ?? .genericError, name: answer.name,
                    reason: "the daemon does not answer '\(answer.command)'")))
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
