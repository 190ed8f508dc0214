// Declaration of one property: everything that a validator, a settings page or a signer needs to know of it, and its
// rules. Rules are checked in the order type, finite, bounds, choices, regular expression; a value within its bounds
// may still fail its expression. The wrappers of PairedConfiguration make declarations.

import TandemPattern

/// A label and the value it stands for.
public struct SettingChoice: Sendable, Equatable {
    /// The text that a person chooses.
    public let label: String
    /// The value that this choice sets.
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
    public package(set) var name: String
    /// The type of its values.
    public let type: SettingType
    /// How a person edits it.
    public let editor: SettingEditor
    /// A description of the property, for people.
    public let summary: String
    /// Smallest and largest value; nil for none.
    public let bounds: SettingBounds?
    /// A regular expression that ``SettingValue/text`` must contain; nil or empty for none.
    public let pattern: String?
    /// The labelled values, in their order; empty without any.
    public let choices: [SettingChoice]
    /// The pictures of a slider; nil for any other editor.
    public let icon: SliderIcon?
    /// A change takes effect at the next start of the application only.
    public let needsRestart: Bool
    /// Whether the value may be nil (strings only).
    public let allowsNothing: Bool
    /// The declared default, before `reset()`.
    public package(set) var initialValue: SettingValue

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

extension SettingDeclaration {
    func brokenRule(by value: SettingValue, pattern: Pattern?) -> SettingError.Rule? {
        guard value.isOf(type, allowsNothing: allowsNothing) else { return .type(type) }
        if value == .nothing { return nil }
        return brokenBound(by: value) ?? brokenChoice(by: value) ?? Self.brokenPattern(by: value, pattern: pattern)
    }

    private func brokenBound(by value: SettingValue) -> SettingError.Rule? {
        switch (value, bounds) {
        case (.float(let value), _) where !value.isFinite: .finite
        case (.double(let value), _) where !value.isFinite: .finite
        case (.integer(let value), .integer(let range)): Self.brokenBound(by: value, in: range) { .integer($0) }
        case (.float(let value), .float(let range)): Self.brokenBound(by: value, in: range) { .float($0) }
        case (.double(let value), .double(let range)): Self.brokenBound(by: value, in: range) { .double($0) }
        default: nil
        }
    }

    private static func brokenBound<Number: Comparable>(
        by value: Number, in range: ClosedRange<Number>, _ wrapped: (Number) -> SettingValue
    ) -> SettingError.Rule? {
        if value < range.lowerBound { return .minimum(wrapped(range.lowerBound).text) }
        if value > range.upperBound { return .maximum(wrapped(range.upperBound).text) }
        return nil
    }

    private func brokenChoice(by value: SettingValue) -> SettingError.Rule? {
        guard editor == .choice, !choices.contains(where: { $0.value == value }) else { return nil }
        return .choice
    }

    private static func brokenPattern(by value: SettingValue, pattern: Pattern?) -> SettingError.Rule? {
        guard let pattern else { return nil }
        do {
            return try pattern.isFound(in: value.text) ? nil : .pattern(pattern.source)
        } catch {
            return .patternTooCostly(pattern.source)
        }
    }
}

/// The type of a property's value.
public enum SettingType: String, Sendable, Hashable, CaseIterable {
    /// `Bool`.
    case boolean
    /// `Int`.
    case integer
    /// `Float`.
    case float
    /// `Double`.
    case double
    /// `String` and `String?`.
    case string
}

/// The kind of editor of a property.
public enum SettingEditor: String, Sendable, Hashable {
    /// On or off.
    case toggle
    /// A number between two bounds.
    case slider
    /// Typed text or a number, within bounds and matching a regular expression.
    case edit
    /// One of the labelled choices and nothing else.
    case choice
    /// A labelled choice, or any other value within bounds and regular expression.
    case editableChoice
}

/// The pictures at the two ends of a slider.
public enum SliderIcon: String, Sendable, Hashable, CaseIterable {
    /// Tortoise and hare.
    case speed
    /// Empty and full battery.
    case capacity
    /// 0 and 1.
    case numeric
    /// Dim and bright.
    case brightness
    /// Low and high.
    case volume
}
