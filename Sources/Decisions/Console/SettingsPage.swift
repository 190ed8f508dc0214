// One page of an app's settings as HTML: a form for the values and one for resets. It adds nothing to the view but
// HTML, and is whole without a script: labels, groups, and each mistake beside its field.

import TandemBase
import TandemPages

/// A page to render.
struct SettingsPage {
    let settings: AppSettings
    let view: PageView
    /// Of its texts.
    let languages: [String]
    /// The browser's, for the token of the form.
    let cookie: String
    /// Of an app of the daemon's own device.
    var facts: AppFacts?
    /// The input of a form that was refused.
    var refused: PageInput?
    /// The daemon's refusal of the whole form.
    var refusal: String?
    /// The app's answer to a press, for the page after it.
    var outcome: PressOutcome?

    private var route: ConsoleRoute { settings.instance.route(view.name) }
    private var isFirst: Bool { route == .settings(settings.instance, page: nil) }
    private var token: Markup { FormToken.hidden(for: route, cookie: cookie) }

    /// The content of the page.
    var content: [Markup] {
        let indices = view.fieldIndices
        return top + [
            news,
            .tag(
                "form", .init("method", "post"), .link("action", route), .init("id", "values"),
                .link("data-events", .events(settings.instance)), .init("autocomplete", "off"),
                of: [token] + view.groups.map { group($0, indices) }
                    + [.tag("p", of: indices.isEmpty ? [] : [.tag("button", .init("type", "submit"), text: "Save")])]),
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
                        "a", .link("href", settings.instance.route(page.name), fragment: row.id), foreign: row.name),
                    .tag("span", foreign: page.title.map { " \($0)" } ?? ""),
                ])
        }
        return top + [
            way(to: nil),
            .tag("p", .init("role", "status"), text: found.isEmpty ? "Nothing was found." : "\(found.count) found."),
            .tag("ul", of: links),
        ]
    }

    private var top: [Markup] {
        let title = isFirst ? settings.instance.app.description : "\(settings.instance.app): \(view.title ?? view.name)"
        let search = Markup.tag(
            "form", .init("role", "search"), .link("action", .settings(settings.instance, page: nil)),
            of: [
                .single("input", .init("type", "search"), .init("name", "q"), .init("aria-label", "Search")),
                .tag("button", .init("type", "submit"), text: "Search"),
            ])
        let note = settings.running.note.map { Markup.tag("p", .init("id", "running"), text: $0) }
        return [
            .tag("h1", foreign: title), facts?.markup ?? Markup([]), note ?? Markup([]),
            isFirst ? Markup([]) : way(to: view.name), search,
        ]
    }

    /// The pages on the way to a page, so that one from the depth leads back to each; nil for what is on none.
    private func way(to page: String?) -> Markup {
        let pages = page.map { settings.way(to: $0, languages) } ?? []
        let links = pages.dropFirst().map { name, title in
            Markup.tag("li", of: [.tag("a", .link("href", settings.instance.route(name)), foreign: title)])
        }
        let first = Markup.tag("a", .link("href", .settings(settings.instance, page: nil)), text: "First page")
        return .tag(
            "nav", .init("aria-label", "Pages of the app"), of: [.tag("ol", of: [.tag("li", of: [first])] + links)])
    }

    private var news: Markup {
        if refused != nil || refusal != nil { return .mistakes(refused, refusal, on: view) }
        if let outcome, !outcome.isDone { return .alert(outcome.text) }
        return .tag(
            "p", .init("id", "news"), .init("role", "status"), .init("aria-live", "polite"),
            of: outcome.map { [.tag("bdi", text: $0.text)] } ?? [])
    }

    // MARK: groups and rows

    private func group(_ group: PageView.Group, _ indices: Set<Int>) -> Markup {
        let rows = group.rows.map { row($0, isEditable: indices.contains($0.index)) }
        guard let first = group.rows.first, group.rows.count(where: \.isEdited) > 1 else {
            return .group(group, rows)
        }
        return .group(
            group, rows, .ofOtherForm(ResetButton.group.rawValue, "\(first.index)", [Markup("Reset these")]))
    }

    private func row(_ row: PageView.Row, isEditable: Bool) -> SettingRow {
        let list = settings.list(row).map { ListControl(list: $0, instance: settings.instance, cookie: cookie) }
        return SettingRow(
            row: row, isEditable: isEditable, typed: isEditable ? row.key.flatMap { refused?.typed[$0] } : nil,
            instance: settings.instance, images: view.images, form: .page(list),
            shakes: row.key.map { refused?.shaking.contains($0) == true } ?? false)
    }

    // MARK: resets

    private var resets: Markup {
        .tag(
            "form", .init("method", "post"), .link("action", route), .init("id", "resets"),
            of: [
                token,
                .tag(
                    "details",
                    of: [
                        .tag("summary", text: "Reset"),
                        .tag(
                            "p",
                            text:
                                "Resetting removes the edits: the values that the app has stored, or else the defaults, "
                                + "apply again. A signed value stays until a newer signed configuration changes it."),
                        .ofOtherForm(ResetButton.page.rawValue, "yes", [Markup("Reset this page")]),
                        .ofOtherForm(ResetButton.all.rawValue, "yes", [Markup("Reset all settings of the app")]),
                    ]),
            ])
    }
}
