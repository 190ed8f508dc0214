// Row of a form as HTML: title, layer, control and notes, on a page of an app and in the draft of an item.

import TandemPages

/// One row.
struct SettingRow {
    /// The form that a row stands in.
    enum Form {
        /// A page of an app. Its list, if the row is one that can be edited, has buttons.
        case page(ListControl?)
        /// A draft, which has no layers and takes nothing back.
        case draft
    }

    let row: PageView.Row
    /// Whether it has a field.
    let isEditable: Bool
    /// The text of a refused form.
    var typed: String?
    let instance: AppInstance
    /// Those of the page.
    let images: [String: PageImage]
    let form: Form
    /// Whether the field draws attention to itself, because the app has refused what was typed.
    var shakes = false

    var markup: Markup {
        let control = SettingControl(
            row: row, text: typed ?? row.input, isEditable: isEditable, instance: instance, images: images)
        let title =
            control.isLabelled
            ? Markup.tag("label", .init("class", "title"), .init("for", row.field), of: control.title)
            : .tag("span", .init("class", "title"), .init("id", "\(row.id)-title"), of: control.title)
        return .tag(
            "div", .init("class", (["row"] + classes).joined(separator: " ")), .init("id", row.id),
            .optional("data-typed", typed.map { _ in "yes" }),
            of: [control.hasOwnTitle ? Markup([]) : title, layer] + (isEditable ? [SettingsInput.shown(row)] : [])
                + [list?.markup ?? control.markup, notes])
    }

    private var list: ListControl? { if case .page(let list) = form { list } else { nil } }
    private var isOfDraft: Bool { if case .draft = form { true } else { false } }

    private var classes: [String] {
        let alignment: [String] =
            switch row.alignment {
            case .center: ["center"]
            case .right: ["right"]
            case .left, .natural: []
            }
        return alignment + (row.error == nil ? [] : ["wrong"]) + (shakes ? ["shake"] : [])
    }

    private var layer: Markup {
        guard let layer = row.layer, !isOfDraft else { return Markup([]) }
        return .tag("span", .init("class", "layer \(layer)"), text: layer == "user" ? "edited" : layer)
    }

    private var notes: Markup {
        // A radio group's is that of its section.
        let footer: String? = if case .choice(let choices) = row.kind { choices.footer } else { nil }
        var notes = [row.subtitle, footer, row.summary].compactMap(\.self).map { Markup.tag("p", foreign: $0) }
        if let lock = row.lock, !lock.text.isEmpty { notes.append(.tag("p", .init("class", "lock"), text: lock.text)) }
        if let author = row.author { notes.append(.tag("p", foreign: "Edited by \(author).")) }
        if !row.shownDefault.isEmpty, row.shownDefault != row.shown, !isOfDraft {
            notes.append(.tag("p", foreign: "Default: \(row.shownDefault)"))
        }
        if row.needsRestart { notes.append(.tag("p", text: "Takes effect when the app starts again.")) }
        if row.isSecret, row.isEditable {
            notes.append(.tag("p", text: "A secret: it can be written and is never shown. Empty leaves it as it is."))
        }
        if let error = row.error { notes.append(.tag("p", .init("class", "mistake"), foreign: error)) }
        if let key = row.key, row.isEdited {
            notes.append(
                .ofOtherForm(
                    ResetButton.edit.rawValue, FieldKey.encode(key), [Markup("Reset "), .tag("bdi", text: row.name)]))
        }
        return .tag("div", .init("id", "\(row.id)-notes"), .init("class", "notes"), of: notes)
    }
}

extension Markup {
    /// A section with its title, rows and footer, and what stands below them.
    static func group(_ group: PageView.Group, _ rows: [SettingRow], _ end: Markup...) -> Markup {
        let title = group.title.map { Markup.tag("legend", foreign: $0) }
        let footer = group.footer.map { Markup.tag("p", .init("class", "footer"), foreign: $0) }
        return .tag(
            "fieldset", of: [title].compactMap(\.self) + rows.map(\.markup) + [footer].compactMap(\.self) + end)
    }

    /// A button of the page's other form, the one without values, wherever it stands.
    static func ofOtherForm(_ name: String, _ value: String, label: String? = nil, _ title: [Markup]) -> Markup {
        .tag(
            "button", .init("type", "submit"), .init("form", "resets"), .init("name", name), .init("value", value),
            .optional("aria-label", label), of: title)
    }

    /// The mistakes of a refused form, where a screen reader begins.
    static func mistakes(_ input: PageInput?, _ refusal: String?, on view: PageView) -> Markup {
        let rows = Dictionary(view.rows.compactMap { row in row.key.map { ($0, row) } }) { first, _ in first }
        let mistakes = (input?.errors ?? [:]).sorted { $0.key < $1.key }.map { key, text in
            rows[key].map { .tag("a", .init("href", "#" + $0.id), foreign: text) } ?? Markup.tag("bdi", text: text)
        }
        let all = (refusal.map { [Markup.tag("bdi", text: $0)] } ?? []) + mistakes
        return .tag(
            "div", .init("role", "alert"), .init("class", "mistake"), .init("id", "mistakes"),
            of: [.tag("p", text: "Nothing was changed."), .tag("ul", of: all.map { .tag("li", of: [$0]) })])
    }
}

extension PageView {
    /// The indices of the rows with a field: of rows of one key the first that is editable.
    var fieldIndices: Set<Int> {
        var known: Set<[UInt8]> = []
        return Set(
            rows.filter { row in
                guard let key = row.key, row.isEditable else { return false }
                if case .list = row.kind { return false }
                return known.insert([UInt8](key.utf8)).inserted
            }.map(\.index))
    }
}

extension PageView.Row {
    /// Identifiers of the page's own: keys may have any character.
    var id: String { "r-\(index)" }
    var field: String { "f-\(index)" }
}
