// Queries of apps (SES-54): about their own items, and of what their daemon judges for them, a configuration or the
// schema of the app (SES-71).

import TandemBase
import TandemDelivery
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

/// Answers queries of apps; confined to its loop.
final class AppQueries {
    /// Bytes of bodies and items in one answer (LIM-40): with the rest it stays below the largest frame.
    private static var pageBytes: Int { 256 * 1024 }
    /// Pages of one connection under way at once (LIM-24): all of them fit what may wait for it.
    private static var pages: Int { 8 }

    private let delivery: DurableDelivery
    private let outcomes: AppOutcomes
    private let contexts: AppContexts
    private unowned let endpoint: LocalEndpoint
    /// Lists of outstanding items in the making.
    private var pages: [ConnectionNumber: Int] = [:]
    // Unchecked, because nothing is called while it is touched; each submission asks it.
    @exclusivity(unchecked) private var earlyWithdrawals = EarlyWithdrawals()
    /// The apps with a configuration that is being judged, also for a connection that is gone: as many as a user's apps
    /// wait for their turns (SES-93).
    private var applying: Set<ApplicationIdentifier> = []

    init(to delivery: DurableDelivery, outcomes: AppOutcomes, contexts: AppContexts, endpoint: LocalEndpoint) {
        self.delivery = delivery
        self.outcomes = outcomes
        self.contexts = contexts
        self.endpoint = endpoint
    }

    /// Whether an app has taken back an item before it came.
    func hasTakenBack(_ item: ItemKey) -> Bool { earlyWithdrawals.contains(item) }

    func left(_ app: ApplicationIdentifier) {
        if earlyWithdrawals.keepsAny(of: app), endpoint.connections(of: app).isEmpty { earlyWithdrawals.forget(app) }
    }

    /// Takes `query`.
    func answer(_ query: QueryFrame, _ connection: HostAppConnection) {
        if let (code, name) = obstacle(to: query, connection) { return refuse(query, code, name, connection) }
        do throws(AnswerName) {
            switch try query.question() {
            case .schema(let document):
                inTurn(holding: document.count, query, connection) { self.take(document, query, connection) }
            case .apply(let envelope):
                inTurn(holding: envelope.count, query, connection) { self.apply(envelope, query, connection) }
            case .budget: budget(query, in: try pairing(of: query), connection)
            case .outstanding(let ordinal): outstanding(query, try queue(of: query), after: ordinal, connection)
            case .cancel(let item): cancel(item, query, try queue(of: query), connection)
            case .subscribe(let items): subscribe(to: items, query, try queue(of: query), connection)
            }
        } catch {
            refuse(query, .invalidParameter, error, connection)
        }
    }

    /// Why an app may not ask about these items; nil if it may. A configuration or a schema is about no items: an app
    /// brings both before its device is paired, too.
    private func obstacle(
        to query: QueryFrame, _ connection: HostAppConnection
    ) -> (code: SessionError.Code, name: AnswerName)? {
        switch QueryFrame.Command(word: query.command) {
        case .schema, .apply: return nil
        case .outstanding, .cancel, .subscribe, .budget, nil: break
        }
        guard let pairing = query.pairing, connection.port?.route(through: pairing) != nil else {
            return (.deviceNotPaired, .notPaired)
        }
        // An app may neither read nor cancel what an operator sends, not even to its counterpart.
        let isForApps =
            query.channel?.isForApps != false
            && endpoint.registrations.mayUseQueues(of: query.app, by: connection.credentials.user)
        return isForApps ? nil : (.invalidParameter, .channel)
    }

    private func pairing(of query: QueryFrame) throws(AnswerName) -> UniqueIdentifier {
        guard let pairing = query.pairing else { throw .notPaired }
        return pairing
    }

    private func queue(of query: QueryFrame) throws(AnswerName) -> QueueKey {
        guard let channel = query.channel else { throw .unknownCommand }
        return QueueKey(pairing: try pairing(of: query), app: query.app, channel: channel)
    }

    private func answer(
        _ query: QueryFrame, _ connection: HostAppConnection, _ name: AnswerName? = nil,
        body: PropertyListDictionary = [:]
    ) {
        connection.send(AnswerFrame(to: (query.id, query.app, query.command), name: name, body: body))
    }

    private func refuse(
        _ query: QueryFrame, _ code: SessionError.Code, _ name: AnswerName, _ connection: HostAppConnection
    ) {
        connection.send(AnswerFrame(to: (query.id, query.app, query.command), code: code, name: name))
    }

    // MARK: outstanding items

    private func outstanding(
        _ query: QueryFrame, _ queue: QueueKey, after ordinal: UInt64, _ connection: HostAppConnection
    ) {
        let user = connection.credentials.user
        guard pages[connection.number, default: 0] < Self.pages, endpoint.accounts.beginPage(of: user) else {
            return refuse(query, .genericError, .tooManyRequests, connection)
        }
        pages[connection.number, default: 0] += 1
        let records = delivery.submissions.outstanding(in: queue, after: ordinal, limit: Limits.pageItems)
        let page = Page(
            query: query, queue: queue, number: connection.number, user: user, rest: records[...], after: ordinal)
        // Its items are read against contexts that the app has (SES-62).
        contexts.whenSent(to: page.number) { [weak self] in self?.page(page) }
    }

    /// An answer in the making: bodies come from the store one after the other.
    private struct Page {
        let query: QueryFrame
        let queue: QueueKey
        let number: ConnectionNumber
        let user: UInt32
        var rest: ArraySlice<OutboundRecord>
        var items: [OutstandingPage.Item] = []
        var bytes = 0
        var after: UInt64
    }

    private func page(_ page: Page) {
        guard let record = page.rest.first, page.bytes < Self.pageBytes else { return finish(page) }
        let turns = endpoint.accounts.readTurns(of: page.user)
        delivery.submissions.payload(of: record.id, in: page.queue, turns) { [weak self] body in
            var next = page
            next.rest = page.rest.dropFirst()
            next.items.append(OutstandingPage.Item(record, body: body))
            next.bytes += body?.count ?? 0
            next.after = record.ordinal
            self?.page(next)
        }
    }

    private func finish(_ page: Page) {
        let others = (pages[page.number] ?? 1) - 1
        pages[page.number] = others > 0 ? others : nil
        endpoint.accounts.endPage(of: page.user)
        guard let connection = endpoint.connection(page.number) else { return }
        // A page that was not filled may be the last one; an empty one is.
        let more = page.items.isEmpty ? nil : page.after
        answer(page.query, connection, body: OutstandingPage(items: page.items, more: more).body)
    }

    // MARK: subscriptions, cancelling, budget

    private func subscribe(
        to items: [UniqueIdentifier], _ query: QueryFrame, _ queue: QueueKey, _ connection: HostAppConnection
    ) {
        let number = connection.number
        outcomes.subscribe(to: items, in: queue, connection) { [weak self] unknown in
            guard let self, let connection = endpoint.connection(number) else { return }
            guard let unknown else { return refuse(query, .genericError, .store, connection) }
            answer(query, connection, body: UnknownItems(unknown).body)
        }
    }

    private func cancel(
        _ item: UniqueIdentifier, _ query: QueryFrame, _ queue: QueueKey, _ connection: HostAppConnection
    ) {
        let number = connection.number
        // Only this device knows a file that it has not accepted.
        if queue.channel.properties.hasFile,
            delivery.files?.uploads.drop(ItemKey(queue, item), for: number, .cancelled) == true
        {
            outcomes.removeSubmitter(of: item, in: queue)
            return answer(query, connection, .cancelled)
        }
        delivery.submissions.cancel(item, in: queue) { [weak self] cancellation in
            guard let self else { return }
            let connection = endpoint.connection(number)
            if case .unknown = cancellation {
                // It may have come meanwhile.
                if delivery.submissions.record(of: item, in: queue) != nil {
                    if let connection { cancel(item, query, queue, connection) }
                    return
                }
                earlyWithdrawals.add(ItemKey(queue, item))
            }
            guard let connection else { return }
            switch cancellation {
            case .cancelled: answer(query, connection, .cancelled)
            case .asked: answer(query, connection, .asked)
            case .unknown: answer(query, connection, .unknown)
            case .notStored: refuse(query, .genericError, .store, connection)
            case .tooLate(let outcome): answer(query, connection, .tooLate, body: LateOutcome(outcome).body)
            }
        }
    }

    private func budget(_ query: QueryFrame, in pairing: UniqueIdentifier, _ connection: HostAppConnection) {
        answer(query, connection, body: delivery.submissions.urgentBudget(of: query.app, in: pairing).body)
    }

    // MARK: configuration

    private func inTurn(
        holding bytes: Int, _ query: QueryFrame, _ connection: HostAppConnection, _ work: @escaping () -> Void
    ) {
        if connection.inTurn(holding: bytes, work) { return }
        refuse(query, .genericError, .tooManyRequests, connection)
    }

    /// Judges a configuration that an app hands over, as `apply` of an operator does: it has no other authority.
    private func apply(_ envelope: [UInt8], _ query: QueryFrame, _ connection: HostAppConnection) {
        let number = connection.number
        guard endpoint.registrations.isOwner(connection.credentials.user, of: query.app),
            let apply = endpoint.outlets?.apply
        else {
            return refuse(query, .invalidParameter, .unknownCommand, connection)
        }
        guard applying.insert(query.app).inserted else {
            return refuse(query, .genericError, .tooManyRequests, connection)
        }
        endpoint.scheduler.start { [weak self] in
            let verdict = await apply(query.app, envelope)
            guard let self else { return }
            applying.remove(query.app)
            if let connection = endpoint.connection(number) { answer(query, connection, body: verdict.body) }
        }
    }

    /// Takes the schema of an app from its receiving connection, if it was asked for (SES-71): what the connection has
    /// registered is what its app is judged by.
    private func take(_ document: [UInt8], _ query: QueryFrame, _ connection: HostAppConnection) {
        let (number, user) = (connection.number, connection.credentials.user)
        guard let receiving = connection.receiving, receiving.app == query.app,
            let take = endpoint.outlets?.takeSchema
        else {
            return refuse(query, .invalidParameter, .unknownCommand, connection)
        }
        guard connection.owesSchema, let digest = receiving.registration.schema else {
            return refuse(query, .invalidParameter, .schema, connection)
        }
        connection.schemaCame()
        endpoint.scheduler.start { [weak self] in
            let reason = await take(query.app, document, digest, user)
            guard let self, let connection = endpoint.connection(number) else { return }
            if reason == nil {
                answer(query, connection, body: [:])
            } else {
                refuse(query, .invalidParameter, .schema, connection)
            }
        }
    }
}

extension OutstandingPage.Item {
    /// The record as an app may see it; the body is absent once the peer has it.
    fileprivate init(_ record: OutboundRecord, body: [UInt8]?) {
        self.init(id: record.id)
        size = record.contentSize
        if case .stored = record.phase { isStored = true }
        topic = record.topic
        kind = record.kind
        isCurrent = record.isCurrent
        if case .sent = record.phase, let refusal = record.refusal {
            code = refusal.code
            self.refusal = refusal.name
        }
        self.body = body
    }
}
