// Lists at the console: an item is named by its place and by a mark of its content, so that a form that was shown
// before somebody else's change never touches another item. Every change stores the whole list (PAG-20).

import TandemBase
import TandemCrypto
import TandemPages
import TandemPropertyList

/// A list that the reader may edit.
struct EditableList {
    let key: String
    let row: PageView.Row
    let list: PageView.List
    /// All items, also those that no page shows.
    let items: [PropertyListValue]
    /// The name of the page with it.
    let page: String

    /// Why a change of an item is refused.
    static let gone = "The list was changed meanwhile, or its items cannot be changed so. It is shown as it is now."
}

/// The content of an item as one browser saw it.
enum ItemMark {
    static let field = "item"

    static func make(_ item: PropertyListValue, cookie: String) -> String {
        let text = "tandem-console item\u{0}\(cookie)\u{0}\(PropertyListJSON.text(item))"
        return Hexadecimal.encode(SHA256.digest(Array(text.utf8)).prefix(16))
    }

    /// The place of the item now: the old one, or another if it was moved; nil if it was changed or is gone.
    static func find(_ mark: String, near place: Int, in items: [PropertyListValue], cookie: String) -> Int? {
        let isMarked = { (place: Int) in Self.make(items[place], cookie: cookie) == mark }
        return items.indices.contains(place) && isMarked(place) ? place : items.indices.first(where: isMarked)
    }
}

/// A button beside an item.
struct ItemChange {
    enum Action: String, CaseIterable {
        case remove = "item-remove"
        case up = "item-up"
        case down = "item-down"
    }

    let action: Action
    let key: String
    private let place: Int
    private let mark: String

    /// The change that a form asks for; nil if it asks for none. One of no item changes nothing.
    init?(_ fields: FormFields) {
        guard let action = Action.allCases.first(where: { fields[$0.rawValue] != nil }) else { return nil }
        let parts = (fields[action.rawValue] ?? "").split(separator: "/", omittingEmptySubsequences: false)
        let isWhole = parts.count == 3
        self.action = action
        key = isWhole ? PercentText.decode(Array(parts[0].utf8)) ?? "" : ""
        place = isWhole ? Int(parts[1]) ?? -1 : -1
        mark = isWhole ? String(parts[2]) : ""
    }

    /// The value of the button.
    static func value(_ key: String, _ place: Int, _ item: PropertyListValue, cookie: String) -> String {
        "\(PercentText.encode(key))/\(place)/\(ItemMark.make(item, cookie: cookie))"
    }

    /// The list after the change; nil if the item is not as the page showed it, or may not be changed so.
    func done(in list: EditableList, of group: Specifier, cookie: String) -> [PropertyListValue]? {
        guard let place = ItemMark.find(mark, near: place, in: list.items, cookie: cookie) else { return nil }
        return switch action {
        case .remove: ListEdit.removing(place, from: list.items, of: group)
        case .up: ListEdit.moving(place, to: place - 1, in: list.items)
        case .down: ListEdit.moving(place, to: place + 1, in: list.items)
        }
    }
}

/// The items of a list that can be edited: each with the way to its draft, and buttons to move and delete it.
struct ListControl {
    let list: EditableList
    let place: AppPlace
    let cookie: String

    var markup: Markup {
        let items = list.list.items
        let rows = items.enumerated().map { place, item in
            let name = item.title.isEmpty ? "Item \(place + 1)" : item.title
            let title =
                list.list.isItemEditable
                ? Markup.tag("a", .link("href", .item(self.place, list: list.key, place: place)), foreign: name)
                : .tag("bdi", text: name)
            return Markup.tag(
                "li",
                of: [title] + (place > 0 ? [button(.up, place, "Move \(name) up", "\u{2191}")] : [])
                    + (place + 1 < items.count ? [button(.down, place, "Move \(name) down", "\u{2193}")] : [])
                    + (list.list.isDeletable ? [button(.remove, place, "Delete \(name)", "Delete")] : []))
        }
        return .tag(
            "div", .init("class", "list"), .init("role", "group"), .init("aria-labelledby", "\(list.row.id)-title"),
            of: [items.isEmpty ? .tag("p", text: "No items.") : .tag("ol", of: rows)]
                + (list.list.add == nil ? [] : [adding]))
    }

    private var adding: Markup {
        .tag(
            "a", .link("href", .item(place, list: list.key, place: nil)),
            foreign: list.list.addTitle.flatMap { $0.isEmpty ? nil : $0 } ?? "Add")
    }

    private func button(_ action: ItemChange.Action, _ place: Int, _ label: String, _ sign: String) -> Markup {
        let value = ItemChange.value(list.key, place, list.items[place], cookie: cookie)
        let title = [Markup(sign)]
        return switch action {
        case .up: .ofOtherForm("item-up", value, label: label, title)
        case .down: .ofOtherForm("item-down", value, label: label, title)
        case .remove: .ofOtherForm("item-remove", value, label: label, title)
        }
    }
}
