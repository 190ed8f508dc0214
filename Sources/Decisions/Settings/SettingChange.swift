// What observers are told: one notification for each batch, with everything in it that really changed. A write that
// leaves the effective value as it was (an override hides it, or it is equal) changes nothing and is not told.

/// A change of one property's effective value.
public struct SettingChange: Sendable, Equatable {
    /// The property's name.
    public let name: String
    /// The effective value before.
    public let old: SettingValue
    /// The effective value now.
    public let new: SettingValue

    /// A change, as an app's own tests may make it.
    public init(name: String, old: SettingValue, new: SettingValue) {
        self.name = name
        self.old = old
        self.new = new
    }
}

/// The changes that happened as one.
public struct SettingChanges: Sendable, Equatable {
    /// Who caused it.
    public let origin: SettingOrigin
    /// In the order of declaration; never empty when it is given to an observer.
    public let changes: [SettingChange]

    /// The change of a property; nil if it did not change.
    public subscript(name: String) -> SettingChange? { changes.first { $0.name == name } }
}

/// The effective values of all properties at one moment.
public struct SettingsSnapshot: Sendable, Equatable {
    /// In the order of declaration.
    public let values: [(name: String, value: SettingValue)]

    /// The value of a property; nil if there is none of that name.
    public subscript(name: String) -> SettingValue? { values.first { $0.name == name }?.value }

    public static func == (left: SettingsSnapshot, right: SettingsSnapshot) -> Bool {
        left.values.elementsEqual(right.values) { $0.name == $1.name && $0.value == $1.value }
    }
}
