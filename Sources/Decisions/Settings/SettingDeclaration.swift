// Declaration of one property: everything that a validator, a settings page or a signer needs to know of it, and its
// rules. Rules are checked in the order type, finite, bounds, choices, regular expression; a value within its bounds
// may still fail its expression. The wrappers of PairedConfiguration make declarations.

import TandemBase
import TandemPattern
public import TandemPropertyList

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

    var values: (least: SettingValue, most: SettingValue) {
        switch self {
        case .integer(let range): (.integer(range.lowerBound), .integer(range.upperBound))
        case .float(let range): (.float(range.lowerBound), .float(range.upperBound))
        case .double(let range): (.double(range.lowerBound), .double(range.upperBound))
        }
    }

    /// Whether a property list can hold both.
    package var isFinite: Bool {
        switch self {
        case .integer: true
        case .float(let range): range.lowerBound.isFinite && range.upperBound.isFinite
        case .double(let range): range.lowerBound.isFinite && range.upperBound.isFinite
        }
    }

    package var text: String { "\(values.least.text) to \(values.most.text)" }
}

/// A declared property.
public struct SettingDeclaration: Sendable {
    /// The key of the property in configuration: 1 to 256 bytes.
    public package(set) var name: String
    /// The type of its values.
    public let type: SettingType
    /// How a person edits it.
    public package(set) var editor: SettingEditor
    /// A description of the property, for people.
    public let summary: String
    /// Smallest and largest value; nil for none.
    public package(set) var bounds: SettingBounds?
    /// A regular expression that ``SettingValue/text`` must contain; nil or empty for none.
    public let pattern: String?
    /// The labelled values, in their order; empty without any.
    public package(set) var choices: [SettingChoice]
    /// The pictures of a slider; nil for any other control.
    public let icon: SliderIcon?
    /// Pages, changes and snapshots say that a change takes effect at the next start of the application; the property
    /// itself changes at once (SET-47).
    public let needsRestart: Bool
    /// The value is shown nowhere: errors, descriptions, events and reports have ``SettingError/redacted`` instead.
    public package(set) var isSecret: Bool
    /// Whether the value may be nil.
    public let allowsNothing: Bool
    /// The stored values that mean on and off; nil for a plain boolean, and for every other type.
    public package(set) var toggleValues: ToggleValues?
    /// The label of the property on a settings page; nil for its name.
    public package(set) var title: String?
    /// The page that shows the property; nil for the first one. Places on a page follow the order of declaration.
    public let page: String?
    /// Those who may edit it.
    public let access: SettingAccess
    /// The declared default, before `reset()`.
    public package(set) var initialValue: SettingValue
    /// Whether the Swift type can read the value; nil where every value of the type can be read.
    package var isReadable: (@Sendable (SettingValue) -> Bool)?

    /// A declaration; an empty pattern is none. The wrappers make it, and nothing is judged here.
    public init(
        name: String = "", type: SettingType, editor: SettingEditor, summary: String, bounds: SettingBounds? = nil,
        pattern: String? = nil, choices: [SettingChoice] = [], icon: SliderIcon? = nil, needsRestart: Bool = false,
        isSecret: Bool = false, allowsNothing: Bool = false, toggleValues: ToggleValues? = nil,
        title: String? = nil, page: String? = nil, access: SettingAccess = .user, initialValue: SettingValue
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
        self.isSecret = isSecret
        self.allowsNothing = allowsNothing
        self.toggleValues = toggleValues
        self.title = title
        self.page = page
        self.access = access
        self.initialValue = initialValue
    }
}

extension SettingDeclaration: CustomStringConvertible, CustomReflectable {
    /// Name, type and control; never a value.
    public var description: String { "\(name): \(type.rawValue), \(editor.rawValue)\(isSecret ? ", secret" : "")" }

    /// Only the description, so that a dump shows no value either.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

// MARK: - Stored form. Toggles alone are read loosely: settings pages and their files spell on and off in many ways.
extension SettingDeclaration {
    /// The value that a store or a settings page keeps for this property; nil if it is none of the property's type.
    package func value(stored: PropertyListValue) -> SettingValue? {
        guard type == .boolean else { return SettingValue(stored, as: type) }
        return distinctToggleValues.isOn(stored).map { .boolean($0) }
    }

    /// The form in which stores and settings pages keep the value; nil for ``SettingValue/nothing``.
    package func stored(_ value: SettingValue) -> PropertyListValue? {
        guard case .boolean(let isOn) = value else { return value.propertyListValue }
        return isOn ? distinctToggleValues.on : distinctToggleValues.off
    }

    /// The stored values that mean on and off. One value for both would be on for ever: the booleans take its place.
    private var distinctToggleValues: ToggleValues {
        toggleValues.flatMap { $0.on == $0.off ? nil : $0 } ?? ToggleValues()
    }

    /// The value for people: redacted if it is secret.
    func shown(_ value: SettingValue) -> String { isSecret ? SettingError.redacted : value.description }
}

/// The stored values that mean on and off (`TrueValue` and `FalseValue` of a settings page).
public struct ToggleValues: Sendable, Equatable {
    /// The value that means on.
    public let on: PropertyListValue
    /// The value that means off.
    public let off: PropertyListValue

    /// Two values; without them the booleans.
    public init(on: PropertyListValue = true, off: PropertyListValue = false) {
        self.on = on
        self.off = off
    }

    /// The state that a stored value means: one of the two values, else a boolean, a number that is 0 or not, or one of
    /// the words for yes and no; nil for anything else.
    package func isOn(_ stored: PropertyListValue) -> Bool? {
        if stored == on { return true }
        if stored == off { return false }
        return switch stored {
        case .boolean(let value): value
        case .integer(let value): value != 0
        case .unsigned: true
        case .real(let value): value != 0
        case .string(let text): text.mayBeWord ? Self.words[text.lowercased()] : nil
        case .date, .data, .array, .dictionary: nil
        }
    }

    private static var words: [String: Bool] {
        [
            "yes": true, "true": true, "y": true, "t": true, "1": true,
            "no": false, "false": false, "n": false, "f": false, "0": false,
        ]
    }
}

// MARK: - rules
extension SettingDeclaration {
    func brokenRule(
        by value: SettingValue, pattern: Pattern?, within steps: inout PatternSteps
    ) -> SettingError.Rule? {
        guard value.isOf(type, allowsNothing: allowsNothing) else {
            return value.propertyListValue?.rule(notOf: type) ?? .type(type)
        }
        if value == .nothing { return nil }
        return brokenBound(by: value) ?? brokenStorage(by: value) ?? brokenChoice(by: value)
            ?? Self.brokenPattern(by: value, pattern: pattern, within: &steps) ?? brokenReading(by: value)
    }

    /// A value that no property list can hold would be lost at the next start.
    private func brokenStorage(by value: SettingValue) -> SettingError.Rule? {
        guard type.isContainer || type == .date, let stored = value.propertyListValue else { return nil }
        do {
            _ = try PropertyListWriter.write(stored)
            return nil
        } catch {
            return .notStorable(error.reason.description)
        }
    }

    private func brokenReading(by value: SettingValue) -> SettingError.Rule? {
        isReadable?(value) == false ? .unreadable : nil
    }

    private func brokenBound(by value: SettingValue) -> SettingError.Rule? {
        switch (value, bounds) {
        case (.float(let value), _) where !value.isFinite: .finite
        case (.double(let value), _) where !value.isFinite: .finite
        case (.integer(let value), .integer(let range)): Self.brokenBound(by: value, in: range) { .integer($0) }
        case (.float(let value), .float(let range)): Self.brokenBound(by: value, in: range) { .float($0) }
        case (.double(let value), .double(let range)): Self.brokenBound(by: value, in: range) { .double($0) }
        case (_, .integer?), (_, .float?), (_, .double?), (_, nil): nil
        }
    }

    private static func brokenBound<Number: Comparable>(
        by value: Number, in range: ClosedRange<Number>, _ wrapped: (Number) -> SettingValue
    ) -> SettingError.Rule? {
        if value < range.lowerBound { return .minimum(wrapped(range.lowerBound).text) }
        if value > range.upperBound { return .maximum(wrapped(range.upperBound).text) }
        return nil
    }

    /// Whether the choices are the only values. Of an enumeration elsewhere than in its app they are all that is known.
    private var isClosed: Bool {
        editor == .choice || (editor == .preference && !choices.isEmpty && isReadable == nil)
    }

    private func brokenChoice(by value: SettingValue) -> SettingError.Rule? {
        guard isClosed, !choices.contains(where: { $0.value == value }) else { return nil }
        return .choice(isSecret ? "" : labels)
    }

    /// The rules beside the type, on one line for people; empty if every value of the type is allowed. Of a secret
    /// without its choices: one of them is its value.
    package var rulesText: String {
        var rules: [String] = []
        if let bounds { rules.append(bounds.text) }
        if !choices.isEmpty, !isSecret { rules.append(isClosed ? "one of \(labels)" : "any, such as \(labels)") }
        if let pattern { rules.append("matches \(OutsideText.quoted(pattern))") }
        if allowsNothing { rules.append("nil") }
        return rules.joined(separator: "; ")
    }

    /// The labels of the choices, as many as fit in a line, each with its value where that is another text: commands
    /// take values.
    private var labels: String {
        var shown: [String] = []
        var count = 0
        for choice in choices {
            let isPlain = choice.value.text.utf8.elementsEqual(choice.label.utf8)
            let label = OutsideText.quoted(choice.label) + (isPlain ? "" : " (\(choice.value.description))")
            count += label.count + 2
            guard count <= 200 else { return (shown + ["..."]).joined(separator: ", ") }
            shown.append(label)
        }
        return shown.joined(separator: ", ")
    }

    private static func brokenPattern(
        by value: SettingValue, pattern: Pattern?, within steps: inout PatternSteps
    ) -> SettingError.Rule? {
        guard let pattern else { return nil }
        // Each text of a list has the form.
        let texts = if case .strings(let texts) = value { texts } else { [value.text] }
        do {
            return try pattern.isFound(inEach: texts, within: &steps) ? nil : .pattern(pattern.source)
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
    /// `String`.
    case string
    /// A list of texts in an order.
    case strings
    /// Bytes.
    case data
    /// A point in time.
    case date
    /// ``SettingURL``.
    case url
    /// Property-list values in an order.
    case array
    /// Property-list values by key.
    case dictionary
    /// Texts without an order, each once.
    case set
    /// Any other Swift type, as tagged bytes: ``CodedSetting``.
    case coded

    /// Whether a signed configuration may set it (Protocol/SignedConfiguration.md CFG-12); the others are local.
    public var isSignable: Bool {
        switch self {
        case .boolean, .integer, .float, .double, .string, .strings: true
        case .data, .date, .url, .array, .dictionary, .set, .coded: false
        }
    }

    var isContainer: Bool {
        switch self {
        case .array, .dictionary, .set: true
        case .boolean, .integer, .float, .double, .string, .strings, .data, .date, .url, .coded: false
        }
    }
}

/// Those who may edit a property beside its app, from the fewest to the most; a signed configuration sets it in any
/// case.
public enum SettingAccess: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Nobody: a signed configuration alone.
    case signed
    /// A person on this device.
    case user
    /// A person on the paired primary, too.
    case counterpart

    public static func < (left: SettingAccess, right: SettingAccess) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .signed: 0
        case .user: 1
        case .counterpart: 2
        }
    }
}

/// The control of a property: the input that a person or an operator has for it.
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
    /// None: the app's own code sets it.
    case preference

    /// Whether a property with it needs labelled choices.
    package var needsChoices: Bool { self == .choice || self == .editableChoice }

    /// Whether a person may add values to its choices (SET-56).
    package var takesAddedChoices: Bool { self == .editableChoice }
}

/// The pictures at the two ends of a slider.
public enum SliderIcon: String, Sendable, Hashable, CaseIterable {
    /// Tortoise and hare.
    case speed
    /// Empty and full battery.
    case capacity
    /// The two bounds.
    case numeric
    /// Dim and bright.
    case brightness
    /// Low and high.
    case volume
}
