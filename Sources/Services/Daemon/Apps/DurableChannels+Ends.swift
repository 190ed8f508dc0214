// What becomes of the items that apps have submitted (SES-50): told to the connection that submitted them or else to the
// app's receiving one, and told again until somebody has heard.

package import TandemBase
package import TandemDelivery
import TandemPropertyList
import TandemReactor
package import TandemWire

extension DurableChannels {
    /// An item of an app is durable on the other device.
    package func stored(_ id: UniqueIdentifier, in queue: QueueKey) {
        guard queue.channel != .context else { return }
        if let connection = teller(of: id, in: queue) { tellStored(id, queue, to: connection) }
    }

    func tellStored(_ id: UniqueIdentifier, _ queue: QueueKey, to connection: HostAppConnection) {
        connection.send(
            Envelope(
                .progress, app: queue.app, pairing: queue.pairing, id: id, channel: queue.channel, name: "stored"))
    }

    /// An item of an app has ended. Without a connection that hears it, the exchange keeps it.
    package func ended(_ id: UniqueIdentifier, in queue: QueueKey, _ outcome: Outcome, _ refusal: ItemRefusal?) {
        if queue.channel == .file { files?.sentItemEnded(id, in: queue) }
        // A context has no end that its app waits for: the next one takes its place (SES-50).
        if queue.channel == .context { return forgetContext(id, in: queue) }
        let connection = teller(of: id, in: queue)
        submitters[Submitted(id, in: queue)] = nil
        guard let connection else { return }
        tellEnd(id, queue, outcome, refusal, to: connection)
    }

    /// Tells an end, once on a receiving connection: it may ask for what it missed while it is told.
    func tellEnd(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ outcome: Outcome, _ refusal: ItemRefusal?,
        to connection: HostAppConnection
    ) {
        let name = Submitted(id, in: queue)
        if endpoint.receivers[queue.app] === connection, let told = missedEnds[queue.app] {
            if told.unconfirmed.contains(name) || told.live.contains(name) { return }
            if told.live.count < Limits.endsAhead { missedEnds[queue.app]?.live.insert(name) }
        }
        sendEnd(id, queue, outcome, refusal, to: connection)
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

    private func sendEnd(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ outcome: Outcome, _ refusal: ItemRefusal?,
        to connection: HostAppConnection
    ) {
        let plain = Envelope(
            .finished, app: queue.app, pairing: queue.pairing, id: id, channel: queue.channel,
            code: (outcome.code ?? refusal?.code).flatMap { Int(exactly: $0) }, name: outcome.name)
        let explained = refusal?.name.flatMap { try? plain.with(body: ["refusal": .string($0)]) }
        connection.send(explained ?? plain)
    }

    /// Tells the next ends that nobody has confirmed.
    func tellEnds(of app: ApplicationIdentifier) {
        guard var told = missedEnds[app], told.unconfirmed.isEmpty, let connection = endpoint.receivers[app] else {
            return
        }
        while told.unconfirmed.count < Limits.endsAhead, let queue = told.queues.last {
            let limit = Limits.endsAhead - told.unconfirmed.count
            let page = exchange.unheard(in: queue, limit: limit)
            if page.count < limit || queue.channel == .context { told.queues.removeLast() }
            for record in page {
                guard queue.channel != .context else {
                    forgetContext(record.id, in: queue)
                    continue
                }
                guard case .finished(let outcome) = record.phase else { continue }
                told.unconfirmed.insert(Submitted(record.id, in: queue))
                sendEnd(record.id, queue, outcome, record.endingRefusal, to: connection)
            }
        }
        missedEnds[app] = told
    }

    func heard(_ envelope: Envelope, _ app: ApplicationIdentifier) {
        guard let id = envelope.id, let pairing = envelope.pairing, let channel = envelope.channel,
            Self.channels.contains(channel)
        else { return }
        let queue = QueueKey(pairing: pairing, app: app, channel: channel)
        let name = Submitted(id, in: queue)
        missedEnds[app]?.live.remove(name)
        guard missedEnds[app]?.unconfirmed.contains(name) == true else { return exchange.forget(id, in: queue) }
        // The next page is read when this one is forgotten: else it would be the same one.
        exchange.forget(id, in: queue) { [weak self] isForgotten in
            guard let self else { return }
            missedEnds[app]?.unconfirmed.remove(name)
            if isForgotten { return tellEnds(of: app) }
            endpoint.scheduler.schedule(after: .seconds(1)) { [weak self] in self?.tellEnds(of: app) }
        }
    }
}
