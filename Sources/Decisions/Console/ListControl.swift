// List of an app's page as HTML: each item with the way to its draft, and buttons that move and delete it.

import TandemPages

/// The items of a list that can be edited: each with the way to its draft, and buttons to move and delete it.
struct ListControl {
    let list: EditableList
    let instance: AppInstance
    let cookie: String

    var markup: Markup {
        let items = list.list.items
        let rows = items.enumerated().map { index, item in
            let name = item.title.isEmpty ? "Item \(index + 1)" : item.title
            let title =
                list.list.isItemEditable
                ? Markup.tag("a", .link("href", .item(self.instance, list: list.key, index: index)), foreign: name)
                : .tag("bdi", text: name)
            return Markup.tag(
                "li",
                of: [title] + (index > 0 ? [button(.up, index, "Move \(name) up", "\u{2191}")] : [])
                    + (index + 1 < items.count ? [button(.down, index, "Move \(name) down", "\u{2193}")] : [])
                    + (list.list.isDeletable ? [button(.remove, index, "Delete \(name)", "Delete")] : []))
        }
        return .tag(
            "div", .init("class", "list"), .init("role", "group"), .init("aria-labelledby", "\(list.row.id)-title"),
            of: [items.isEmpty ? .tag("p", text: "No items.") : .tag("ol", of: rows)]
                + (list.list.add == nil ? [] : [adding]))
    }

    private var adding: Markup {
        .tag(
            "a", .link("href", .item(instance, list: list.key, index: nil)),
            foreign: list.list.addTitle.flatMap { $0.isEmpty ? nil : $0 } ?? "Add")
    }

    private func button(_ action: ItemChange.Action, _ index: Int, _ label: String, _ sign: String) -> Markup {
        let value = ItemChange.value(index, of: list, cookie: cookie)
        return .ofOtherForm(action.rawValue, value, label: label, [Markup(sign)])
    }
}
