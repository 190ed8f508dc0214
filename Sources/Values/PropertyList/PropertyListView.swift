// A property list read in place: validated as a whole once, then looked into without building anything. For code that
// needs a few values of a list, or forwards it: it costs a fraction of reading the tree. A view retains the bytes and
// one table of its objects, independent of the lookups.

/// A value of a validated property list, as it lies in the bytes.
public struct PropertyListView: Sendable {
    let bytes: ArraySlice<UInt8>
    let validation: PropertyListValidation
    let object: Int

    /// The root of a whole property list; shares the storage of `bytes`.
    /// - Throws: ``PropertyListError`` naming the first fault and its location.
    public init(_ bytes: [UInt8], limits: PropertyListLimits = .standard) throws(PropertyListError) {
        try self.init(bytes[...], limits: limits)
    }

    /// The root of a whole property list that is a part of an array; shares its storage.
    /// - Throws: ``PropertyListError`` naming the first fault and its location, counted from the slice's beginning.
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

extension PropertyListView {
    /// The position of the pair with that key: by bisection if the keys were written in their order, else one by one.
    func position(of key: String) -> Int? {
        guard entry.isFit else { return (0..<count).first { compareKey(at: $0, key) == 0 } }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            let order = compareKey(at: middle, key)
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Negative, zero or positive as the key at a position is before, equal to or after `text`.
    private func compareKey(at position: Int, _ text: String) -> Int {
        let raw = unsafe bytes.span.bytes
        let key = validation.entries[validation.table.reference(position, of: entry, in: raw)]
        let right = text.utf8Span
        guard key.kind == .ascii else {
            return PropertyListDictionary.compare(key.string(in: raw).utf8Span.span, right.span)
        }
        return PropertyListDictionary.compare(bytes.span.extracting(key.content..<key.content + key.count), right.span)
    }
}

// MARK: - Scalars; nothing converts between types

extension PropertyListView {
    /// The truth value of a boolean; nil for anything else, numbers included.
    public var booleanValue: Bool? { entry.kind == .boolean ? scalar?.booleanValue : nil }

    /// The number of an integer that fits; nil for anything else, reals included.
    public var integerValue: Int64? { entry.kind == .integer ? scalar?.integerValue : nil }

    /// The number of an integer that is not negative; nil for anything else.
    public var unsignedValue: UInt64? { entry.kind == .integer ? scalar?.unsignedValue : nil }

    /// The number of a real; nil for anything else, integers included.
    public var realValue: Double? { entry.kind == .real ? scalar?.realValue : nil }

    /// The point in time of a date; nil for anything else.
    public var dateValue: PropertyListDate? { entry.kind == .date ? scalar?.dateValue : nil }

    /// The text of a string, a new one in each call; nil for anything else.
    public var stringValue: String? { scalar?.stringValue }

    /// The bytes of data in the storage that was read; nil for anything else.
    public var dataBytes: ArraySlice<UInt8>? {
        guard entry.kind == .data else { return nil }
        let first = bytes.startIndex + entry.content
        return bytes[first..<first + entry.count]
    }

    /// The value of anything but a container.
    var scalar: PropertyListValue? { entry.isContainer ? nil : entry.scalar(in: unsafe bytes.span.bytes) }
}
