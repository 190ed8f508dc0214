// A property list read in place: validated as a whole once, then looked into without building anything. For whoever
// needs a few values of a list, or passes it on: it costs a fraction of reading the tree. A view keeps the bytes and
// one table of its objects, whatever is looked at.

/// A value of a validated property list, as it lies in the bytes.
public struct PropertyListView: Sendable {
    let bytes: ArraySlice<UInt8>
    let validation: PropertyListValidation
    let object: Int

    /// The root of a whole property list; shares the storage of `bytes`.
    /// - Throws: ``PropertyListError`` naming the first fault and its place.
    public init(_ bytes: [UInt8], limits: PropertyListLimits = .standard) throws(PropertyListError) {
        try self.init(bytes[...], limits: limits)
    }

    /// The root of a whole property list that is a part of an array; shares its storage.
    /// - Throws: ``PropertyListError`` naming the first fault and its place, counted from the slice's beginning.
    public init(_ bytes: ArraySlice<UInt8>, limits: PropertyListLimits = .standard) throws(PropertyListError) {
        // Any UInt8 is a byte.
        validation = try PropertyListValidation(unsafe bytes.span.bytes, limits: limits)
        object = validation.table.top
        self.bytes = bytes
    }

    private init(_ object: Int, of parent: Self) {
        (bytes, validation, self.object) = (parent.bytes, parent.validation, object)
    }

    var entry: ObjectEntry { validation.entries[object] }

    /// True for a dictionary.
    public var isDictionary: Bool { entry.kind == .dictionary }

    /// True for an array.
    public var isArray: Bool { entry.kind == .array }

    /// Elements of an array or pairs of a dictionary; 0 for anything else.
    public var count: Int { entry.isContainer ? entry.count : 0 }

    /// An element of an array, or the value of a pair, in the order of the bytes; nil if there is none there.
    public subscript(position: Int) -> PropertyListView? {
        guard (0..<count).contains(position) else { return nil }
        return child(isDictionary ? count + position : position)
    }

    /// The key of a pair, in the order of the bytes; nil if there is none there.
    public func key(at position: Int) -> String? {
        guard isDictionary, (0..<count).contains(position) else { return nil }
        return child(position).stringValue
    }

    /// The value of a key, compared by Unicode scalars; nil if there is none. Takes O(log n) comparisons if the keys
    /// were written in their order.
    public subscript(key: String) -> PropertyListView? {
        guard isDictionary, let position = position(of: key) else { return nil }
        return child(count + position)
    }

    /// The tree of this value. Takes time and memory for all objects of the list, however small this part of it is.
    public var value: PropertyListValue {
        var builder = TreeBuilder(validation)
        return builder.build(partAt: object, unsafe bytes.span.bytes)
    }

    private func child(_ reference: Int) -> PropertyListView {
        PropertyListView(
            validation.table.reference(reference, of: entry, in: unsafe bytes.span.bytes), of: self)
    }
}
