// What apps submit (SES-48, SES-49): checked in the order of SES-13, given to the exchange, and answered when it is
// durable or when it cannot be.

import TandemBase
import TandemDelivery
import TandemOperations
import TandemPropertyList
import TandemSession
import TandemStore
import TandemWire

extension DurableChannels {
    func submit(_ envelope: Envelope, _ app: ApplicationIdentifier, _ connection: HostAppConnection) {
        guard let id = envelope.id, let pairing = envelope.pairing, let channel = envelope.channel,
            let body = envelope.body
        else { return }
        let queue = QueueKey(pairing: pairing, app: app, channel: channel)
        if let error = obstacle(to: envelope, body.count, queue) { return refuse(id, queue, error, connection) }
        if channel == .file { return submitFile(envelope, id, queue, connection) }
        submitters[Submitted(id, in: queue)] = connection.number
        exchange.submit(item(envelope, id, Array(body)), to: queue) { [weak self] result in
            self?.submitted(id, queue, result, connection.number)
        }
    }

    func item(_ envelope: Envelope, _ id: UniqueIdentifier, _ body: [UInt8]) -> OutboundItem {
        var item = OutboundItem(
            id: id, payload: body, supersedeKey: envelope.key.map { Array($0.utf8) }, lifetime: envelope.remaining,
            topic: envelope.topic, after: envelope.after)
        switch envelope.channel {
        case .urgent: item.kind = envelope.name ?? "main"
        case .context: item.policy = envelope.name == "always" ? .always : .ifChanged
        default: break
        }
        return item
    }

    func submitted(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ result: Result<Acceptance, SubmitFailure>,
        _ number: ConnectionNumber
    ) {
        if case .success = result { note(.accepted, id, queue, isOutbound: true) }
        guard let connection = endpoint.connection(number) else { return }
        switch result {
        case .success(let acceptance):
            // Nothing was submitted, so nothing will end.
            if acceptance.note == .unchanged { submitters[Submitted(id, in: queue)] = nil }
            connection.send(
                Envelope(
                    .accepted, app: queue.app, pairing: queue.pairing, id: id, channel: queue.channel,
                    name: acceptance.note?.rawValue, revision: acceptance.revision))
        case .failure(let failure):
            submitters[Submitted(id, in: queue)] = nil
            refuse(id, queue, SessionError(failure), connection)
        }
    }

    func refuse(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ error: SessionError, _ connection: HostAppConnection
    ) {
        connection.send(try FailureFrame(of: ItemKey(queue, id), error).envelope)
    }

    /// The first reason against taking an item (SES-13), as far as the daemon can see; nil if there is none.
    func obstacle(to envelope: Envelope, _ size: Int, _ queue: QueueKey) -> SessionError? {
        let seen = endpoint.relay.reachability(of: queue.app, pairing: queue.pairing, on: endpoint.side)
        let check = SendCheck(
            activation: .activated,
            counterpart: seen.map { seen in
                SendCheck.Counterpart(role: endpoint.options.role, level: seen.level, reason: seen.reason)
            },
            badArgument: Self.badArgument(envelope), bodySize: size, bodyLimit: queue.channel.bodyLimit ?? 0,
            needsReachability: false)
        if let refusal = check.refusal { return SessionError(refusal, messageID: envelope.id) }
        return isDraining ? .draining : nil
    }

    private static func badArgument(_ envelope: Envelope) -> BadArgument? {
        guard envelope.channel?.bodyLimit != nil else { return .channel }
        return envelope.channel == .urgent && envelope.name?.isShortText == false ? .kind : nil
    }
}

extension Channel {
    /// The largest body that an app may submit (LIM-2); nil for a channel that is not an app's.
    var bodyLimit: Int? {
        switch self {
        case .context: Limits.contextBody
        case .userInfo, .urgent, .file: Limits.userInfoBody
        case .configuration: nil
        }
    }
}

extension SessionError {
    fileprivate static var draining: SessionError {
        SessionError(
            .genericError, name: "draining", reason: "an operator lets this device's queues run empty",
            isRetryable: true)
    }

    /// Why an item did not become durable.
    init(_ failure: SubmitFailure) {
        switch failure {
        case .full(let items, let bytes, let itemLimit, let byteLimit):
            let byCount = items >= itemLimit
            self.init(
                .genericError, name: "queue-full", reason: "\(failure)", actual: byCount ? items : bytes,
                limit: byCount ? itemLimit : byteLimit, isRetryable: true)
        case .unpaired: self.init(.deviceNotPaired, name: "not-paired", reason: "\(failure)")
        case .store(let error):
            if case .full = error {
                self.init(
                    .insufficientSpace, name: "insufficient-space", reason: "this device's disk is full: \(error)",
                    isRetryable: true)
            } else {
                self.init(.genericError, name: "store", reason: "the item could not be made durable: \(error)")
            }
        }
    }
}
