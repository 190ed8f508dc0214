// Value of a property, in the property's own type. Nothing converts between the cases: a Float 120.41 and a Double
// 120.41 are different numbers, and a rule that compared them as one would refuse its own upper bound. Conversion from
// a property list is exact or refused: a boolean is never a number, a real never an integer, and an integer becomes a
// real only if it is exactly that number. Floats are rounded from the Double that they travel as. The way back is
// total: every value but nothing has one property-list value, which reads back as an equal value of its type.

import TandemBase
public import TandemPropertyList

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
    /// Of a `String`.
    case string(String)
    /// Of a `[String]`.
    case strings([String])
    /// Of bytes, `[UInt8]`.
    case data([UInt8])
    /// Of a `PropertyListDate`.
    case date(PropertyListDate)
    /// Of a ``SettingURL``.
    case url(SettingURL)
    /// Of a `[PropertyListValue]`, or of a set: then each value once, in the order of ``set(_:)``.
    case array([PropertyListValue])
    /// Of a `PropertyListDictionary`.
    case dictionary(PropertyListDictionary)
    /// Of any other Swift type.
    case coded(CodedSetting)
    /// An optional that is nil.
    case nothing

    /// The value of a set: each element once, in one order, so that equal sets are equal values. Texts that are equal
    /// for Unicode are one element, as in a `Set<String>`.
    public static func set(_ elements: [PropertyListValue]) -> SettingValue {
        let texts = elements.map { (text: $0.description, element: $0) }
        var known: Set<ComparedText> = []
        return .array(
            texts.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
                .filter { known.insert(ComparedText($0.text)).inserted }.map(\.element))
    }

    func isOf(_ type: SettingType, allowsNothing: Bool) -> Bool {
        switch self {
        case .nothing: allowsNothing
        case .array(let elements) where type == .set: Self(.array(elements), as: .set) == self
        default: ownType == type
        }
    }

    /// The type of the case's name; nil for ``nothing``.
    private var ownType: SettingType? {
        switch self {
        case .boolean: .boolean
        case .integer: .integer
        case .float: .float
        case .double: .double
        case .string: .string
        case .strings: .strings
        case .data: .data
        case .date: .date
        case .url: .url
        case .array: .array
        case .dictionary: .dictionary
        case .coded: .coded
        case .nothing: nil
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
        case (.strings(let left), .strings(let right)):
            left.elementsEqual(right) { $0.utf8.elementsEqual($1.utf8) }
        case (.data(let left), .data(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.url(let left), .url(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)): left == right
        case (.coded(let left), .coded(let right)): left == right
        case (.nothing, .nothing): true
        // A list of all cases costs the compiler more than it may take; TypeTests compares a value of each.
        default: false
        }
    }
}

extension SettingValue: CustomStringConvertible {
    /// The text that a regular expression is searched in; numbers in their shortest decimal form, lists as JSON,
    /// nil as `nil`: the empty text is an empty string's.
    public var text: String {
        switch self {
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .float(let value): DecimalText.shortest(value)
        case .double(let value): DecimalText.shortest(value)
        case .string(let value): value
        case .url(let value): value.text
        case .strings, .data, .date, .array, .dictionary, .coded: propertyListValue?.description ?? ""
        case .nothing: "nil"
        }
    }

    /// ``text``, with strings quoted, escaped and cut at 128 bytes, so that it may stand in a log line; containers and
    /// bytes by their kind. It redacts nothing: the value does not know whether its property is secret.
    public var description: String {
        switch self {
        case .boolean, .integer, .float, .double: text
        case .string, .url: OutsideText.quoted(text)
        case .date(let date): WallTime(milliseconds: date.millisecondsSince1970).description
        case .strings, .data, .array, .dictionary: propertyListValue?.kind ?? ""
        case .coded(let value): "'\(value.tag)' in \(value.bytes.count) bytes"
        case .nothing: "nil"
        }
    }
}

// MARK: - property lists
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
        case (.unsigned(let value), .double): self.init(Double(exactly: value).map { .double($0) })
        case (.unsigned(let value), .float): self.init(Float(exactly: value).map { .float($0) })
        case (.array(let values), .strings):
            let texts = values.compactMap(\.stringValue)
            self.init(texts.count == values.count ? .strings(texts) : nil)
        case (.data(let bytes), .data): self = .data(bytes)
        case (.date(let date), .date): self = .date(date)
        case (.string(let text), .url): self.init(SettingURL(text).map { .url($0) })
        case (.array(let values), .array): self = .array(values)
        case (.array(let values), .set): self.init(values.isOfSet ? .set(values) : nil)
        case (.dictionary(let pairs), .dictionary): self = .dictionary(pairs)
        case (.dictionary(let pairs), .coded): self.init(CodedSetting(pairs).map { .coded($0) })
        case (_, .boolean), (_, .integer), (_, .float), (_, .double), (_, .string), (_, .strings), (_, .data),
            (_, .date), (_, .url), (_, .array), (_, .dictionary), (_, .set), (_, .coded):
            return nil
        }
    }

    /// The property-list value, from which the property's type reads an equal value; nil for ``nothing``, which no
    /// property list can hold.
    public var propertyListValue: PropertyListValue? {
        switch self {
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(Int64(value))
        case .float(let value): .real(Double(value))
        case .double(let value): .real(value)
        case .string(let value): .string(value)
        case .strings(let values): .array(values.map { .string($0) })
        case .data(let bytes): .data(bytes)
        case .date(let date): .date(date)
        case .url(let url): .string(url.text)
        case .array(let values): .array(values)
        case .dictionary(let pairs): .dictionary(pairs)
        case .coded(let value): .dictionary(value.dictionary)
        case .nothing: nil
        }
    }

    private init?(_ value: SettingValue?) {
        guard let value else { return nil }
        self = value
    }
}

extension [PropertyListValue] {
    /// Whether they are elements of a set: texts that Swift compares at once.
    fileprivate var isOfSet: Bool { allSatisfy { $0.stringValue.map { !CombiningMarks.areMany(in: $0) } ?? false } }
}

extension PropertyListValue {
    /// The rule that a value breaks which is none of the type. A text with many marks is no element of a set: every
    /// process that has the set compares it, the app too.
    func rule(notOf type: SettingType) -> SettingError.Rule {
        let texts = type == .set ? arrayValue?.compactMap(\.stringValue) ?? [] : []
        guard texts.contains(where: { CombiningMarks.areMany(in: $0) }) else { return .type(type) }
        return .notStorable("an element has over \(CombiningMarks.longestRun) combining marks in a row")
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
