// Keys as they lie in the bytes, compared in the order of Unicode scalars: four UTF-16 code units in one step, whether
// they are stored as UTF-16 or as ASCII.

extension ObjectEntry {
    /// Negative, zero or positive as this key is before, equal to or after `other`.
    func compare(_ other: ObjectEntry, in bytes: RawSpan) -> Int {
        let shorter = min(count, other.count)
        for index in stride(from: kind == other.kind ? alike(other, shorter, in: bytes) : 0, to: shorter, by: 4) {
            let (left, right) = (units(index, in: bytes), other.units(index, in: bytes))
            guard left == right else { return Self.weight(left) < Self.weight(right) ? -1 : 1 }
        }
        return count - other.count
    }

    /// How many of the first `shorter` code units are alike in eight bytes each, if both are stored in the same way.
    private func alike(_ other: ObjectEntry, _ shorter: Int, in bytes: RawSpan) -> Int {
        let shift = kind == .ascii ? 0 : 1
        var offset = 0
        while offset &+ 8 <= shorter &<< shift,
            bytes.word(at: content &+ offset) == bytes.word(at: other.content &+ offset)
        { offset &+= 8 }
        return offset >> shift
    }

    /// The first four code units of a key as a number in the order of scalars.
    func weight(in bytes: RawSpan) -> UInt64 { Self.weight(units(0, in: bytes)) }

    /// Four code units of a key, which holds no 0, from `index` on; 0 behind its end.
    @inline(__always)
    private func units(_ index: Int, in bytes: RawSpan) -> UInt64 {
        let word = kind == .ascii ? Self.widened(bytes.word(at: content + index)) : bytes.word(at: content + 2 * index)
        let left = count - index
        return left >= 4 ? word : word & ~(~0 &>> UInt64(16 * left))
    }

    /// The four highest bytes as four code units.
    @inline(__always)
    private static func widened(_ word: UInt64) -> UInt64 {
        let pairs = word >> 16 & 0x0000_FFFF_0000_0000 | word >> 32 & 0xFFFF
        return (pairs | pairs << 8) & 0x00FF_00FF_00FF_00FF
    }

    /// Four code units so that surrogates, which stand for scalars above all others, are above all others.
    private static func weight(_ units: UInt64) -> UInt64 {
        var weight: UInt64 = 0
        for shift in [48, 32, 16, 0] as [UInt64] {
            var unit = units >> shift & 0xFFFF
            if unit >= 0xD800 { unit = unit < 0xE000 ? unit + 0x2000 : unit - 0x800 }
            weight = weight << 16 | unit
        }
        return weight
    }
}
