// Numbers in a row that is used again and again, like an array that nobody shares: no check of who else holds it at
// each change, only the check of the index.

/// A growing row of numbers that can be used again.
@safe struct Column: ~Copyable, @unchecked Sendable {
    // @unchecked: a value that cannot be copied is the only owner of its memory.
    private var start: UnsafeMutablePointer<Int>
    private(set) var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        unsafe start = UnsafeMutablePointer<Int>.allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit { unsafe start.deallocate() }

    mutating func removeAll() { count = 0 }

    @inline(__always) mutating func append(_ number: Int) {
        if count == capacity { grow() }
        unsafe (start + count).initialize(to: number)
        count &+= 1
    }

    @inline(__always) subscript(index: Int) -> Int {
        precondition(0 <= index && index < count)
        return unsafe start[index]
    }

    @inline(never) private mutating func grow() {
        let moved = UnsafeMutablePointer<Int>.allocate(capacity: 2 * capacity)
        unsafe moved.moveInitialize(from: start, count: count)
        unsafe start.deallocate()
        unsafe start = moved
        capacity *= 2
    }
}
