// One entry of a settings page, with all its keys as the bundle has them. Known keys are read by their form, whatever
// else there is stays, so that a layout carries what a later version understands.

import TandemBase
package import TandemPropertyList
import TandemSettings

/// An entry of a settings page.
package struct Specifier: Sendable, Equatable {
    /// The fifteen types of entries.
    package enum Kind: String, Sendable, CaseIterable {
        case group = "PSGroupSpecifier"
        case toggle = "PSToggleSwitchSpecifier"
        case slider = "PSSliderSpecifier"
        case textField = "PSTextFieldSpecifier"
        case titleValue = "PSTitleValueSpecifier"
        case multiValue = "PSMultiValueSpecifier"
        case radioGroup = "PSRadioGroupSpecifier"
        case childPane = "PSChildPaneSpecifier"
        case textView = "IASKTextViewSpecifier"
        case openURL = "IASKOpenURLSpecifier"
        case mailCompose = "IASKMailComposeSpecifier"
        case button = "IASKButtonSpecifier"
        case datePicker = "IASKDatePickerSpecifier"
        case listGroup = "IASKListGroupSpecifier"
        case custom = "IASKCustomViewSpecifier"

        /// Whether an entry of a page shows or edits values of a property's type (PAG-9).
        func takes(_ type: SettingType) -> Bool {
            switch (self, type) {
            case (.toggle, .boolean), (.datePicker, .date): true
            case (.slider, .integer), (.slider, .float), (.slider, .double): true
            case (.textField, .integer), (.textField, .float), (.textField, .double): true
            case (.textField, .string), (.textField, .url), (.textView, .string), (.textView, .url): true
            case (.textField, .strings), (.textField, .array), (.textField, .dictionary), (.textField, .set): true
            case (.textView, .strings), (.textView, .array), (.textView, .dictionary), (.textView, .set): true
            case (.listGroup, .array), (.listGroup, .strings): true
            case (.toggle, _), (.slider, _), (.textField, _), (.textView, _), (.datePicker, _), (.listGroup, _): false
            case (.multiValue, _), (.radioGroup, _), (.titleValue, _), (.group, _), (.childPane, _), (.openURL, _),
                (.mailCompose, _), (.button, _), (.custom, _):
                true
            }
        }

        /// Whether the report at the start takes the entry for an editor of a type (PAG-9). Hooks are not known then,
        /// and one may show any type in a date picker (PAG-32). A picker of a coded type does not count as an editor:
        /// without a hook nothing makes a date of its bytes.
        func mayEdit(_ type: SettingType) -> Bool { takes(type) || self == .datePicker && type != .coded }

        /// Whether the key may name the entry alone, for the app's hooks, and need not be a property (PAG-4).
        var isNamed: Bool {
            switch self {
            case .group, .button, .openURL, .mailCompose: true
            case .toggle, .slider, .textField, .titleValue, .multiValue, .radioGroup, .childPane, .textView,
                .datePicker, .listGroup, .custom:
                false
            }
        }

        /// Whether the entry begins a section of its page.
        package var isSection: Bool { self == .group || self == .radioGroup || self == .listGroup }

        /// Whether a person changes a value in it: an entry of a list's items without a page is one of these (PAG-21).
        package var isEditable: Bool {
            switch self {
            case .toggle, .multiValue, .radioGroup, .slider, .textField, .textView, .custom, .datePicker: true
            case .group, .titleValue, .childPane, .openURL, .mailCompose, .button, .listGroup: false
            }
        }
    }

    /// All keys, also unknown ones.
    package let entries: PropertyListDictionary
    /// The type; nil for one that pages do not know.
    package let kind: Kind?

    package init(_ entries: PropertyListDictionary) {
        self.entries = entries
        kind = entries[SpecifierKey.type.rawValue]?.stringValue.flatMap { Kind(word: $0) }
    }

    /// An entry of a type, made in code.
    package init(_ kind: Kind, _ entries: PropertyListDictionary) {
        var entries = entries
        entries[SpecifierKey.type.rawValue] = .string(kind.rawValue)
        self.init(entries)
    }

    /// The value of a known key; nil if it is absent or has another form.
    package subscript(key: SpecifierKey) -> PropertyListValue? {
        guard let value = entries[key.rawValue], key.form.isForm(of: value) else { return nil }
        return value
    }

    package func text(_ key: SpecifierKey) -> String? { self[key]?.stringValue }

    /// The boolean of a key, in any spelling; nil if it is absent.
    package func flag(_ key: SpecifierKey) -> Bool? { self[key].flatMap { ToggleValues().isOn($0) } }

    package func number(_ key: SpecifierKey) -> Double? { self[key]?.number }

    /// The texts of a key: an array's, or the one; empty if it is absent.
    package func texts(_ key: SpecifierKey) -> [String] {
        self[key].map { $0.arrayValue?.compactMap(\.stringValue) ?? [$0.stringValue].compactMap(\.self) } ?? []
    }

    /// The entry within a list group.
    package func specifier(_ key: SpecifierKey) -> Specifier? { self[key]?.dictionaryValue.map { Specifier($0) } }

    /// The entries of a list's items and of a new one.
    var itemEntries: [Specifier] { SpecifierKey.ofItems.compactMap(specifier) }

    package var typeName: String { text(.type) ?? "" }
    package var title: String? { text(.title) }
    package var key: String? { text(.key).flatMap { $0.isEmpty ? nil : $0.asName } }

    /// The child page, without `.plist`.
    package var file: String? {
        guard let name = text(.file), !name.isEmpty else { return nil }
        let isWhole = name.utf8.suffix(6).elementsEqual(".plist".utf8)
        return (isWhole ? String(decoding: name.utf8.dropLast(6), as: UTF8.self) : name).asName
    }

    func image(_ key: SpecifierKey) -> String? { text(key)?.asName }

    /// Whether the value of its key is a secret.
    package var isSecure: Bool { flag(.isSecure) == true }

    /// The page that a tap opens; a link's file is a URL and no page.
    package var page: String? { kind == .childPane || kind == .custom ? file : nil }

    /// Whether the entry is for a kind of device; one without idioms is for all.
    package func isFor(_ device: DeviceKind) -> Bool {
        let idioms = texts(.idioms)
        return idioms.isEmpty || idioms.contains { $0.isWord(device.idiom) }
    }

    package func without(_ keys: some Sequence<SpecifierKey>) -> Specifier {
        var entries = entries
        for key in keys { entries[key.rawValue] = nil }
        return Specifier(entries)
    }
}

extension String {
    /// The text as a name of a key, page, table or image: one that is longer than any key of a dictionary is cut behind
    /// that length. It still names none of these keys, and a look-up by it costs little, whatever its characters
    /// (LIM-154).
    var asName: String {
        let limit = PropertyListLimits.maximumKeyLength + 1
        return utf8.count <= limit ? self : String(decoding: utf8.prefix(limit), as: UTF8.self)
    }
}

// MARK: - typed words
extension Specifier {
    package enum Subtitle: Sendable, Equatable {
        case fixed(String)
        /// By the value's text; `YES` and `NO` for a toggle, `__default__` for every other value.
        case byValue([String: String])

        package func text(for value: String?) -> String? {
            switch self {
            case .fixed(let text): text
            // A value that takes long to compare is none of them.
            case .byValue(let texts):
                value.flatMap { CombiningMarks.areMany(in: $0) ? nil : texts[$0] } ?? texts["__default__"]
            }
        }
    }

    package var subtitle: Subtitle? {
        guard let value = self[.subtitle] else { return nil }
        if let text = value.stringValue { return text.isEmpty ? nil : .fixed(text) }
        let pairs = (value.dictionaryValue ?? [:]).compactMap { pair in pair.value.stringValue.map { (pair.key, $0) } }
        return .byValue(Dictionary(pairs) { first, _ in first })
    }

    /// The place of a row's title.
    package enum Alignment: String, Sendable, CaseIterable {
        case left = "IASKUITextAlignmentLeft"
        case center = "IASKUITextAlignmentCenter"
        case right = "IASKUITextAlignmentRight"
        case natural = "IASKUITextAlignmentNatural"
    }

    /// As stated; else left beside a subtitle or an image, centred for other buttons, and natural for the rest.
    package var alignment: Alignment {
        if let stated = text(.alignment).flatMap({ Alignment(word: $0) }) { return stated }
        if subtitle != nil || text(.image) != nil { return .left }
        return kind == .button ? .center : .natural
    }

    /// A word of a closed list, in any case of letters, as bundles have them; nil for another one.
    func word<Word: RawRepresentable<String> & CaseIterable>(_ key: SpecifierKey) -> Word? {
        guard let text = text(key), text.mayBeWord else { return nil }
        let word = text.lowercased()
        return Word.allCases.first { $0.rawValue.lowercased() == word }
    }

    /// The keyboard, correction and content of a text field.
    package var textTraits: TextTraits {
        TextTraits(
            keyboard: word(.keyboard) ?? .alphabet, capitalization: word(.capitalization) ?? .none,
            correction: word(.correction) ?? .default, contentType: text(.contentType),
            placeholder: text(.placeholder))
    }

    /// The date picker's mode and step.
    package var dateTraits: DateTraits {
        let interval = number(.minuteInterval).flatMap { Int(exactly: $0) } ?? 1
        return DateTraits(
            mode: word(.dateMode) ?? .dateAndTime,
            minuteInterval: (1...30).contains(interval) && 60 % interval == 0 ? interval : 1)
    }
}

/// How text is typed in a field.
package struct TextTraits: Sendable, Equatable {
    package enum Keyboard: String, Sendable, CaseIterable {
        case alphabet = "Alphabet"
        case numbersAndPunctuation = "NumbersAndPunctuation"
        case numberPad = "NumberPad"
        case decimalPad = "DecimalPad"
        case phonePad = "PhonePad"
        case namePhonePad = "NamePhonePad"
        case asciiCapable = "AsciiCapable"
        case url = "URL"
        case emailAddress = "EmailAddress"
    }

    package enum Capitalization: String, Sendable, CaseIterable {
        case none = "None"
        case sentences = "Sentences"
        case words = "Words"
        case allCharacters = "AllCharacters"
    }

    package enum Correction: String, Sendable, CaseIterable {
        case `default` = "Default"
        case no = "No"
        case yes = "Yes"
    }

    package var keyboard: Keyboard
    package let capitalization: Capitalization
    package let correction: Correction
    /// The name of a `UITextContentType` without its prefix, such as `EmailAddress`.
    package let contentType: String?
    package var placeholder: String?

    package init(
        keyboard: Keyboard = .alphabet, capitalization: Capitalization = .none, correction: Correction = .default,
        contentType: String? = nil, placeholder: String? = nil
    ) {
        (self.keyboard, self.capitalization, self.correction) = (keyboard, capitalization, correction)
        (self.contentType, self.placeholder) = (contentType, placeholder)
    }
}

package struct DateTraits: Sendable, Equatable {
    package enum Mode: String, Sendable, CaseIterable {
        case date = "Date"
        case time = "Time"
        case dateAndTime = "DateAndTime"
    }

    package let mode: Mode
    /// Minutes between two choices: a divisor of 60 up to 30.
    package let minuteInterval: Int

    package init(mode: Mode = .dateAndTime, minuteInterval: Int = 1) {
        (self.mode, self.minuteInterval) = (mode, minuteInterval)
    }
}

/// The kind of device that pages are made for, as it is configured.
package enum DeviceKind: String, Sendable, CaseIterable {
    case phone, pad, mac, vision, watch

    /// The part of a file's name, without the tilde.
    package var suffix: String {
        switch self {
        case .phone: "iphone"
        case .pad: "ipad"
        case .mac, .vision, .watch: rawValue
        }
    }

    /// The word in `SupportedUserInterfaceIdioms`.
    package var idiom: String {
        switch self {
        case .phone: "Phone"
        case .pad: "Pad"
        case .mac: "Mac"
        case .vision: "Reality"
        case .watch: "Watch"
        }
    }

    /// The kind of a configured word; a phone for any other.
    package init(configured word: String?) { self = word.flatMap { DeviceKind(word: $0) } ?? .phone }
}
