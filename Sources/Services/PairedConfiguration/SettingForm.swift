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
    static var wrapped: Any.Type { get }
    var isNothing: Bool { get }
}

extension Optional: NothingCapable {
    static var nothing: Wrapped? { .none }
    fileprivate static var wrapped: Any.Type { Wrapped.self }
    var isNothing: Bool { self == nil }
}

/// A type of the standard library around values of another type.
private protocol WrappingType {
    /// The version of these values, and their tag in the place of the name of their type; nil if none of them is a
    /// ``VersionedSetting``.
    static var versionedForm: (tag: String, version: Int)? { get }
}

extension Optional: WrappingType {
    /// That of the wrapped type: a property may become optional, or cease to be.
    fileprivate static var versionedForm: (tag: String, version: Int)? {
        CodedSetting.versionedForm(of: Wrapped.self)
    }
}

extension Array: WrappingType {
    fileprivate static var versionedForm: (tag: String, version: Int)? {
        CodedSetting.versionedForm(of: Element.self).map { (tag: "Array<\($0.tag)>", version: $0.version) }
    }
}

extension Set: WrappingType {
    fileprivate static var versionedForm: (tag: String, version: Int)? {
        CodedSetting.versionedForm(of: Element.self).map { (tag: "Set<\($0.tag)>", version: $0.version) }
    }
}

extension Dictionary: WrappingType {
    fileprivate static var versionedForm: (tag: String, version: Int)? {
        CodedSetting.versionedForm(of: Value.self).map {
            (tag: "Dictionary<\(String(describing: Key.self)), \($0.tag)>", version: $0.version)
        }
    }
}

/// A Codable type of a preference that names its form: the tag survives a renaming of the type, and the version tells
/// the type's own `init(from:)` which release has written the bytes (`decoder.userInfo[.settingVersion]`).
///
/// An optional, an array, a set, and a dictionary with values of such a type have its version, and its tag in the place
/// of the type's name, also one in another. Earlier releases of this library wrote the plain Swift name, such as
/// `Array<Schedule>`. It is read while the type has this name: rename the type after its values have been set once
/// with this release.
///
/// A type of the app's own around such a type has its own version, which `init(from:)` of both types sees: make the
/// outer type a `VersionedSetting`, and raise its version with each change of the inner type.
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

    /// A value that nobody can read, with its type's tag and version: for one that could not be encoded.
    init(unreadable type: Any.Type) {
        let (tag, version) = Self.form(of: type)
        self.init(tag: tag, version: version, bytes: [])
    }

    /// The value. Bytes of another type, of a later version, or damaged ones are refused.
    public func decoded<Value: Codable>(as type: Value.Type) throws(SettingCodingError) -> Value {
        let (tag, version) = Self.form(of: type)
        guard hasTag(of: type) else {
            throw SettingCodingError(reason: "it is a '\(self.tag)', not a '\(tag)'")
        }
        guard (1...version).contains(self.version) else {
            throw SettingCodingError(reason: "it has version \(self.version); this release reads up to \(version)")
        }
        return try SettingDecoder.value(of: type, from: bytes, version: self.version)
    }

    /// Whether values of the type have been written under this tag: by a release in which the property was optional,
    /// or in which it was not, or by one that gave optionals and lists of a versioned type their plain names.
    private func hasTag(of type: Any.Type) -> Bool {
        let name = String(describing: type)
        var tags = [Self.form(of: type).tag, "Optional<\(name)>"]
        if type is any WrappingType.Type { tags.append(name) }
        if tags.contains(where: { $0.utf8.elementsEqual(tag.utf8) }) { return true }
        guard let optional = type as? any NothingCapable.Type else { return false }
        return hasTag(of: optional.wrapped)
    }

    private static func form(of type: Any.Type) -> (tag: String, version: Int) {
        versionedForm(of: type) ?? (tag: String(describing: type), version: 1)
    }

    /// The form of a versioned type or of a type around one; nil for any other type.
    fileprivate static func versionedForm(of type: Any.Type) -> (tag: String, version: Int)? {
        if let versioned = type as? any VersionedSetting.Type {
            return (versioned.settingTag, max(1, versioned.settingVersion))
        }
        return (type as? any WrappingType.Type)?.versionedForm
    }
}
