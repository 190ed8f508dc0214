// The order of dictionary keys (FRM-6 j): that of their Unicode scalars, which is that of their UTF-8 bytes, read from
// the stored bytes without making strings. A dictionary written in that order is proved unique by looking at
// neighbours. If one is not, or if dictionaries share their keys, each key object of the whole property list gets a
// rank, sorted once: then any number of dictionaries with long keys costs comparisons of integers.

struct KeyOrder: Sendable {
    /// For each object its place among the keys, equal texts sharing one; empty if neighbours told enough.
    private(set) var ranks: [Int] = []

    /// Checks keys and marks the dictionaries that are out of order.
    init(_ containers: inout [Container], in bytes: ByteView, table: ObjectTable) throws(PropertyListError) {
        let references = containers.reduce(0) { $0 + ($1.isDictionary ? $1.count : 0) }
        let keys = try Self.keys(containers, in: bytes, table: table)
        // Keys that several dictionaries share are cheaper to rank once than to compare each time.
        var isRanked = references > 2 * keys.count
        if !isRanked {
            for index in containers.indices where containers[index].isDictionary {
                containers[index].isSorted = try Self.isSorted(containers[index], in: bytes, table: table)
                if !containers[index].isSorted { isRanked = true }
            }
        }
        guard isRanked else { return }
        ranks = Self.ranks(keys, in: bytes, table: table)
        for index in containers.indices where containers[index].isDictionary {
            containers[index].isSorted = try isSortedByRank(containers[index], in: bytes, table: table)
        }
    }

    /// Each key object once, checked.
    private static func keys(
        _ containers: [Container], in bytes: ByteView, table: ObjectTable
    ) throws(PropertyListError) -> [(object: Int, header: ObjectHeader)] {
        var isKnown = Array(repeating: false, count: table.count)
        var keys: [(object: Int, header: ObjectHeader)] = []
        for container in containers where container.isDictionary {
            for index in 0..<container.count {
                let object = container.reference(index, in: bytes, table: table)
                guard !isKnown[object] else { continue }
                isKnown[object] = true
                let header = try ObjectHeader(object: object, in: bytes, table: table)
                if let fault = header.keyFault(in: bytes) {
                    throw PropertyListError(fault, at: .object(object, byte: table.offset(of: object, in: bytes)))
                }
                keys.append((object, header))
            }
        }
        return keys
    }

    private static func isSorted(
        _ container: Container, in bytes: ByteView, table: ObjectTable
    ) throws(PropertyListError) -> Bool {
        guard container.count > 1 else { return true }
        func key(_ index: Int) throws(PropertyListError) -> ObjectHeader {
            try ObjectHeader(object: container.reference(index, in: bytes, table: table), in: bytes, table: table)
        }
        var last = try key(0)
        for index in 1..<container.count {
            let next = try key(index)
            guard compare(last, next, in: bytes) < 0 else { return false }
            last = next
        }
        return true
    }

    private func isSortedByRank(
        _ container: Container, in bytes: ByteView, table: ObjectTable
    ) throws(PropertyListError) -> Bool {
        let places = (0..<container.count).map { ranks[container.reference($0, in: bytes, table: table)] }
        if Self.isAscending(places) { return true }
        guard Self.isAscending(places.sorted()) else {
            throw PropertyListError(.duplicateKey, at: .object(container.object, byte: container.offset))
        }
        return false
    }

    private static func isAscending(_ places: [Int]) -> Bool {
        zip(places, places.dropFirst()).allSatisfy { $0 < $1 }
    }

    private static func ranks(
        _ keys: [(object: Int, header: ObjectHeader)], in bytes: ByteView, table: ObjectTable
    ) -> [Int] {
        let sorted = keys.sorted { compare($0.header, $1.header, in: bytes) < 0 }
        var ranks = Array(repeating: 0, count: table.count)
        var rank = 0
        for (index, key) in sorted.enumerated() {
            if index > 0, compare(sorted[index - 1].header, key.header, in: bytes) != 0 { rank += 1 }
            ranks[key.object] = rank
        }
        return ranks
    }

    /// Negative, zero or positive as `left` is before, equal to or after `right`.
    private static func compare(_ left: ObjectHeader, _ right: ObjectHeader, in bytes: ByteView) -> Int {
        for index in 0..<min(left.count, right.count) {
            let (first, second) = (left.codeUnit(index, in: bytes), right.codeUnit(index, in: bytes))
            if first != second { return scalarWeight(first) < scalarWeight(second) ? -1 : 1 }
        }
        return left.count - right.count
    }

    /// Code units in the order of scalars: surrogates stand for scalars above all others.
    private static func scalarWeight(_ unit: UInt16) -> UInt32 {
        UTF16.isSurrogate(unit) ? UInt32(unit) + 0x1_0000 : UInt32(unit)
    }
}

extension ObjectHeader {
    /// A character of a string as a UTF-16 code unit.
    fileprivate func codeUnit(_ index: Int, in bytes: ByteView) -> UInt16 {
        kind == .ascii ? UInt16(bytes[content + index]) : bytes.codeUnit(at: content + 2 * index)
    }
}
