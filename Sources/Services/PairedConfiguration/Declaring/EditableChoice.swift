// `@EditableChoice("Duration", in: 0...365, ["Week": 7, "Year": 365]) var duration = 45`

/// One of several labelled values, or any other within bounds and regular expression. Appfigurate's
/// `..._PROPERTY_LIST_EDIT`.
@propertyWrapper public struct EditableChoice<Value: SettingRepresentable>: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Value>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and told as an event in a release build.
    public var wrappedValue: Value {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// A number; the choices keep the rule too.
    /// - Parameters:
    ///   - wrappedValue: the default; without one false, 0, an empty text or nil.
    ///   - summary: what it is, for people.
    ///   - range: the bounds in the property's own type, both included.
    ///   - pattern: searched in the shortest decimal text, with its anchors as written; nil or empty for none.
    ///   - choices: label and value; each label once.
    ///   - restart: a change takes effect at the next start only.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, in range: ClosedRange<Value>,
        matching pattern: String? = nil, _ choices: KeyValuePairs<String, Value>, restart: Bool = false
    ) where Value: NumericSetting {
        projectedValue = Property(
            SettingDeclaration(
                type: Value.settingType, editor: .editableChoice, summary: summary,
                bounds: Value.settingBounds(range), pattern: pattern, choices: choices.settingChoices,
                needsRestart: restart, initialValue: wrappedValue.settingValue))
    }

    /// Text; the choices keep the rule too.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, matching pattern: String? = nil,
        _ choices: KeyValuePairs<String, Value>, restart: Bool = false
    ) where Value: TextSetting {
        projectedValue = Property(
            SettingDeclaration(
                type: Value.settingType, editor: .editableChoice, summary: summary, pattern: pattern,
                choices: choices.settingChoices, needsRestart: restart, allowsNothing: Value.allowsNothing,
                initialValue: wrappedValue.settingValue))
    }

    var anyProperty: any AnyProperty { projectedValue }
}
