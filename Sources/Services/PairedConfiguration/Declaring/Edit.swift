// `@Edit("Colour", matching: "^#([a-f0-9]{6})$") var colour: String?`

/// A number within bounds, or text; either may also have to contain a regular expression.
/// Appfigurate's `..._PROPERTY_EDIT`.
@propertyWrapper public struct Edit<Value: SettingRepresentable>: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Value>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and told as an event in a release build.
    public var wrappedValue: Value {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// A number.
    /// - Parameters:
    ///   - wrappedValue: the default; without one false, 0, an empty text or nil.
    ///   - summary: what it is, for people.
    ///   - range: the bounds in the property's own type, both included.
    ///   - pattern: searched in the shortest decimal text, with its anchors as written; nil or empty for none.
    ///   - restart: a change takes effect at the next start only.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, in range: ClosedRange<Value>,
        matching pattern: String? = nil, restart: Bool = false
    ) where Value: NumericSetting {
        projectedValue = Property(
            SettingDeclaration(
                type: Value.settingType, editor: .edit, summary: summary, bounds: Value.settingBounds(range),
                pattern: pattern, needsRestart: restart, initialValue: wrappedValue.settingValue))
    }

    /// Text; a nil of an optional breaks no pattern.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, matching pattern: String? = nil,
        restart: Bool = false
    ) where Value: TextSetting {
        projectedValue = Property(
            SettingDeclaration(
                type: Value.settingType, editor: .edit, summary: summary, pattern: pattern, needsRestart: restart,
                allowsNothing: Value.allowsNothing, initialValue: wrappedValue.settingValue))
    }

    var anyProperty: any AnyProperty { projectedValue }
}
