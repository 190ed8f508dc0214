// Settings of an app as the daemon answers for them: its pages, its schema, and the values in force. The schema alone
// judges what a browser sends, by way of the pages' input.

import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings

/// All settings of an app.
struct AppSettings {
    let place: AppPlace
    let schema: SettingsSchema
    private let tree: PageTree
    private let values: [String: PageValue]

    /// Reads the answers to `settings-schema` and `settings-get`.
    init(_ place: AppPlace, schema: PropertyListDictionary, state: PropertyListDictionary) throws(ControlError) {
        self.place = place
        do throws(SchemaError) {
            let document = try SchemaDocument(reading: schema["schema"]?.dataValue ?? [])
            (self.schema, tree) = (document.schema, PageTree(document))
        } catch { throw .failed("the app's schema: \(error)") }
        values = PageValue.all(in: (state["settings"]?.arrayValue ?? []).compactMap(\.dictionaryValue))
    }

    /// The person at the console, as the app's device sees them.
    var author: SettingAuthor { place.secondary.map { .primary($0) } ?? .user }

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

    /// The list of a row, if the reader may edit it.
    func list(_ row: PageView.Row) -> EditableList? {
        guard case .list(let list) = row.kind, let key = row.key, row.isEditable, !row.isSecret,
            let page = tree.list(key)?.page
        else { return nil }
        return EditableList(
            key: key, row: row, list: list, items: row.value?.arrayValue ?? [], page: page.name)
    }

    /// The list of a key, if a page shows it and the reader may edit it.
    func list(_ key: String, _ languages: [String]) -> EditableList? {
        guard let page = tree.list(key)?.page, let view = view(page.name, languages) else { return nil }
        return view.rows.lazy.filter { $0.key == key }.compactMap(list).first
    }

    /// The draft of an item; nil if there is none to be made.
    func draft(of list: EditableList, at place: Int?) -> ListDraft? {
        guard place == nil ? list.list.add != nil : list.list.isItemEditable,
            let (page, group) = tree.list(list.key)
        else { return nil }
        return ListDraft(of: group, items: list.items, at: place, in: tree, on: page)
    }

    /// The page of a draft.
    func view(_ draft: ListDraft, _ languages: [String], errors: [String: String] = [:]) -> PageView {
        draft.view(in: tree, languages: languages, errors: errors)
    }

    /// The items after a change of one; nil if there is nothing to change so.
    func items(of list: EditableList, after change: ItemChange, cookie: String) -> [PropertyListValue]? {
        tree.list(list.key).flatMap { change.done(in: list, of: $0.group, cookie: cookie) }
    }

    /// The rows of all pages with a text.
    func search(_ text: String, _ languages: [String]) -> [(page: PageView, row: PageView.Row)] {
        PageView.search(text, in: tree, schema, request(languages, [:]))
    }

    /// The address of one of its pages; the first one has no name there.
    func route(_ page: String) -> ConsoleRoute { .settings(place, page: page == PageTree.root ? nil : page) }

    private func request(_ languages: [String], _ errors: [String: String]) -> PageRequest {
        PageRequest(languages: languages, editor: author.access, values: values, errors: errors)
    }
}

/// A form of settings that came back.
struct SettingsInput {
    /// The prefixes of a value's field, and of the text that the page showed.
    static let (value, shown) = ("v.", "b.")

    private let fields: FormFields

    init(_ fields: FormFields) { self.fields = fields }

    /// The values, judged as a whole.
    func values(on view: PageView, of settings: AppSettings) -> PageInput {
        PageInput(
            fields.values(after: Self.value), shown: fields.values(after: Self.shown), of: view, settings.schema,
            by: settings.author)
    }

    /// The fields of a draft, and the texts that it showed.
    var draft: (values: [String: String], shown: [String: String], mark: String?) {
        (fields.values(after: Self.value), fields.values(after: Self.shown), fields[ItemMark.field])
    }

    /// The change of a list's item; nil for every other form.
    var itemChange: ItemChange? { ItemChange(fields) }

    /// The edits that the form takes back; nil for a form of values.
    func reset(on view: PageView) -> Reset? {
        if fields["reset-all"] != nil { return .all }
        if fields["reset-page"] != nil { return .keys(Self.edited(view.rows)) }
        if let group = fields["reset-group"] {
            return .keys(Self.edited(view.groups.first { $0.rows.first.map { "\($0.place)" } == group }?.rows ?? []))
        }
        return fields["reset"].map { .keys([$0]) }
    }

    private static func edited(_ rows: [PageView.Row]) -> [String] { rows.filter(\.isEdited).compactMap(\.key) }

    enum Reset {
        /// Edits of keys that the schema no longer has, too.
        case all
        case keys([String])
    }
}
