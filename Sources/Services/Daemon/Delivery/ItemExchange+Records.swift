// What is there: for applications that come back, for operators, for hello and for status. Nothing here changes
// anything but dead letters.

package import TandemBase
package import TandemDelivery
import TandemStore
package import TandemWire

/// Where an item failed.
package enum DeliveryDirection: String, Sendable, Hashable, CaseIterable {
    /// The peer refused it too often.
    case outbound
    /// The handler here failed too often.
    case inbound
}

/// An item that failed too often and waits for an operator.
package struct DeadLetter: Sendable, Equatable {
    package let queue: QueueKey
    package let direction: DeliveryDirection
    /// Names it in its queue and direction.
    package let ordinal: UInt64
    package let id: UniqueIdentifier?
    package let topic: String?
    package let attempts: Int
    package let size: Int
    /// The peer's last refusal; nil for one that failed here.
    package let refusal: ItemRefusal?
}

extension ItemExchange {
    /// The unfinished items of a queue in order of acceptance, from behind an ordinal.
    package func outstanding(
        in key: QueueKey, after ordinal: UInt64 = 0, limit: Int = .max
    ) -> [OutboundRecord] { outbound[key]?.machine.outstanding(after: ordinal, limit: limit) ?? [] }

    /// The queues of an application in which items have ended without its having heard.
    package func queuesWithEnds(of app: ApplicationIdentifier) -> [QueueKey] {
        outbound.filter { $0.key.app == app && $0.key.channel != .configuration && $0.value.machine.hasUnheard }.keys
            .sorted { ($0.pairing, $0.channel.rawValue) < ($1.pairing, $1.channel.rawValue) }
    }

    /// The first ones of a queue's items that have ended without the application having heard.
    package func unheard(in key: QueueKey, limit: Int) -> [OutboundRecord] {
        outbound[key]?.machine.unheard(limit: limit) ?? []
    }

    /// The body of an item of this device that the peer has not stored yet; nil for another.
    package func payload(of id: UniqueIdentifier, in key: QueueKey, then completion: @escaping ([UInt8]?) -> Void) {
        guard let record = outbound[key]?.machine.record(of: id) else { return completion(nil) }
        payload(record.ordinal, of: key, in: .outboundPayload, then: completion)
    }

    /// What is left of the day's urgent items.
    package func urgentBudget(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> UrgentBudgetReading {
        let key = QueueKey(pairing: pairing, app: app, channel: .urgent)
        let limit = limits(.urgent).urgentPerDay
        return outbound[key]?.machine.urgentBudget(at: reading)
            ?? UrgentBudgetReading(remaining: limit, limit: limit, reset: .zero)
    }

    // MARK: dead letters

    /// All dead letters, by queue.
    package func deadLetters() -> [DeadLetter] {
        let sent = outbound.flatMap { key, lane in
            lane.machine.deadLetters.map { record in
                DeadLetter(
                    queue: key, direction: .outbound, ordinal: record.ordinal, id: record.id, topic: record.topic,
                    attempts: record.attempts, size: record.size, refusal: record.refusal)
            }
        }
        let received = inbound.flatMap { key, lane in
            lane.machine.deadLetters.map { record in
                DeadLetter(
                    queue: key, direction: .inbound, ordinal: record.ordinal, id: record.id, topic: record.topic,
                    attempts: record.attempts, size: record.size, refusal: nil)
            }
        }
        return (sent + received).sorted {
            ($0.queue.pairing, $0.queue.app, $0.queue.channel.rawValue, $0.direction.rawValue, $0.ordinal)
                < ($1.queue.pairing, $1.queue.app, $1.queue.channel.rawValue, $1.direction.rawValue, $1.ordinal)
        }
    }

    /// Tries a dead letter once more; `completion` hears, after the commit, whether there was one to try.
    package func retryDeadLetter(
        _ ordinal: UInt64, in key: QueueKey, _ direction: DeliveryDirection,
        then completion: @escaping (Bool) -> Void = { _ in }
    ) {
        let reading = reading
        switch direction {
        case .outbound: change(outbound[key], { $0.retryDeadLetter(ordinal, at: reading).answer }, completion)
        case .inbound: change(inbound[key], { $0.retryDeadLetter(ordinal, at: reading).answer }, completion)
        }
    }

    /// Drops a dead letter; `completion` hears, after the commit, whether there was one to drop.
    package func dropDeadLetter(
        _ ordinal: UInt64, in key: QueueKey, _ direction: DeliveryDirection,
        then completion: @escaping (Bool) -> Void = { _ in }
    ) {
        let reading = reading
        switch direction {
        case .outbound: change(outbound[key], { $0.dropDeadLetter(ordinal, at: reading).answer }, completion)
        case .inbound: change(inbound[key], { $0.dropDeadLetter(ordinal, at: reading).answer }, completion)
        }
    }

    private func change<Machine: DeliveryMachine, Effect>(
        _ lane: Lane<Machine, Effect>?,
        _ event: @escaping (inout Machine) -> LaneAnswer<Effect>,
        _ completion: @escaping (Bool) -> Void
    ) {
        guard let lane else { return completion(false) }
        var hasChanged = false
        lane.perform(
            { machine in
                let answer = event(&machine)
                hasChanged = !answer.changes.isEmpty
                return answer
            },
            then: { result in if case .success = result { completion(hasChanged) } else { completion(false) } })
    }

    // MARK: status and hello

    /// What waits in an outbound queue: items, their bytes, the age of the oldest in ms, and why the peer does not take the
    /// first.
    package typealias WaitingItems = (key: QueueKey, count: Int, bytes: Int, oldest: Int64?, refusal: ItemRefusal?)

    /// What waits in each outbound queue; for status.
    package var queues: [WaitingItems] {
        let reading = reading
        return outbound.map { key, lane in
            let queue = lane.machine
            return (key, queue.count, queue.bytes, queue.oldestAge(at: reading), queue.headRefusal)
        }
        .sorted { ($0.0.pairing, $0.0.app, $0.0.channel.rawValue) < ($1.0.pairing, $1.0.app, $1.0.channel.rawValue) }
    }

    /// The highest sequences stored in order from the peer, and given to it (SES-2).
    package func positions(
        of pairing: UniqueIdentifier
    ) -> (received: [(key: QueueKey, sequence: UInt64)], sent: [(key: QueueKey, sequence: UInt64)]) {
        let received = committed.filter { $0.key.pairing == pairing && $0.value > 0 }.map { ($0.key, $0.value) }
        let sent = outbound.filter { $0.key.pairing == pairing && $0.value.machine.lastSent > 0 }
            .map { ($0.key, $0.value.machine.lastSent) }
        return (received.sorted { $0.0.app < $1.0.app }, sent.sorted { $0.0.app < $1.0.app })
    }
}
