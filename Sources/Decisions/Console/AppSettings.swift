// Settings of an app as the daemon answers for them: its pages, its schema, and the values in force. The schema alone
// judges what a browser sends, by way of the pages' input.

import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire

struct AppSettings {
    let instance: AppInstance
    let schema: SettingsSchema
    /// The running app, as far as the daemon could ask it.
    let running: RunningState
    /// The app besides its settings; nil for one of another device, and if the daemon has not told it.
    let facts: AppFacts?
    /// The name of the app's device; nil if the daemon has not told it.
    private let device: String?
    /// The mark of the state that its pages show.
    let mark: String
    private let tree: PageTree
    private var values: [String: PageValue]

    /// Reads the answers to `settings-schema`, `settings-get`, `settings-page` and `status`.
    init(_ instance: AppInstance, _ replies: [ConsoleReply]) throws(ControlError) {
        let (schema, state) = (try replies[0].get(), try replies[1].get())
        (self.instance, running) = (instance, RunningState(replies[2]))
        let status = (try? replies[3].get()).map { Fact($0) }
        facts = instance.secondary == nil ? status.map { AppFacts(instance.app, $0) } : nil
        device = status.flatMap { Self.device(of: instance, in: $0) }
        do throws(SchemaError) {
            let document = try SchemaDocument(reading: schema["schema"]?.dataValue ?? [])
            (self.schema, tree) = (document.schema, PageTree(document))
        } catch { throw .failed("the app's schema: \(error)") }
        var known = LiveState(of: instance)
        known.take(settings: replies[1])
        known.take(status: replies[3])
        // The app may have registered another schema between the two answers: the page has the rows of the former one.
        let digests = [schema, state].compactMap { $0["digest"]?.dataValue }
        mark = Set(digests).count > 1 ? "" : known.mark
        values = PageValue.all(in: (state["settings"]?.arrayValue ?? []).compactMap(\.dictionaryValue))
    }

    private static func device(of instance: AppInstance, in status: Fact) -> String? {
        var device: Fact? = status
        if let secondary = instance.secondary {
            device = status.list("pairings").first { $0.body["pairing"]?.identifierValue == secondary }
        }
        guard let name = device?.text("name"), !name.isEmpty else { return nil }
        return name
    }

    /// The settings with these values in place of those in force: what stands in the fields of a refused form.
    func replacing(_ refusals: [PageRefusal]) -> AppSettings {
        var settings = self
        settings.values.place(refusals)
        return settings
    }

    /// The app's name in the reader's language.
    func name(_ languages: [String]) -> AppName {
        let title = tree[PageTree.root].flatMap { tree.title(of: $0, languages) } ?? ""
        return AppName(
            app: instance.app, title: title.isEmpty ? nil : title, device: device, secondary: instance.secondary)
    }

    /// The access that a property must at least have for the person at the console.
    var access: SettingAccess { instance.secondary == nil ? .user : .counterpart }

    /// The row of a button that may be pressed. Of an app that has not answered for its pages the daemon knows whether
    /// it takes the press: the person has seen the button before.
    func button(_ key: String, on view: PageView) -> PageView.Row? {
        if !running.mayAnswerLater { return view.rows.first { $0.press == key } }
        let entries = tree[view.name]?.specifiers ?? []
        return view.rows.first { row in
            guard case .button = row.kind, entries.indices.contains(row.index), let own = entries[row.index].key else {
                return false
            }
            return Array(own.utf8) == Array(key.utf8)
        }
    }

    /// Whether there is an edit of a key, on whatever page, and also where its row is hidden now.
    func isEdited(_ key: String) -> Bool { values[key]?.isEdited ?? false }

    /// A page that a reader gets to; nil for any other, whose rows belong to items of lists.
    /// - Parameter errors: why input was refused, by key.
    func view(_ name: String?, _ languages: [String], errors: [String: String] = [:]) -> PageView? {
        let name = name ?? PageTree.root
        guard tree.opens(name) else { return nil }
        return PageView.make(tree, schema, page: name, request(languages, errors))
    }

    /// The pages that lead to a page, the first one first, with their titles.
    func way(to page: String, _ languages: [String]) -> [(name: String, title: String)] {
        tree.path(to: page).map { ($0.name, tree.title(of: $0, languages) ?? $0.name) }
    }

    /// The languages of a page's texts, by these texts.
    func languages(of page: String, _ languages: [String]) -> [String: String] {
        tree[page].map { tree.languages(of: $0, languages) } ?? [:]
    }

    /// The languages of the titles of pages, by these titles.
    func titleLanguages(_ languages: [String]) -> [String: String] { tree.titleLanguages(languages) }

    /// The list of a row, if the reader may edit it.
    func list(_ row: PageView.Row) -> EditableList? { EditableList(row, in: tree) }

    /// The list of a key, if a page shows it and the reader may edit it.
    func list(_ key: String, _ languages: [String]) -> EditableList? {
        EditableList(key, in: tree, schema, request(languages, [:]))
    }

    func view(_ draft: ListDraft, _ languages: [String], errors: [String: String] = [:]) -> PageView {
        draft.view(in: tree, languages: languages, hidden: request(languages, [:]).hidden, errors: errors)
    }

    func search(_ text: String, _ languages: [String]) -> [(page: PageView, row: PageView.Row)] {
        PageView.search(text, in: tree, schema, request(languages, [:]))
    }

    private func request(_ languages: [String], _ errors: [String: String]) -> PageRequest {
        var request = PageRequest(languages: languages, editor: access, values: values, errors: errors)
        request.take(running, schema)
        return request
    }
}

extension RunningState {
    /// Reads the answer to `settings-page`. A page is shown whatever became of that request.
    fileprivate init(_ reply: ConsoleReply) {
        switch reply {
        case .success(let body): self.init(body)
        case .failure(.refused(let name, _)): self.init(refusedAs: name)
        case .failure: self = .unknown
        }
    }
}

extension AppInstance {
    /// The address of one of the app's pages; the first one has no name there.
    func route(_ page: String) -> ConsoleRoute { .settings(self, page: page == PageTree.root ? nil : page) }
}
