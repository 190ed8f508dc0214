// Hash table from 32-bit hashes to small numbers, with linear probing and no tombstones; ``ForwardedRequests`` finds
// its records by it, and the relay its apps. It stores no keys: the caller compares the candidates. It grows and never
// shrinks, and allocates only when it grows. Peers choose the identifiers and names that are looked for, so the hash is
// keyed with a secret: without it a peer cannot choose different ones that collide. Records of one identifier stand
// beside each other: of a request there is one at most for each connection (LIM-5).

import TandemBase

package struct HashTable: ~Copyable, Sendable {
    /// Hash in the upper half, number + 1 in the lower one; 0 is a free entry.
    private var entries: [UInt64] = []
    private(set) var count = 0

    package init() {}

    /// The number with this hash that is meant.
    @inline(__always)
    package func find(_ hash: UInt32, where isMeant: (Int) -> Bool) -> Int? {
        guard !entries.isEmpty else { return nil }
        var index = home(of: hash)
        while entries[index] != 0 {
            if UInt32(truncatingIfNeeded: entries[index] >> 32) == hash {
                let number = Int(UInt32(truncatingIfNeeded: entries[index])) - 1
                if isMeant(number) { return number }
            }
            index = next(index)
        }
        return nil
    }

    /// Enters a number below 2^32 - 1.
    package mutating func insert(_ number: Int, _ hash: UInt32) {
        if 2 * (count + 1) > entries.count { grow() }
        count += 1
        put(UInt64(hash) << 32 | UInt64(number + 1))
    }

    /// Takes out a number that is there.
    package mutating func remove(_ number: Int, _ hash: UInt32) {
        let entry = UInt64(hash) << 32 | UInt64(number + 1)
        var index = home(of: hash)
        while entries[index] != entry {
            precondition(entries[index] != 0, "only what was entered is taken out")
            index = next(index)
        }
        count -= 1
        close(index)
    }

    private func home(of hash: UInt32) -> Int { Int(hash) & (entries.count - 1) }

    private func next(_ index: Int) -> Int { (index + 1) & (entries.count - 1) }

    private mutating func put(_ entry: UInt64) {
        var index = home(of: UInt32(truncatingIfNeeded: entry >> 32))
        while entries[index] != 0 { index = next(index) }
        entries[index] = entry
    }

    /// Moves back what would no longer be found behind the free entry.
    private mutating func close(_ free: Int) {
        var (free, index) = (free, next(free))
        while entries[index] != 0 {
            let wanted = home(of: UInt32(truncatingIfNeeded: entries[index] >> 32))
            let mask = entries.count - 1
            if (index - wanted) & mask >= (index - free) & mask {
                entries[free] = entries[index]
                free = index
            }
            index = next(index)
        }
        entries[free] = 0
    }

    private mutating func grow() {
        let old = entries
        entries = Array(repeating: 0, count: max(16, 2 * old.count))
        for entry in old where entry != 0 { put(entry) }
    }
}

/// The secret of one table's hashes.
package struct HashSeed: Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// A seed from the caller's generator: the system's, or one that a test can repeat.
    package init(using generator: inout some RandomNumberGenerator) {
        first = generator.next()
        second = generator.next()
        third = generator.next() | 1
    }

    @inline(__always)
    func hash(_ id: UniqueIdentifier) -> UInt32 { hash(id.high, id.low, 0) }

    @inline(__always)
    func hash(_ high: UInt64, _ low: UInt64, _ number: UInt64) -> UInt32 {
        let mixed = Self.fold(Self.fold(high ^ first, low ^ second) ^ number, third)
        return UInt32(truncatingIfNeeded: mixed ^ mixed >> 32)
    }

    /// The hash of bytes, eight in one step. The last eight may overlap those of the step before.
    package func hash(_ bytes: RawSpan) -> UInt32 {
        var (mixed, offset) = (first ^ UInt64(truncatingIfNeeded: bytes.byteCount), 0)
        while offset + 8 <= bytes.byteCount {
            mixed = Self.fold(mixed ^ bytes.word(at: offset), third)
            offset += 8
        }
        var rest: UInt64 = 0
        if bytes.byteCount >= 8 {
            rest = bytes.word(at: bytes.byteCount - 8)
        } else {
            for offset in 0..<bytes.byteCount { rest = rest << 8 | UInt64(bytes.byte(at: offset)) }
        }
        return hash(mixed, rest, UInt64(truncatingIfNeeded: bytes.byteCount))
    }

    /// Both halves of the product, so that every bit of the factors counts.
    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
