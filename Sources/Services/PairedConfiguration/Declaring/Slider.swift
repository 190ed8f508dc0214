// `@Slider("Alarm volume", in: 50...100, icon: .volume) var volume = 75`

/// A number between two bounds, both included. Appfigurate's `..._PROPERTY_SLIDER`.
@propertyWrapper public struct Slider<Value: NumericSetting>: Sendable, SettingWrapper {
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
    ///   - range: the bounds in the property's own type.
    ///   - icon: the pictures at the two ends.
    ///   - restart: a change takes effect at the next start only.
    public init(
        wrappedValue: Value = .settingDefault, _ summary: String, in range: ClosedRange<Value>,
        icon: SliderIcon = .numeric, restart: Bool = false
    ) {
        projectedValue = Property(
            SettingDeclaration(
                type: Value.settingType, editor: .slider, summary: summary, bounds: Value.settingBounds(range),
                icon: icon, needsRestart: restart, initialValue: wrappedValue.settingValue))
    }

    var anyProperty: any AnyProperty { projectedValue }
}
