// The scalars of a view. Nothing converts between types, as with ``PropertyListValue``.

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

    /// The text of a string, made anew by each call; nil for anything else.
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
