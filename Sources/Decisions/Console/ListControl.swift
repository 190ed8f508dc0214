// List of an app's page as HTML: each item with the way to its draft, and buttons that move and delete it.

import TandemPages

/// The items of a list that can be edited: each with the way to its draft, and buttons to move and delete it.
struct ListControl {
    let list: EditableList
    let instance: AppInstance
    let cookie: String
    /// The languages of the page's texts, by these texts.
    let languages: [String: String]

    var markup: Markup {
        let items = list.list.items
        let rows = items.indices.map(row)
        return .tag(
            "div", .init("class", "list"), .init("role", "group"), .init("aria-labelledby", "\(list.row.id)-title"),
            of: [items.isEmpty ? .tag("p", text: "No items.") : .tag("ol", of: rows)]
                + (list.list.add == nil ? [] : [adding]))
    }

    private func row(_ index: Int) -> Markup {
        let item = list.list.items[index]
        let isLast = index + 1 == list.list.items.count
        let name = item.title.isEmpty ? "Item \(index + 1)" : item.title
        // An item's own value has no language.
        let title = Markup.spoken(name, item.isTitleOfPage ? languages : [:])
        var parts = [title]
        if list.list.isItemEditable {
            parts = [.tag("a", .link("href", .item(instance, list: list.key, index: index)), of: [title])]
        }
        if index > 0 { parts.append(button(.up, index, "Move \(name) up", [Markup("\u{2191}")])) }
        if !isLast { parts.append(button(.down, index, "Move \(name) down", [Markup("\u{2193}")])) }
        if list.list.isDeletable { parts.append(deletion(index, name, title)) }
        return .tag("li", of: parts)
    }

    private var adding: Markup {
        .tag(
            "a", .link("href", .item(instance, list: list.key, index: nil)),
            of: [.spoken(list.list.addTitle.flatMap { $0.isEmpty ? nil : $0 } ?? "Add", languages)])
    }

    private func deletion(_ index: Int, _ name: String, _ item: Markup) -> Markup {
        let lost = [Markup("Deletes "), item, Markup(" with all of its values. This cannot be undone.")]
        let button = button(.remove, index, nil, [Markup("Delete "), item])
        return .question([Markup("Delete")], label: "Delete \(name)", lost, button)
    }

    private func button(_ change: EditableList.Change, _ index: Int, _ label: String?, _ title: [Markup]) -> Markup {
        let value = ItemChange.value(index, of: list, cookie: cookie)
        return .ofOtherForm(change.field, value, label: label, title)
    }
}
