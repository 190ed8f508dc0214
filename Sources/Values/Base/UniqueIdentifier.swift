// A 16-byte UUID (RFC 9562) held as bytes: pairings, messages, devices. Equality and order are those of the bytes.
// It never touches Foundation's UUID, so that the daemons need not link Foundation. Comparing is `@inlinable`, because
// other rooms look pairings and requests up for each frame; for that its words must be usable from inline.

/// A UUID as RFC 9562 defines it; compared and ordered by its bytes.
public struct UniqueIdentifier: Sendable {
    /// The first eight bytes, in network order, and the last.
    @usableFromInline package let high: UInt64
    @usableFromInline package let low: UInt64

    /// The identifier whose first and last eight bytes, in network order, are these numbers.
    @inlinable package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Sixteen zero bytes, which identify no device. As the pairing of a message it means every pairing.
    package static let zero = UniqueIdentifier(high: 0, low: 0)

    /// The identifier with exactly these 16 bytes; nil for any other count.
    public init?(bytes: some Collection<UInt8>) {
        self.init(bytes: Array(bytes))
    }

    /// The same for an array, which needs no generic code.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for index in 0..<8 {
            high = high << 8 | UInt64(bytes[index])
            low = low << 8 | UInt64(bytes[index + 8])
        }
        self.init(high: high, low: low)
    }

    /// The identifier written as 8-4-4-4-12 hexadecimal digits of either case; nil for anything else.
    public init?(text: String) {
        let characters = Array(text.utf8)
        guard characters.count == 36 else { return nil }
        let dashes = [8, 13, 18, 23]
        guard dashes.allSatisfy({ characters[$0] == UInt8(ascii: "-") }) else { return nil }
        let digits = characters.indices.filter { !dashes.contains($0) }.map { characters[$0] }
        guard let bytes = Hexadecimal.decode(digits) else { return nil }
        self.init(bytes: bytes)
    }

    /// The 16 bytes in network order.
    public var bytes: [UInt8] {
        (0..<16).map { (index: UInt64) -> UInt8 in
            let half = index < 8 ? high : low
            return UInt8(truncatingIfNeeded: half >> (56 - 8 * (index % 8)))
        }
    }

    /// A random identifier (version 4) from the system's generator.
    public static func random() -> UniqueIdentifier {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// A random identifier (version 4) from the caller's generator, so that tests can repeat it.
    public static func random(using generator: inout some RandomNumberGenerator) -> UniqueIdentifier {
        UniqueIdentifier(high: generator.next(), low: generator.next()).marked(version: 4)
    }

    /// The identifier (version 8) made of the first 16 bytes of a digest; nil if the digest is shorter.
    public static func derived(fromDigest digest: [UInt8]) -> UniqueIdentifier? {
        UniqueIdentifier(bytes: digest.prefix(16))?.marked(version: 8)
    }

    private func marked(version: UInt64) -> UniqueIdentifier {
        UniqueIdentifier(
            high: high & ~0xF000 | version << 12, low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
    }
}

extension UniqueIdentifier: Hashable {
    @inlinable public static func == (left: UniqueIdentifier, right: UniqueIdentifier) -> Bool {
        left.high == right.high && left.low == right.low
    }
}

extension UniqueIdentifier: Comparable {
    @inlinable public static func < (left: UniqueIdentifier, right: UniqueIdentifier) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension UniqueIdentifier: CustomStringConvertible {
    /// 8-4-4-4-12 hexadecimal digits in upper case.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
            text.append(Hexadecimal.character(of: byte >> 4, upperCase: true))
            text.append(Hexadecimal.character(of: byte & 15, upperCase: true))
        }
        return String(decoding: text, as: UTF8.self)
    }
}
