// One page of an app's settings as HTML: a form for the values and one for resets. It adds nothing to the view but
// HTML, and is whole without a script: labels, groups, and each mistake beside its field.

import TandemBase
import TandemPages

/// A page to render.
struct SettingsPage {
    let settings: AppSettings
    let view: PageView
    /// The browser's, for the token of the form.
    let cookie: String
    /// Of an app of the daemon's own device.
    var facts: AppFacts?
    /// The input of a form that was refused.
    var refused: PageInput?
    /// The daemon's refusal of the whole form.
    var refusal: String?

    private var route: ConsoleRoute { settings.route(view.name) }
    private var isFirst: Bool { route == .settings(settings.place, page: nil) }
    private var hiddenToken: Markup {
        .single(
            "input", .init("type", "hidden"), .init("name", FormToken.field),
            .init("value", FormToken.make(for: route, cookie: cookie)))
    }

    /// The content of the page.
    var content: [Markup] {
        let places = places
        return top + [
            news,
            .tag(
                "form", .init("method", "post"), .link("action", route), .init("id", "values"),
                .link("data-events", .events(settings.place)), .init("autocomplete", "off"),
                of: [hiddenToken] + view.groups.map { group($0, places) }
                    + [.tag("p", of: places.isEmpty ? [] : [.tag("button", .init("type", "submit"), text: "Save")])]),
            resets,
        ]
    }

    /// The rows that a search has found, in the place of the form.
    func results(_ found: [(page: PageView, row: PageView.Row)]) -> [Markup] {
        let links = found.map { page, row in
            Markup.tag(
                "li",
                of: [
                    .tag(
                        "a", .link("href", settings.route(page.name), fragment: row.id), foreign: row.name),
                    .tag("span", foreign: page.title.map { " \($0)" } ?? ""),
                ])
        }
        return top + [
            first,
            .tag("p", .init("role", "status"), text: found.isEmpty ? "Nothing was found." : "\(found.count) found."),
            .tag("ul", of: links),
        ]
    }

    private var top: [Markup] {
        let title = isFirst ? settings.place.app.description : "\(settings.place.app): \(view.title ?? view.name)"
        let search = Markup.tag(
            "form", .init("role", "search"), .link("action", .settings(settings.place, page: nil)),
            of: [
                .single("input", .init("type", "search"), .init("name", "q"), .init("aria-label", "Search")),
                .tag("button", .init("type", "submit"), text: "Search"),
            ])
        return [.tag("h1", foreign: title), facts?.markup ?? Markup([]), isFirst ? Markup([]) : first, search]
    }

    private var first: Markup {
        .tag(
            "nav", .init("aria-label", "Pages of the app"),
            of: [.tag("a", .link("href", .settings(settings.place, page: nil)), text: "First page")])
    }

    /// All mistakes of a refused form, where a screen reader begins; else the place of news.
    private var news: Markup {
        guard refused != nil || refusal != nil else {
            return .tag("p", .init("id", "news"), .init("role", "status"), .init("aria-live", "polite"), text: "")
        }
        let rows = Dictionary(view.rows.compactMap { row in row.key.map { ($0, row) } }) { first, _ in first }
        let mistakes = (refused?.errors ?? [:]).sorted { $0.key < $1.key }.map { key, text in
            rows[key].map { .tag("a", .init("href", "#" + $0.id), foreign: text) } ?? Markup.tag("bdi", text: text)
        }
        let all = (refusal.map { [Markup.tag("bdi", text: $0)] } ?? []) + mistakes
        return .tag(
            "div", .init("role", "alert"), .init("class", "mistake"), .init("id", "mistakes"),
            of: [.tag("p", text: "Nothing was changed."), .tag("ul", of: all.map { .tag("li", of: [$0]) })])
    }

    // MARK: groups and rows

    /// The places of the rows with a field: of rows of one key the first that is editable.
    private var places: Set<Int> {
        var known: Set<[UInt8]> = []
        return Set(
            view.rows.filter { row in
                guard let key = row.key, row.isEditable else { return false }
                if case .list = row.kind { return false }
                return known.insert([UInt8](key.utf8)).inserted
            }.map(\.place))
    }

    private func group(_ group: PageView.Group, _ places: Set<Int>) -> Markup {
        var pieces = group.title.map { [Markup.tag("legend", foreign: $0)] } ?? []
        pieces += group.rows.map { row($0, isEditable: places.contains($0.place)) }
        if let footer = group.footer { pieces.append(.tag("p", .init("class", "footer"), foreign: footer)) }
        if let first = group.rows.first, group.rows.count(where: \.isEdited) > 1 {
            pieces.append(resetButton("reset-group", "\(first.place)", [Markup("Reset these")]))
        }
        return .tag("fieldset", of: pieces)
    }

    private func row(_ row: PageView.Row, isEditable: Bool) -> Markup {
        let typed = isEditable ? row.key.flatMap { refused?.typed[$0] } : nil
        let control = SettingControl(
            row: row, text: typed ?? row.input, isEditable: isEditable, place: settings.place)
        let title =
            control.isLabelled
            ? Markup.tag("label", .init("class", "title"), .init("for", row.field), foreign: row.name)
            : .tag("span", .init("class", "title"), .init("id", "\(row.id)-title"), foreign: row.name)
        let layer = row.layer.map { layer in
            Markup.tag("span", .init("class", "layer \(layer)"), text: layer == "user" ? "edited" : layer)
        }
        return .tag(
            "div", .init("class", row.error == nil ? "row" : "row wrong"), .init("id", row.id),
            .optional("data-typed", typed.map { _ in "yes" }),
            of: [control.hasOwnTitle ? Markup([]) : title, layer ?? Markup([])]
                + (isEditable ? [shown(row)] : []) + [control.markup, notes(row)])
    }

    /// The text that the page shows, by which an edit is told from a field that nobody has touched.
    private func shown(_ row: PageView.Row) -> Markup {
        .single(
            "input", .init("type", "hidden"), .init("name", SettingsInput.shown + (row.key ?? "")),
            .init("value", row.input))
    }

    private func notes(_ row: PageView.Row) -> Markup {
        var notes = [row.subtitle, row.summary].compactMap(\.self).map { Markup.tag("p", foreign: $0) }
        if let lock = row.lock, !lock.text.isEmpty { notes.append(.tag("p", .init("class", "lock"), text: lock.text)) }
        if let author = row.author { notes.append(.tag("p", foreign: "Edited by \(author).")) }
        if !row.shownDefault.isEmpty, row.shownDefault != row.shown {
            notes.append(.tag("p", foreign: "Default: \(row.shownDefault)"))
        }
        if row.needsRestart { notes.append(.tag("p", text: "Takes effect when the app starts again.")) }
        if row.isSecret, row.isEditable {
            notes.append(.tag("p", text: "A secret: it can be written and is never shown. Empty leaves it as it is."))
        }
        if let error = row.error { notes.append(.tag("p", .init("class", "mistake"), foreign: error)) }
        if let key = row.key, row.isEdited {
            notes.append(resetButton("reset", key, [Markup("Reset "), .tag("bdi", text: row.name)]))
        }
        return .tag("div", .init("id", "\(row.id)-notes"), .init("class", "notes"), of: notes)
    }

    // MARK: resets

    /// A button of the other form, wherever it stands.
    private func resetButton(_ name: StaticString, _ value: String, _ title: [Markup]) -> Markup {
        .tag(
            "button", .init("type", "submit"), .init("form", "resets"), .init("name", "\(name)"), .init("value", value),
            of: title)
    }

    private var resets: Markup {
        .tag(
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
                        resetButton("reset-page", "yes", [Markup("Reset this page")]),
                        resetButton("reset-all", "yes", [Markup("Reset all settings of the app")]),
                    ]),
            ])
    }
}

extension PageView.Row {
    /// Identifiers of the page's own: keys may have any character.
    var id: String { "r-\(place)" }
    var field: String { "f-\(place)" }
    /// The title, which some rows do not have.
    var name: String { title.isEmpty ? key ?? "" : title }
}
