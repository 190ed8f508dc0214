// Declarations of what entries of a page have keys for (Decisions/0028). Pages have no rule of their own: whatever an
// entry says about values becomes a declaration, and the one validator judges by it.

import TandemPropertyList
package import TandemSettings

extension Specifier {
    /// The declaration of the entry's key; nil for an entry without one, for what holds no value, and for choices
    /// whose values have no common type.
    package func declaration() -> SettingDeclaration? {
        guard let key, let kind else { return nil }
        switch kind {
        case .toggle: return toggle(key)
        case .slider: return slider(key)
        case .textField, .textView:
            return declared(key, .string, .edit, isSecret: isSecure, allowsNothing: true)
        case .multiValue, .radioGroup: return choice(key)
        case .datePicker: return declared(key, .date, .edit, allowsNothing: true)
        case .titleValue, .button, .custom: return declared(key, ofDefault, .preference, allowsNothing: true)
        case .listGroup: return declared(key, .array, .preference, otherwise: .array([]))
        case .group, .childPane, .openURL, .mailCompose: return nil
        }
    }

    /// The entry's declaration if it states an editor of the value; nil for one that shows the value alone.
    var ruleOfValues: SettingDeclaration? { declaration().flatMap { $0.editor == .preference ? nil : $0 } }

    private func declared(
        _ key: String, _ type: SettingType, _ editor: SettingEditor, bounds: SettingBounds? = nil,
        choices: [SettingChoice] = [], isSecret: Bool = false, allowsNothing: Bool = false,
        toggleValues: ToggleValues? = nil, otherwise: SettingValue = .nothing
    ) -> SettingDeclaration {
        var declaration = SettingDeclaration(
            name: key, type: type, editor: editor, summary: "", bounds: bounds, choices: choices, isSecret: isSecret,
            allowsNothing: allowsNothing, toggleValues: toggleValues, title: title, initialValue: otherwise)
        // A bundle's default may be spelled as those of files are.
        let value = self[.defaultValue].flatMap { declaration.value(loose: $0) }
        if let value { declaration.initialValue = value }
        return declaration
    }

    private func toggle(_ key: String) -> SettingDeclaration {
        // One value for on and off would be on for ever: the booleans take its place.
        let values = hasEqualToggleValues ? nil : toggleValues
        return declared(key, .boolean, .toggle, toggleValues: values, otherwise: .boolean(false))
    }

    private var toggleValues: ToggleValues? {
        let (on, off) = (self[.trueValue], self[.falseValue])
        return on == nil && off == nil ? nil : ToggleValues(on: on ?? true, off: off ?? false)
    }

    var hasEqualToggleValues: Bool { toggleValues.map { $0.on == $0.off } ?? false }

    private var ends: (least: Double, most: Double) { (number(.minimum) ?? 0, number(.maximum) ?? 1) }

    /// Whether no value lies between the ends.
    var hasReversedBounds: Bool { ends.least > ends.most }

    private func slider(_ key: String) -> SettingDeclaration {
        let (least, most) = ends
        guard flag(.isInteger) == true, let first = Int(exactly: least.rounded()),
            let last = Int(exactly: most.rounded())
        else {
            let bounds = hasReversedBounds ? nil : SettingBounds.double(least...most)
            return declared(key, .double, .slider, bounds: bounds, otherwise: .double(least))
        }
        let bounds = hasReversedBounds ? nil : SettingBounds.integer(first...last)
        return declared(key, .integer, .slider, bounds: bounds, otherwise: .integer(first))
    }

    private func choice(_ key: String) -> SettingDeclaration? {
        let values = self[.values]?.arrayValue ?? []
        guard let type = SettingType.common(of: values) else { return nil }
        let (titles, indices) = (texts(.titles), ValueIndices(values))
        // Of a value that stands twice the first title counts.
        let choices = values.enumerated().compactMap { index, value -> SettingChoice? in
            guard indices.index(of: value) == index, let typed = SettingValue(value, as: type) else { return nil }
            return SettingChoice(label: titles.indices.contains(index) ? titles[index] : typed.text, value: typed)
        }
        // Without values the app's code has them, at run time.
        return declared(
            key, type, choices.isEmpty ? .edit : .choice, choices: Self.withoutRepetitions(choices), allowsNothing: true
        )
    }

    /// Labels are told apart in a declaration; a page may show one twice.
    private static func withoutRepetitions(_ choices: [SettingChoice]) -> [SettingChoice] {
        var labels: Set<String> = []
        return choices.map { choice in
            if labels.insert(choice.label).inserted { return choice }
            let longer = "\(choice.label) (\(choice.value.text))"
            labels.insert(longer)
            return SettingChoice(label: longer, value: choice.value)
        }
    }

    private var ofDefault: SettingType { SettingType.common(of: [self[.defaultValue]].compactMap(\.self)) ?? .string }
}

extension SettingType {
    /// The type of values in a bundle; a string for none; nil if they have no common type.
    fileprivate static func common(of values: [PropertyListValue]) -> SettingType? {
        let kinds = Set(values.map(\.settingType))
        if kinds == [.integer, .double] { return .double }
        return kinds.count > 1 ? nil : kinds.first ?? .string
    }
}

extension PropertyListValue {
    fileprivate var settingType: SettingType {
        switch self {
        case .boolean: .boolean
        case .integer, .unsigned: .integer
        case .real: .double
        case .string: .string
        case .date: .date
        case .data: .data
        case .array: .array
        case .dictionary: .dictionary
        }
    }
}

extension SettingDeclaration {
    /// The declaration with the editor, the bounds and the choices of a page's, in its own type; itself where the
    /// page's do not fit its type.
    func refined(by page: SettingDeclaration) -> SettingDeclaration {
        guard fits(page) else { return self }
        var refined = self
        refined.editor = page.editor
        refined.bounds = bounds ?? page.bounds?.converted(to: type)
        if choices.isEmpty { refined.choices = converted(page.choices) }
        refined.isSecret = isSecret || page.isSecret
        refined.toggleValues = toggleValues ?? page.toggleValues
        refined.title = title ?? page.title
        return refined
    }

    /// Whether a page's declaration says nothing else about values.
    func agrees(with page: SettingDeclaration) -> Bool {
        guard fits(page) || page.editor == .edit else { return false }
        guard page.toggleValues == nil || page.toggleValues == toggleValues else { return false }
        return page.bounds == nil || bounds == nil || bounds == page.bounds?.converted(to: type)
    }

    /// Whether a page's rules can be said in this type.
    private func fits(_ page: SettingDeclaration) -> Bool {
        if let bounds = page.bounds { return bounds.converted(to: type) != nil }
        // Reversed bounds are none, and are a fault of their own (PAG-4).
        if page.editor == .slider { return [.integer, .float, .double].contains(type) }
        return type == page.type || (!page.choices.isEmpty && converted(page.choices).count == page.choices.count)
    }

    private func converted(_ choices: [SettingChoice]) -> [SettingChoice] {
        choices.compactMap { choice in
            choice.value.propertyListValue.flatMap { SettingValue($0, as: type) }.map {
                SettingChoice(label: choice.label, value: $0)
            }
        }
    }
}

extension SettingBounds {
    /// Smallest and largest value.
    var ends: (lower: Double, upper: Double) {
        switch self {
        case .integer(let range): (Double(range.lowerBound), Double(range.upperBound))
        case .float(let range): (Double(range.lowerBound), Double(range.upperBound))
        case .double(let range): (range.lowerBound, range.upperBound)
        }
    }

    /// The bounds in another type of numbers; nil for a type that has none, or cannot have these.
    func converted(to type: SettingType) -> SettingBounds? {
        let (lower, upper) = ends
        switch type {
        case .double: return .double(lower...upper)
        case .float:
            let bounds = SettingBounds.float(Float(lower)...Float(upper))
            return bounds.isFinite ? bounds : nil
        case .integer:
            guard let first = Int(exactly: lower), let last = Int(exactly: upper) else { return nil }
            return .integer(first...last)
        case .boolean, .string, .strings, .data, .date, .url, .array, .dictionary, .set, .coded: return nil
        }
    }
}
