// `@Toggle("Enable debug logging") var logging = false`

/// A property that is on or off. Appfigurate's `BOOL_PROPERTY`.
@propertyWrapper public struct Toggle: Sendable, SettingWrapper {
    /// The property itself, as `$name`: its layer, and setting with an error instead of a trap.
    public let projectedValue: Property<Bool>

    /// The effective value. Assigning sets the preference; a value that breaks the rule traps in a debug build, and is
    /// ignored and told as an event in a release build.
    public var wrappedValue: Bool {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// - Parameters:
    ///   - wrappedValue: the default; without one false, 0, an empty text or nil.
    ///   - summary: what it is, for people.
    ///   - restart: a change takes effect at the next start only.
    public init(wrappedValue: Bool = false, _ summary: String, restart: Bool = false) {
        projectedValue = Property(
            SettingDeclaration(
                type: .boolean, editor: .toggle, summary: summary, needsRestart: restart,
                initialValue: .boolean(wrappedValue)))
    }

    var anyProperty: any AnyProperty { projectedValue }
}
