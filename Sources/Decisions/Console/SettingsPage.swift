// Page of an app's settings: one form for the values and one for resets. It is whole without a script: labels, groups,
// and each mistake beside its field.

import TandemBase
import TandemOperations
package import TandemPropertyList
import TandemSettings

/// A page to render.
package struct SettingsPage {
    private let place: AppPlace
    private let page: String?
    private let form: SettingsForm
    private let token: String
    private let facts: AppFacts?
    /// A form that was refused, with its mistakes.
    private let refused: (fields: FormFields, mistakes: FormMistakes)?

    /// - Parameters:
    ///   - status: the daemon's status, for facts of an app of its own device.
    ///   - cookie: the browser's, for the token of the form.
    package init(
        _ place: AppPlace, page: String?, _ form: SettingsForm, status: PropertyListDictionary? = nil, cookie: String,
        refused: (fields: FormFields, mistakes: FormMistakes)? = nil
    ) {
        self.place = place
        self.page = page
        self.form = form
        self.refused = refused
        facts = place.secondary == nil ? status.map { AppFacts(place.app, Fact($0)) } : nil
        token = FormToken.make(for: .settings(place, page: page), cookie: cookie)
    }

    private var route: ConsoleRoute { .settings(place, page: page) }
    private var hiddenToken: Markup {
        .single("input", .init("type", "hidden"), .init("name", FormToken.field), .init("value", token))
    }

    /// The content of the page.
    package var content: [Markup] {
        let fields = form.fields(ofPage: page)
        let title = page.map { "\(place.app): \($0)" } ?? place.app.description
        return [
            .tag("h1", foreign: title), facts?.markup ?? Markup([]), pages, mistakes,
            .tag(
                "form", .init("method", "post"), .link("action", route), .init("id", "values"),
                .link("data-events", .events(place)),
                .init("autocomplete", "off"),
                of: [
                    hiddenToken,
                    .tag("fieldset", of: [.tag("legend", text: "Values")] + fields.map(row)),
                    .tag("p", of: [.tag("button", .init("type", "submit"), text: "Save")]),
                ]),
            resets(fields),
        ]
    }

    private var pages: Markup {
        guard form.pages.count > 1 else { return Markup([]) }
        let links = form.pages.map { name in
            Markup.tag(
                "li",
                of: [
                    .tag(
                        "a", .link("href", .settings(place, page: name)),
                        .init("aria-current", name == page ? "page" : "false"), foreign: name ?? "First page")
                ])
        }
        return .tag("nav", .init("aria-label", "Pages of the app"), of: [.tag("ul", of: links)])
    }

    /// All mistakes of a refused form, where a screen reader begins.
    private var mistakes: Markup {
        guard let refused else {
            return .tag("p", .init("id", "news"), .init("role", "status"), .init("aria-live", "polite"), text: "")
        }
        let texts = refused.mistakes.texts.sorted { $0.key < $1.key }.map { key, text in
            Markup.tag(
                "li",
                of: [
                    key.isEmpty
                        ? .tag("bdi", text: text) : .tag("a", .init("href", "#" + identifier(key)), foreign: text)
                ])
        }
        return .tag(
            "div", .init("role", "alert"), .init("class", "mistake"), .init("id", "mistakes"),
            of: [.tag("p", text: "Nothing was changed."), .tag("ul", of: texts)])
    }

    /// An identifier of the page's own: keys may have any character.
    private func identifier(_ key: String) -> String { "f-" + Hexadecimal.encode(Array(key.utf8)) }

    // MARK: rows

    private func row(_ field: SettingField) -> Markup {
        let declaration = field.declaration
        let id = identifier(field.key)
        let mistake = refused?.mistakes.texts[field.key]
        var notes: [Markup] = []
        if !declaration.summary.isEmpty { notes.append(.tag("p", foreign: declaration.summary)) }
        if let lock = field.lock { notes.append(.tag("p", .init("class", "lock"), text: lock)) }
        if let author = field.author { notes.append(.tag("p", foreign: "Edited by \(author).")) }
        if declaration.needsRestart { notes.append(.tag("p", text: "Takes effect when the app starts again.")) }
        if declaration.isSecret {
            notes.append(.tag("p", text: "A secret: it can be written and is never shown. Empty leaves it as it is."))
        }
        if let mistake { notes.append(.tag("p", .init("class", "mistake"), foreign: mistake)) }
        let label = Markup.tag("label", .init("for", id), foreign: declaration.title ?? field.key)
        let layer = Markup.tag(
            "span", .init("class", "layer \(field.layer)"), text: Self.layers[field.layer] ?? field.layer)
        return .tag(
            "div", .init("class", mistake == nil ? "row" : "row wrong"), .init("data-key", field.key),
            of: [
                label, layer, control(field, id: id, isWrong: mistake != nil),
                .tag("div", .init("id", "\(id)-notes"), .init("class", "notes"), of: notes),
            ])
    }

    private static let layers = ["signed": "signed", "user": "edited", "default": "default"]

    private func control(_ field: SettingField, id: String, isWrong: Bool) -> Markup {
        // A field that nobody has touched shows what is there now, and not what was there when the page was made.
        let typed = refused.flatMap { field.isTouched(in: $0.fields) ? $0.fields[SettingsForm.name(field.key)] : nil }
        let text = typed ?? field.text
        let frame = SettingControl(field: field, id: id, text: text, isWrong: isWrong)
        let control = frame.control
        guard field.lock == nil else { return control }
        return Markup([
            .single(
                "input", .init("type", "hidden"), .init("name", SettingsForm.shownName(field.key)),
                .init("value", field.text)),
            control,
        ])
    }

    private func resets(_ fields: [SettingField]) -> Markup {
        let edited = fields.filter(\.isEdited)
        var buttons = edited.map { field in
            Markup.tag(
                "li",
                of: [
                    .tag(
                        "button", .init("type", "submit"), .init("name", "reset"), .init("value", field.key),
                        of: [
                            Markup("Reset "), .tag("bdi", text: field.declaration.title ?? field.key),
                        ])
                ])
        }
        for (name, title) in [("reset-page", "Reset this page"), ("reset-all", "Reset all settings of the app")] {
            buttons.append(
                .tag(
                    "li",
                    of: [
                        .tag(
                            "button", .init("type", "submit"), .init("name", name), .init("value", "yes"), text: title)
                    ]))
        }
        return .tag(
            "form", .init("method", "post"), .link("action", route), .init("id", "resets"),
            of: [
                hiddenToken,
                .tag(
                    "details",
                    of: [
                        .tag("summary", text: "Reset"),
                        .tag(
                            "p",
                            text: "An edit is taken back, and what the app has stored, or its default, shows again. "
                                + "A signed value stays: it takes another signed configuration."),
                        .tag("ul", of: buttons),
                    ]),
            ])
    }
}

/// The control of one field.
private struct SettingControl {
    let field: SettingField
    let id: String
    let text: String
    let isWrong: Bool

    private var declaration: SettingDeclaration { field.declaration }
    private var name: String { SettingsForm.name(field.key) }
    private var isLocked: Bool { field.lock != nil }
    private var describedBy: Markup.Attribute { .init("aria-describedby", "\(id)-notes") }
    private var invalid: Markup.Attribute { .init("aria-invalid", isWrong ? "true" : "false") }

    var control: Markup {
        if declaration.isSecret { return input("password", bounds: nil) }
        if declaration.type == .boolean, declaration.choices.isEmpty { return boolean }
        switch declaration.editor {
        case .choice: return menu
        case .preference where !declaration.choices.isEmpty: return menu
        case .editableChoice where !hasLineEnds:
            return Markup([input("text", bounds: nil, list: "\(id)-list"), suggestions])
        case .editableChoice: return area
        case .slider where isNumber(within: true):
            return Markup([input("range", bounds: declaration.bounds), output])
        case .slider: return edit
        case .toggle, .edit, .preference: return edit
        }
    }

    private var edit: Markup {
        switch declaration.type {
        case .integer, .float, .double:
            text.isEmpty || isNumber(within: false)
                ? input("number", bounds: declaration.bounds) : input("text", bounds: nil)
        case .strings, .array, .dictionary, .set: area
        case .string where hasLineEnds: area
        case .boolean, .string, .data, .date, .url, .coded: input("text", bounds: nil)
        }
    }

    private func input(_ type: String, bounds: SettingBounds?, list: String? = nil) -> Markup {
        let ends = bounds?.texts
        let isNumber = type == "number" || type == "range"
        return .single(
            "input", .init("type", type), .init("id", id), .init("name", name),
            .init("value", type == "password" ? "" : text),
            isNumber ? .init("step", declaration.type == .integer ? "1" : "any") : .init("dir", "auto"),
            ends.map { .init("min", $0.least) } ?? .flag("min", if: false),
            ends.map { .init("max", $0.most) } ?? .flag("max", if: false),
            list.map { .init("list", $0) } ?? .flag("list", if: false),
            .flag("disabled", if: isLocked),
            type == "password" ? .init("autocomplete", "new-password") : .flag("autocomplete", if: false),
            describedBy, invalid)
    }

    private var hasLineEnds: Bool { text.utf8.contains { $0 == 10 || $0 == 13 } }

    /// Whether a browser's control for numbers keeps the text: it knows finite numbers within its bounds alone.
    /// - Parameter needsBounds: whether both bounds have to be there; a range has others of its own without them.
    private func isNumber(within needsBounds: Bool) -> Bool {
        guard let number = Double(text), number.isFinite, text.utf8.allSatisfy({ "+-.0123456789Ee".utf8.contains($0) }),
            text.utf8.first != UInt8(ascii: "+")
        else { return false }
        guard let ends = declaration.bounds?.texts else { return !needsBounds }
        guard let least = Double(ends.least), let most = Double(ends.most), least <= number, number <= most else {
            return false
        }
        return !needsBounds || max(abs(least), abs(most)) <= 0x1p53
    }

    /// A box has two states; a value that may be neither is a menu.
    private var boolean: Markup {
        if !declaration.allowsNothing, ["true", "false"].contains(text) { return checkbox }
        return menu(of: (declaration.allowsNothing ? [("none", "")] : []) + [("yes", "true"), ("no", "false")])
    }

    private var checkbox: Markup {
        let box = Markup.single(
            "input", .init("type", "checkbox"), .init("id", id), .init("name", name), .init("value", "true"),
            .flag("checked", if: text == "true"), .flag("disabled", if: isLocked), describedBy, invalid)
        guard !isLocked else { return box }
        return Markup([.single("input", .init("type", "hidden"), .init("name", name), .init("value", "false")), box])
    }

    private var menu: Markup { menu(of: declaration.choices.map { ($0.label, $0.value.text) }) }

    private func menu(of entries: [(label: String, text: String)]) -> Markup {
        let isListed = entries.contains { $0.text == text }
        let choices = isListed ? [] : [Markup.tag("option", .init("value", text), .flag("selected"), text: text)]
        return .tag(
            "select", .init("id", id), .init("name", name), .flag("disabled", if: isLocked), describedBy, invalid,
            of: choices
                + entries.map { entry in
                    .tag(
                        "option", .init("value", entry.text), .flag("selected", if: entry.text == text),
                        text: entry.label)
                })
    }

    private var suggestions: Markup {
        .tag(
            "datalist", .init("id", "\(id)-list"),
            of: declaration.choices.map { .tag("option", .init("value", $0.value.text), text: $0.label) })
    }

    private var output: Markup { .tag("output", .init("for", id), text: text) }

    private var area: Markup {
        .tag(
            "textarea", .init("id", id), .init("name", name), .init("rows", "4"), .init("dir", "auto"),
            .flag("disabled", if: isLocked), describedBy, invalid, text: text)
    }
}

extension SettingBounds {
    /// Smallest and largest value as texts.
    fileprivate var texts: (least: String, most: String) {
        switch self {
        case .integer(let range): ("\(range.lowerBound)", "\(range.upperBound)")
        case .float(let range):
            (SettingValue.float(range.lowerBound).text, SettingValue.float(range.upperBound).text)
        case .double(let range):
            (SettingValue.double(range.lowerBound).text, SettingValue.double(range.upperBound).text)
        }
    }
}

/// Facts of an app besides its settings, as its daemon knows them: name and version, the key of its configuration, and
/// whether the signature of the one that is applied is good.
private struct AppFacts {
    private let app: Fact
    private let configurations: [Fact]

    init(_ app: ApplicationIdentifier, _ status: Fact) {
        let isOf = { (fact: Fact) in fact.text("app") == app.description }
        self.app = status.list("applications").first(where: isOf) ?? Fact([:])
        // Those with a pairing are forwarded, and the app of another device judges them.
        configurations = status.list("configurations").filter {
            isOf($0) && !$0.text("version").isEmpty && $0.body["pairing"] == nil
        }
    }

    var markup: Markup {
        let named = [app.text("name"), app.text("version")].filter { !$0.isEmpty }.joined(separator: " ")
        var lines: [Markup] = named.isEmpty ? [] : [.tag("p", foreign: named)]
        if !app.text("connected").isEmpty, app.body["connected"] != true {
            lines.append(.tag("p", text: "The app does not run; it has its edits at its next start."))
        }
        if !app.digest("anchor").isEmpty {
            lines.append(.tag("p", foreign: "Configuration key \(app.digest("anchor"))"))
        }
        for configuration in configurations { lines.append(line(configuration)) }
        return .tag("section", .init("aria-label", "App"), of: lines)
    }

    private func line(_ configuration: Fact) -> Markup {
        let state = configuration.text("state")
        var text = "Configuration \(configuration.text("version")): \(state)"
        let waived = "invalid signature allowed"
        let isWaived = configuration.body["waived"] == true
        if isWaived, !state.contains(waived) { text += ", \(waived)" }
        let isRevoked = configuration.text("signer") == "revoked"
        if isRevoked { text += ", signed with a key that was taken back" }
        return isWaived || isRevoked
            ? .tag("p", .init("class", "mistake"), foreign: text) : .tag("p", foreign: text)
    }
}
