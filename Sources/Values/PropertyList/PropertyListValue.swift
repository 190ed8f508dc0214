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

// MARK: - Literals: `1` is an integer, `1.0` a real, `true` a boolean; nothing converts between them.

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

/// A point in time, in milliseconds since 2001-01-01 00:00:00 UTC. Binary property lists carry seconds as a double;
/// whole milliseconds keep equality exact. Only the years 1 to 9999 can be written, because other readers stop there.
public struct PropertyListDate: Sendable, Hashable, Comparable {
    /// Milliseconds since 2001, negative before it.
    public let millisecondsSinceReferenceDate: Int64

    /// The point that many milliseconds after 2001; only ``representable`` ones can be written.
    public init(millisecondsSinceReferenceDate: Int64) {
        self.millisecondsSinceReferenceDate = millisecondsSinceReferenceDate
    }

    /// The milliseconds of the years 1 to 9999 of the proleptic Gregorian calendar.
    public static let representable: Range<Int64> = -63_113_904_000_000..<252_423_993_600_000

    /// The nearest millisecond to `seconds`; nil if it is not finite or outside the representable years.
    public init?(secondsSinceReferenceDate seconds: Double) {
        guard let nearest = Int64(exactly: (seconds * 1000).rounded()), Self.representable.contains(nearest) else {
            return nil
        }
        self.init(millisecondsSinceReferenceDate: nearest)
    }

    /// Seconds since the reference date, as a property list carries them.
    public var secondsSinceReferenceDate: Double { Double(millisecondsSinceReferenceDate) / 1000 }

    public static func < (left: Self, right: Self) -> Bool {
        left.millisecondsSinceReferenceDate < right.millisecondsSinceReferenceDate
    }
}

extension PropertyListDate {
    private static let referenceDate: Int64 = 978_307_200_000

    /// Milliseconds since 1970-01-01 00:00:00 UTC; held to the integer's range.
    package var millisecondsSince1970: Int64 {
        let (sum, overflow) = millisecondsSinceReferenceDate.addingReportingOverflow(Self.referenceDate)
        return overflow ? .max : sum
    }

    /// The date this many milliseconds after 1970; nil outside the years that a property list can hold.
    package init?(millisecondsSince1970 milliseconds: Int64) {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(Self.referenceDate)
        guard !overflow, Self.representable.contains(difference) else { return nil }
        self.init(millisecondsSinceReferenceDate: difference)
    }
}

extension PropertyListValue: CustomStringConvertible {
    /// The value as JSON, for people.
    public var description: String { PropertyListJSON.text(self) }
}
