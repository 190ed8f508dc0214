// The objects of a property list (FRM-7), one after another as they are numbered, then the offset table and the
// trailer. A scalar is written first and looked up afterwards: its canonical bytes are its identity, and if they stand
// there already, the new ones are taken back. So no value is kept, and none is compared in any other way.

/// Objects as they are written, numbered from 0.
struct ObjectOutput: ~Copyable, Sendable {
    var bytes = OutputBytes(capacity: 8 * 1024)
    private var offsets = Column(capacity: 512)
    private var scalars = ScalarTable(capacity: 1024)
    private let hash = ScalarHash()

    /// The bytes of objects, for each reference after the first (FRM-6 n).
    private(set) var repeatedBytes = 0
    /// How many bytes a reference has.
    private(set) var referenceSize = 1
    private var objectLimit = 0
    /// The number of the data whose bytes are kept elsewhere, if there is one, and how many they are.
    private var gapNumber = Int.max
    private var gapCount = 0
    /// Where those bytes belong.
    private(set) var gapOffset = 0

    /// The memory that it holds, in bytes.
    var size: Int { bytes.capacity + 8 * offsets.capacity + scalars.size }
    var count: Int { offsets.count }

    /// Whether there are more objects than references can name.
    var needsWiderReferences: Bool { Self.smallestSize(for: count) > referenceSize }

    /// Begins a property list.
    mutating func begin(referenceSize: Int, objectLimit: Int) {
        bytes.truncate(to: 0)
        bytes.reserve(8)
        bytes.append(0x6270_6C69_7374_3030 as UInt64)  // "bplist00"
        offsets.removeAll()
        scalars.removeAll()
        repeatedBytes = 0
        gapNumber = .max
        self.referenceSize = referenceSize
        self.objectLimit = objectLimit
    }

    /// The number of the scalar that was written from `start` on, which may be an earlier one's.
    @inline(__always) mutating func number(ofScalarFrom start: Int) throws(PropertyListError.Reason) -> Int {
        let new = offsets.count
        let hash = hash.hash(bytes, from: start)
        // No scalar's bytes begin with another's: comparing as many as the new one has is enough.
        let found = scalars.number(hash: hash, orEnter: new) { bytes.endsAsItDoes(at: offsets[$0], from: start) }
        guard let found else {
            try checkLimit()
            offsets.append(start)
            return new
        }
        repeatedBytes &+= bytes.count &- start
        bytes.truncate(to: start)
        return found
    }

    /// Adds a container, whose references are set later: its number, and where they begin.
    mutating func addContainer(
        marker: UInt8, count: Int, references: Int
    ) throws(PropertyListError.Reason) -> (number: Int, start: Int) {
        try checkLimit()
        offsets.append(bytes.count)
        bytes.reserve(10 + references * referenceSize)
        append(marker: marker, count: count)
        bytes.append(zeros: references * referenceSize)
        return (offsets.count - 1, bytes.count - references * referenceSize)
    }

    @inline(__always) private func checkLimit() throws(PropertyListError.Reason) {
        guard offsets.count < objectLimit else {
            throw .tooManyObjects(count: UInt64(clamping: offsets.count) + 1, limit: objectLimit)
        }
    }

    /// Adds data of which only the beginning is written here, at most once, and not looked for when data is added.
    mutating func addGap(count: Int) throws(PropertyListError.Reason) -> Int {
        precondition(gapNumber == .max)
        try checkLimit()
        (gapNumber, gapCount) = (offsets.count, count)
        offsets.append(bytes.count)
        bytes.reserve(10)
        append(marker: 0x40, count: count)
        gapOffset = bytes.count
        return offsets.count - 1
    }

    /// Counts one more reference to an object that has one.
    @inline(__always) mutating func repeatObject(_ number: Int) {
        repeatedBytes &+= offset(of: number &+ 1) &- offset(of: number)
    }
}

// MARK: References

extension ObjectOutput {
    /// Sets one of the references that begin at `start`.
    @inline(__always) mutating func setReference(_ index: Int, from start: Int, to number: Int) {
        switch referenceSize {
        case 1: bytes.store(UInt8(truncatingIfNeeded: number), at: start &+ index)
        case 2: bytes.store(UInt16(truncatingIfNeeded: number), at: start &+ 2 &* index)
        case 4: bytes.store(UInt32(truncatingIfNeeded: number), at: start &+ 4 &* index)
        default: bytes.store(UInt64(truncatingIfNeeded: number), at: start &+ 8 &* index)
        }
    }

    /// One of the references that begin at `start`.
    @inline(__always) func reference(_ index: Int, from start: Int) -> Int {
        switch referenceSize {
        case 1: Int(bytes.load(start &+ index, as: UInt8.self))
        case 2: Int(bytes.load(start &+ 2 &* index, as: UInt16.self))
        case 4: Int(bytes.load(start &+ 4 &* index, as: UInt32.self))
        default: Int(truncatingIfNeeded: bytes.load(start &+ 8 &* index, as: UInt64.self))
        }
    }
}

// MARK: The end

extension ObjectOutput {
    /// Writes the offset table and the trailer.
    mutating func appendTable() {
        let start = offset(of: count)
        let size = Self.smallestSize(for: start)
        bytes.reserve(offsets.count * size + 32)
        switch size {
        case 1: for number in 0..<count { bytes.append(UInt8(truncatingIfNeeded: offset(of: number))) }
        case 2: for number in 0..<count { bytes.append(UInt16(truncatingIfNeeded: offset(of: number))) }
        case 4: for number in 0..<count { bytes.append(UInt32(truncatingIfNeeded: offset(of: number))) }
        default: for number in 0..<count { bytes.append(UInt64(truncatingIfNeeded: offset(of: number))) }
        }
        // Five unused bytes, the sort version, the two sizes; then three numbers of 8 bytes.
        bytes.append(UInt64(truncatingIfNeeded: size << 8 | referenceSize))
        bytes.append(UInt64(truncatingIfNeeded: count))
        bytes.append(0 as UInt64)
        bytes.append(UInt64(truncatingIfNeeded: start))
    }

    /// Where an object begins in the whole; for the number of objects, where the last one ends.
    @inline(__always) private func offset(of number: Int) -> Int {
        let offset = number < offsets.count ? offsets[number] : bytes.count
        return number > gapNumber ? offset &+ gapCount : offset
    }

    /// The smallest of 1, 2, 4 and 8 bytes that holds a number.
    @inline(__always) static func smallestSize(for number: Int) -> Int {
        switch number {
        case ...0xFF: 1
        case ...0xFFFF: 2
        case ...0xFFFF_FFFF: 4
        default: 8
        }
    }
}
