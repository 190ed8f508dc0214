// How an object is used: the greatest level at which it is there, and how often after expansion of shared references.
// Both in one word, because taking note of a reference is what reading a property list does most.

struct ObjectUse {
    /// From the highest bit: the level in 16 bits, the copies in 47, and whether the object is known as a container.
    private var word: UInt64 = 0

    private static let levelShift: UInt64 = 48
    private static let lowerMask: UInt64 = 1 << levelShift - 1
    private static let greatestLevel = 0xFFFF
    private static let mostCopies = 1 << 47 - 1

    /// Used by nothing.
    init() {}

    /// The use that a container at the level before makes of what it refers to.
    init(level: Int, copies: Int) {
        word = UInt64(min(level, Self.greatestLevel)) << Self.levelShift | UInt64(min(copies, Self.mostCopies)) << 1
    }

    /// The top object.
    static let top = ObjectUse(level: 1, copies: 1)

    @inline(__always)
    var isUsed: Bool { level > 0 }
    @inline(__always)
    var isContainer: Bool { word & 1 == 1 }
    var level: Int { Int(word >> Self.levelShift) }
    var copies: Int { Int((word & Self.lowerMask) >> 1) }

    mutating func markContainer() { word |= 1 }

    /// A container if either is.
    @inline(__always)
    mutating func formUnion(_ other: ObjectUse) { word |= other.word }

    /// Adds a reference. The sum of all copies stays below the limit on values.
    @inline(__always)
    mutating func add(_ other: ObjectUse) {
        let (level, copies) = (other.word & ~Self.lowerMask, other.word & (Self.lowerMask - 1))
        word = max(word, level | word & Self.lowerMask) &+ copies
    }

    /// What referring to this object `references` times adds to a list of `values` values, or why it must not.
    @inline(__always)
    func expansion(
        of references: Int, within limits: PropertyListLimits, beside values: Int
    ) -> (added: Int, fault: PropertyListError.Reason?) {
        guard level < min(limits.depth, Self.greatestLevel) else { return (0, .tooDeep(limit: limits.depth)) }
        // Neither factor is above the limit on values or the references that are really there.
        let (added, overflow) = copies.multipliedReportingOverflow(by: references)
        guard !overflow, added <= min(limits.values, Self.mostCopies) - values else {
            return (0, .tooManyValues(limit: limits.values))
        }
        return (added, nil)
    }
}
