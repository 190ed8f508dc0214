// Where a value comes from when several places have one. The order of the cases is the order of precedence, and there
// is no second statement of it anywhere.

/// The layers of a property's value; the first one that has a value wins.
public enum SettingLayer: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Signed configuration.
    case signedOverride
    /// A person's edit on a settings page.
    case userEdit
    /// Set in code.
    case storedPreference
    /// The process's environment.
    case environment
    /// A file beside the app.
    case file
    /// The declaration, as `reset()` left it.
    case declaredDefault

    public static func < (left: SettingLayer, right: SettingLayer) -> Bool { left.rawValue < right.rawValue }
}

/// Who caused a change.
public enum SettingOrigin: String, Sendable, Hashable {
    /// The application's own code.
    case local
    /// A person on a settings page.
    case page
    /// Signed configuration.
    case signed
    /// A file.
    case file
}
