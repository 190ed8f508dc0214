// A dictionary as pairs in one allocation, sorted by the UTF-8 bytes of the keys. Not a Swift Dictionary: that one
// compares keys by canonical equivalence, so two keys that a peer sent as different would become one; it would have to
// be sorted at each writing; and it costs twice the time to build.

/// A dictionary of property-list values: unique keys in the order of their UTF-8 bytes (the order of Unicode scalars).
public struct PropertyListDictionary: Sendable {
    public typealias Element = (key: String, value: PropertyListValue)

    private let pairs: SortedPairs

    /// An empty dictionary.
    public init() { pairs = SortedPairs(capacity: 0) { _ in } }

    /// The dictionary of these pairs; two equal keys are a programming error.
    public init(uniqueKeysWithValues elements: some Sequence<(String, PropertyListValue)>) {
        let pairs = elements.map { (key: $0.0, value: $0.1) }.sorted { Self.precedes($0.key, $1.key) }
        for index in pairs.indices.dropFirst() {
            precondition(Self.precedes(pairs[index - 1].key, pairs[index].key), "duplicate key in a dictionary")
        }
        self.init(sortedPairs: pairs)
    }

    /// The dictionary of those pairs that have a value: a nil leaves its key out. One pass, where setting key after key
    /// would copy all pairs each time. Two equal keys are a programming error.
    package init(present pairs: KeyValuePairs<String, PropertyListValue?>) {
        self.init(uniqueKeysWithValues: pairs.compactMap { key, value in value.map { (key, $0) } })
    }

    /// Pairs that the caller knows to be sorted and unique.
    init(sortedPairs pairs: [Element]) {
        self.init(capacity: pairs.count) { room in
            for pair in pairs { room.append(PropertyListPair(key: pair.key, value: pair.value)) }
        }
    }

    /// At most `capacity` pairs, which `fill` appends sorted and unique.
    @inline(__always)
    init(capacity: Int, _ fill: (inout OutputSpan<PropertyListPair>) -> Void) {
        pairs = SortedPairs(capacity: capacity, fill)
    }

    /// The value of a key, compared by Unicode scalars; nil if there is none. Setting nil removes the pair.
    public subscript(key: String) -> PropertyListValue? {
        get {
            withPairs { pairs in
                let (index, isThere) = Self.index(of: key, in: pairs)
                return isThere ? pairs[index].value : nil
            }
        }
        set { self = replacing(key, newValue) }
    }

    /// The value of a key, looked for at the cursor first, which is moved behind it. A reader that asks for keys in
    /// their order needs one or two comparisons for each; in any other order the cursor is of no use, and no harm.
    package func value(of key: String, from cursor: inout Int) -> PropertyListValue? {
        withPairs { pairs in
            let (index, isThere) = Self.index(of: key, in: pairs, near: cursor)
            cursor = isThere ? index + 1 : index
            return isThere ? pairs[index].value : nil
        }
    }

    /// Lends the pairs in their order, without a copy.
    package func withPairs<Result, Failure>(
        _ body: (Span<PropertyListPair>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try pairs.withSpan(body)
    }

    /// The keys in their order.
    public var keys: [String] { map(\.key) }

    /// A copy with this value of the key, or without the key.
    private func replacing(_ key: String, _ value: PropertyListValue?) -> Self {
        withPairs { pairs in
            let (index, isThere) = Self.index(of: key, in: pairs)
            return PropertyListDictionary(capacity: pairs.count + 1) { room in
                for other in 0..<index { room.append(pairs[other]) }
                if let value { room.append(PropertyListPair(key: key, value: value)) }
                for other in (isThere ? index + 1 : index)..<pairs.count { room.append(pairs[other]) }
            }
        }
    }

    /// The dictionary with those pairs that have a value, as ``merging(_:)``.
    package func merging(present pairs: KeyValuePairs<String, PropertyListValue?>) -> Self {
        merging(PropertyListDictionary(present: pairs))
    }

    /// The dictionary of the same keys with other values; nil leaves a key out. One pass, where setting key after key
    /// would copy all pairs each time.
    package func compactMapValues<Failure>(
        _ newValue: (_ key: String, _ value: PropertyListValue) throws(Failure) -> PropertyListValue?
    ) throws(Failure) -> Self {
        var pairs: [Element] = []
        for (key, value) in self {
            if let new = try newValue(key, value) { pairs.append((key, new)) }
        }
        return PropertyListDictionary(sortedPairs: pairs)
    }

    /// The dictionary with all pairs of another one, whose values count where both have a key. One pass.
    package func merging(_ other: Self) -> Self {
        var pairs: [Element] = []
        var (own, others) = (self[...], other[...])
        while let next = others.first {
            if let pair = own.first, Self.precedes(pair.key, next.key) {
                pairs.append(pair)
                own.removeFirst()
            } else {
                if let pair = own.first, !Self.precedes(next.key, pair.key) { own.removeFirst() }
                pairs.append(next)
                others.removeFirst()
            }
        }
        return PropertyListDictionary(sortedPairs: pairs + own)
    }

    /// The index of the first pair whose key is not before `key`, and whether it has that key.
    /// - Parameter guess: an index to look at first, and the one before it second.
    private static func index(
        of key: String, in pairs: Span<PropertyListPair>, near guess: Int? = nil
    ) -> (index: Int, isThere: Bool) {
        let key = key.utf8Span
        let bytes = key.span
        var (low, high) = (0, pairs.count)
        var next = Swift.min(guess ?? high / 2, high - 1)
        var isGuess = guess != nil
        while low < high {
            let found = pairs[next].key
            let order = compare(found.utf8Span.span, bytes)
            if order == 0 { return (next, true) }
            if order < 0 { low = next + 1 } else { high = next }
            next = isGuess && order > 0 ? high - 1 : (low + high) / 2
            isGuess = false
        }
        return (low, false)
    }

    /// Negative, zero or positive as `left` is before, equal to or after `right`.
    static func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        for index in 0..<Swift.min(left.count, right.count) where left[index] != right[index] {
            return left[index] < right[index] ? -1 : 1
        }
        return left.count - right.count
    }

    static func precedes(_ left: String, _ right: String) -> Bool {
        compare(left.utf8Span.span, right.utf8Span.span) < 0
    }
}

extension PropertyListDictionary: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { withPairs { $0.count } }
    public subscript(position: Int) -> Element { withPairs { (key: $0[position].key, value: $0[position].value) } }
}

extension PropertyListDictionary: Equatable {
    public static func == (left: Self, right: Self) -> Bool {
        left.elementsEqual(right) { $0.key.utf8.elementsEqual($1.key.utf8) && $0.value == $1.value }
    }
}

extension PropertyListDictionary: ExpressibleByDictionaryLiteral {
    /// Two equal keys in one literal are a programming error.
    public init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        self.init(uniqueKeysWithValues: elements)
    }
}

extension PropertyListDictionary: CustomStringConvertible {
    /// The dictionary as a line of JSON, for people.
    public var description: String { PropertyListJSON.text(.dictionary(self)) }
}
