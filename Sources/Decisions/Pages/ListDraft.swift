// Draft of one item of a list: a new one, or a copy of one that is there. Nothing is stored before Done, and Cancel is
// to drop the draft. The item's page makes a schema, which judges the content.

import TandemBase
package import TandemPropertyList
package import TandemSettings

/// An item that is being made or changed.
package struct ListDraft: Sendable {
    /// The most items of a list that pages show, and that drafts add to (LIM-122).
    package static let itemLimit = 1024

    /// The index in the list; nil for a new item.
    package let index: Int?
    /// The entry of the item, or the one that adds.
    package let specifier: Specifier
    /// The values by key; a single value stands under the entry's key.
    package private(set) var content: PropertyListDictionary
    /// The properties of the item.
    package let schema: SettingsSchema
    private let hasPage: Bool
    private let page: Page

    /// A draft; nil if the list has no such item, can have no further one, or has no entry for it.
    /// - Parameters:
    ///   - index: the item to change; nil for a new one.
    ///   - host: the page with the list, whose table has the texts of an entry without a page.
    package init?(
        of group: Specifier, items: [PropertyListValue], at index: Int?, in tree: PageTree, on host: Page? = nil
    ) {
        let entry = index == nil ? group.specifier(.add) : group.specifier(.item)
        guard group.kind == .listGroup, let entry, entry.kind != nil else { return nil }
        guard index.map(items.indices.contains) ?? (items.count < Self.itemLimit) else { return nil }
        let page = entry.page.flatMap { tree[$0] }
        hasPage = page != nil
        specifier = entry
        self.index = index
        self.page =
            page
            ?? Page(
                name: host?.name ?? PageTree.root, stringsTable: host?.stringsTable, specifiers: [entry.named])
        schema = SettingsSchema(self.page.specifiers.declarations)
        let item = index.map { items[$0] }
        // A page has no field for an item that is no dictionary.
        if hasPage, let item, item.dictionaryValue == nil { return nil }
        content = hasPage ? item?.dictionaryValue ?? [:] : [:]
        if !hasPage, let item { content[entry.named.key ?? ""] = item }
        guard index == nil else { return }
        // A new item begins with the defaults of its page.
        for declaration in schema.declarations {
            content[declaration.name] = declaration.stored(declaration.initialValue)
        }
    }

    /// The page of the draft: the values are those of the content. A key that the item lacks shows its default where
    /// nil is no value of it: an item may be older than the key.
    /// - Parameters:
    ///   - hidden: the keys that the running app hides.
    ///   - errors: why input was refused, by key.
    package func view(
        in tree: PageTree, languages: [String] = [], hidden: Set<String> = [], errors: [String: String] = [:]
    ) -> PageView {
        let known = schema.declarations.filter { $0.allowsNothing || content[$0.name] != nil }
        let values = known.map { ($0.name, PageValue(value: content[$0.name], layer: "default")) }
        let request = PageRequest(
            languages: languages, values: Dictionary(values) { first, _ in first }, hidden: hidden, errors: errors,
            isOfItem: true)
        return PageView.make(tree, schema, page: page, request)
    }

    /// Reads the fields of the draft's page as a whole: with one refused field nothing changes.
    /// - Parameters:
    ///   - view: the page as it was shown.
    ///   - line: as ``PageInput`` has it, and `further`, too.
    package mutating func take(
        _ fields: [String: String], shown: [String: String] = [:], of view: PageView, line: Int? = nil,
        further: [PageInput.Further] = []
    ) -> PageInput {
        let input = PageInput(fields, shown: shown, of: view, schema, line: line, further: further)
        guard input.errors.isEmpty else { return input }
        for (key, value) in input.values { content[key] = value }
        for key in input.empty { content[key] = nil }
        return input
    }

    /// The rules that the content breaks.
    package var errors: [SettingError] {
        content.compactMap { pair in
            guard let index = schema.index(of: pair.key), !ListSecrets.isMark(pair.value) else { return nil }
            guard case .failure(let error) = schema.judge(stored: pair.value, at: index) else { return nil }
            return error
        }
    }

    /// The draft after an app's check has corrected it, and the refusal for each of its fields: the corrected ones, or
    /// else those that a person typed (PAG-21). A sentence names the values that the app offers and that have no field:
    /// of other keys of the item, and of other items.
    /// - Parameters:
    ///   - items: the refused list. A replacement with another number of items corrects no draft.
    ///   - typed: the keys of the fields that a person has typed.
    package func corrected(
        by refusal: PageRefusal, of items: [PropertyListValue], typed: Set<String>
    ) -> (draft: ListDraft, fields: [PageRefusal], further: String?) {
        let place = index ?? items.count - 1
        let list = refusal.replacement?.arrayValue ?? []
        var (draft, further) = (self, [String]())
        if list.count == items.count, list.indices.contains(place) {
            if !hasPage {
                draft.content = [specifier.named.key ?? "": list[place]]
            } else if let item = list[place].dictionaryValue {
                draft.content = item
                let others = item.compactMap { $0.value != content[$0.key] && schema[$0.key] == nil ? $0.key : nil }
                further = others.map(OutsideText.quoted)
            }
            further += items.indices.filter { $0 != place && list[$0] != items[$0] }.map { "item \($0 + 1)" }
        }
        let changed = schema.declarations.map(\.name).filter { draft.content[$0] != content[$0] }
        let keys = changed.isEmpty ? typed.sorted() : changed
        let fields = keys.map { key in
            PageRefusal(
                key: key, text: refusal.text, shakes: refusal.shakes,
                replacement: changed.isEmpty ? nil : draft.content[key])
        }
        let names = further.joined(separator: ", ")
        let sentence = "The app also wants other values, which have no field here: \(names)."
        return (draft, fields, names.isEmpty ? nil : sentence)
    }

    /// The list with the item; nil if there is nothing to add, or the content is not valid.
    package func done(_ items: [PropertyListValue]) -> [PropertyListValue]? {
        let item: PropertyListValue? = hasPage ? .dictionary(content) : content[specifier.named.key ?? ""]
        guard let item, errors.isEmpty, index.map(items.indices.contains) ?? (items.count < Self.itemLimit) else {
            return nil
        }
        guard let index else { return items + [item] }
        var items = items
        items[index] = item
        return items
    }
}

extension Specifier {
    /// Whether a draft of the entry has something to edit: a page of the tree, or a value.
    func hasDraft(in tree: PageTree) -> Bool {
        if let page { return kind == .childPane && tree[page] != nil }
        return kind?.isEditable == true && kind != .custom
    }

    /// The entry with a key: one that adds a single value needs none of its own.
    fileprivate var named: Specifier {
        guard key == nil else { return self }
        var entries = entries
        entries[SpecifierKey.key.rawValue] = "value"
        return Specifier(entries)
    }
}

extension [Specifier] {
    /// The declarations of all keys, each once: the first entry that has one counts.
    package var declarations: [SettingDeclaration] {
        var known: Set<[UInt8]> = []
        return compactMap { $0.declaration() }.filter { known.insert([UInt8]($0.name.utf8)).inserted }
    }
}
