// Value of a property, in the property's own type. Nothing converts between the cases: a Float 120.41 and a Double
// 120.41 are different numbers, and a rule that compared them as one would refuse its own upper bound. Conversion from
// a property list is exact or refused: a boolean is never a number, a real never an integer, and an integer becomes a
// real only if it is exactly that number. Floats are rounded from the Double that they travel as.

import TandemBase
package import TandemPropertyList

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

    /// Whether a property of the type may have the value.
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

extension SettingValue {
    /// The value as a property of this type holds it; nil if that type does not take it.
    package init?(_ value: PropertyListValue, as type: SettingType) {
        switch (value, type) {
        case (.boolean(let value), .boolean): self = .boolean(value)
        case (.integer(let value), .integer): self.init(Int(exactly: value).map { .integer($0) })
        case (.string(let value), .string): self = .string(value)
        case (.real(let value), .double): self = .double(value)
        case (.real(let value), .float): self = .float(Float(value))
        case (.integer(let value), .double): self.init(Double(exactly: value).map { .double($0) })
        case (.integer(let value), .float): self.init(Float(exactly: value).map { .float($0) })
        default: return nil
        }
    }

    private init?(_ value: SettingValue?) {
        guard let value else { return nil }
        self = value
    }
}

/// The shortest decimal text that reads back as the same number in its own type, without an exponent: the regular
/// expressions of settings are written for digits (56.0 is "56", 1e21 is a one and twenty-one zeros).
private enum DecimalText {
    static func shortest<Number: BinaryFloatingPoint & CustomStringConvertible>(_ number: Number) -> String {
        guard number.isFinite, number != 0 else { return number == 0 ? "0" : number.description }
        let parts = number.magnitude.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        let fraction = mantissa.count > 1 && mantissa[1] != "0" ? String(mantissa[1]) : ""
        let digits = String(mantissa[0]) + fraction
        let point = mantissa[0].count + exponent
        return (number < 0 ? "-" : "") + placed(digits, point: point)
    }

    /// The digits with the decimal point after the first `point` of them, filled up with zeros where it lies outside.
    private static func placed(_ digits: String, point: Int) -> String {
        if point <= 0 { return "0." + String(repeating: "0", count: -point) + digits }
        if point >= digits.count { return digits + String(repeating: "0", count: point - digits.count) }
        return digits.prefix(point) + "." + digits.dropFirst(point)
    }
}
