// Bounded history of the steps of messages and durable items (CTL-20, LIM-35). The oldest events give way, so that
// tracing can stay on for durable items. An event names what happened, when and in which queue, never the payload. Some
// frames carry only a queue's sequence; the event that carries both identifier and sequence links them to their item.

package import TandemBase
package import TandemWire

/// One step of a message or an item.
package struct TraceEvent: Sendable, Equatable {
    /// The kind of step, as a stable word.
    package enum Step: String, Sendable, CaseIterable {
        /// Durable at the sender, and acknowledged to its app.
        case accepted
        /// Sent over the link.
        case sent
        /// Received over the link.
        case arrived
        /// Durable at the receiver. The receiver notes it with its acknowledgement, the sender when that arrives.
        case stored
        /// Sent to the app.
        case delivered
        /// The app's handler has returned.
        case handled
        /// The app's reply was forwarded.
        case answered
        /// It ended, as `detail` says.
        case ended
        /// It got no further, as `detail` says.
        case failed
        /// The sender has acknowledged the outcome.
        case acknowledged
    }

    /// Nil for steps of a queue whose frames name a sequence only.
    package let id: UniqueIdentifier?
    package let step: Step
    package let pairing: UniqueIdentifier
    package let app: ApplicationIdentifier?
    /// Nil for messages.
    package let channel: Channel?
    /// The item's sequence in its queue; for `stored` the highest sequence that is acknowledged.
    package let sequence: UInt64?
    /// Whether the item goes from this device to the peer.
    package let isOutbound: Bool
    /// An outcome, or the name of a failure.
    package let detail: String?

    package init(
        _ step: Step, id: UniqueIdentifier? = nil, pairing: UniqueIdentifier, app: ApplicationIdentifier? = nil,
        channel: Channel? = nil, sequence: UInt64? = nil, isOutbound: Bool, detail: String? = nil
    ) {
        self.id = id
        self.step = step
        self.pairing = pairing
        self.app = app
        self.channel = channel
        self.sequence = sequence
        self.isOutbound = isOutbound
        self.detail = detail
    }
}

extension TraceEvent {
    /// An item's position in a queue.
    fileprivate struct Position: Equatable {
        let pairing: UniqueIdentifier
        let app: ApplicationIdentifier
        let channel: Channel
        let sequence: UInt64
        let isOutbound: Bool

        func isCovered(by event: TraceEvent) -> Bool {
            guard event.pairing == pairing, event.app == app, event.channel == channel, event.isOutbound == isOutbound,
                let other = event.sequence
            else { return false }
            return event.step == .stored ? other >= sequence : other == sequence
        }
    }

    fileprivate var position: Position? {
        guard let app, let channel, let sequence else { return nil }
        return Position(pairing: pairing, app: app, channel: channel, sequence: sequence, isOutbound: isOutbound)
    }
}

/// A bounded history of trace events.
package struct TraceRing: ~Copyable, Sendable {
    /// An event with its ordinal and its time.
    package struct Entry: Sendable, Equatable {
        /// Counts from 1; no ordinal is used twice.
        package let ordinal: UInt64
        package let time: MonotonicTime
        package let wall: WallTime
        package let event: TraceEvent
    }

    /// Events that are kept (LIM-35).
    package static var capacity: Int { 4096 }
    /// Positions of one item that its history follows: one for each epoch and queue that it was in. A peer can give one
    /// identifier to thousands of items, and each event is compared with each position.
    private static var positions: Int { 16 }

    private let capacity: Int
    private var entries: [Entry] = []
    /// The index of the oldest entry, once the ring is full.
    private var start = 0
    package private(set) var lastOrdinal: UInt64 = 0

    package init(capacity: Int = TraceRing.capacity) { self.capacity = max(1, capacity) }

    package mutating func append(_ event: TraceEvent, at time: MonotonicTime, wall: WallTime) {
        lastOrdinal += 1
        let entry = Entry(ordinal: lastOrdinal, time: time, wall: wall, event: event)
        if entries.count < capacity {
            entries.append(entry)
        } else {
            entries[start] = entry
            start = (start + 1) % capacity
        }
    }

    /// The events behind an ordinal, oldest first, at most so many.
    package func entries(after ordinal: UInt64, limit: Int) -> [Entry] {
        let newer = Int(clamping: lastOrdinal - min(ordinal, lastOrdinal))
        let kept = min(newer, entries.count)
        return (entries.count - kept..<entries.count).prefix(max(0, limit)).map {
            entries[(start + $0) % entries.count]
        }
    }

    /// The last events of one message or item, oldest first.
    package func entries(of id: UniqueIdentifier, limit: Int = .max) -> [Entry] {
        let all = entries(after: 0, limit: entries.count)
        let named = all.filter { $0.event.id == id }
        // A sequence means this item only after the event that assigned it: another epoch starts again from 1.
        var positions: [(position: TraceEvent.Position, since: UInt64)] = []
        for entry in named where positions.count < Self.positions {
            guard let position = entry.event.position else { continue }
            if positions.contains(where: { $0.position == position }) { continue }
            positions.append((position, entry.ordinal))
        }
        let found = all.filter { entry in
            guard entry.event.id == nil else { return entry.event.id == id }
            return positions.contains { $0.since < entry.ordinal && $0.position.isCovered(by: entry.event) }
        }
        return Array(Self.withoutRepeatedAcknowledgements(found).suffix(limit))
    }

    /// Every later acknowledgement of the queue covers the item, too; only the first is news.
    private static func withoutRepeatedAcknowledgements(_ entries: [Entry]) -> [Entry] {
        var isStored = false
        return entries.filter { entry in
            guard entry.event.step == .stored else { return true }
            defer { isStored = true }
            return !isStored
        }
    }
}
