// A dictionary as pairs in one allocation, sorted by the UTF-8 bytes of the keys. Not a Swift Dictionary: that one compares
// keys by canonical equivalence, so two keys that a peer sent as different would become one; it would have to be sorted
// at each writing; and it costs twice the time to build.

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
            let place = position(of: key)
            return isKey(key, at: place) ? self[place].value : nil
        }
        set {
            let place = position(of: key)
            var pairs = Array(self)
            if isKey(key, at: place) { pairs.remove(at: place) }
            if let newValue { pairs.insert((key: key, value: newValue), at: place) }
            self = PropertyListDictionary(sortedPairs: pairs)
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

    private func isKey(_ key: String, at place: Int) -> Bool {
        place < count && self[place].key.utf8.elementsEqual(key.utf8)
    }

    /// The place of the first pair whose key is not before `key`.
    private func position(of key: String) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if Self.precedes(self[middle].key, key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
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
