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

    private let bytes: ByteView
    private let table: ObjectTable
    private let root: Container

    /// - Throws: ``PropertyListError``, also if the root is not a dictionary.
    package init(_ bytes: ArraySlice<UInt8>, limits: PropertyListLimits = .standard) throws(PropertyListError) {
        self.bytes = ByteView(bytes)
        let validation = try PropertyListValidation(self.bytes, limits: limits)
        table = validation.table
        guard let root = validation.containers.first, root.object == table.top, root.isDictionary else {
            throw PropertyListError(.rootNotDictionary, at: .byte(0))
        }
        self.root = root
    }

    /// Number of pairs.
    package var count: Int { root.count }

    /// The key at a position below ``count``, in the order of the bytes.
    package func key(at position: Int) throws(PropertyListError) -> String { try header(position).string(in: bytes) }

    /// The value at a position below ``count``. Text is made anew by each call.
    package func value(at position: Int) throws(PropertyListError) -> Value {
        value(try header(root.count + position))
    }

    private func header(_ reference: Int) throws(PropertyListError) -> ObjectHeader {
        let object = root.reference(reference, in: bytes, table: table)
        return try ObjectHeader(object: object, in: bytes, table: table)
    }

    private func value(_ header: ObjectHeader) -> Value {
        if header.kind == .data { return .data(bytes[header.content..<header.end]) }
        return switch header.scalar(in: bytes) {
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .string(let value): .string(value)
        case .some(let value): .other(value)
        case nil: .container
        }
    }
}
