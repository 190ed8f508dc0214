// Items that an app has submitted and whose outcome has not arrived (SES-48 to SES-50). The library resubmits an item
// that the daemon has not accepted on the next connection, under its own identifier, so that it stays the same item. An
// accepted item belongs to the daemon and outlives this process. Repeated events change nothing.

package import TandemBase
package import TandemWire

/// The items of one app by identifier, each with the caller's token.
package struct TransferTable<Token>: ~Copyable {
    /// How far an item is known to be, in this order, which `<` uses.
    package enum Phase: Sendable, Comparable {
        /// Given to a connection, perhaps to more than one.
        case submitted
        /// Durable in this device's daemon.
        case accepted
        /// Durable in the peer's daemon.
        case stored
    }

    package struct Entry {
        package let pairing: UniqueIdentifier
        package let channel: Channel
        package let token: Token
        package fileprivate(set) var phase: Phase
        fileprivate let size: Int
        /// The order of submission.
        fileprivate let number: UInt64
    }

    /// A bound that one more item would exceed.
    package struct Excess: Sendable, Equatable {
        /// True: `actual` and `limit` are bytes; false: items.
        package let isOfBytes: Bool
        /// With the new item.
        package let actual: Int
        package let limit: Int
    }

    private struct Queue: Hashable {
        let pairing: UniqueIdentifier
        let channel: Channel
    }

    private var entries: [UniqueIdentifier: Entry] = [:]
    private var nextNumber: UInt64 = 0
    private let capacity: Int
    private let byteCapacity: Int
    /// The bytes of the items of each queue that the daemon has not accepted.
    private var unacceptedBytes: [Queue: Int] = [:]

    /// - Parameters:
    ///   - capacity: the most items that may wait to be accepted (LIM-14).
    ///   - byteCapacity: the most bytes of those in one queue. A daemon whose disk does not answer accepts none, and
    ///     the app's memory holds them until then.
    package init(capacity: Int, byteCapacity: Int = .max) {
        self.capacity = capacity
        self.byteCapacity = byteCapacity
    }

    /// Items that the daemon has not accepted.
    package private(set) var unacceptedCount = 0

    package subscript(id: UniqueIdentifier) -> Entry? { entries[id] }

    /// Takes an item in; if too many or too large ones wait, or its identifier is known, it does not.
    package mutating func submit(
        _ id: UniqueIdentifier, to pairing: UniqueIdentifier, on channel: Channel, size: Int = 0, token: Token
    ) -> Excess? {
        guard unacceptedCount < capacity, entries[id] == nil else {
            return Excess(isOfBytes: false, actual: unacceptedCount + 1, limit: capacity)
        }
        // A newer context makes those that wait worthless: it must not fail because of their bytes.
        let size = channel.properties.isLatestWins ? 0 : size
        let queue = Queue(pairing: pairing, channel: channel)
        let bytes = unacceptedBytes[queue, default: 0] + size
        guard bytes <= byteCapacity else { return Excess(isOfBytes: true, actual: bytes, limit: byteCapacity) }
        nextNumber += 1
        entries[id] = Entry(
            pairing: pairing, channel: channel, token: token, phase: .submitted, size: size, number: nextNumber)
        unacceptedCount += 1
        unacceptedBytes[queue] = bytes > 0 ? bytes : nil
        return nil
    }

    /// The item waits for its acceptance no longer.
    private mutating func left(_ entry: Entry) {
        unacceptedCount -= 1
        let queue = Queue(pairing: entry.pairing, channel: entry.channel)
        let rest = unacceptedBytes[queue, default: 0] - entry.size
        unacceptedBytes[queue] = rest > 0 ? rest : nil
    }

    /// The daemon has reached a phase with the item.
    /// - Returns: the item, if that is news.
    package mutating func reached(_ phase: Phase, _ id: UniqueIdentifier) -> Entry? {
        guard var entry = entries[id], entry.phase < phase else { return nil }
        if entry.phase == .submitted { left(entry) }
        entry.phase = phase
        entries[id] = entry
        return entry
    }

    /// The item has ended, or was refused.
    package mutating func ended(_ id: UniqueIdentifier) -> Entry? {
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        if entry.phase == .submitted { left(entry) }
        return entry
    }

    /// The items to resubmit on a new connection, in the order of submission.
    package var unaccepted: [(id: UniqueIdentifier, entry: Entry)] {
        entries.filter { $0.value.phase == .submitted }.sorted { $0.value.number < $1.value.number }
            .map { ($0.key, $0.value) }
    }

    /// Lets the items of a pairing go that were accepted, in the order of submission: the pairing is gone.
    package mutating func dropAccepted(of pairing: UniqueIdentifier) -> [(id: UniqueIdentifier, entry: Entry)] {
        let gone = entries.filter { $0.value.phase > .submitted && $0.value.pairing == pairing }
        for id in gone.keys { entries[id] = nil }
        return gone.sorted { $0.value.number < $1.value.number }.map { ($0.key, $0.value) }
    }

    /// Lets the items go that were not accepted: of one pairing, or all when the session ends.
    package mutating func dropUnaccepted(of pairing: UniqueIdentifier?) -> [Token] {
        let gone = unaccepted.filter { pairing == nil || $0.entry.pairing == pairing }
        return gone.compactMap { ended($0.id)?.token }
    }
}

extension TransferTable.Entry: Sendable where Token: Sendable {}
extension TransferTable: Sendable where Token: Sendable {}
