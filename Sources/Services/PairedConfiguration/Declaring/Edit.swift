// `@Edit("Colour", matching: "^#([a-f0-9]{6})$") var colour: String?`

/// A number within bounds, or text; either may also have to contain a regular expression.
@propertyWrapper public struct Edit<Value: SettingRepresentable>: Sendable, SettingWrapper {
    public let projectedValue: Property<Value>

    public var wrappedValue: Value {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// A number.
    /// - Parameters:
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
