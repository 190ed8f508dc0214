// Property wrappers that declare a configuration's properties:
//
//     @Toggle("Enable debug logging") var logging = false
//     @Slider("Alarm volume", in: 50...100, icon: .volume) var volume = 75
//     @Edit("Colour", matching: "^#([a-f0-9]{6})$") var colour: String?
//     @Choice("Rating", ["Low": 10, "Average": 50]) var rating = 50
//     @EditableChoice("Duration", in: 0...365, ["Week": 7, "Year": 365]) var duration = 45

/// A property that is on or off. Appfigurate's `BOOL_PROPERTY`.
@propertyWrapper public struct Toggle: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Bool>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and reported as an event in a release build.
    public var wrappedValue: Bool {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// - Parameters:
    ///   - wrappedValue: the default; without one false, 0, an empty text or nil.
    ///   - summary: what it is, for people.
    ///   - restart: a change takes effect at the next start only.
    public init(wrappedValue: Bool = false, _ summary: String, restart: Bool = false) {
        projectedValue = Property(.toggle, wrappedValue, summary, restart: restart)
    }
}

/// A number between two bounds, both included. Appfigurate's `..._PROPERTY_SLIDER`.
@propertyWrapper public struct Slider<Value: NumericSetting>: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Value>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and reported as an event in a release build.
    public var wrappedValue: Value {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// - Parameters:
    ///   - wrappedValue: the default; without one false, 0, an empty text or nil.
    ///   - summary: what it is, for people.
    ///   - range: the bounds in the property's own type.
    ///   - icon: the pictures at the two ends.
    ///   - restart: a change takes effect at the next start only.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, in range: ClosedRange<Value>,
        icon: SliderIcon = .numeric, restart: Bool = false
    ) {
        projectedValue = Property(
            .slider, wrappedValue, summary, bounds: Value.settingBounds(range), icon: icon, restart: restart)
    }
}

/// A number within bounds, or text; either may also have to contain a regular expression.
/// Appfigurate's `..._PROPERTY_EDIT`.
@propertyWrapper public struct Edit<Value: SettingRepresentable>: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Value>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and reported as an event in a release build.
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
            .edit, wrappedValue, summary, bounds: Value.settingBounds(range), pattern: pattern, restart: restart)
    }

    /// Text; a nil of an optional breaks no pattern.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, matching pattern: String? = nil,
        restart: Bool = false
    ) where Value: TextSetting {
        projectedValue = Property(.edit, wrappedValue, summary, pattern: pattern, restart: restart)
    }
}

/// One of several labelled values, and nothing else. Appfigurate's `..._PROPERTY_LIST`.
@propertyWrapper public struct Choice<Value: SettingRepresentable>: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Value>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and reported as an event in a release build.
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
        projectedValue = Property(.choice, wrappedValue, summary, choices: choices, restart: restart)
    }
}

/// One of several labelled values, or any other within bounds and regular expression. Appfigurate's
/// `..._PROPERTY_LIST_EDIT`.
@propertyWrapper public struct EditableChoice<Value: SettingRepresentable>: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Value>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and reported as an event in a release build.
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
            .editableChoice, wrappedValue, summary, bounds: Value.settingBounds(range), pattern: pattern,
            choices: choices, restart: restart)
    }

    /// Text; the choices keep the rule too.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, matching pattern: String? = nil,
        _ choices: KeyValuePairs<String, Value>, restart: Bool = false
    ) where Value: TextSetting {
        projectedValue = Property(
            .editableChoice, wrappedValue, summary, pattern: pattern, choices: choices, restart: restart)
    }
}
