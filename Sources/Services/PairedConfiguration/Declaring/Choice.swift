// `@Choice("Rating", ["Low": 10, "Average": 50]) var rating = 50`

/// One of several labelled values, and nothing else. Appfigurate's `..._PROPERTY_LIST`.
@propertyWrapper public struct Choice<Value: SettingRepresentable>: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Value>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and told as an event in a release build.
    public var wrappedValue: Value {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// - Parameters:
    ///   - wrappedValue: the default; without one false, 0, an empty text or nil.
    ///   - summary: what it is, for people.
    ///   - choices: label and value; each label once.
    ///   - restart: a change takes effect at the next start only.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, _ choices: KeyValuePairs<String, Value>,
        restart: Bool = false
    ) {
        projectedValue = Property(
            SettingDeclaration(
                type: Value.settingType, editor: .choice, summary: summary, choices: choices.settingChoices,
                needsRestart: restart, allowsNothing: Value.allowsNothing, initialValue: wrappedValue.settingValue))
    }

    var anyProperty: any AnyProperty { projectedValue }
}

extension KeyValuePairs where Key == String, Value: SettingRepresentable {
    var settingChoices: [SettingChoice] { map { SettingChoice(label: $0.key, value: $0.value.settingValue) } }
}
