// One property as its author declared it: everything that a validator, a page or a signer needs to know of it, as a
// value. The wrappers of PairedConfiguration make it; nothing here knows about classes or storage.

/// A label and the value it stands for.
public struct SettingChoice: Sendable, Equatable {
    public let label: String
    public let value: SettingValue

    public init(label: String, value: SettingValue) {
        self.label = label
        self.value = value
    }
}

/// The smallest and the largest value, both included, in the property's own type.
public enum SettingBounds: Sendable, Equatable {
    case integer(ClosedRange<Int>)
    case float(ClosedRange<Float>)
    case double(ClosedRange<Double>)
}

/// A declared property.
public struct SettingDeclaration: Sendable {
    public var name: String
    public let type: SettingType
    public let editor: SettingEditor
    /// What the property is, for people.
    public let summary: String
    public var bounds: SettingBounds?
    /// A regular expression that ``SettingValue/text`` must contain; nil or empty for none.
    public var pattern: String?
    public var choices: [SettingChoice]
    public var icon: SliderIcon?
    /// A change takes effect at the next start of the application only.
    public var needsRestart: Bool
    /// Whether the value may be nil (strings only).
    public var allowsNothing: Bool
    /// The declared default, before `reset()`.
    public var initialValue: SettingValue

    public init(
        name: String = "", type: SettingType, editor: SettingEditor, summary: String, bounds: SettingBounds? = nil,
        pattern: String? = nil, choices: [SettingChoice] = [], icon: SliderIcon? = nil, needsRestart: Bool = false,
        allowsNothing: Bool = false, initialValue: SettingValue
    ) {
        self.name = name
        self.type = type
        self.editor = editor
        self.summary = summary
        self.bounds = bounds
        self.pattern = pattern?.isEmpty == true ? nil : pattern
        self.choices = choices
        self.icon = icon
        self.needsRestart = needsRestart
        self.allowsNothing = allowsNothing
        self.initialValue = initialValue
    }
}
