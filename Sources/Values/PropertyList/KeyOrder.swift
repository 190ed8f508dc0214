// The order of dictionary keys (FRM-6 j): that of their Unicode scalars, which is that of their UTF-8 bytes, read from
// the stored bytes without making strings. A dictionary written in that order is proved unique by looking at
// neighbours. For any other, each key object of the whole property list gets a rank, sorted once: many dictionaries
// that share long keys in a bad order then cost comparisons of integers.

struct KeyOrder: Sendable {
    /// For each object its place among the keys, equal texts sharing one; empty if every dictionary was in order.
    private(set) var ranks: [Int] = []

    /// Checks keys and marks the dictionaries that are out of order.
    init(_ containers: inout [Container], in bytes: ByteView, table: ObjectTable) throws(PropertyListError) {
        for index in containers.indices where containers[index].isDictionary {
            try Self.checkKeys(of: containers[index], in: bytes, table: table)
            containers[index].isSorted = try Self.isSorted(containers[index], in: bytes, table: table)
        }
        guard containers.contains(where: { !$0.isSorted }) else { return }
        ranks = try Self.ranks(containers, in: bytes, table: table)
        for container in containers where !container.isSorted {
            let places = (0..<container.count).map { ranks[container.reference($0, in: bytes, table: table)] }.sorted()
            guard zip(places, places.dropFirst()).allSatisfy({ $0 < $1 }) else {
                throw PropertyListError(.duplicateKey, at: .object(container.object, byte: container.offset))
            }
        }
    }

    private static func key(
        _ index: Int, of container: Container, in bytes: ByteView, table: ObjectTable
    ) throws(PropertyListError) -> ObjectHeader {
        try ObjectHeader(object: container.reference(index, in: bytes, table: table), in: bytes, table: table)
    }

    private static func checkKeys(
        of container: Container, in bytes: ByteView, table: ObjectTable
    ) throws(PropertyListError) {
        for index in 0..<container.count {
            let object = container.reference(index, in: bytes, table: table)
            guard let fault = try ObjectHeader(object: object, in: bytes, table: table).keyFault(in: bytes) else {
                continue
            }
            throw PropertyListError(fault, at: .object(object, byte: table.offset(of: object, in: bytes)))
        }
    }

    private static func isSorted(
        _ container: Container, in bytes: ByteView, table: ObjectTable
    ) throws(PropertyListError) -> Bool {
        guard container.count > 1 else { return true }
        var last = try key(0, of: container, in: bytes, table: table)
        for index in 1..<container.count {
            let next = try key(index, of: container, in: bytes, table: table)
            guard compare(last, next, in: bytes) < 0 else { return false }
            last = next
        }
        return true
    }

    private static func ranks(
        _ containers: [Container], in bytes: ByteView, table: ObjectTable
    ) throws(PropertyListError) -> [Int] {
        var isKey = Array(repeating: false, count: table.count)
        for container in containers where container.isDictionary {
            for index in 0..<container.count { isKey[container.reference(index, in: bytes, table: table)] = true }
        }
        var keys: [(object: Int, header: ObjectHeader)] = []
        for object in isKey.indices where isKey[object] {
            keys.append((object, try ObjectHeader(object: object, in: bytes, table: table)))
        }
        keys.sort { compare($0.header, $1.header, in: bytes) < 0 }
        var ranks = Array(repeating: 0, count: table.count)
        var rank = 0
        for (index, key) in keys.enumerated() {
            if index > 0, compare(keys[index - 1].header, key.header, in: bytes) != 0 { rank += 1 }
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
