// Pages and properties for the tests of this room: a test states only what it is about.

import TandemPages
import TandemPropertyList
import TandemSettings

func pageTree(
    _ pages: [String: [Specifier]], strings: StringsTables = StringsTables(), device: DeviceKind = .phone
) -> PageTree {
    PageTree(device: device, strings: strings) { name throws(SettingsBundleProblem) in
        pages[name].map { ["PreferenceSpecifiers": .array($0.map { .dictionary($0.entries) })] }
    }
}

extension PageView.Row {
    /// The choices of a row that has any.
    var choices: PageView.Choices? {
        switch kind {
        case .choice(let choices), .radio(let choices): choices
        default: nil
        }
    }

    /// The list of a row that has one.
    var list: PageView.List? { if case .list(let list) = kind { list } else { nil } }
}

extension SettingDeclaration {
    /// A property that is edited as text, without a summary and without rules, unless the test states otherwise.
    init(
        _ name: String, _ type: SettingType, _ editor: SettingEditor = .edit, summary: String = "",
        bounds: SettingBounds? = nil, pattern: String? = nil, choices: [SettingChoice] = [],
        allowsNothing: Bool = false, toggleValues: ToggleValues? = nil, title: String? = nil, page: String? = nil,
        access: SettingAccess = .user, initial: SettingValue
    ) {
        self.init(
            name: name, type: type, editor: editor, summary: summary, bounds: bounds, pattern: pattern,
            choices: choices, allowsNothing: allowsNothing, toggleValues: toggleValues, title: title, page: page,
            access: access, initialValue: initial)
    }
}
