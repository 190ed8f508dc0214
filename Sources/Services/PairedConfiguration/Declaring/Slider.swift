// `@Slider("Alarm volume", in: 50...100, icon: .volume) var volume = 75`

/// A number between two bounds, both included.
@propertyWrapper public struct Slider<Value: NumericSetting>: Sendable, SettingWrapper {
    public let projectedValue: Property<Value>

    public var wrappedValue: Value {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// - Parameters:
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
