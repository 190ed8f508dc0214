// Keys of specifiers, in one table with the form of each: the keys of Apple's settings schema, those that
// InAppSettingsKit adds, and two of ours. Other keys are kept as they are.

import TandemPropertyList
import TandemSettings

/// A key of a specifier that pages know.
package enum SpecifierKey: String, Sendable, CaseIterable {
    case type = "Type"
    case title = "Title"
    case key = "Key"
    case defaultValue = "DefaultValue"
    case file = "File"
    case footer = "FooterText"
    case idioms = "SupportedUserInterfaceIdioms"
    case trueValue = "TrueValue"
    case falseValue = "FalseValue"
    case minimum = "MinimumValue"
    case maximum = "MaximumValue"
    case minimumImage = "MinimumValueImage"
    case maximumImage = "MaximumValueImage"
    case isSecure = "IsSecure"
    case keyboard = "KeyboardType"
    case capitalization = "AutocapitalizationType"
    case correction = "AutocorrectionType"
    case values = "Values"
    case titles = "Titles"
    case shortTitles = "ShortTitles"
    case icons = "IconNames"
    case isSorted = "DisplaySortedByTitle"
    case dateMode = "DatePickerMode"
    case dateStyle = "DatePickerStyle"
    case minuteInterval = "MinuteInterval"
    case item = "ItemSpecifier"
    case add = "AddSpecifier"
    case isDeletable = "Deletable"
    case subtitle = "IASKSubtitle"
    case alignment = "IASKTextAlignment"
    case adjustsFontSize = "IASKAdjustsFontSizeToFitWidth"
    case image = "IASKCellImage"
    case placeholder = "IASKPlaceholder"
    case contentType = "IASKTextContentType"
    case toggleStyle = "IASKToggleStyle"
    case childTitle = "IASKChildTitle"
    case isQuick = "IASKQuickMultiValueSelection"
    case mailTo = "IASKMailComposeToRecipents"
    case mailCopy = "IASKMailComposeCcRecipents"
    case mailBlindCopy = "IASKMailComposeBccRecipents"
    case mailSubject = "IASKMailComposeSubject"
    case mailBody = "IASKMailComposeBody"
    case isMailHTML = "IASKMailComposeBodyIsHTML"
    case viewControllerClass = "IASKViewControllerClass"
    case viewControllerSelector = "IASKViewControllerSelector"
    case storyboardIdentifier = "IASKViewControllerStoryBoardId"
    case storyboardFile = "IASKViewControllerStoryBoardFile"
    case segue = "IASKSegueIdentifier"
    case webFullscreen = "IASKWebViewFullscreen"
    case webProgress = "IASKWebViewShowProgress"
    case webBottomBar = "IASKWebViewHideBottomBar"
    case webButtons = "IASKWebViewShowNavigationalButtons"
    /// Ours: a slider stores integers (Decisions/0028).
    case isInteger = "TandemInteger"
    /// Ours: values by key; the entry is hidden unless all of them are in force (PAG-14).
    case visibleWhen = "TandemVisibleWhen"

    /// The form of a value; any other form counts as no value.
    package enum Form: Sendable {
        case any
        /// A string.
        case text
        /// A string, or an array of them.
        case texts
        /// The same, or a dictionary of strings.
        case textByValue
        /// An array of any values.
        case list
        /// A boolean, or a spelling of one (SET-45): bundles have `YES`, `"YES"` and 1.
        case flag
        case number
        case dictionary
    }

    package var form: Form {
        switch self {
        case .defaultValue, .trueValue, .falseValue: .any
        case .isSecure, .isSorted, .isDeletable, .adjustsFontSize, .isQuick, .isMailHTML, .isInteger, .webFullscreen,
            .webProgress, .webBottomBar, .webButtons:
            .flag
        case .minimum, .maximum, .minuteInterval: .number
        case .values: .list
        case .titles, .shortTitles, .icons, .idioms, .mailTo, .mailCopy, .mailBlindCopy: .texts
        case .subtitle: .textByValue
        case .item, .add, .visibleWhen: .dictionary
        case .type, .title, .key, .file, .footer, .minimumImage, .maximumImage, .keyboard, .capitalization,
            .correction, .dateMode, .dateStyle, .alignment, .image, .placeholder, .contentType, .toggleStyle,
            .childTitle, .mailSubject, .mailBody, .viewControllerClass, .viewControllerSelector,
            .storyboardIdentifier, .storyboardFile, .segue:
            .text
        }
    }

    /// Why Linux cannot do what the key asks for (Decisions/0035); nil for every other key.
    package var unsupported: String? {
        switch self {
        case .viewControllerClass, .viewControllerSelector: "a view controller's class needs UIKit"
        case .storyboardIdentifier, .storyboardFile: "a storyboard needs UIKit"
        case .segue: "a segue needs UIKit"
        case .isMailHTML: "a mail link has no HTML"
        default: nil
        }
    }

    /// Keys that state a rule or a default: a layout leaves them to the declaration (PAG-6).
    package static let ofRules: [SpecifierKey] = [
        .defaultValue, .trueValue, .falseValue, .minimum, .maximum, .isInteger,
    ]

    /// Keys whose values are entries: of a list's items, and of a new one.
    static let ofItems: [SpecifierKey] = [.item, .add]
}

extension SpecifierKey.Form {
    func isForm(of value: PropertyListValue) -> Bool {
        switch self {
        case .any: true
        case .text: value.stringValue != nil
        case .texts: value.stringValue != nil || value.arrayValue.map(Self.areTexts) == true
        case .textByValue:
            value.stringValue != nil || value.dictionaryValue.map { Self.areTexts($0.map(\.value)) } == true
        case .list: value.arrayValue != nil
        case .flag: ToggleValues().isOn(value) != nil
        case .number: value.number != nil
        case .dictionary: value.dictionaryValue != nil
        }
    }

    private static func areTexts(_ values: [PropertyListValue]) -> Bool { values.allSatisfy { $0.stringValue != nil } }
}

extension PropertyListValue {
    /// The number of an integer or a real, rounded to a double.
    var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .real(let value): value
        case .boolean, .string, .date, .data, .array, .dictionary: nil
        }
    }
}
