// A property's value in the property's own type. Nothing converts between the cases: a Float 120.41 and a Double 120.41
// are different numbers, and a rule that compared them as one would refuse its own upper bound.

import TandemBase

/// A value of a property.
public enum SettingValue: Sendable, Equatable {
    /// Of a `Bool`.
    case boolean(Bool)
    /// Of an `Int`.
    case integer(Int)
    /// Of a `Float`.
    case float(Float)
    /// Of a `Double`.
    case double(Double)
    /// Of a `String`, or of a `String?` that is not nil.
    case string(String)
    /// An optional string that is nil.
    case nothing

    /// Whether the value may be held by a property of the type.
    func isOf(_ type: SettingType, allowsNothing: Bool) -> Bool {
        switch (self, type) {
        case (.boolean, .boolean), (.integer, .integer), (.float, .float), (.double, .double), (.string, .string): true
        case (.nothing, .string): allowsNothing
        default: false
        }
    }

    /// Equality by Unicode scalars for strings; by number, not by bit pattern, for the others.
    public static func == (left: SettingValue, right: SettingValue) -> Bool {
        switch (left, right) {
        case (.boolean(let left), .boolean(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.float(let left), .float(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.nothing, .nothing): true
        default: false
        }
    }
}

extension SettingValue: CustomStringConvertible {
    /// The text that a regular expression is searched in; numbers in their shortest decimal form.
    public var text: String {
        switch self {
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .float(let value): DecimalText.shortest(value)
        case .double(let value): DecimalText.shortest(value)
        case .string(let value): value
        case .nothing: ""
        }
    }

    /// ``text``, with strings quoted, escaped and cut at 128 bytes, so that it may stand in a log line.
    public var description: String {
        switch self {
        case .string(let value): OutsideText.quoted(value)
        case .nothing: "nil"
        default: text
        }
    }
}
