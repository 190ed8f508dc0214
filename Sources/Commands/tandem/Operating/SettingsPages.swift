// `settings pages`: an app's pages as text, from the same view as a browser's (Protocol/Pages.md). It shows; edits are
// those of `settings set`, by the keys that stand here.

import TandemControl
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire

extension Subcommand {
    static let settingsPages = Subcommand(
        path: ["settings", "pages"], summary: "show an app's settings pages as a person sees them",
        options: [
            .device, .secondary, .application.required,
            .valued("page", "NAME", "this page alone"),
            .valued("language", "TAG", "the language of its texts, such as de-AT, if the app has it"),
        ],
        notes: "Hidden rows and the values of secrets are never printed.",
        examples: ["settings pages --app org.example.lamp", "settings pages --app org.example.lamp --page Sound"]
    ) { arguments, console in
        let body = try arguments.settings([:])
        let schema = try arguments.ask(.settingsSchema, body)["schema"]?.dataValue ?? []
        let rows = try arguments.ask(.settingsGet, body)["settings"]?.arrayValue ?? []
        let document: SchemaDocument
        do { document = try SchemaDocument(reading: schema) } catch {
            throw CommandFailure.refused("the app's schema: \(error)")
        }
        let tree = PageTree(document)
        let request = PageRequest(
            languages: arguments.value("language").map { [$0] } ?? [],
            editor: arguments.has("secondary") ? .counterpart : .user,
            values: PageValue.all(in: rows.compactMap(\.dictionaryValue)))
        let names = tree.panes.map(\.name).filter { name in arguments.value("page").map { $0 == name } ?? true }
        guard !names.isEmpty else { throw CommandFailure.refused("the app has no such page") }
        for view in names.compactMap({ PageView.make(tree, document.schema, page: $0, request) }) {
            console.print(Printable.text(view.title ?? view.name))
            let text = PageText(tree: tree, languages: request.languages)
            for line in view.groups.flatMap({ text.table($0).lines }) { console.print("  \(line)") }
        }
    }
}

/// A page's groups and rows as text.
private struct PageText {
    let tree: PageTree
    let languages: [String]

    func table(_ group: PageView.Group) -> Table {
        var table = Table(Printable.text(group.title ?? "-"), ["title", "value", "key", "state"])
        for row in group.rows {
            table.add([row.title, Self.value(row), row.key ?? "", Self.state(row)].map { Printable.text($0) })
            for line in items(of: row) { table.add(line.map { Printable.text($0) }) }
        }
        return table
    }

    /// A line for each item of a list, with what its page would show.
    private func items(of row: PageView.Row) -> [[String]] {
        guard case .list(let list) = row.kind, let key = row.key, let (page, group) = tree.list(key) else { return [] }
        let values = row.value?.arrayValue ?? []
        return list.items.enumerated().map { place, item in
            let draft = ListDraft(of: group, items: values, at: place, in: tree, on: page)
            let rows = item.page == nil ? [] : draft?.view(in: tree, languages: languages).rows ?? []
            let shown = rows.filter { $0.key != nil }.map { entry in
                "\(entry.title.isEmpty ? entry.key ?? "" : entry.title): \(Self.value(entry))"
            }
            return ["  \(place + 1). \(item.title)", shown.joined(separator: ", "), "", ""]
        }
    }

    private static func value(_ row: PageView.Row) -> String {
        if row.isSecret { return SettingError.redacted }
        return switch row.kind {
        case .page(let name): "page \(name)"
        case .link(let url): url
        case .mail(let mail): mail.to.joined(separator: ", ")
        case .list(let list): list.items.count == 1 ? "1 item" : "\(list.items.count) items"
        case .unsupported(let reason): reason
        default: row.shown
        }
    }

    /// Why the row is as it is: rule, lock, edit.
    private static func state(_ row: PageView.Row) -> String {
        let edit = row.isEdited ? row.author.map { "Edited by \($0)." } ?? "Edited." : nil
        return [row.error, row.lock?.text, edit].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
    }
}
