// Values that can only be borrowed. A loop over an array or a dictionary copies each element before it looks at it,
// which counts references up and down; a type that cannot be copied is looked at where it lies. Both types here are
// laid out as what they stand for, field by field, which a test reads through them; nothing else may be lent as another type.

/// A type that cannot be copied, laid out as one that can.
protocol LentInPlace: ~Copyable {
    /// The type whose values are lent as this one; of the same layout.
    associatedtype Original
}

/// A value that lies in an array.
struct BorrowedValue: ~Copyable, LentInPlace {
    typealias Original = PropertyListValue

    let value: PropertyListValue
}

/// A pair that lies in a dictionary.
struct BorrowedPair: ~Copyable, LentInPlace {
    typealias Original = PropertyListPair

    let key: String
    let value: BorrowedValue
}

extension LentInPlace where Self: ~Copyable {
    /// Lends the elements one by one, with their places.
    @inline(__always)
    static func forEach<Failure>(
        _ elements: Span<Original>, _ body: (Int, borrowing Self) throws(Failure) -> Void
    ) throws(Failure) {
        try unsafe elements.withUnsafeBufferPointer { buffer throws(Failure) in
            let start = unsafe UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: Self.self)
            guard let start = unsafe start else { return }
            for place in 0..<buffer.count { try unsafe body(place, start[place]) }
        }
    }
}
