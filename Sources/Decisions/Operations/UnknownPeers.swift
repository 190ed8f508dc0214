// Seats of device connections whose peer is not known yet (LIM-4). When all are taken, a new connection takes the
// seat of one of the source that has most of them, if that is more than a quarter, and there of one that has sent
// nothing. So a flood of strangers displaces itself: a paired device comes from another source, or sends its part of
// the handshake at once, and is among the last to go.

import TandemBase

/// The connections of unknown peers, oldest first.
package struct UnknownPeers<Source: Hashable & Sendable>: ~Copyable, Sendable {
    private struct Seat: Sendable {
        let number: UInt64
        let source: Source
        var hasSent = false
    }

    private let limit: Int
    private var seats: [Seat] = []
    private var counts: [Source: Int] = [:]
    private var lastNumber: UInt64 = 0

    /// - Parameter limit: seats of all sources.
    package init(limit: Int) { self.limit = limit }

    package var count: Int { seats.count }

    /// Gives a new connection a seat.
    /// - Returns: its number, and the number of the connection whose seat it took.
    package mutating func enter(from source: Source) -> (number: UInt64, displaced: UInt64?) {
        let displaced = seats.count < limit ? nil : victim
        if let displaced { leave(displaced) }
        lastNumber += 1
        seats.append(Seat(number: lastNumber, source: source))
        counts[source, default: 0] += 1
        return (lastNumber, displaced)
    }

    /// A connection has sent its first bytes.
    package mutating func sent(_ number: UInt64) {
        if let index = index(of: number) { seats[index].hasSent = true }
    }

    /// A connection is over, or its peer is known.
    package mutating func leave(_ number: UInt64) {
        guard let index = index(of: number) else { return }
        let source = seats.remove(at: index).source
        let others = (counts[source] ?? 1) - 1
        counts[source] = others > 0 ? others : nil
    }

    /// The newest quarter counts as if it had sent: its first bytes are still on their way.
    private var victim: UInt64? {
        let quarter = seats.count / 4
        let largest = counts.max { $0.value < $1.value }.flatMap { $0.value > quarter ? $0.key : nil }
        let old = seats.count - quarter
        var oldest: UInt64?
        for (index, seat) in seats.enumerated() where largest == nil || seat.source == largest {
            if index < old, !seat.hasSent { return seat.number }
            oldest = oldest ?? seat.number
        }
        return oldest
    }

    /// Numbers only rise.
    private func index(of number: UInt64) -> Int? {
        let index = seats.partitioningIndex { $0.number >= number }
        return index < seats.count && seats[index].number == number ? index : nil
    }
}
