// `settings pages`: an app's pages as text, from the same view as a browser's (Protocol/Pages.md). It only shows;
// `settings edit` edits the same pages, and `settings set` takes the keys that stand here.

import TandemControl
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire

extension Subcommand {
    static let settingsPages = Subcommand(
        path: ["settings", "pages"], summary: "show an app's settings pages as a person sees them",
        options: .ofPages("this page alone"),
        notes: """
            'layer' is where the value comes from: 'signed' configuration, a 'user's edit, the app's 'default', or the
            store, environment, arguments and files of an app that runs. Dates and times are in UTC. A text that is
            empty or has several lines stands as JSON. Hidden rows and the values of secrets are never printed.
            """,
        examples: ["settings pages --app org.example.lamp", "settings pages --app org.example.lamp --page Sound"]
    ) { arguments, console in
        let path = try arguments.settingsPath()
        let document = try arguments.schema(at: path)
        let tree = PageTree(document)
        var request = arguments.pageRequest
        request.values = try arguments.pageValues(at: path)
        let running = try arguments.runningState(at: path)
        request.take(running, document.schema)
        let pages = tree.opened.map(\.name)
        let names = pages.filter { name in arguments.value("page").map { $0 == name } ?? true }
        guard !names.isEmpty else {
            guard let page = arguments.value("page"), !pages.isEmpty else {
                throw CommandFailure.refused("the app has no pages")
            }
            let known = Printable.text(pages.joined(separator: ", "))
            throw CommandFailure.refused("the app has no page '\(page)'; its pages are \(known)")
        }
        let width = Console.columns
        for line in running.note.map({ TextColumns.wrapped($0, within: width) }) ?? [] { console.print(line) }
        let lines = PageLines(tree: tree, request: request)
        for view in names.compactMap({ PageView.make(tree, document.schema, page: $0, request) }) {
            console.print(Printable.text(view.title ?? view.name))
            for line in view.groups.flatMap({ lines.of($0, width: width - 2) }) { console.print("  \(line)") }
        }
    }
}

extension [Option] {
    /// The options of what shows an app's pages.
    /// - Parameter page: what naming a page means there.
    static func ofPages(_ page: String) -> [Option] {
        [
            .device, .secondary, .application.required, .valued("page", "NAME", page),
            .valued("language", "TAG", "the language of its texts, such as de-AT, if the app has it"),
        ]
    }
}

extension Arguments {
    /// The schema of the app that the arguments name.
    func schema(at path: String) throws -> SchemaDocument {
        let bytes = try ControlClient.answer(at: path, .settingsSchema, try settings([:]))["schema"]?.dataValue ?? []
        do { return try SchemaDocument(reading: bytes) } catch {
            throw CommandFailure.refused("the app's schema: \(error)")
        }
    }

    /// Its values in force, as the daemon knows them.
    func pageValues(at path: String) throws -> [String: PageValue] {
        let rows = try ControlClient.answer(at: path, .settingsGet, try settings([:]))["settings"]?.arrayValue ?? []
        return PageValue.all(in: rows.compactMap(\.dictionaryValue))
    }

    /// The running app behind its pages, as far as the daemon can ask it.
    func runningState(at path: String) throws -> RunningState {
        do {
            return RunningState(try ControlClient.answer(at: path, .settingsPage, try settings([:])))
        } catch ControlError.refused(let name, _) { return RunningState(refusedAs: name) }
    }

    var pageRequest: PageRequest {
        PageRequest(
            languages: value("language").map { [$0] } ?? [], editor: has("secondary") ? .counterpart : .user)
    }
}

/// A page's groups and rows as text.
private struct PageLines {
    let tree: PageTree
    let request: PageRequest

    func of(_ group: PageView.Group, width: Int) -> [String] {
        var table = Table(Printable.text(group.title ?? "-"), ["title", "value", "key", "layer"])
        for row in group.rows {
            let cells = [row.title, row.text, row.key ?? row.press ?? "", row.layer ?? ""]
            table.add(cells.map { Printable.text($0) }, notes: row.notes)
            for line in items(of: row) { table.add(line.map { Printable.text($0) }) }
        }
        return group.lines(of: table, width: width, whole: 2)
    }

    /// A line for each item of a list, with what its page would show.
    private func items(of row: PageView.Row) -> [[String]] {
        guard case .list(let list) = row.kind, let key = row.key, let (page, group) = tree.list(key) else { return [] }
        let values = row.value?.arrayValue ?? []
        return list.items.enumerated().map { place, item in
            let draft = ListDraft(of: group, items: values, at: place, in: tree, on: page)
            let view = draft?.view(in: tree, languages: request.languages, hidden: request.hidden)
            let rows = item.page == nil ? [] : view?.rows ?? []
            let shown = rows.filter { $0.key != nil }.map { "\($0.name): \($0.text)" }
            return ["  \(place + 1). \(item.title)", shown.joined(separator: ", "), "", ""]
        }
    }
}

extension PageView.Group {
    /// The table of its rows with its footer; of a group without rows the texts alone.
    func lines(of table: Table, width: Int, whole: Int? = nil, notesBelow column: Int = 0) -> [String] {
        let footer = Printable.lines(footer ?? "").flatMap { TextColumns.wrapped($0, within: width - 2) }
        let rows = table.lines(width: width, whole: whole, notesBelow: column)
        return (rows.isEmpty && !footer.isEmpty ? [table.title] : rows) + footer.map { "  \($0)" }
    }
}

extension PageView.Row {
    /// Its value for people.
    var text: String {
        if isSecret { return SettingError.redacted }
        return switch kind {
        case .page(let name): "page \(name)"
        case .custom(let name?): shown.isEmpty ? "page \(name)" : line
        case .slider(let slider): "\(shown) (\(slider.range))"
        case .link(let url): url
        case .mail(let mail): mail.to.joined(separator: ", ")
        case .list(let list): list.items.count == 1 ? "1 item" : "\(list.items.count) items"
        case .unsupported(let reason): reason
        default: line
        }
    }

    /// Why it is as it is: rule, lock, edit; nil for a row about which there is nothing to say.
    var state: String? {
        let all = [error, lockText, edit, press.map { _ in "Can be pressed." }, restartNote].compactMap(\.self)
        let state = all.filter { !$0.isEmpty }.joined(separator: " ")
        return state.isEmpty ? nil : state
    }

    /// The lines below it, each safe to print: its state, its default and the app's own texts about it.
    var notes: [String] {
        let texts = [state, defaultNote(onOneLine: true), rangeNote, subtitle, footer, summary]
        return texts.flatMap { Printable.lines($0 ?? "") }
    }
}
