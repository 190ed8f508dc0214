// Form of a property's values: the way between the Swift type of a property and the closed set of setting values. The
// types of settings bring their own; any other Codable type is encoded as tagged bytes. A property carries the form as
// a value, because one wrapper serves both kinds of types.

public import TandemSettings

/// The way between a Swift type and setting values.
struct SettingForm<Value: Sendable>: Sendable {
    let type: SettingType
    /// Whether nil is a value of the Swift type.
    let allowsNothing: Bool
    /// Whether the type reads each value of its setting type, so that none needs to be tried.
    let readsAll: Bool
    let write: @Sendable (Value) throws(SettingCodingError) -> SettingValue
    let read: @Sendable (SettingValue) -> Value?
    /// Reads like ``read``; the other value where that gives nil.
    let value: @Sendable (SettingValue, Value) -> Value
}

extension SettingForm where Value: SettingRepresentable {
    /// The form of a type of settings.
    static var ofSetting: SettingForm {
        SettingForm(
            type: Value.settingType, allowsNothing: Value.allowsNothing, readsAll: Value.readsAllSettings,
            write: { value throws(SettingCodingError) in value.settingValue }, read: { Value($0) },
            value: { Value.value(of: $0, or: $1) })
    }
}

extension SettingForm where Value: Codable {
    /// The form of any other type: tagged bytes.
    static var ofCodable: SettingForm {
        SettingForm(
            type: .coded, allowsNothing: Value.self is any NothingCapable.Type, readsAll: false,
            write: { value throws(SettingCodingError) in
                if let optional = value as? any NothingCapable, optional.isNothing { return .nothing }
                return .coded(try CodedSetting(encoding: value))
            }, read: decoded, value: { decoded($0) ?? $1 })
    }

    private static func decoded(_ value: SettingValue) -> Value? {
        switch value {
        case .coded(let coded): try? coded.decoded(as: Value.self)
        case .nothing: (Value.self as? any NothingCapable.Type)?.nothing as? Value
        default: nil
        }
    }
}

/// An optional, whatever it wraps.
private protocol NothingCapable {
    static var nothing: Self { get }
    var isNothing: Bool { get }
}

extension Optional: NothingCapable {
    static var nothing: Wrapped? { .none }
    var isNothing: Bool { self == nil }
}

/// A Codable type of a preference that names its form: the tag survives a renaming of the type, and the version tells
/// the type's own `init(from:)` which release has written the bytes (`decoder.userInfo[.settingVersion]`).
public protocol VersionedSetting: Codable, Sendable {
    /// Names the type in stored bytes; the type's own name unless it is stated.
    static var settingTag: String { get }
    /// The version of the stored form, from 1.
    static var settingVersion: Int { get }
}

extension VersionedSetting {
    public static var settingTag: String { String(describing: Self.self) }
    public static var settingVersion: Int { 1 }
}

extension CodingUserInfoKey {
    /// The version (`Int`) of the form in which a coded preference was written.
    public static let settingVersion = CodingUserInfoKey(name: "tandem.settingVersion")

    private init(name: String) {
        guard let key = CodingUserInfoKey(rawValue: name) else { preconditionFailure("any text is a key") }
        self = key
    }
}

/// Why a value could not be encoded, or bytes not be decoded; it never says the value.
public struct SettingCodingError: Error, Sendable, Equatable {
    /// The kind and the location of the fault, for people.
    public let reason: String
}

extension SettingCodingError: CustomStringConvertible {
    public var description: String { reason }
}

extension CodedSetting {
    /// Encodes a value with its type's tag and version.
    public init<Value: Codable>(encoding value: Value) throws(SettingCodingError) {
        let (tag, version) = Self.form(of: Value.self)
        self.init(tag: tag, version: version, bytes: try SettingEncoder.bytes(of: value))
    }

    /// The value. Bytes of another type, of a later version, or damaged ones are refused.
    public func decoded<Value: Codable>(as type: Value.Type) throws(SettingCodingError) -> Value {
        let (tag, version) = Self.form(of: type)
        guard self.tag.utf8.elementsEqual(tag.utf8) else {
            throw SettingCodingError(reason: "it is a '\(self.tag)', not a '\(tag)'")
        }
        guard (1...version).contains(self.version) else {
            throw SettingCodingError(reason: "it has version \(self.version); this release reads up to \(version)")
        }
        return try SettingDecoder.value(of: type, from: bytes, version: self.version)
    }

    private static func form<Value>(of type: Value.Type) -> (tag: String, version: Int) {
        let versioned = type as? any VersionedSetting.Type
        return (versioned?.settingTag ?? String(describing: type), max(1, versioned?.settingVersion ?? 1))
    }
}
