// A dictionary as pairs in one array, sorted by the UTF-8 bytes of the keys. Not a Swift Dictionary: that one compares
// keys by canonical equivalence, so two keys that a peer sent as different would become one; it would have to be sorted
// at each writing; and it costs twice the time to build.

/// A dictionary of property-list values: unique keys in the order of their UTF-8 bytes (the order of Unicode scalars).
public struct PropertyListDictionary: Sendable {
    public typealias Element = (key: String, value: PropertyListValue)

    private var pairs: [Element]

    /// An empty dictionary.
    public init() { pairs = [] }

    /// The dictionary of these pairs; two equal keys are a programming error.
    public init(uniqueKeysWithValues elements: some Sequence<(String, PropertyListValue)>) {
        pairs = elements.map { (key: $0.0, value: $0.1) }
        pairs.sort { Self.precedes($0.key, $1.key) }
        for index in pairs.indices.dropFirst() {
            precondition(Self.precedes(pairs[index - 1].key, pairs[index].key), "duplicate key in a dictionary")
        }
    }

    /// Pairs that the caller knows to be sorted and unique.
    init(sortedPairs: [Element]) { pairs = sortedPairs }

    /// The value of a key, compared by Unicode scalars; nil if there is none. Setting nil removes the pair.
    public subscript(key: String) -> PropertyListValue? {
        get {
            let place = position(of: key)
            return isKey(key, at: place) ? pairs[place].value : nil
        }
        set {
            let place = position(of: key)
            let isPresent = isKey(key, at: place)
            switch newValue {
            case .some(let value) where isPresent: pairs[place].value = value
            case .some(let value): pairs.insert((key: key, value: value), at: place)
            case .none: if isPresent { pairs.remove(at: place) }
            }
        }
    }

    /// The keys in their order.
    public var keys: [String] { pairs.map(\.key) }

    private func isKey(_ key: String, at place: Int) -> Bool {
        place < pairs.count && pairs[place].key.utf8.elementsEqual(key.utf8)
    }

    /// The place of the first pair whose key is not before `key`.
    private func position(of key: String) -> Int {
        var low = 0
        var high = pairs.count
        while low < high {
            let middle = (low + high) / 2
            if Self.precedes(pairs[middle].key, key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

extension PropertyListDictionary: RandomAccessCollection {
    public var startIndex: Int { pairs.startIndex }
    public var endIndex: Int { pairs.endIndex }
    public subscript(position: Int) -> Element { pairs[position] }
}

extension PropertyListDictionary: Equatable {
    public static func == (left: Self, right: Self) -> Bool {
        left.pairs.count == right.pairs.count
            && zip(left.pairs, right.pairs).allSatisfy {
                $0.key.utf8.elementsEqual($1.key.utf8) && $0.value == $1.value
            }
    }
}

extension PropertyListDictionary: ExpressibleByDictionaryLiteral {
    /// Two equal keys in one literal are a programming error.
    public init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        self.init(uniqueKeysWithValues: elements)
    }
}
