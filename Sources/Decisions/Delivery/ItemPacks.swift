// Packs: rows that hold eight or more new items of a commit, each its record and, if that is short, its body
// (Decisions/0040, 0041). A row for each item cost more than the item. A pack never changes: a row in the table of ends
// marks an item that ends before the others, and the pack goes with the last one. Short bodies stay in their packs
// until then.

import TandemBase
package import TandemWire

/// The packs of one queue or ledger, as they will be stored with the next commit. Read back with the queue's rows after
/// a commit that failed.
package struct ItemPacks: Sendable {
    private struct Pack: Sendable {
        let first: UInt64
        let last: UInt64
        /// Its items that have not ended. Numbers are missing between them: an item that is accepted and ends in one
        /// commit is written nowhere.
        var live: [UInt64]
        /// Its items that have, and have a row that says so.
        var ends: [UInt64] = []
    }

    private let queue: QueueKey
    private let tables: Tables
    /// In the order of their items.
    private var packs: [Pack] = []

    /// - Parameter items: the table in which the queue's machine writes new items.
    package init(_ queue: QueueKey, items: DeliveryTable) {
        self.queue = queue
        tables = Tables(of: items)
    }

    /// The changes as they are stored: new items in packs if there are enough, and ends instead of removed items.
    /// - Parameter changes: at most one of each row, and new items in the order of their ordinals.
    package mutating func packed(_ changes: [DeliveryChange]) -> [DeliveryChange] {
        // Each goes as it is: no item is in a pack, and too few are new for one.
        if packs.isEmpty, changes.count < Draft.least { return changes }
        var packed: [DeliveryChange] = []
        packed.reserveCapacity(changes.count)
        var draft = Draft()
        var ended: [(index: Int, ordinal: UInt64)] = []
        for (position, change) in changes.enumerated() {
            switch change {
            case .put(let key, let value) where key.table == tables.items:
                guard let ordinal = key.ordinal else { preconditionFailure("an item's row has its number") }
                let item = value.bytes
                if !draft.hasRoom(for: item) { close(&draft, of: changes, &packed) }
                draft.add(ordinal, item, position)
            case .remove(let key) where key.table == tables.items:
                guard let ordinal = key.ordinal else { preconditionFailure("an item's row has its number") }
                if let index = index(of: ordinal) {
                    end(ordinal, at: index)
                    ended.append((index, ordinal))
                } else {
                    // It has a row of its own, or none.
                    packed.append(change)
                }
            default: packed.append(change)
            }
        }
        close(&draft, of: changes, &packed)
        writeEnds(ended, to: &packed)
        return packed
    }

    private mutating func close(
        _ draft: inout Draft, of changes: [DeliveryChange], _ packed: inout [DeliveryChange]
    ) {
        defer { draft = Draft() }
        guard draft.isWorthIt, let first = draft.ordinals.first, let last = draft.ordinals.last else {
            for index in draft.indices { packed.append(changes[index]) }
            return
        }
        precondition(packs.last.map { $0.last < first } ?? true, "items are accepted in the order of their ordinals")
        packs.append(Pack(first: first, last: last, live: draft.ordinals))
        packed.append(.put(DeliveryRowKey(tables.packs, queue, first), .pack(draft.bytes)))
    }

    private mutating func end(_ ordinal: UInt64, at index: Int) {
        packs[index].live.removeAll { $0 == ordinal }
        packs[index].ends.append(ordinal)
    }

    /// Writes the ends, or removes the packs that have none but ended items.
    private mutating func writeEnds(_ ended: [(index: Int, ordinal: UInt64)], to packed: inout [DeliveryChange]) {
        guard !ended.isEmpty else { return }
        for (index, ordinal) in ended where !packs[index].live.isEmpty {
            packed.append(.put(DeliveryRowKey(tables.ends, queue, ordinal), .end))
        }
        let new = Set(ended.lazy.map(\.ordinal))
        // From behind: the indices before stay.
        for index in Set(ended.lazy.map(\.index)).sorted(by: >) where packs[index].live.isEmpty {
            packed.append(.remove(DeliveryRowKey(tables.packs, queue, packs[index].first)))
            for ordinal in packs[index].ends where !new.contains(ordinal) {
                packed.append(.remove(DeliveryRowKey(tables.ends, queue, ordinal)))
            }
            packs.remove(at: index)
        }
    }

    /// The index of the pack in which this item is and has not ended.
    private func index(of ordinal: UInt64) -> Int? {
        let index = packs.partitioningIndex { $0.last >= ordinal }
        return index < packs.count && packs[index].live.contains(ordinal) ? index : nil
    }

    /// The pack in which an item is; nil for one that has ended, and for one that has a row of its own.
    package func pack(of ordinal: UInt64) -> DeliveryRowKey? {
        index(of: ordinal).map { DeliveryRowKey(tables.packs, queue, packs[$0].first) }
    }

    // MARK: stored form

    /// One item of a pack's row.
    package typealias Item = (key: DeliveryRowKey, value: DeliveryValue)

    /// Reads a pack's row back.
    /// - Parameter ends: the items that have a row in the table of ends.
    /// - Returns: its items that have not ended.
    package mutating func restore(
        _ key: DeliveryRowKey, _ bytes: [UInt8], ends: Set<UInt64>
    ) throws(DeliveryRecordError) -> [Item] {
        let items = try Self.items(of: key, in: bytes)
        guard let first = items.first?.key.ordinal, let last = items.last?.key.ordinal else {
            throw .form(key.table)
        }
        guard packs.last.map({ $0.last < first }) ?? true else { throw .key(key.table) }
        let ordinals = items.compactMap(\.key.ordinal)
        let live = ordinals.filter { !ends.contains($0) }
        packs.append(Pack(first: first, last: last, live: live, ends: ordinals.filter(ends.contains)))
        return items.filter { item in item.key.ordinal.map { !ends.contains($0) } ?? false }
    }

    package static func items(of key: DeliveryRowKey, in bytes: [UInt8]) throws(DeliveryRecordError) -> [Item] {
        var items: [Item] = []
        var rest = bytes[...]
        var last: UInt64?
        while let (item, stored) = try next(of: key, behind: &last, in: &rest) {
            items.append((item, try DeliveryValue(item, bytes: Array(stored))))
        }
        return items
    }

    /// The body of one item of a pack's row; the others are passed. Nil if it has no such item.
    package static func body(
        of ordinal: UInt64, in key: DeliveryRowKey, _ bytes: [UInt8]
    ) throws(DeliveryRecordError) -> [UInt8]? {
        var rest = bytes[...]
        var last: UInt64?
        while let (item, stored) = try next(of: key, behind: &last, in: &rest) {
            if item.ordinal == ordinal { return try DeliveryValue(item, bytes: Array(stored)).body }
        }
        return nil
    }

    /// Takes the next item of a pack's row.
    private static func next(
        of key: DeliveryRowKey, behind last: inout UInt64?, in rest: inout ArraySlice<UInt8>
    ) throws(DeliveryRecordError) -> (key: DeliveryRowKey, stored: ArraySlice<UInt8>)? {
        guard !rest.isEmpty else { return nil }
        let ordinal = try number(8, of: &rest, key.table)
        guard last.map({ $0 < ordinal }) ?? (ordinal == key.ordinal), ordinal <= Limits.lastCount else {
            throw .invalid(key.table, field: "ordinal")
        }
        last = ordinal
        let count = try number(4, of: &rest, key.table)
        guard count <= rest.count else { throw .invalid(key.table, field: "count") }
        defer { rest = rest.dropFirst(Int(count)) }
        return (DeliveryRowKey(Tables(of: key.table).items, key.queue, ordinal), rest.prefix(Int(count)))
    }

    private static func number(
        _ count: Int, of rest: inout ArraySlice<UInt8>, _ table: DeliveryTable
    ) throws(DeliveryRecordError) -> UInt64 {
        guard rest.count >= count else { throw .invalid(table, field: "count") }
        defer { rest = rest.dropFirst(count) }
        return UInt64(bigEndianBytes: rest.prefix(count))
    }
}

extension ItemPacks {
    /// The three tables of a direction.
    package struct Tables: Sendable {
        package let items: DeliveryTable
        package let packs: DeliveryTable
        package let ends: DeliveryTable

        /// - Parameter table: its items' or its packs'.
        package init(of table: DeliveryTable) {
            switch table {
            case .outboundItem, .outboundPack: (items, packs, ends) = (.outboundItem, .outboundPack, .outboundEnd)
            case .inboundItem, .inboundPack: (items, packs, ends) = (.inboundItem, .inboundPack, .inboundEnd)
            default: preconditionFailure("no items or packs are in the table")
            }
        }
    }
}

/// A pack that is being filled: of each item its ordinal in eight bytes, the count of its bytes in four, and these; the
/// highest byte of a number first.
private struct Draft {
    /// The most bytes and items of a pack (LIM-131): an item that stays long keeps no more, and no more ends.
    private static var most: (bytes: Int, items: Int) { (8192, 32) }
    /// Fewer items have separate rows. The number was measured when each pack had pages to itself (Decisions/0040),
    /// which 0041 has changed.
    static var least: Int { 8 }

    private(set) var ordinals: [UInt64] = []
    private(set) var bytes: [UInt8] = []
    /// The items' indices among the changes: too few for a pack, they stay separate rows.
    private(set) var indices: [Int] = []

    var isWorthIt: Bool { ordinals.count >= Self.least }

    func hasRoom(for item: [UInt8]) -> Bool {
        bytes.isEmpty || bytes.count + 12 + item.count <= Self.most.bytes && ordinals.count < Self.most.items
    }

    mutating func add(_ ordinal: UInt64, _ item: [UInt8], _ index: Int) {
        if bytes.isEmpty { bytes.reserveCapacity(Self.most.bytes) }
        ordinals.append(ordinal)
        indices.append(index)
        bytes.append(bigEndian: ordinal)
        bytes.append(bigEndian: UInt32(truncatingIfNeeded: item.count))
        bytes += item
    }
}
