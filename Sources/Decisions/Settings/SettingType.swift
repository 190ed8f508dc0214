// The five types a property can have: those of the configuration systems this one models, in Swift's own spelling. The
// type decides how bounds are compared (a Float's bounds are Floats) and which property-list values are taken.

/// The type of a property's value.
public enum SettingType: String, Sendable, Hashable, CaseIterable {
    /// `Bool`.
    case boolean
    /// `Int`.
    case integer
    /// `Float`.
    case float
    /// `Double`.
    case double
    /// `String` and `String?`.
    case string
}
