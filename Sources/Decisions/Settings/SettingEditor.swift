// How a property is edited, which is also what it may hold: the five kinds that make up the sixteen editors of the
// model, and the pairs of pictures that a slider may show.

/// The kind of editor of a property.
public enum SettingEditor: String, Sendable, Hashable {
    /// On or off.
    case toggle
    /// A number between two bounds.
    case slider
    /// Typed text or a number, held to bounds and a regular expression.
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
