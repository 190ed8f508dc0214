// One property as its author declared it: everything that a validator, a page or a signer needs to know of it, as a
// value. The wrappers of PairedConfiguration make it; nothing here knows about classes or storage.

/// A label and the value it stands for.
public struct SettingChoice: Sendable, Equatable {
    /// What a person chooses.
    public let label: String
    /// What is set then.
    public let value: SettingValue

    /// A choice.
    public init(label: String, value: SettingValue) {
        self.label = label
        self.value = value
    }
}

/// The smallest and the largest value, both included, in the property's own type.
public enum SettingBounds: Sendable, Equatable {
    /// Of an Int.
    case integer(ClosedRange<Int>)
    /// Of a Float.
    case float(ClosedRange<Float>)
    /// Of a Double.
    case double(ClosedRange<Double>)
}

/// A declared property.
public struct SettingDeclaration: Sendable {
    /// The key of the property in configuration: 1 to 256 bytes.
    public var name: String
    /// The type of its values.
    public let type: SettingType
    /// How a person edits it.
    public let editor: SettingEditor
    /// What the property is, for people.
    public let summary: String
    /// Smallest and largest value; nil for none.
    public var bounds: SettingBounds?
    /// A regular expression that ``SettingValue/text`` must contain; nil or empty for none.
    public var pattern: String?
    /// The labelled values, in their order; empty without any.
    public var choices: [SettingChoice]
    /// The pictures of a slider; nil for any other editor.
    public var icon: SliderIcon?
    /// A change takes effect at the next start of the application only.
    public var needsRestart: Bool
    /// Whether the value may be nil (strings only).
    public var allowsNothing: Bool
    /// The declared default, before `reset()`.
    public var initialValue: SettingValue

    /// A declaration; an empty pattern is none. The wrappers make it, and nothing is judged here.
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
