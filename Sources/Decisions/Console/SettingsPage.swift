// One page of an app's settings as HTML: a form for the values and one for resets. It adds nothing to the view but
// HTML, and is whole without a script: labels, groups, and each mistake beside its field.

import TandemPages

struct SettingsPage {
    let settings: AppSettings
    let view: PageView
    /// Of its texts.
    let languages: [String]
    /// The browser's, for the token of the form.
    let cookie: String
    /// The input of a form that was refused.
    private(set) var refused: PageInput?
    /// The refusal of the form; nil for a page that answers none.
    private(set) var refusal: FormRefusal?
    /// The outcome of a form, for the page after it.
    private(set) var outcome: FormOutcome?

    private var route: ConsoleRoute { settings.instance.route(view.name) }
    private var isFirst: Bool { route == .settings(settings.instance, page: nil) }
    private var name: AppName { settings.name(languages) }
    /// The languages of the titles of pages, by these titles.
    private var titles: [String: String] { settings.titleLanguages(languages) }
    private var title: String? { isFirst ? nil : view.title ?? view.name }

    var answer: WebAnswer { Console.page(name.documentTitle(of: title), refusal, cookie, content) }

    private var content: [Markup] {
        let fields = PageFields(
            view, settings.languages(of: view.name, languages), of: settings.instance, refused: refused)
        let save = Markup.tag(
            "p", .init("class", "save"), of: [.tag("button", .init("type", "submit"), text: "Save")])
        return top("") + [
            news,
            .form(
                to: route, cookie: cookie, .init("id", "values"),
                .events(of: settings.instance, mark: settings.mark), .init("autocomplete", "off"),
                of: view.groups.map { group($0, fields) } + (fields.indices.isEmpty ? [] : [save])),
            resets,
        ]
    }

    /// The page with the rows that a search has found in the place of the form.
    func results(for text: String, _ found: [(page: PageView, row: PageView.Row)]) -> WebAnswer {
        let names = Set(found.map(\.page.name))
        let texts = Dictionary(uniqueKeysWithValues: names.map { ($0, settings.languages(of: $0, languages)) })
        let links = found.map { page, row in
            Markup.tag(
                "li",
                of: [
                    .tag(
                        "a", .link("href", settings.instance.route(page.name), fragment: row.id),
                        of: [.spoken(row.name, texts[page.name] ?? [:])]),
                    page.title.map { Markup([Markup(" "), .name($0, titles)]) } ?? Markup([]),
                ])
        }
        let count = found.isEmpty ? "Nothing was found." : "\(found.count) found."
        let content =
            top(text) + [way(to: nil), .tag("p", .init("role", "status"), text: count), .tag("ul", of: links)]
        return Console.page(200, "Search: \(text), \(name.documentTitle(of: nil))", cookie, content)
    }

    /// - Parameter sought: the text of a search.
    private func top(_ sought: String) -> [Markup] {
        let search = Markup.tag(
            "form", .init("role", "search"), .link("action", .settings(settings.instance, page: nil)),
            of: [
                .single(
                    "input", .init("type", "search"), .init("name", "q"), .init("aria-label", "Search"),
                    .init("value", sought)),
                .tag("button", .init("type", "submit"), text: "Search"),
            ])
        // No event says that an app answers again.
        let mayAnswer = Markup.Attribute.flag("data-passing", if: settings.running.mayAnswerLater)
        let note = settings.running.note.map { Markup.tag("p", .init("id", "running"), mayAnswer, text: $0) }
        let known = [settings.facts?.markup, note].compactMap(\.self)
        return [
            name.top(of: title.map { .inLanguage($0, titles) }, titles), .tag("div", .init("id", "facts"), of: known),
            isFirst ? Markup([]) : way(to: view.name), search,
        ]
    }

    /// The pages on the way to a page, so that one from the depth leads back to each; nil for what is on none.
    private func way(to page: String?) -> Markup {
        let pages = page.map { settings.way(to: $0, languages) } ?? []
        let links = pages.dropFirst().map { name, title in
            Markup.tag(
                "li", of: [.tag("a", .link("href", settings.instance.route(name)), of: [.spoken(title, titles)])])
        }
        let first = Markup.tag(
            "a", .link("href", .settings(settings.instance, page: nil)), of: [.spoken(name.short, titles)])
        return .tag(
            "nav", .init("aria-label", "Pages of the app"), of: [.tag("ol", of: [.tag("li", of: [first])] + links)])
    }

    private var news: Markup {
        if let refusal { return .mistakes(refused, refusal, on: view) }
        if let outcome, !outcome.isDone { return .alert(outcome.text) }
        guard let outcome else {
            return .tag("p", .init("id", "news"), .init("role", "status"), .init("aria-live", "polite"), text: "")
        }
        // It has the focus, so that a screen reader reads it: the browser says nothing of a page that was loaded again.
        return .tag(
            "p", .init("id", "news"), .init("role", "status"), .init("aria-live", "polite"), .init("tabindex", "-1"),
            .flag("autofocus"), foreign: outcome.text)
    }

    // MARK: groups and rows

    private func group(_ group: PageView.Group, _ fields: PageFields) -> Markup {
        let rows = group.rows.map { row($0, fields) }
        guard group.rows.count(where: \.isEdited) > 1 else { return .group(group, rows, fields.languages) }
        let title: [Markup] =
            group.title.map { [Markup("Reset all of "), .spoken($0, fields.languages)] } ?? [Markup("Reset these")]
        let lost = [Markup("Removes every edit of this section: \(ResetButton.next)")]
        let button = Markup.ofOtherForm(
            ResetButton.group.rawValue, FieldKey.encode(list: group.rows.compactMap(\.key)), title)
        return .group(group, rows, fields.languages, .question(title, lost, button))
    }

    private func row(_ row: PageView.Row, _ fields: PageFields) -> SettingRow {
        let list = settings.list(row).map {
            ListControl(list: $0, instance: settings.instance, cookie: cookie, languages: fields.languages)
        }
        return SettingRow(row: row, fields: fields, form: .page(list))
    }

    // MARK: resets

    private var resets: Markup {
        .form(
            to: route, cookie: cookie, .init("id", "resets"),
            of: [
                reset(.page, "Reset this page", "Removes every edit of a setting on this page"),
                reset(
                    .all, "Reset all settings of the app",
                    settings.instance.secondary == nil
                        ? "Removes every edit of the app, also of settings that no page shows"
                        : "Removes every edit of the settings that the app opens to this device"),
            ])
    }

    private func reset(_ button: ResetButton, _ title: String, _ lost: String) -> Markup {
        let signed = "A signed value stays until a newer signed configuration changes it."
        return .question(
            [Markup(title)], [Markup("\(lost): \(ResetButton.next) \(signed)")],
            .ofOtherForm(button.rawValue, "yes", [Markup(title)]))
    }
}
