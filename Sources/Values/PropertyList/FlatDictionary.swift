// A dictionary of scalars read in place: the shape of an envelope. The bytes are validated as a whole, then each pair
// is shown once; data is given as a slice of the same storage, so a large body is neither copied nor opened.

/// A validated property list whose root is a dictionary.
package struct FlatDictionary: Sendable {
    /// A value as it lies in the bytes.
    package enum Value: Sendable {
        case boolean(Bool)
        case integer(Int64)
        case string(String)
        case data(ArraySlice<UInt8>)
        /// A real, a date or an integer above Int64.max.
        case other(PropertyListValue)
        case container
    }

    private let root: PropertyListView

    /// - Throws: ``PropertyListError``, also if the root is not a dictionary.
    package init(_ bytes: ArraySlice<UInt8>, limits: PropertyListLimits = .standard) throws(PropertyListError) {
        root = try PropertyListView(bytes, limits: limits)
        guard root.isDictionary else { throw PropertyListError(.rootNotDictionary, at: .byte(0)) }
    }

    /// Number of pairs.
    package var count: Int { root.count }

    /// The key at a position below ``count``, in the order of the bytes.
    package func key(at position: Int) throws(PropertyListError) -> String { root.key(at: position) ?? "" }

    /// The value at a position below ``count``. Text is made anew by each call.
    package func value(at position: Int) throws(PropertyListError) -> Value {
        guard let value = root[position] else { return .container }
        if let data = value.dataBytes { return .data(data) }
        return switch value.scalar {
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .string(let value): .string(value)
        case .some(let value): .other(value)
        case nil: .container
        }
    }
}
