// The closed set of values that a property list can hold here: what the strict profile (Protocol/Frames.md, FRM-6)
// allows on the wire and nothing else. Being closed and Sendable it needs no `Any`, and a value that cannot be sent
// cannot be built. Equality is that of the wire: strings by their Unicode scalars, integers by their number.

/// A property-list value.
public enum PropertyListValue: Sendable {
    /// True or false; never a number.
    case boolean(Bool)
    /// An integer of 64 bits with a sign.
    case integer(Int64)
    /// An integer above `Int64.max`; readers use this case for no smaller one.
    case unsigned(UInt64)
    /// A finite real.
    case real(Double)
    /// A point in time, to the millisecond.
    case date(PropertyListDate)
    /// Bytes.
    case data([UInt8])
    /// Text; compared by its Unicode scalars.
    case string(String)
    /// Values in an order.
    case array([PropertyListValue])
    /// Values by key.
    case dictionary(PropertyListDictionary)
}

extension PropertyListValue {
    /// The truth value of a boolean; nil for anything else, numbers included.
    public var booleanValue: Bool? { if case .boolean(let value) = self { value } else { nil } }

    /// The number of an integer that fits; nil for anything else, reals included.
    public var integerValue: Int64? {
        switch self {
        case .integer(let value): value
        case .unsigned(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The number of an integer that is not negative; nil for anything else.
    public var unsignedValue: UInt64? {
        switch self {
        case .integer(let value): UInt64(exactly: value)
        case .unsigned(let value): value
        default: nil
        }
    }

    /// The number of a real; nil for anything else, integers included.
    public var realValue: Double? { if case .real(let value) = self { value } else { nil } }

    /// The point in time of a date; nil for anything else.
    public var dateValue: PropertyListDate? { if case .date(let value) = self { value } else { nil } }

    /// The bytes of data; nil for anything else.
    public var dataValue: [UInt8]? { if case .data(let value) = self { value } else { nil } }

    /// The text of a string; nil for anything else.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements of an array; nil for anything else.
    public var arrayValue: [PropertyListValue]? { if case .array(let value) = self { value } else { nil } }

    /// The pairs of a dictionary; nil for anything else.
    public var dictionaryValue: PropertyListDictionary? { if case .dictionary(let value) = self { value } else { nil } }
}

extension PropertyListValue: Equatable {
    /// True if both would be written as the same value; a real never equals an integer or a boolean.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.boolean(let left), .boolean(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.unsigned(let left), .unsigned(let right)): left == right
        case (.integer(let left), .unsigned(let right)), (.unsigned(let right), .integer(let left)):
            UInt64(exactly: left) == right
        case (.real(let left), .real(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.data(let left), .data(let right)): left == right
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)): left == right
        default: false
        }
    }
}
