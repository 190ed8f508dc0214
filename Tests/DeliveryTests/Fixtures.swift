// Fixtures of this room's tests: one queue key, readings of a manual clock, small limits.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire

/// A reading so many seconds after the tests' beginning, with the wall clock in step unless told otherwise.
func reading(_ seconds: Int64, wall: Int64? = nil) -> ClockReading {
    ClockReading(
        monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000 + UInt64(seconds) * 1_000_000_000),
        wall: WallTime(milliseconds: 1_800_000_000_000 + (wall ?? seconds) * 1000))
}

func identifier(_ number: UInt8) -> UniqueIdentifier {
    UniqueIdentifier(bytes: Array(repeating: number, count: 16)) ?? .random()
}

func queueKey(_ channel: Channel = .configuration) throws -> QueueKey {
    QueueKey(pairing: identifier(0xAA), app: try ApplicationIdentifier("com.example.app"), channel: channel)
}

/// The rows of items as all these transitions leave them.
func records(_ transitions: [InboundTransition]) -> [InboundRecord] {
    var records: [UInt64: InboundRecord] = [:]
    for case .put(_, let value) in transitions.flatMap(\.changes) {
        switch value {
        case .inboundRecord(let record), .inboundItem(let record, _): records[record.ordinal] = record
        default: break
        }
    }
    return records.values.sorted { $0.ordinal < $1.ordinal }
}

func item(
    _ number: UInt8, size: Int = 3, supersedes: String? = nil, lifetime: Duration? = nil, topic: String? = nil,
    kind: String? = nil, after: UInt8? = nil
) -> OutboundItem {
    OutboundItem(
        id: identifier(number), payload: Array(repeating: number, count: size),
        supersedeKey: supersedes.map { Array($0.utf8) }, lifetime: lifetime, topic: topic, kind: kind,
        after: after.map { identifier($0) })
}

func outbound(
    _ limits: DeliveryLimits = DeliveryLimits(), channel: Channel = .configuration
) throws -> OutboundQueue {
    let start = reading(0)
    return OutboundQueue(try queueKey(channel), header: OutboundHeader(epoch: 1, at: start), at: start, limits: limits)
}

func inbound(
    _ limits: DeliveryLimits = DeliveryLimits(), channel: Channel = .configuration
) throws -> InboundLedger {
    let start = reading(0)
    return InboundLedger(try queueKey(channel), header: InboundHeader(epoch: 1, at: start), at: start, limits: limits)
}

func arrived(
    _ sequence: UInt64, size: Int = 3, remaining: Duration? = nil, age: Duration? = nil, topic: String? = nil,
    revision: UInt64? = nil
) -> (item: ReceivedItem, sequence: UInt64) {
    let number = UInt8(truncatingIfNeeded: sequence)
    return (
        received(
            identifier(number), Array(repeating: number, count: size), remaining: remaining, age: age, topic: topic,
            revision: revision), sequence
    )
}

func received(
    _ id: UniqueIdentifier, _ payload: [UInt8], remaining: Duration? = nil, age: Duration? = nil,
    topic: String? = nil, revision: UInt64? = nil
) -> ReceivedItem {
    guard let queue = try? queueKey() else { preconditionFailure("the tests' application is an identifier") }
    return ReceivedItem(
        queue: queue, id: id, payload: payload, remaining: remaining, age: age, topic: topic, revision: revision)
}

extension InboundLedger {
    mutating func arrived(_ arrival: (item: ReceivedItem, sequence: UInt64), at reading: ClockReading)
        -> InboundTransition
    {
        arrived(arrival.item, as: arrival.sequence, at: reading)
    }

    /// Hands over what a transition delivers, as when its commit is done.
    /// - Returns: what the handler gets of it.
    @discardableResult
    mutating func handOver(_ transition: InboundTransition, at reading: ClockReading) -> [ReceivedItem] {
        var handedOver: [ReceivedItem] = []
        for item in transition.handed where handOver(item, at: reading) { handedOver.append(item) }
        return handedOver
    }
}

extension OutboundTransition {
    /// The sequences and identifiers of the items that it sends.
    var sent: [UInt64] {
        effects.compactMap { if case .send(let dispatch) = $0 { dispatch.sequence } else { nil } }
    }
    var sentItems: [UniqueIdentifier] {
        effects.compactMap { if case .send(let dispatch) = $0 { dispatch.id } else { nil } }
    }
    var finished: [Outcome] {
        effects.compactMap { if case .finished(_, let outcome, _) = $0 { outcome } else { nil } }
    }
    var gaps: [UInt64] {
        effects.compactMap { if case .sendGap(let sequence, _) = $0 { sequence } else { nil } }
    }
}

extension InboundTransition {
    var handed: [ReceivedItem] { (effects + atOnce).compactMap(\.delivered) }
    var reported: [Outcome] {
        effects.compactMap { if case .report(_, let outcome) = $0 { outcome } else { nil } }
    }
}

extension InboundEffect {
    /// The item that it delivers, with its payload or without.
    var delivered: ReceivedItem? {
        switch self {
        case .deliver(let item), .deliverStored(let item, _): item
        default: nil
        }
    }
}

extension SeededGenerator {
    /// True in so many of a hundred cases.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
