// List whose items a reader may edit: the rules of every change, the same at the console and on the command line. A
// change makes the whole list (PAG-20); renderers say which item is meant, and store the result.

package import TandemPropertyList
package import TandemSettings

/// A list that the reader of a page may edit.
package struct EditableList: Sendable {
    package let key: String
    package let row: PageView.Row
    package let list: PageView.List
    /// The page with it, which has its texts.
    package let page: Page
    private let group: Specifier
    private let tree: PageTree

    package enum Change: Sendable, CaseIterable {
        case remove, up, down
    }

    /// Why a draft without a mistake cannot end: there is no item to be stored.
    package static var noItem: String { "An item needs a value." }

    /// The list of a row; nil if it has none, or its reader cannot edit it.
    package init?(_ row: PageView.Row, in tree: PageTree) {
        guard case .list(let list) = row.kind, let key = row.key, row.isEditable, !row.isSecret,
            let (page, group) = tree.list(key)
        else { return nil }
        (self.key, self.row, self.list, self.page, self.group, self.tree) = (key, row, list, page, group, tree)
    }

    /// The list of a key; nil if no page shows it, or its reader cannot edit it.
    package init?(_ key: String, in tree: PageTree, _ schema: SettingsSchema, _ request: PageRequest) {
        guard let page = tree.list(key)?.page else { return nil }
        let rows = PageView.make(tree, schema, page: page, request).rows
        let found = rows.lazy.filter { $0.key == key }.compactMap { EditableList($0, in: tree) }.first
        guard let found else { return nil }
        self = found
    }

    /// All items, also those that no page shows.
    package var items: [PropertyListValue] { row.value?.arrayValue ?? [] }

    /// The draft of an item; nil if there is none to be made.
    /// - Parameter index: the item to change; nil for a new one.
    package func draft(at index: Int?) -> ListDraft? {
        guard index == nil ? list.add != nil : list.isItemEditable else { return nil }
        return ListDraft(of: group, items: items, at: index, in: tree, on: page)
    }

    /// The edit that this list was read from, for the `settings-set` that stores new items (CTL-40): the daemon refuses
    /// them if somebody has edited the list meanwhile.
    package var tags: PropertyListDictionary { [key: .data(row.tag)] }

    /// The items after Done of a draft; nil if it is not valid, or makes no item.
    package func done(_ draft: ListDraft) -> [PropertyListValue]? { draft.done(items) }

    /// The items after a change of one; nil if there is none, it has no such place, or none may be removed.
    package func items(after change: Change, of index: Int) -> [PropertyListValue]? {
        switch change {
        case .remove: removing(index)
        case .up: moving(index, to: index - 1)
        case .down: moving(index, to: index + 1)
        }
    }

    private func removing(_ index: Int) -> [PropertyListValue]? {
        guard list.isDeletable, items.indices.contains(index) else { return nil }
        var items = items
        items.remove(at: index)
        return items
    }

    private func moving(_ index: Int, to target: Int) -> [PropertyListValue]? {
        guard items.indices.contains(index), items.indices.contains(target) else { return nil }
        var items = items
        items.insert(items.remove(at: index), at: target)
        return items
    }
}

extension PageTree {
    /// The first list of a key on the pages that a reader gets to, with its page.
    package func list(_ key: String) -> (page: Page, group: Specifier)? {
        for page in opened {
            let group = page.specifiers.first {
                $0.kind == .listGroup && $0.key.map { $0.utf8.elementsEqual(key.utf8) } == true
            }
            if let group { return (page, group) }
        }
        return nil
    }
}
