// A keyed hash for identifiers that peers choose: who does not know the seed cannot choose identifiers that collide.

import TandemBase

/// The secret of one ledger's hashes.
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
    func hash(_ id: UniqueIdentifier, _ number: Int) -> UInt32 {
        hash(id.high, id.low, UInt64(bitPattern: Int64(number)))
    }

    @inline(__always)
    func hash(_ high: UInt64, _ low: UInt64, _ number: UInt64) -> UInt32 {
        let mixed = Self.fold(Self.fold(high ^ first, low ^ second) ^ number, third)
        return UInt32(truncatingIfNeeded: mixed ^ mixed >> 32)
    }

    /// Both halves of the product, so that every bit of the factors counts.
    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
