// Items that a process of an app still waits for when it comes back on a new connection (SES-56): from then on this
// connection is their submitter again, whether it receives or not, and what it missed it is told now.

import TandemBase
import TandemDelivery
import TandemPropertyList
import TandemSession
import TandemWire

extension DurableChannels {
    /// The items that a query to follow names; nil if it does not read.
    static func followed(_ body: PropertyListDictionary) -> [UniqueIdentifier]? {
        guard let values = body["items"]?.arrayValue, values.count <= Limits.pageItems else { return nil }
        let items = values.compactMap { $0.dataValue.flatMap { UniqueIdentifier(bytes: $0) } }
        return items.count == values.count ? items : nil
    }

    /// Makes the connection the submitter of what is known of the items.
    /// - Parameter done: told which of them nothing is known of any more; nil if the store cannot tell.
    func follow(
        _ items: [UniqueIdentifier], in queue: QueueKey, _ connection: HostAppConnection,
        then done: @escaping ([UniqueIdentifier]?) -> Void
    ) {
        let number = connection.number
        var missed: [UniqueIdentifier] = []
        for id in items {
            guard let phase = exchange.record(of: id, in: queue)?.record.phase else { continue }
            submitters[Submitted(id, in: queue)] = number
            switch phase {
            case .waiting, .sent: break
            case .stored, .finished: missed.append(id)
            }
        }
        // What is told must be durable first. What becomes of the others from now on is told as it happens.
        exchange.whenDurable(queue) { [weak self] isDurable in
            guard let self, let connection = endpoint.connection(number) else { return }
            guard isDurable else { return done(nil) }
            for id in missed { catchUp(id, queue, connection) }
            done(items.filter { self.exchange.record(of: $0, in: queue) == nil })
        }
    }

    /// Tells how far an item had come when it was asked about.
    private func catchUp(_ id: UniqueIdentifier, _ queue: QueueKey, _ connection: HostAppConnection) {
        guard let (place, record) = exchange.record(of: id, in: queue) else { return }
        switch record.phase {
        case .waiting, .sent: break
        case .stored: tellStored(id, place, to: connection)
        case .finished(let outcome):
            // Else it was told since the question came, or confirmed.
            guard submitters[Submitted(id, in: queue)] == connection.number, !record.isHeard else { break }
            submitters[Submitted(id, in: queue)] = nil
            tellEnd(id, place, outcome, record.endingRefusal, to: connection)
        }
    }
}
