// The last steps that a daemon saw (LIM-35): older ones give way, so that tracing can always be on for durable items
// and never grows. A step that names only a queue's sequence is found through the step that names both.

package import TandemBase
import TandemWire

/// A bounded history of trace events.
package struct TraceRing: Sendable {
    /// An event with its place in the history and its time.
    package struct Entry: Sendable, Equatable {
        /// Counts from 1 and never again.
        package let ordinal: UInt64
        package let time: MonotonicTime
        package let wall: WallTime
        package let event: TraceEvent
    }

    /// Events that are kept (LIM-35).
    package static var capacity: Int { 4096 }

    private let capacity: Int
    private var entries: [Entry] = []
    /// Where the oldest entry is, once all places are taken.
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

    /// All that is known of one message or item, oldest first.
    package func entries(of id: UniqueIdentifier) -> [Entry] {
        let all = entries(after: 0, limit: entries.count)
        let named = all.filter { $0.event.id == id }
        // A sequence means this item from when it got it: another epoch counts anew.
        var places: [(place: TraceEvent.Place, since: UInt64)] = []
        for entry in named {
            guard let place = entry.event.place, !places.contains(where: { $0.place == place }) else { continue }
            places.append((place, entry.ordinal))
        }
        let found = all.filter { entry in
            guard entry.event.id == nil else { return entry.event.id == id }
            return places.contains { $0.since < entry.ordinal && $0.place.isMeant(by: entry.event) }
        }
        return Self.withoutRepeatedAcknowledgements(found)
    }

    /// Every later acknowledgement of the queue covers the item, too; the first says it.
    private static func withoutRepeatedAcknowledgements(_ entries: [Entry]) -> [Entry] {
        var isStored = false
        return entries.filter { entry in
            guard entry.event.step == .stored else { return true }
            defer { isStored = true }
            return !isStored
        }
    }
}

extension TraceEvent {
    /// An item's place in a queue.
    fileprivate struct Place: Equatable {
        let pairing: UniqueIdentifier
        let app: ApplicationIdentifier
        let channel: Channel
        let sequence: UInt64
        let isOutbound: Bool

        func isMeant(by event: TraceEvent) -> Bool {
            guard event.pairing == pairing, event.app == app, event.channel == channel, event.isOutbound == isOutbound,
                let other = event.sequence
            else { return false }
            return event.step == .stored ? other >= sequence : other == sequence
        }
    }

    fileprivate var place: Place? {
        guard let app, let channel, let sequence else { return nil }
        return Place(pairing: pairing, app: app, channel: channel, sequence: sequence, isOutbound: isOutbound)
    }
}
