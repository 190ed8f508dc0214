// Property wrappers that declare a configuration's properties:
//
//     @Toggle("Enable debug logging") var logging = false
//     @Slider("Alarm volume", in: 50...100, icon: .volume) var volume = 75
//     @Edit("Colour", matching: "^#([a-f0-9]{6})$") var colour: String?
//     @Choice("Rating", ["Low": 10, "Average": 50]) var rating = 50
//     @EditableChoice("Duration", in: 0...365, ["Week": 7, "Year": 365]) var duration = 45
//     @Preference var window = Frame(width: 800, height: 600)

public import TandemPropertyList
public import TandemSettings

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
    ///   - on: the value that stores and settings pages keep for on (`TrueValue`).
    ///   - off: the value that they keep for off (`FalseValue`).
    ///   - restart: pages, changes and snapshots say that a change takes effect at the next start; the property itself
    ///     changes at once.
    ///   - secret: no error, event, log or report shows the value; this does not encrypt it.
    ///   - access: those who may edit it beside the app: nobody, a person on this device, or one on the paired, too.
    ///   - title: its label on a settings page; nil for its name.
    ///   - page: the page that shows it; nil for the first one.
    public init(
        wrappedValue: Bool = false, _ summary: String, on: PropertyListValue = true, off: PropertyListValue = false,
        restart: Bool = false, secret: Bool = false, access: SettingAccess = .user, title: String? = nil,
        page: String? = nil
    ) {
        let values = ToggleValues(on: on, off: off)
        projectedValue = Property(
            .ofSetting, .toggle, wrappedValue, summary, toggleValues: values == ToggleValues() ? nil : values,
            restart: restart, secret: secret, access: access, title: title, page: page)
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
    ///   - restart: pages, changes and snapshots say that a change takes effect at the next start; the property itself
    ///     changes at once.
    ///   - secret: no error, event, log or report shows the value; this does not encrypt it.
    ///   - access: those who may edit it beside the app: nobody, a person on this device, or one on the paired, too.
    ///   - title: its label on a settings page; nil for its name.
    ///   - page: the page that shows it; nil for the first one.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, in range: ClosedRange<Value>,
        icon: SliderIcon = .numeric, restart: Bool = false, secret: Bool = false, access: SettingAccess = .user,
        title: String? = nil, page: String? = nil
    ) {
        projectedValue = Property(
            .ofSetting, .slider, wrappedValue, summary, bounds: Value.settingBounds(range), icon: icon,
            restart: restart, secret: secret, access: access, title: title, page: page)
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
    ///   - restart: pages, changes and snapshots say that a change takes effect at the next start; the property itself
    ///     changes at once.
    ///   - secret: no error, event, log or report shows the value; this does not encrypt it.
    ///   - access: those who may edit it beside the app: nobody, a person on this device, or one on the paired, too.
    ///   - title: its label on a settings page; nil for its name.
    ///   - page: the page that shows it; nil for the first one.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, in range: ClosedRange<Value>,
        matching pattern: String? = nil, restart: Bool = false, secret: Bool = false, access: SettingAccess = .user,
        title: String? = nil, page: String? = nil
    ) where Value: NumericSetting {
        projectedValue = Property(
            .ofSetting, .edit, wrappedValue, summary, bounds: Value.settingBounds(range), pattern: pattern,
            restart: restart, secret: secret, access: access, title: title, page: page)
    }

    /// Text; a nil of an optional breaks no pattern.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, matching pattern: String? = nil,
        restart: Bool = false, secret: Bool = false, access: SettingAccess = .user, title: String? = nil,
        page: String? = nil
    ) where Value: TextSetting {
        projectedValue = Property(
            .ofSetting, .edit, wrappedValue, summary, pattern: pattern,
            restart: restart, secret: secret, access: access, title: title, page: page)
    }

    /// A number without bounds, for the compiler to say what is missing.
    @available(*, unavailable, message: "a number needs bounds, such as in: 1...65535, before all other arguments")
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, matching pattern: String? = nil,
        restart: Bool = false, secret: Bool = false, access: SettingAccess = .user, title: String? = nil,
        page: String? = nil
    ) where Value: NumericSetting {
        preconditionFailure("the compiler refuses calls")
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
    ///   - restart: pages, changes and snapshots say that a change takes effect at the next start; the property itself
    ///     changes at once.
    ///   - secret: no error, event, log or report shows the value; this does not encrypt it.
    ///   - access: those who may edit it beside the app: nobody, a person on this device, or one on the paired, too.
    ///   - title: its label on a settings page; nil for its name.
    ///   - page: the page that shows it; nil for the first one.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, _ choices: KeyValuePairs<String, Value>,
        restart: Bool = false, secret: Bool = false, access: SettingAccess = .user, title: String? = nil,
        page: String? = nil
    ) {
        projectedValue = Property(
            .ofSetting, .choice, wrappedValue, summary, choices: .labelled(choices),
            restart: restart, secret: secret, access: access, title: title, page: page)
    }
}

extension Choice where Value: RawRepresentable & CaseIterable, Value.RawValue: SettingRepresentable {
    /// One of the cases of an enumeration, labelled with their names in the code.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, restart: Bool = false, secret: Bool = false,
        access: SettingAccess = .user, title: String? = nil, page: String? = nil
    ) {
        projectedValue = Property(
            .ofSetting, .choice, wrappedValue, summary, choices: Value.settingChoices,
            restart: restart, secret: secret, access: access, title: title, page: page)
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
    ///   - restart: pages, changes and snapshots say that a change takes effect at the next start; the property itself
    ///     changes at once.
    ///   - secret: no error, event, log or report shows the value; this does not encrypt it.
    ///   - access: those who may edit it beside the app: nobody, a person on this device, or one on the paired, too.
    ///   - title: its label on a settings page; nil for its name.
    ///   - page: the page that shows it; nil for the first one.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, in range: ClosedRange<Value>,
        matching pattern: String? = nil, _ choices: KeyValuePairs<String, Value>, restart: Bool = false,
        secret: Bool = false, access: SettingAccess = .user, title: String? = nil, page: String? = nil
    ) where Value: NumericSetting {
        projectedValue = Property(
            .ofSetting, .editableChoice, wrappedValue, summary, bounds: Value.settingBounds(range), pattern: pattern,
            choices: .labelled(choices),
            restart: restart, secret: secret, access: access, title: title, page: page)
    }

    /// Text; the choices keep the rule too.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, matching pattern: String? = nil,
        _ choices: KeyValuePairs<String, Value>, restart: Bool = false, secret: Bool = false,
        access: SettingAccess = .user, title: String? = nil, page: String? = nil
    ) where Value: TextSetting {
        projectedValue = Property(
            .ofSetting, .editableChoice, wrappedValue, summary, pattern: pattern, choices: .labelled(choices),
            restart: restart, secret: secret, access: access, title: title, page: page)
    }
}

/// A preference that the app's own code sets: any type of settings, and any other Codable type as tagged bytes. Nothing
/// else is needed; it is kept in the store that the configuration has opened.
@propertyWrapper public struct Preference<Value: Sendable>: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Value>

    /// The effective value. Assigning sets the preference; a value that cannot be stored traps in a debug build, and is
    /// ignored and reported as an event in a release build.
    public var wrappedValue: Value {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// - Parameters:
    ///   - wrappedValue: the default; without one false, 0, an empty text or list, an enumeration's first case, or nil.
    ///   - summary: what it is, for people.
    ///   - key: the key in stores; nil for the property's name.
    ///   - restart: pages, changes and snapshots say that a change takes effect at the next start; the property itself
    ///     changes at once.
    ///   - secret: no error, event, log or report shows the value; this does not encrypt it.
    ///   - access: those who may edit it beside the app: nobody, a person on this device, or one on the paired, too.
    ///   - title: its label on a settings page; nil for its name.
    ///   - page: the page that shows it; nil for the first one.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String = "", key: String? = nil, restart: Bool = false,
        secret: Bool = false, access: SettingAccess = .user, title: String? = nil, page: String? = nil
    ) where Value: SettingRepresentable {
        projectedValue = Property(
            .ofSetting, .preference, wrappedValue, summary, choices: Value.settingChoices, key: key,
            restart: restart, secret: secret, access: access, title: title, page: page)
    }

    /// Any other Codable type. See ``VersionedSetting`` for types whose form changes between releases.
    @_disfavoredOverload
    public init(
        wrappedValue: Value, _ summary: String = "", key: String? = nil, restart: Bool = false, secret: Bool = false,
        access: SettingAccess = .user, title: String? = nil, page: String? = nil
    ) where Value: Codable {
        projectedValue = Property(
            .ofCodable, .preference, wrappedValue, summary, key: key,
            restart: restart, secret: secret, access: access, title: title, page: page)
    }
}

extension Preference {
    /// An optional of any other Codable type; nil without a default.
    @_disfavoredOverload
    public init<Wrapped: Codable>(
        wrappedValue: Value = nil, _ summary: String = "", key: String? = nil, restart: Bool = false,
        secret: Bool = false, access: SettingAccess = .user, title: String? = nil, page: String? = nil
    ) where Value == Wrapped? {
        projectedValue = Property(
            .ofCodable, .preference, wrappedValue, summary, key: key,
            restart: restart, secret: secret, access: access, title: title, page: page)
    }
}

extension [SettingChoice] {
    fileprivate static func labelled(_ choices: KeyValuePairs<String, some SettingRepresentable>) -> [SettingChoice] {
        choices.map { SettingChoice(label: $0.key, value: $0.value.settingValue) }
    }
}
