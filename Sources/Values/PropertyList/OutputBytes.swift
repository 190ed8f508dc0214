// The bytes of a property list while it is written: memory that grows by doubling and stays for the next writing, so
// that writing allocates nothing but its result. The writer's unsafe access to memory is here, in Column and in
// ScalarTable, where each function checks that what it touches was reserved or written; BorrowedValue, ScalarHash and
// `FlatDictionaryWriter.copy` have the rest.

/// A growing buffer of bytes that can be used again.
@safe struct OutputBytes: ~Copyable, @unchecked Sendable {
    // @unchecked: a value that cannot be copied is the only owner of its memory.
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
        var place = 0
        let length = count &- offset
        // Eight bytes at a time; the last step looks at some of them again.
        while length &- place >= 8 {
            guard unsafe word(earlier &+ place) == word(offset &+ place) else { return false }
            place &+= 8
        }
        if length >= 8 { return unsafe word(earlier &+ length &- 8) == word(offset &+ length &- 8) }
        while place < length {
            guard unsafe byte(earlier &+ place) == byte(offset &+ place) else { return false }
            place &+= 1
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
