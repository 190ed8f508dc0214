// Draft of one item of a list as HTML: a form with Done, and Cancel as a link, which stores nothing. The draft is the
// form: nothing of it is kept by the console.

import TandemPages

struct ItemPage {
    let list: EditableList
    let view: PageView
    let instance: AppInstance
    let name: AppName
    /// The languages of the page's texts, by these texts.
    let languages: [String: String]
    /// Those of the page with the list, and of the titles of pages.
    let listLanguages: [String: String]
    let titles: [String: String]
    /// The item to change; nil for a new one.
    let index: Int?
    /// The digest of the item as it was shown, and for a new one of all items.
    let digest: String
    let cookie: String
    /// The input of a form that was refused, and why.
    let refused: PageInput?
    let refusal: FormRefusal?

    private var title: String { list.row.name + number }
    private var number: String { ", " + (index.map { "item \($0 + 1)" } ?? "new item") }
    private var heading: Markup { Markup([.inLanguage(list.row.name, listLanguages), Markup(number)]) }

    var answer: WebAnswer { Console.page(name.documentTitle(of: title), refusal, cookie, content) }

    private var content: [Markup] {
        let route = ConsoleRoute.item(instance, list: list.key, index: index)
        let fields = PageFields(view, languages, of: instance, refused: refused)
        return [
            name.top(of: heading, titles), refusal.map { Markup.mistakes(refused, $0, on: view) } ?? Markup([]),
            .form(
                to: route, cookie: cookie, .init("id", "draft"), .init("autocomplete", "off"),
                of: [.hidden(ItemDigest.field, digest)] + view.groups.map { group($0, fields) } + [buttons]),
        ]
    }

    private var buttons: Markup {
        .tag(
            "p",
            of: [
                .tag("button", .init("type", "submit"), text: "Done"), Markup(" "),
                .tag("a", .link("href", instance.route(list.page.name), fragment: list.row.id), text: "Cancel"),
            ])
    }

    private func group(_ group: PageView.Group, _ fields: PageFields) -> Markup {
        .group(group, group.rows.map { SettingRow(row: $0, fields: fields, form: .draft) }, fields.languages)
    }
}
