// Values that can only be borrowed. A loop over an array or a dictionary copies each element before it looks at it,
// which counts references up and down; a type that cannot be copied is looked at where it lies. Both types here are the
// one stored property that they wrap, so that they have its size and layout.

/// A value that lies in an array.
struct BorrowedValue: ~Copyable {
    let value: PropertyListValue
}

/// A pair that lies in a dictionary; laid out as PropertyListPair is.
struct BorrowedPair: ~Copyable {
    let key: String
    let value: BorrowedValue
}

extension BorrowedValue {
    /// Lends the elements one by one, with their places.
    @inline(__always)
    static func forEach<Failure>(
        _ elements: Span<PropertyListValue>, _ body: (Int, borrowing BorrowedValue) throws(Failure) -> Void
    ) throws(Failure) {
        try unsafe elements.withUnsafeBufferPointer { buffer throws(Failure) in
            let start = unsafe UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: BorrowedValue.self)
            guard let start = unsafe start else { return }
            for place in 0..<buffer.count { try unsafe body(place, start[place]) }
        }
    }
}

extension BorrowedPair {
    /// Lends the pairs one by one, with their places.
    @inline(__always)
    static func forEach<Failure>(
        _ pairs: Span<PropertyListPair>, _ body: (Int, borrowing BorrowedPair) throws(Failure) -> Void
    ) throws(Failure) {
        try unsafe pairs.withUnsafeBufferPointer { buffer throws(Failure) in
            let start = unsafe UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: BorrowedPair.self)
            guard let start = unsafe start else { return }
            for place in 0..<buffer.count { try unsafe body(place, start[place]) }
        }
    }
}
