// Literals, so that a dictionary can be written in code as it reads in a document. A literal chooses the case by its
// own form: `1` is an integer, `1.0` a real, `true` a boolean; nothing converts between them.

extension PropertyListValue: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

extension PropertyListValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension PropertyListValue: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Double) { self = .real(value) }
}

extension PropertyListValue: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self = .string(value) }
}

extension PropertyListValue: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: PropertyListValue...) { self = .array(elements) }
}

extension PropertyListValue: ExpressibleByDictionaryLiteral {
    /// Two equal keys in one literal are a programming error.
    public init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        self = .dictionary(PropertyListDictionary(uniqueKeysWithValues: elements))
    }
}

extension PropertyListValue {
    /// The integer value of any width.
    public init(_ number: some BinaryInteger) {
        self = Int64(exactly: number).map { .integer($0) } ?? .unsigned(UInt64(clamping: number))
    }
}
