// One page as every renderer shows it: sections and rows with their texts in the reader's languages, the values in
// force, and why a row cannot be edited. Renderers add nothing but their own form; a secret's value never comes here.

import TandemBase
package import TandemPropertyList
package import TandemSettings
import TandemWire

/// The value of a property, as the daemon knows it (Control CTL-39).
package struct PageValue: Sendable, Equatable {
    /// The stored form in force; nil if there is none.
    package let value: PropertyListValue?
    /// The layer of the value: `signed`, `user` or `default`, or one that a running app names (PAG-34).
    package let layer: String
    /// Whether there is a user's edit, also one that a signed value hides.
    package let isEdited: Bool
    /// The stored form of the edit; nil without one, for one to no value, and for a secret.
    package let edit: PropertyListValue?
    /// The primary that made the edit; nil for a person on the device, and without an edit.
    package let author: String?
    /// Stands for the edit of a list in a change that is made of it (CTL-40); empty without one.
    package let tag: [UInt8]
    /// The labelled values that a person has added to its list (SET-56), as they are stored; nil for none.
    package let added: PropertyListValue?
    /// Whether it is a running app's own value that is not known here.
    package let isWithheld: Bool
    /// Whether it is a signed value whose signature is invalid, and was allowed (CFG-22).
    package let isWaived: Bool
    /// Whether it is a signed value that the app has said not to load (CFG-42, CFG-115, CFG-116).
    package let isNotLoaded: Bool

    package init(
        value: PropertyListValue?, layer: String, isEdited: Bool = false, edit: PropertyListValue? = nil,
        author: String? = nil, tag: [UInt8] = [], added: PropertyListValue? = nil, isWithheld: Bool = false,
        isWaived: Bool = false, isNotLoaded: Bool = false
    ) {
        self.value = value
        self.layer = layer
        self.isEdited = isEdited
        self.edit = edit
        self.author = author
        self.tag = tag
        self.added = added
        self.isWithheld = isWithheld
        self.isWaived = isWaived
        self.isNotLoaded = isNotLoaded
    }

    /// Whether a signed value stands in the place of the edit.
    var isHiddenEdit: Bool { isEdited && layer == "signed" }

    /// The values of the rows of `settings-get`, by key. They may be those of a secondary, which says what it likes.
    package static func all(in rows: [PropertyListDictionary]) -> [String: PageValue] {
        let pairs = rows.compactMap { row -> (String, PageValue)? in
            guard let key = row["key"]?.keyValue, row["unknown"]?.booleanValue != true else { return nil }
            let layer = row["layer"]?.stringValue ?? "default"
            return (
                key,
                PageValue(
                    value: row["value"], layer: layer.mayBeWord ? layer : "unknown",
                    isEdited: row["edited"]?.booleanValue ?? false, edit: row["edit"], author: row["by"]?.stringValue,
                    tag: row["tag"]?.dataValue ?? [], added: row["choices"],
                    isWaived: row["waived"]?.booleanValue ?? false,
                    isNotLoaded: row["notLoaded"]?.booleanValue ?? false)
            )
        }
        // A secondary's answer may name a key twice.
        return Dictionary(pairs) { first, _ in first }
    }
}

extension [String: PageValue] {
    /// Puts the values that the app offers in the places of those that it refused: what stands in the fields. Each is
    /// as an edit, which hides what the app itself has set.
    package mutating func place(_ refusals: [PageRefusal]) {
        for refusal in refusals {
            guard let value = refusal.replacement else { continue }
            self[refusal.key] = PageValue(value: value, layer: "user")
        }
    }
}

/// The reader of a page, and the values in force.
package struct PageRequest: Sendable {
    /// Preferred first.
    package let languages: [String]
    /// The person who looks: `user` here, `counterpart` on the paired primary.
    package let editor: SettingAccess
    /// As the daemon knows them, by key; a key without one has its default.
    package var values: [String: PageValue]
    /// Those that the running app itself has set, which hide defaults.
    private(set) var own: [String: PageValue] = [:]
    /// Keys that are hidden now, besides those of `TandemVisibleWhen`.
    package private(set) var hidden: Set<String>
    /// Choices of a running app, in the place of the page's.
    package private(set) var choices: [String: [SettingChoice]]
    /// The keys of the buttons that the running app takes presses of.
    package private(set) var buttons: Set<String> = []
    /// The running app's decisions about mails, by the keys of their entries.
    package private(set) var mails: [String: RunningPage.MailDecision] = [:]
    /// The running app's dates, by the names of their properties.
    package private(set) var dates: [String: RunningPage.PickedDate] = [:]
    /// Texts of refused input, by key, in the place of those of the values in force.
    package let errors: [String: String]
    /// Whether the page is that of an item, which leads to no other page and has no lists (PAG-21).
    package let isOfItem: Bool

    package init(
        languages: [String] = [], editor: SettingAccess = .user, values: [String: PageValue] = [:],
        hidden: Set<String> = [], choices: [String: [SettingChoice]] = [:], errors: [String: String] = [:],
        isOfItem: Bool = false
    ) {
        self.languages = languages
        self.editor = editor
        self.values = values
        self.hidden = hidden
        self.choices = choices
        self.errors = errors
        self.isOfItem = isOfItem
    }

    /// The value in force; nil for the declared default. A signed value that the app does not load hides nothing of
    /// what the app has set (PAG-36).
    func value(of key: String) -> PageValue? {
        guard let known = values[key] else { return own[key] }
        return known.layer == "default" || known.isNotLoaded ? own[key] ?? known : known
    }

    /// Takes what the running app has decided, in the types of its properties; nothing of one that has not answered.
    package mutating func take(_ state: RunningState, _ schema: SettingsSchema) {
        let page = if case .running(let page) = state { page } else { RunningPage() }
        (hidden, buttons, mails, dates) = (page.hidden, page.buttons, page.mails, page.dates)
        own = page.values.mapValues {
            PageValue(value: $0.value, layer: $0.layer.rawValue, isWithheld: $0.isWithheld)
        }
        choices = page.choices.reduce(into: [:]) { all, list in
            guard let declaration = schema[list.key] else { return }
            all[list.key] = list.value.compactMap { choice in
                declaration.value(stored: choice.value).map { SettingChoice(label: choice.label, value: $0) }
            }
        }
    }
}

package struct PageView: Sendable, Equatable {
    /// The name of the page: that of its file.
    package let name: String
    /// nil: the app's own name.
    package let title: String?
    package let groups: [Group]
    /// The images that rows name, by their names, as far as there is one, and room for it on the page (LIM-130).
    package let images: [String: PageImage]

    package var rows: [Row] { groups.flatMap(\.rows) }

    package struct Group: Sendable, Equatable {
        package let title: String?
        package let footer: String?
        package private(set) var rows: [Row]

        mutating func append(_ row: Row) { rows.append(row) }
    }

    package struct Row: Sendable, Equatable {
        /// The index of its entry on the page.
        package let index: Int
        /// The property; nil for a row without a value.
        package let key: String?
        /// The type of the property; nil without one.
        let type: SettingType?
        package let kind: Kind
        package let title: String
        package let subtitle: String?
        /// The explanation that the app declares.
        package let summary: String?
        /// The name of a picture in the bundle.
        package let image: String?
        package let alignment: Specifier.Alignment
        /// The stored form in force; nil for none, and for a secret.
        package let value: PropertyListValue?
        /// The value for people; empty for none and for a secret.
        package let shown: String
        /// Whether that is a text of the page, such as a title of the value, and not the value itself.
        package let isShownByTitle: Bool
        /// The text of a field with the value, which ``PageInput`` reads back; empty for none and for a secret.
        package let input: String
        /// The date of a picker, which the running app may have made of the value.
        let date: PropertyListDate?
        /// The default for people, with the zone of a date; empty for a secret.
        package let shownDefault: String
        /// The layer of the value; nil for a row without one.
        package let layer: String?
        /// Whether a reset would change something.
        package let isEdited: Bool
        /// The edit for people that a signed value hides, with the zone of a date; empty for one without a text, nil
        /// for none.
        package let hiddenEdit: String?
        /// The signed value for people that the app does not load, with the zone of a date; empty for one without a
        /// text, nil for none.
        package let notLoaded: String?
        /// The primary that made the edit, if one did.
        package let author: String?
        /// As ``PageValue/tag``.
        package let tag: [UInt8]
        /// Whether it may have no value.
        package let allowsNothing: Bool
        /// The bounds of a number that is typed, for people, such as `0 to 10`; nil without any, and for a slider,
        /// which has them.
        package let range: String?
        /// Why a person cannot edit it; nil for an editable row.
        package let lock: Lock?
        package let needsRestart: Bool
        package let isSecret: Bool
        /// The rule that the value breaks, or why input was refused.
        package let error: String?
        /// The key of a button that can be pressed now; nil for any other row.
        package let press: String?

        package var isEditable: Bool { lock == nil }

        /// A sentence about the edit; nil without one.
        package var edit: String? {
            guard isEdited else { return nil }
            let edited = author.map { "Edited by \($0)" } ?? "Edited"
            guard let hiddenEdit else { return "\(edited)." }
            let value = hiddenEdit.isEmpty ? "" : ": \(hiddenEdit)"
            // The app alone knows which value is in force without the signed one.
            if notLoaded != nil { return "\(edited)\(value). A reset removes the edit." }
            return "\(edited)\(value). The signed value hides the edit, which a reset removes."
        }

        /// Why a person cannot edit it, as sentences; nil for an editable row, and for one without a reason.
        package var lockText: String? {
            guard let lock, !lock.text.isEmpty else { return nil }
            guard lock == .notLoadedValue, let notLoaded else { return lock.text }
            let signed = notLoaded.isEmpty ? "Signed" : "Signed: \(notLoaded)"
            guard let layer, layer != "signed" else {
                return "\(signed), but the app does NOT load it and has another value, which this page does not know. "
                    + Lock.advice
            }
            let own = zoned.isEmpty ? "" : ": \(zoned)"
            return "\(signed), but the app does NOT load it. The app's own value (\(layer)) is in force\(own). "
                + Lock.advice
        }

        /// A sentence about the default; nil without one, and where the value in force is the same.
        /// - Parameter onOneLine: for a terminal (PAG-35).
        package func defaultNote(onOneLine: Bool = false) -> String? {
            guard layer != "default", !shownDefault.isEmpty, !isDefaultShown else { return nil }
            return "Default: \(onOneLine ? lineOfDefault : shownDefault)"
        }

        /// Whether the text of the value is that of the default; by bytes, because both may be an app's.
        private var isDefaultShown: Bool { shownDefault.utf8.elementsEqual(zoned.utf8) }

        /// A sentence about the bounds of a number; nil without any.
        package var rangeNote: String? { range.map { "Range: \($0)." } }

        /// A sentence about a change that waits for a start; nil if it takes effect at once.
        package var restartNote: String? { needsRestart ? "Takes effect when the app starts again." : nil }

        /// The text below the choices; nil for a radio group, whose text is that of its section.
        package var footer: String? { if case .choice(let choices) = kind { choices.footer } else { nil } }

        /// The title, or the key of a row that has none.
        package var name: String { title.isEmpty ? key ?? "" : title }
    }

    package enum Kind: Sendable, Equatable {
        case toggle(isOn: Bool)
        case slider(Slider)
        case text(TextTraits)
        case secureText(TextTraits)
        /// Several lines; of a list of texts one line each, of other containers JSON.
        case multilineText(TextTraits)
        case choice(Choices)
        /// Choices that are all on the page.
        case radio(Choices)
        case date(DateTraits)
        case titleValue
        case button
        case link(url: String)
        case mail(Mail)
        case page(String)
        case list(List)
        /// A view of the app's own, perhaps with a page.
        case custom(page: String?)
        /// Shown with its title and the reason.
        case unsupported(String)
    }

    /// A number between two bounds.
    package struct Slider: Sendable, Equatable {
        package let minimum: Double
        package let maximum: Double
        /// The bounds for people, in the property's own type, such as `0 to 10`.
        package let range: String
        /// 1 for integers; nil for any real.
        package let step: Double?
        /// Names of pictures at the two ends.
        package let minimumImage: String?
        package let maximumImage: String?
        /// The pictures that the app declares, where the page has none.
        package let icon: SliderIcon?
    }

    package struct Choices: Sendable, Equatable {
        package let options: [Option]
        /// The option in force; nil if the value is none of them.
        package let selected: Int?
        /// Whether any other value may be typed, too.
        package let allowsOthers: Bool
        /// Below the options.
        package let footer: String?
    }

    /// One choice; all that belongs to it stays with it in every order.
    package struct Option: Sendable, Equatable, Identifiable {
        /// Its index before sorting.
        package let id: Int
        /// The text of a field that chooses it (``PageInput``).
        package let input: String
        package let title: String
        /// Whether the title is a text of the page, and not that of the app or the value.
        package let isTitleOfPage: Bool
        package let shortTitle: String?
        package let image: String?
        package let value: PropertyListValue?
    }

    package struct Mail: Sendable, Equatable {
        package let to: [String]
        package let copy: [String]
        package let blindCopy: [String]
        package let subject: String
        package let body: String

        package init(to: [String], copy: [String], blindCopy: [String], subject: String, body: String) {
            (self.to, self.copy, self.blindCopy) = (to, copy, blindCopy)
            (self.subject, self.body) = (subject, body)
        }

        /// The parts that an entry has.
        package init(_ specifier: Specifier) {
            self.init(
                to: specifier.texts(.mailTo), copy: specifier.texts(.mailCopy),
                blindCopy: specifier.texts(.mailBlindCopy), subject: specifier.text(.mailSubject) ?? "",
                body: specifier.text(.mailBody) ?? "")
        }
    }

    /// Items whose number is the store's.
    package struct List: Sendable, Equatable {
        package let items: [Item]
        /// The entry that adds one; nil if none can be added.
        package let add: Specifier?
        package let addTitle: String?
        package let isItemEditable: Bool
        package let isDeletable: Bool
    }

    package struct Item: Sendable, Equatable {
        package let title: String
        /// Whether the title is a text of the page, and not the item's value.
        package let isTitleOfPage: Bool
        /// The page that edits it; nil: it is edited in its row.
        package let page: String?
    }

    /// Why a row cannot be edited.
    package enum Lock: String, Sendable, CaseIterable {
        /// A signed configuration has set the value, which hides every edit.
        case signedValue
        /// Such a value whose signature is invalid, and was allowed.
        case waivedValue
        /// A signed value that the app does not load: it has another one.
        case notLoadedValue
        /// The app lets nothing but a signed configuration set it.
        case signedOnly
        /// The app does not let the paired device edit it.
        case notForCounterpart
        /// The value has no text form.
        case noText
        /// The app itself has set a value that is not known here: an edit would hide what nobody has seen.
        case withheld
        case shownOnly
        /// A row without a value, or one that no page can edit.
        case noValue

        /// A sentence for people.
        package var text: String {
            switch self {
            case .signedValue: "Set by a signed configuration. Only a signed configuration changes it."
            case .waivedValue:
                "Set by a configuration whose signature is INVALID, which the app and its device allow."
            case .notLoadedValue:
                "Signed, but the app does NOT load it and has another value. \(Self.advice)"
            case .signedOnly: "Changed by a signed configuration only."
            case .notForCounterpart: "The app does not let the paired device change it."
            case .withheld: "The app has set this itself to a value that no page can show."
            case .noText: "This value has no text form; the command line edits it."
            case .shownOnly: "Shown only."
            case .noValue: ""
            }
        }

        /// The way to the reason why a signed value is not loaded.
        fileprivate static let advice = "'tandem status' on its device says why."
    }
}

extension PageView {
    /// The name of a property among all rows of the page.
    package func name(of key: String) -> String { rows.name(of: key) }

    /// The names of properties in the order of the page.
    package func names(of keys: Set<String>) -> [String] {
        var left = keys
        let known = rows.compactMap { row in row.key.flatMap { left.remove($0) }.map { _ in row.name } }
        return known + left.sorted()
    }
}

extension [PageView.Row] {
    /// The name of a property for the person: the title of its row, or its key.
    package func name(of key: String) -> String { first { $0.key == key }?.name ?? key }
}
