// `@Toggle("Enable debug logging") var logging = false`

/// A property that is on or off.
@propertyWrapper public struct Toggle: Sendable, SettingWrapper {
    public let projectedValue: Property<Bool>

    public var wrappedValue: Bool {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }

    /// - Parameters:
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
