// The durable channels of a side's host apps (SES-48 to SES-54): what an app submits goes to the exchange, what the
// exchange has for an app goes to its receiving connection, one item of a queue at a time. What becomes of an item is
// the exchange's to decide.

package import TandemDelivery
package import TandemIdentity
import TandemReactor
package import TandemRelay
package import TandemSession
import TandemWire

/// Connects host apps with the exchange of their device; confined to its loop. The endpoint owns it.
package final class DurableChannels {
    /// An item that an app has and has not said its verdict of.
    struct Given {
        let id: UniqueIdentifier
        let ordinal: UInt64
        let connection: ConnectionNumber
    }

    /// An item as its submitter names it. Apps choose the identifiers, perhaps the same for two pairings; the channel is not
    /// among it, because an urgent item that is demoted changes it.
    struct Submitted: Hashable {
        let pairing: UniqueIdentifier
        let app: ApplicationIdentifier
        let id: UniqueIdentifier

        init(_ id: UniqueIdentifier, in queue: QueueKey) {
            (pairing, app) = (queue.pairing, queue.app)
            self.id = id
        }
    }

    let exchange: ItemExchange
    /// The bytes of the channel `file`; nil where no files are taken.
    package var files: FileExchange?
    unowned let endpoint: LocalEndpoint
    /// Who submitted an item that has not ended, and is still there; the app's receiving connection hears of all others.
    var submitters: [Submitted: ConnectionNumber] = [:]
    /// Lists of outstanding items in the making.
    var pages: [ConnectionNumber: Int] = [:]
    var given: [QueueKey: Given] = [:]
    /// Files that are being put into their app's directory.
    var handing: [QueueKey: ReceivedItem] = [:]
    /// Ends that were told and not confirmed, for each app: the next ones follow when these are.
    var toldEnds: [ApplicationIdentifier: Set<UniqueIdentifier>] = [:]

    /// An operator lets the queues run empty: nothing new is taken (CTL-14).
    package var isDraining = false
    /// Told what apps submit, are given and have handled.
    package var onEvent: ((TraceEvent) -> Void)?

    /// Ends of former items that are told before one of them is confirmed: a fraction of what may be queued (LIM-6).
    static var endsAtOnce: Int { 256 }

    package init(exchange: ItemExchange, endpoint: LocalEndpoint) {
        self.exchange = exchange
        self.endpoint = endpoint
    }

    /// The channels that an app's connection can have.
    static let channels: [Channel] = [.context, .userInfo, .urgent, .file]

    /// Takes `submit`, `chunk`, `verdict`, `heard` or `query` from a registered connection.
    /// - Returns: the refusal that the connection has earned; nil if all is well.
    func receive(_ envelope: Envelope, from connection: HostAppConnection) -> Refusal? {
        guard let app = envelope.app, app == connection.port?.app else {
            return Refusal(.notYours, "a frame of another application")
        }
        switch envelope.kind {
        case .submit: submit(envelope, app, connection)
        case .query: ask(envelope, app, connection)
        case .verdict: return judged(envelope, connection)
        case .chunk: return chunk(envelope, app, connection)
        case .heard: heard(envelope, app)
        default: return Refusal(.unexpected, "\(envelope.kind.rawValue) is not taken after register")
        }
        return nil
    }

    // MARK: connections

    /// A connection was told `registered`: it hears what is known, and gets items if it takes the app's messages.
    func entered(
        _ connection: HostAppConnection, _ app: ApplicationIdentifier, receives: Bool, _ channels: Set<Channel>
    ) {
        if channels.contains(.context) { tellContexts(of: app, to: connection) }
        guard receives, !channels.isEmpty else { return }
        tellEnds(of: app)
        exchange.consumerArrived(app, channels: channels)
    }

    /// A receiving connection is gone: what its app had comes again.
    func left(_ connection: HostAppConnection, _ app: ApplicationIdentifier, receives: Bool) {
        for (item, number) in submitters where number == connection.number { submitters[item] = nil }
        files?.sourceLeft(connection)
        guard receives else { return }
        given = given.filter { $0.value.connection != connection.number }
        handing = handing.filter { $0.key.app != app }
        toldEnds[app] = nil
        exchange.consumerLeft(app)
    }

    // MARK: what the device tells

    /// An item for its app's handler.
    package func received(_ item: ReceivedItem) {
        if item.queue.channel == .file { receivedFile(item) } else { give(item, item.payload) }
    }

    func give(_ item: ReceivedItem, _ body: [UInt8]) {
        let app = item.queue.app
        guard let connection = endpoint.receivers[app], connection.port != nil else {
            return exchange.failed(item.ordinal, in: item.queue)
        }
        given[item.queue] = Given(id: item.id, ordinal: item.ordinal, connection: connection.number)
        connection.send(
            Envelope(
                .delivery, app: app, pairing: item.queue.pairing, id: item.id, channel: item.queue.channel,
                age: item.age, remaining: item.remaining, attempt: item.attempt, topic: item.topic,
                revision: item.revision, body: body))
        note(.delivered, item.id, item.queue, isOutbound: false)
    }

    func note(_ step: TraceEvent.Step, _ id: UniqueIdentifier, _ queue: QueueKey, isOutbound: Bool) {
        onEvent?(
            TraceEvent(
                step, id: id, pairing: queue.pairing, app: queue.app, channel: queue.channel, isOutbound: isOutbound))
    }

    /// An item of an app is durable on the other device.
    package func stored(_ id: UniqueIdentifier, in queue: QueueKey) {
        guard queue.channel != .context else { return }
        if queue.channel == .file { files?.sentItemEnded(id, in: queue) }
        teller(of: id, in: queue)?.send(
            Envelope(
                .progress, app: queue.app, pairing: queue.pairing, id: id, channel: queue.channel, name: "stored"))
    }

    /// An item of an app has ended. Without a connection that hears it, the exchange keeps it.
    package func ended(_ id: UniqueIdentifier, in queue: QueueKey, _ outcome: Outcome, code: Int64?) {
        if queue.channel == .file { files?.sentItemEnded(id, in: queue) }
        // A context has no end that its app waits for: the next one takes its place (SES-50).
        if queue.channel == .context { return forgetContext(id, in: queue) }
        let connection = teller(of: id, in: queue)
        submitters[Submitted(id, in: queue)] = nil
        guard let connection else { return }
        tell(id, queue, outcome, code, to: connection)
    }

    private func forgetContext(_ id: UniqueIdentifier, in queue: QueueKey) {
        submitters[Submitted(id, in: queue)] = nil
        exchange.forget(id, in: queue)
    }

    func teller(of id: UniqueIdentifier, in queue: QueueKey) -> HostAppConnection? {
        let submitter = submitters[Submitted(id, in: queue)]
        if let submitter, let connection = endpoint.connection(submitter) { return connection }
        guard let receiver = endpoint.receivers[queue.app], receiver.port != nil else { return nil }
        return receiver
    }

    private func tell(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ outcome: Outcome, _ code: Int64?, to connection: HostAppConnection
    ) {
        connection.send(
            Envelope(
                .finished, app: queue.app, pairing: queue.pairing, id: id, channel: queue.channel,
                code: (outcome.code ?? code).flatMap { Int(exactly: $0) }, name: outcome.name))
    }

    /// Ends that nobody has confirmed, a bounded number at a time.
    func tellEnds(of app: ApplicationIdentifier) {
        guard toldEnds[app, default: []].isEmpty, let connection = endpoint.receivers[app] else { return }
        let unheard = exchange.unheard(of: app)
        for (queue, record) in unheard where queue.channel == .context { forgetContext(record.id, in: queue) }
        for (queue, record) in unheard.filter({ $0.key.channel != .context }).prefix(Self.endsAtOnce) {
            guard case .finished(let outcome) = record.phase else { continue }
            toldEnds[app, default: []].insert(record.id)
            tell(record.id, queue, outcome, record.failure, to: connection)
        }
    }

    private func heard(_ envelope: Envelope, _ app: ApplicationIdentifier) {
        guard let id = envelope.id, let pairing = envelope.pairing, let channel = envelope.channel,
            Self.channels.contains(channel)
        else { return }
        exchange.forget(id, in: QueueKey(pairing: pairing, app: app, channel: channel))
        guard toldEnds[app]?.remove(id) != nil, toldEnds[app]?.isEmpty ?? true else { return }
        tellEnds(of: app)
    }

    // MARK: verdicts

    private func judged(_ envelope: Envelope, _ connection: HostAppConnection) -> Refusal? {
        guard let id = envelope.id, let pairing = envelope.pairing, let channel = envelope.channel,
            let app = envelope.app, let name = envelope.name
        else { return Refusal(.envelope, "a verdict names its item") }
        let queue = QueueKey(pairing: pairing, app: app, channel: channel)
        // A verdict of what this connection was not given says nothing: it was given again, or withdrawn.
        guard let item = given[queue], item.id == id, item.connection == connection.number else { return nil }
        given[queue] = nil
        switch (name, envelope.code) {
        case ("handled", nil):
            note(.handled, id, queue, isOutbound: false)
            exchange.handled(item.ordinal, in: queue)
        case ("failed", nil): exchange.failed(item.ordinal, in: queue)
        case ("rejected", let code?): exchange.rejected(item.ordinal, code: Int64(code), in: queue)
        default: return Refusal(.envelope, "a verdict is handled, failed, or rejected with a code")
        }
        if channel == .file { files?.judged(id, in: queue) }
        return nil
    }
}
