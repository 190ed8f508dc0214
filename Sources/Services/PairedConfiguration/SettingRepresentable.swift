// The Swift types that a property can have. The set of setting types is closed (each one is a case in every rule, page
// and payload); the protocols exist so that one wrapper serves several of them. An enumeration joins by naming the
// protocol: `enum Mode: String, CaseIterable, SettingRepresentable { case fast, quiet }`.

public import TandemPropertyList
public import TandemSettings

/// A type of a property: Bool, Int, Float, Double, String; lists of texts, bytes, dates, URLs, property-list values and
/// sets of texts; enumerations with such raw values; and optionals of all these.
public protocol SettingRepresentable: Sendable {
    /// The type in a declaration.
    static var settingType: SettingType { get }
    /// The value of a property that is declared without one.
    static var settingDefault: Self { get }
    /// The values of an enumeration with their labels; empty for every other type.
    static var settingChoices: [SettingChoice] { get }
    /// Whether the type has a value for each setting of its type: not if it is an enumeration.
    static var readsAllSettings: Bool { get }
    /// The type's own value in a setting; nil for another type's.
    init?(_ value: SettingValue)
    /// This value in a setting.
    var settingValue: SettingValue { get }
    /// The type's own value in a setting; the other one for another type's setting. A requirement so that each type has
    /// its own compiled form, which a reading needs to cost nanoseconds.
    static func value(of setting: SettingValue, or other: Self) -> Self
}

extension SettingRepresentable {
    /// The value of the initialiser, or the other one where that gives nil.
    public static func value(of setting: SettingValue, or other: Self) -> Self { Self(setting) ?? other }

    /// None, for every type but an enumeration.
    public static var settingChoices: [SettingChoice] { [] }
    /// True, for every type but an enumeration.
    public static var readsAllSettings: Bool { true }

    /// Whether nil is a value of the type.
    static var allowsNothing: Bool { Self(.nothing) != nil }
}

/// A number between two bounds.
public protocol NumericSetting: SettingRepresentable, Comparable {
    /// A range as bounds of this type.
    static func settingBounds(_ range: ClosedRange<Self>) -> SettingBounds
}

/// Text, which a regular expression may hold to a form.
public protocol TextSetting: SettingRepresentable {}

extension Bool: SettingRepresentable {
    public static var settingType: SettingType { .boolean }
    public static var settingDefault: Bool { false }
    public init?(_ value: SettingValue) {
        guard case .boolean(let value) = value else { return nil }
        self = value
    }
    public var settingValue: SettingValue { .boolean(self) }
}

extension Int: NumericSetting {
    public static var settingType: SettingType { .integer }
    public static var settingDefault: Int { 0 }
    public init?(_ value: SettingValue) {
        guard case .integer(let value) = value else { return nil }
        self = value
    }
    public var settingValue: SettingValue { .integer(self) }
    public static func settingBounds(_ range: ClosedRange<Int>) -> SettingBounds { .integer(range) }
}

extension Float: NumericSetting {
    public static var settingType: SettingType { .float }
    public static var settingDefault: Float { 0 }
    public init?(_ value: SettingValue) {
        guard case .float(let value) = value else { return nil }
        self = value
    }
    public var settingValue: SettingValue { .float(self) }
    public static func settingBounds(_ range: ClosedRange<Float>) -> SettingBounds { .float(range) }
}

extension Double: NumericSetting {
    public static var settingType: SettingType { .double }
    public static var settingDefault: Double { 0 }
    public init?(_ value: SettingValue) {
        guard case .double(let value) = value else { return nil }
        self = value
    }
    public var settingValue: SettingValue { .double(self) }
    public static func settingBounds(_ range: ClosedRange<Double>) -> SettingBounds { .double(range) }
}

extension String: TextSetting {
    public static var settingType: SettingType { .string }
    public static var settingDefault: String { "" }
    public init?(_ value: SettingValue) {
        guard case .string(let value) = value else { return nil }
        self = value
    }
    public var settingValue: SettingValue { .string(self) }
}

// MARK: - lists

/// A type of elements whose array is a property's type: texts, bytes, property-list values.
public protocol SettingElement: Sendable {
    /// The type of the array in a declaration.
    static var listSettingType: SettingType { get }
    /// The array in a setting.
    static func listSetting(_ elements: [Self]) -> SettingValue
    /// The array of a setting; nil for another type's.
    static func elements(of setting: SettingValue) -> [Self]?
}

extension String: SettingElement {
    public static var listSettingType: SettingType { .strings }
    public static func listSetting(_ elements: [String]) -> SettingValue { .strings(elements) }
    public static func elements(of setting: SettingValue) -> [String]? {
        if case .strings(let texts) = setting { texts } else { nil }
    }
}

extension UInt8: SettingElement {
    public static var listSettingType: SettingType { .data }
    public static func listSetting(_ elements: [UInt8]) -> SettingValue { .data(elements) }
    public static func elements(of setting: SettingValue) -> [UInt8]? {
        if case .data(let bytes) = setting { bytes } else { nil }
    }
}

extension PropertyListValue: SettingElement {
    public static var listSettingType: SettingType { .array }
    public static func listSetting(_ elements: [PropertyListValue]) -> SettingValue { .array(elements) }
    public static func elements(of setting: SettingValue) -> [PropertyListValue]? {
        if case .array(let values) = setting { values } else { nil }
    }
}

extension Array: SettingRepresentable where Element: SettingElement {
    public static var settingType: SettingType { Element.listSettingType }
    public static var settingDefault: [Element] { [] }
    public init?(_ value: SettingValue) {
        guard let elements = Element.elements(of: value) else { return nil }
        self = elements
    }
    public var settingValue: SettingValue { Element.listSetting(self) }
}

extension Set: SettingRepresentable where Element == String {
    public static var settingType: SettingType { .set }
    public static var settingDefault: Set<String> { [] }
    public init?(_ value: SettingValue) {
        guard case .array(let values) = value else { return nil }
        let texts = values.compactMap(\.stringValue)
        guard texts.count == values.count else { return nil }
        self = Set(texts)
    }
    public var settingValue: SettingValue { .set(map { .string($0) }) }
}

// MARK: - single values

extension PropertyListDictionary: SettingRepresentable {
    public static var settingType: SettingType { .dictionary }
    public static var settingDefault: PropertyListDictionary { [:] }
    public init?(_ value: SettingValue) {
        guard case .dictionary(let pairs) = value else { return nil }
        self = pairs
    }
    public var settingValue: SettingValue { .dictionary(self) }
}

extension PropertyListDate: SettingRepresentable {
    public static var settingType: SettingType { .date }
    /// The beginning of 2001, a property list's own.
    public static var settingDefault: PropertyListDate { PropertyListDate(millisecondsSinceReferenceDate: 0) }
    public init?(_ value: SettingValue) {
        guard case .date(let date) = value else { return nil }
        self = date
    }
    public var settingValue: SettingValue { .date(self) }
}

extension SettingURL: SettingRepresentable {
    public static var settingType: SettingType { .url }
    /// The reference to the same place.
    public static var settingDefault: SettingURL { "." }
    public init?(_ value: SettingValue) {
        guard case .url(let url) = value else { return nil }
        self = url
    }
    public var settingValue: SettingValue { .url(self) }
}

// MARK: - optionals and enumerations

extension Optional: SettingRepresentable where Wrapped: SettingRepresentable {
    public static var settingType: SettingType { Wrapped.settingType }
    public static var settingDefault: Wrapped? { nil }
    public static var settingChoices: [SettingChoice] { Wrapped.settingChoices }
    public static var readsAllSettings: Bool { Wrapped.readsAllSettings }
    public init?(_ value: SettingValue) {
        if value == .nothing {
            self = .none
        } else if let wrapped = Wrapped(value) {
            self = .some(wrapped)
        } else {
            return nil
        }
    }
    public var settingValue: SettingValue { map(\.settingValue) ?? .nothing }
}

extension Optional: TextSetting where Wrapped: TextSetting {}

extension SettingRepresentable where Self: RawRepresentable, RawValue: SettingRepresentable {
    public static var settingType: SettingType { RawValue.settingType }
    /// False: only the cases are read.
    public static var readsAllSettings: Bool { false }
    public init?(_ value: SettingValue) {
        guard let raw = RawValue(value) else { return nil }
        self.init(rawValue: raw)
    }
    public var settingValue: SettingValue { rawValue.settingValue }
}

extension SettingRepresentable where Self: RawRepresentable & CaseIterable, RawValue: SettingRepresentable {
    /// The first case.
    public static var settingDefault: Self {
        guard let first = allCases.first else { preconditionFailure("an enumeration of settings has a case") }
        return first
    }
    /// The cases, labelled with their names in the code.
    public static var settingChoices: [SettingChoice] {
        allCases.map { SettingChoice(label: String(describing: $0), value: $0.settingValue) }
    }
}
