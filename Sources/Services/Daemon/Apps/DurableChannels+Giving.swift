// Items for apps (SES-51): of each queue one at a time, to the connection that receives, until its verdict is there.

import TandemBase
import TandemDelivery
import TandemOperations
import TandemSession
import TandemWire

extension DurableChannels {
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

    func judged(_ envelope: Envelope, _ connection: HostAppConnection) -> Refusal? {
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
        return nil
    }
}
