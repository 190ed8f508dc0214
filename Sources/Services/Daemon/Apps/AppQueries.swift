// Queries of apps about their own items (SES-54), and the contexts that they get (SES-52).

import TandemBase
import TandemDelivery
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire

/// Answers queries of apps, and sends them their contexts; confined to its loop.
final class AppQueries {
    /// Bytes of bodies and items in one answer (LIM-40): with the rest it stays below the largest frame.
    private static var pageBytes: Int { 256 * 1024 }
    /// Pages of one connection under way at once (LIM-24): all of them fit what may wait for it.
    private static var pages: Int { 8 }
    /// Bytes that may wait for a connection before the next context is sent to it.
    private static var contextBytes: Int { 512 * 1024 }

    private let exchange: ItemExchange
    private let outcomes: AppOutcomes
    private unowned let endpoint: LocalEndpoint
    /// Lists of outstanding items in the making.
    private var pages: [ConnectionNumber: Int] = [:]

    init(to exchange: ItemExchange, outcomes: AppOutcomes, endpoint: LocalEndpoint) {
        self.exchange = exchange
        self.outcomes = outcomes
        self.endpoint = endpoint
    }

    /// Takes `query`.
    func answer(_ envelope: Envelope, _ app: ApplicationIdentifier, _ connection: HostAppConnection) {
        guard let id = envelope.id, let command = envelope.command else { return }
        guard let pairing = envelope.pairing,
            endpoint.relay.reachability(of: app, pairing: pairing, on: endpoint.side) != nil
        else { return answer(id, app, command, connection, code: .deviceNotPaired, name: "not-paired") }
        // What an operator sends is not for an app to read or to cancel, not even if it is for its counterpart.
        if let channel = envelope.channel, !DurableChannels.channels.contains(channel) {
            return answer(id, app, command, connection, code: .invalidParameter, name: "channel")
        }
        let body = (try? envelope.dictionaryBody()) ?? [:]
        let queue = envelope.channel.map { QueueKey(pairing: pairing, app: app, channel: $0) }
        switch (command, queue) {
        case ("outstanding", let queue?): outstanding(id, queue, body, connection)
        case ("cancel", let queue?): cancel(id, queue, body, connection)
        case ("follow", let queue?): follow(id, queue, body, connection)
        case ("budget", _): budget(id, QueueKey(pairing: pairing, app: app, channel: .urgent), connection)
        default: answer(id, app, command, connection, code: .invalidParameter, name: "unknown-command")
        }
    }

    private func answer(
        _ id: UniqueIdentifier, _ app: ApplicationIdentifier, _ command: String, _ connection: HostAppConnection,
        code: SessionError.Code? = nil, name: String? = nil, _ body: PropertyListDictionary? = nil
    ) {
        var envelope = Envelope(.answer, app: app, id: id, code: code?.rawValue ?? 0, name: name, command: command)
        if let body, let whole = try? envelope.with(body: body) { envelope = whole }
        connection.send(envelope)
    }

    // MARK: outstanding items

    private func outstanding(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ body: PropertyListDictionary, _ connection: HostAppConnection
    ) {
        guard pages[connection.number, default: 0] < Self.pages else {
            return answer(id, queue.app, "outstanding", connection, code: .genericError, name: "too-many-requests")
        }
        pages[connection.number, default: 0] += 1
        let after = body["after"]?.unsignedValue ?? 0
        let records = exchange.submissions.outstanding(in: queue, after: after, limit: Limits.pageItems)
        page(Page(id: id, queue: queue, number: connection.number, rest: records[...], after: after))
    }

    /// An answer in the making: bodies come from the store one after the other.
    private struct Page {
        let id: UniqueIdentifier
        let queue: QueueKey
        let number: ConnectionNumber
        var rest: ArraySlice<OutboundRecord>
        var items: [PropertyListValue] = []
        var bytes = 0
        var after: UInt64
    }

    private func page(_ page: Page) {
        guard let record = page.rest.first, page.bytes < Self.pageBytes else { return finish(page) }
        exchange.submissions.payload(of: record.id, in: page.queue) { [weak self] body in
            var next = page
            next.rest = page.rest.dropFirst()
            next.items.append(.dictionary(record.described(body: body)))
            next.bytes += body?.count ?? 0
            next.after = record.ordinal
            self?.page(next)
        }
    }

    private func finish(_ page: Page) {
        let others = (pages[page.number] ?? 1) - 1
        pages[page.number] = others > 0 ? others : nil
        guard let connection = endpoint.connection(page.number) else { return }
        var body: PropertyListDictionary = ["items": .array(page.items)]
        // A page that was not filled may be the last one; an empty one is.
        if !page.items.isEmpty { body["more"] = PropertyListValue(page.after) }
        answer(page.id, page.queue.app, "outstanding", connection, body)
    }

    // MARK: following, cancelling, budget

    private func follow(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ body: PropertyListDictionary, _ connection: HostAppConnection
    ) {
        guard let items = Self.items(body) else {
            return answer(id, queue.app, "follow", connection, code: .invalidParameter, name: "items")
        }
        let number = connection.number
        outcomes.follow(items, in: queue, connection) { [weak self] unknown in
            guard let self, let connection = endpoint.connection(number) else { return }
            guard let unknown else {
                return answer(id, queue.app, "follow", connection, code: .genericError, name: "store")
            }
            answer(id, queue.app, "follow", connection, ["unknown": .array(unknown.map { .data($0.bytes) })])
        }
    }

    /// The items that a query to follow names; nil if it does not read.
    private static func items(_ body: PropertyListDictionary) -> [UniqueIdentifier]? {
        guard let values = body["items"]?.arrayValue, values.count <= Limits.pageItems else { return nil }
        let items = values.compactMap { $0.dataValue.flatMap { UniqueIdentifier(bytes: $0) } }
        return items.count == values.count ? items : nil
    }

    private func cancel(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ body: PropertyListDictionary, _ connection: HostAppConnection
    ) {
        guard let item = body["item"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }) else {
            return answer(id, queue.app, "cancel", connection, code: .invalidParameter, name: "item")
        }
        let number = connection.number
        // Only this device knows a file that it has not accepted.
        if queue.channel == .file,
            exchange.files?.submissions.drop(FileKey(queue, item), for: number, .cancelled) == true
        {
            outcomes.removeSubmitter(of: item, in: queue)
            return answer(id, queue.app, "cancel", connection, name: "cancelled")
        }
        exchange.submissions.cancel(item, in: queue) { [weak self] cancellation in
            guard let self, let connection = endpoint.connection(number) else { return }
            switch cancellation {
            case .cancelled: answer(id, queue.app, "cancel", connection, name: "cancelled")
            case .asked: answer(id, queue.app, "cancel", connection, name: "asked")
            case .unknown, .notStored: answer(id, queue.app, "cancel", connection, name: "unknown")
            case .tooLate(let outcome):
                var body: PropertyListDictionary = ["outcome": .string(outcome.name)]
                body["code"] = outcome.code.map { .integer($0) }
                answer(id, queue.app, "cancel", connection, name: "too-late", body)
            }
        }
    }

    private func budget(_ id: UniqueIdentifier, _ queue: QueueKey, _ connection: HostAppConnection) {
        let reading = exchange.submissions.urgentBudget(of: queue.app, in: queue.pairing)
        answer(
            id, queue.app, "budget", connection,
            [
                "remaining": .integer(Int64(reading.remaining)), "limit": .integer(Int64(reading.limit)),
                "resets": .integer(reading.reset.saturatingMilliseconds),
            ])
    }

    // MARK: contexts

    /// Sends what was last sent and received through each pairing. A thousand pairings have more than may wait for one
    /// connection (LIM-6): the next one is read when the connection has taken most of those before.
    func sendContexts(of app: ApplicationIdentifier, to connection: HostAppConnection) {
        let number = connection.number
        exchange.contexts(of: app) { [weak self] context, next in
            guard let self, let connection = endpoint.connection(number) else { return }
            send(context, to: connection)
            whenRead(by: number, next)
        }
    }

    private func whenRead(by number: ConnectionNumber, _ next: @escaping () -> Void) {
        guard let connection = endpoint.connection(number) else { return }
        guard connection.channel.queuedBytes > Self.contextBytes else { return next() }
        endpoint.scheduler.schedule(after: .milliseconds(10)) { [weak self] in self?.whenRead(by: number, next) }
    }

    /// A context was sent or has arrived: all connections of its app get it.
    func contextChanged(_ context: ContextStanding) {
        for connection in endpoint.connections(of: context.app) { send(context, to: connection) }
    }

    private func send(_ context: ContextStanding, to connection: HostAppConnection) {
        connection.send(
            Envelope(
                .context, app: context.app, pairing: context.pairing, name: context.side.rawValue,
                revision: context.revision, body: context.body))
    }
}

extension OutboundRecord {
    /// The record as an app may see it; the body is absent once the peer has it.
    fileprivate func described(body: [UInt8]?) -> PropertyListDictionary {
        var fields: PropertyListDictionary = ["id": .data(id.bytes), "size": .integer(Int64(size))]
        if case .stored = phase { fields["state"] = "stored" } else { fields["state"] = "accepted" }
        fields["topic"] = topic.map { .string($0) }
        fields["kind"] = kind.map { .string($0) }
        if isCurrent { fields["current"] = true }
        if case .sent = phase, let refusal {
            fields["code"] = .integer(refusal.code)
            fields["refusal"] = refusal.name.map { .string($0) }
        }
        fields["body"] = body.map { .data($0) }
        return fields
    }
}
