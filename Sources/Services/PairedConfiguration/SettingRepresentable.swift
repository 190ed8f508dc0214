// The Swift types that a property can have. The set is closed (a sixth type would be one more in every rule, page and
// payload); the protocols exist so that one wrapper serves several of them.

/// A type of a property: Bool, Int, Float, Double, String or String?.
public protocol SettingRepresentable: Sendable {
    /// The type in a declaration.
    static var settingType: SettingType { get }
    /// The value of a property that is declared without one.
    static var settingDefault: Self { get }
    /// The type's own value in a setting; nil for another type's.
    init?(_ value: SettingValue)
    /// This value in a setting.
    var settingValue: SettingValue { get }
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

extension Optional: SettingRepresentable where Wrapped == String {
    public static var settingType: SettingType { .string }
    public static var settingDefault: String? { nil }
    public init?(_ value: SettingValue) {
        switch value {
        case .string(let text): self = .some(text)
        case .nothing: self = .none
        default: return nil
        }
    }
    public var settingValue: SettingValue { map { .string($0) } ?? .nothing }
}

extension Optional: TextSetting where Wrapped == String {}

extension SettingRepresentable {
    /// Whether nil is a value of the type.
    static var allowsNothing: Bool { Self(.nothing) != nil }
}
