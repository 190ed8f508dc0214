// Shares of a queue's room by the sources of its items (LIM-47). The queue of a carrier has items of several primaries,
// and each new one asks how much of the room every primary takes (CFG-103).

import TandemBase

/// The unfinished items of one queue by source. The source of an item is not in its row: it is looked up once for each
/// item, at the first question after the item was accepted or the queue was read from its rows.
struct SourceShares: Sendable {
    private struct Part: Sendable {
        let source: UniqueIdentifier?
        let supersedeKey: [UInt8]?
        let size: Int
    }

    private var parts: [UInt64: Part] = [:]
    private var amounts: [UniqueIdentifier?: KeptAmount] = [:]
    /// The items of each key: the newest, and those before it that the peer has still to answer for.
    private var ordinalsByKey: [[UInt8]: [UInt64]] = [:]
    /// Items that have joined since the last question.
    private var unknown: Set<UInt64>

    init(_ unfinished: some Sequence<UInt64>) { unknown = Set(unfinished) }

    /// An item was accepted, or is unfinished again.
    mutating func add(_ ordinal: UInt64) { unknown.insert(ordinal) }

    mutating func remove(_ ordinal: UInt64) {
        unknown.remove(ordinal)
        guard let part = parts.removeValue(forKey: ordinal) else { return }
        Self.take(part, from: &amounts)
        guard let key = part.supersedeKey else { return }
        ordinalsByKey[key]?.removeAll { $0 == ordinal }
        if ordinalsByKey[key]?.isEmpty == true { ordinalsByKey[key] = nil }
    }

    mutating func lookUp(
        _ find: (UInt64) -> OutboundRecord?, sourceOf: (UniqueIdentifier) -> UniqueIdentifier?
    ) {
        for ordinal in unknown {
            guard let record = find(ordinal), record.isUnfinished, parts[ordinal] == nil else { continue }
            let part = Part(source: sourceOf(record.id), supersedeKey: record.supersedeKey, size: record.size)
            parts[ordinal] = part
            amounts[part.source, default: KeptAmount()] += KeptAmount(records: 1, bytes: part.size)
            if let key = part.supersedeKey { ordinalsByKey[key, default: []].append(ordinal) }
        }
        unknown = []
    }

    /// The amounts of all sources, without one item and those of a key.
    func shares(without ordinal: UInt64?, supersededBy key: [UInt8]?) -> [UniqueIdentifier?: KeptAmount] {
        var rest = amounts
        var left = Set(key.flatMap { ordinalsByKey[$0] } ?? [])
        if let ordinal { left.insert(ordinal) }
        for ordinal in left {
            if let part = parts[ordinal] { Self.take(part, from: &rest) }
        }
        return rest
    }

    private static func take(_ part: Part, from amounts: inout [UniqueIdentifier?: KeptAmount]) {
        guard var amount = amounts[part.source] else { return }
        amount -= KeptAmount(records: 1, bytes: part.size)
        amounts[part.source] = amount.records > 0 ? amount : nil
    }
}
