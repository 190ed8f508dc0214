// The objects of a property list (FRM-7), one after another as they are numbered, then the offset table and the
// trailer. A scalar is written first and looked up afterwards: its canonical bytes are its identity, and if they stand
// there already, the new ones are taken back. So no value is kept, and none is compared in any other way.

/// Objects as they are written, numbered from 0.
struct ObjectOutput: ~Copyable, Sendable {
    private(set) var bytes = OutputBytes(capacity: 8 * 1024)
    private var offsets = Column(capacity: 512)
    private var scalars = ScalarTable(capacity: 1024)
    private let hash = ScalarHash()

    /// The bytes of objects, for each reference after the first (FRM-6 n).
    private(set) var repeatedBytes = 0
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

// MARK: - Scalars in their smallest form (FRM-7). Every function returns the number of the object: a new one, or that
// of an equal scalar that was written before.

extension ObjectOutput {
    @inline(__always) mutating func add(_ value: Bool) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(1)
        bytes.append(UInt8(value ? 0x09 : 0x08))
        return try number(ofScalarFrom: start)
    }

    @inline(__always) mutating func add(_ value: Int64) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(9)
        if value >= 0 {
            append(UInt64(truncatingIfNeeded: value))
        } else {
            bytes.append(0x13 as UInt8)
            bytes.append(value)
        }
        return try number(ofScalarFrom: start)
    }

    mutating func add(_ value: UInt64) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(17)
        append(value)
        return try number(ofScalarFrom: start)
    }

    @inline(__always) mutating func add(_ value: Double) throws(PropertyListError.Reason) -> Int {
        guard value.isFinite else { throw .notFinite }
        return try add(marker: 0x23, value)
    }

    @inline(__always) mutating func add(_ value: PropertyListDate) throws(PropertyListError.Reason) -> Int {
        guard PropertyListDate.representable.contains(value.millisecondsSinceReferenceDate) else {
            throw .dateOutOfRange
        }
        return try add(marker: 0x33, value.secondsSinceReferenceDate)
    }

    mutating func add(_ value: Span<UInt8>) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(10 + value.count)
        append(marker: 0x40, count: value.count)
        bytes.append(value)
        return try number(ofScalarFrom: start)
    }

    /// Adds data of 16 bytes.
    mutating func add(_ high: UInt64, _ low: UInt64) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(19)
        append(marker: 0x40, count: 16)
        bytes.append(high)
        bytes.append(low)
        return try number(ofScalarFrom: start)
    }

    @inline(__always)
    private mutating func add(marker: UInt8, _ value: Double) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(9)
        bytes.append(marker)
        bytes.append(value.bitPattern)
        return try number(ofScalarFrom: start)
    }

    /// Appends an integer. Up to four bytes are unsigned and eight are signed, so that the upper half of the range
    /// needs sixteen.
    @inline(__always) private mutating func append(_ value: UInt64) {
        switch value {
        case 0...0xFF: bytes.append(0x1000 | UInt16(truncatingIfNeeded: value))
        case 0...0xFFFF:
            bytes.append(0x11 as UInt8)
            bytes.append(UInt16(truncatingIfNeeded: value))
        case 0...0xFFFF_FFFF:
            bytes.append(0x12 as UInt8)
            bytes.append(UInt32(truncatingIfNeeded: value))
        case 0...UInt64(Int64.max):
            bytes.append(0x13 as UInt8)
            bytes.append(value)
        default:
            bytes.append(0x14 as UInt8)
            bytes.append(0 as UInt64)
            bytes.append(value)
        }
    }

    /// Appends what every object with a count begins with: up to 10 bytes.
    @inline(__always) mutating func append(marker: UInt8, count: Int) {
        guard count >= 0x0F else { return bytes.append(marker | UInt8(truncatingIfNeeded: count)) }
        bytes.append(marker | 0x0F)
        append(UInt64(truncatingIfNeeded: count))
    }
}

// MARK: - Strings: ASCII as it is, everything else as UTF-16, both straight from the string's own UTF-8. The standard
// library's view of UTF-16 costs ten times as much.

extension ObjectOutput {
    @inline(__always) mutating func add(_ value: borrowing String) throws(PropertyListError.Reason) -> Int {
        try add(value.utf8Span)
    }

    @inline(__always) mutating func add(_ text: UTF8Span) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        append(text)
        return try number(ofScalarFrom: start)
    }

    /// The fault that keeps a string from being a key (FRM-6 j).
    @inline(__always) static func keyFault(_ key: UTF8Span) -> PropertyListError.Reason? {
        let text = key.span
        guard (1...PropertyListLimits.maximumKeyLength).contains(text.count) else {
            return .invalidKeyLength(text.count)
        }
        for index in text.indices where text[index] == 0 { return .keyContainsNull }
        return nil
    }

    @inline(__always) private mutating func append(_ text: UTF8Span) {
        let length = text.count
        bytes.reserve(10 + length)
        guard text.isKnownASCII else { return appendUnknown(text.span) }
        append(marker: 0x50, count: length)
        bytes.append(text.span)
    }

    /// Appends text of which it is not known whether all of it is ASCII.
    private mutating func appendUnknown(_ text: Span<UInt8>) {
        let units = Self.utf16Count(text)
        guard units.all != units.ascii else {
            append(marker: 0x50, count: text.count)
            return bytes.append(text)
        }
        bytes.reserve(10 + 2 * units.all)
        append(marker: 0x60, count: units.all)
        appendUTF16(text)
    }

    /// How many UTF-16 code units the text has, and how many of them are ASCII.
    private static func utf16Count(_ text: Span<UInt8>) -> (all: Int, ascii: Int) {
        var (all, ascii) = (0, 0)
        for index in text.indices {
            let byte = text[index]
            // Every character has one byte that does not continue another; those of four bytes have two units.
            all += (byte & 0xC0 == 0x80 ? 0 : 1) + (byte >= 0xF0 ? 1 : 0)
            ascii += byte < 0x80 ? 1 : 0
        }
        return (all, ascii)
    }

    /// Appends the text, which is well-formed because a String holds it, where room was reserved.
    private mutating func appendUTF16(_ text: Span<UInt8>) {
        var index = 0
        while index < text.count {
            let lead = UInt32(text[index])
            let tails = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3
            var scalar = tails == 0 ? lead : lead & (0x3F >> UInt32(tails))
            for tail in 0..<tails { scalar = scalar << 6 | UInt32(text[index + 1 + tail] & 0x3F) }
            index += 1 + tails
            if scalar < 0x1_0000 {
                bytes.append(UInt16(truncatingIfNeeded: scalar))
            } else {
                let (high, low) = ((scalar - 0x1_0000) >> 10, scalar & 0x3FF)
                bytes.append((0xD800 | high) << 16 | 0xDC00 | low)
            }
        }
    }
}

// MARK: - Memory that grows by doubling and stays for the next writing, so that writing allocates nothing but its
// result. Each function checks that the bytes it touches were reserved or written.

/// A growing buffer of bytes that can be used again.
///
/// `@unchecked`: needs no lock, because it cannot be copied: only its owner reaches its memory, and exclusive access
/// protects each `mutating` call, on whichever thread.
@safe struct OutputBytes: ~Copyable, @unchecked Sendable {
    private var start: UnsafeMutableRawPointer
    private(set) var capacity: Int
    /// The bytes that were written; only these are ever read.
    private(set) var count = 0

    init(capacity: Int) {
        unsafe start = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
    }

    deinit { unsafe start.deallocate() }

    /// Takes back what was written from `count` on.
    @inline(__always) mutating func truncate(to count: Int) {
        precondition(0 <= count && count <= self.count)
        self.count = count
    }

    /// Makes room for this many more bytes.
    @inline(__always) mutating func reserve(_ more: Int) {
        if more > capacity &- count { grow(more) }
    }

    @inline(never) private mutating func grow(_ more: Int) {
        let larger = max(2 * capacity, count + more)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        unsafe moved.copyMemory(from: start, byteCount: count)
        unsafe start.deallocate()
        unsafe start = moved
        capacity = larger
    }

    /// Appends a number, most significant byte first, where room was reserved.
    @inline(__always) mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        let size = MemoryLayout<Number>.size
        precondition(size <= capacity &- count)
        unsafe start.storeBytes(of: number.bigEndian, toByteOffset: count, as: Number.self)
        count &+= size
    }

    /// Appends bytes where room was reserved.
    @inline(__always) mutating func append(_ bytes: Span<UInt8>) {
        precondition(bytes.count <= capacity &- count)
        unsafe bytes.withUnsafeBytes { bytes in
            guard let source = bytes.baseAddress else { return }
            unsafe (start + count).copyMemory(from: source, byteCount: bytes.count)
        }
        count &+= bytes.count
    }

    /// Appends zeros, to be written over later, where room was reserved.
    @inline(__always) mutating func append(zeros: Int) {
        precondition(0 <= zeros && zeros <= capacity &- count)
        unsafe (start + count).initializeMemory(as: UInt8.self, repeating: 0, count: zeros)
        count &+= zeros
    }

    /// Writes over bytes that were appended.
    @inline(__always) mutating func store<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        precondition(0 <= offset && offset <= count &- MemoryLayout<Number>.size)
        unsafe start.storeBytes(of: number.bigEndian, toByteOffset: offset, as: Number.self)
    }

    @inline(__always) func load<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
        precondition(0 <= offset && offset <= count &- MemoryLayout<Number>.size)
        return unsafe Number(bigEndian: start.loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Lends the bytes from `offset` to the end.
    @inline(__always) func withBytes<Result>(from offset: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        precondition(0 <= offset && offset <= count)
        return unsafe body(UnsafeRawBufferPointer(start: start + offset, count: count &- offset))
    }

    /// Whether the bytes from `offset` to the end begin at `earlier`, too.
    @inline(__always) func endsAsItDoes(at earlier: Int, from offset: Int) -> Bool {
        precondition(0 <= earlier && earlier <= offset && offset <= count)
        var index = 0
        let length = count &- offset
        // Eight bytes at a time; the last step looks at some of them again.
        while length &- index >= 8 {
            guard unsafe word(earlier &+ index) == word(offset &+ index) else { return false }
            index &+= 8
        }
        if length >= 8 { return unsafe word(earlier &+ length &- 8) == word(offset &+ length &- 8) }
        while index < length {
            guard unsafe byte(earlier &+ index) == byte(offset &+ index) else { return false }
            index &+= 1
        }
        return true
    }

    @inline(__always) @unsafe private func word(_ offset: Int) -> UInt64 {
        unsafe start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    @inline(__always) @unsafe private func byte(_ offset: Int) -> UInt8 {
        unsafe start.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// All that was written, as an array of its exact size.
    func copied() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            unsafe UnsafeMutableRawBufferPointer(buffer).copyMemory(
                from: UnsafeRawBufferPointer(start: start, count: count))
            initialized = count
        }
    }
}
