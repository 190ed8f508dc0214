// Change of a list's item by a button beside it. The item is named by its index and by a digest of its content, so
// that a form that was shown before somebody else's change never touches another item.

import TandemBase
import TandemCrypto
import TandemPages
import TandemPropertyList

/// A button beside an item.
struct ItemChange {
    /// Why a change of an item is refused.
    static let gone = "The list was changed meanwhile, or its items cannot be changed so. It is shown as it is now."

    let key: String
    private let change: EditableList.Change
    private let index: Int
    private let digest: String

    /// The change that a form asks for; nil if it asks for none. One of no item changes nothing.
    init?(_ fields: FormFields) {
        guard let change = EditableList.Change.allCases.first(where: { fields[$0.field] != nil }) else { return nil }
        let parts = (fields[change.field] ?? "").split(separator: "/", omittingEmptySubsequences: false)
        let isWhole = parts.count == 3
        self.change = change
        key = isWhole ? PercentText.decode(Array(parts[0].utf8)) ?? "" : ""
        index = isWhole ? Int(parts[1]) ?? -1 : -1
        digest = isWhole ? String(parts[2]) : ""
    }

    static func value(_ index: Int, of list: EditableList, cookie: String) -> String {
        "\(PercentText.encode(list.key))/\(index)/\(ItemDigest.make(list.items[index], of: list, cookie: cookie))"
    }

    /// The list after the change; nil if the item is not as the page showed it, or may not be changed so.
    func done(in list: EditableList, cookie: String) -> [PropertyListValue]? {
        guard let index = ItemDigest.find(digest, near: index, in: list, cookie: cookie) else { return nil }
        return list.items(after: change, of: index)
    }
}

extension EditableList.Change {
    /// The name of its button in a form.
    var field: String {
        switch self {
        case .remove: "item-remove"
        case .up: "item-up"
        case .down: "item-down"
        }
    }
}

/// The digest of an item as one browser saw it, or of all items for the form of a new one (CON-19). The list's layer is
/// part of it: the default of an app that has fallen silent is not what the page showed (PAG-34).
enum ItemDigest {
    static let field = "item"

    static func make(_ item: PropertyListValue, of list: EditableList, cookie: String) -> String {
        let layer = list.row.layer ?? ""
        let text = "tandem-console item\u{0}\(cookie)\u{0}\(layer)\u{0}\(PropertyListJSON.text(item))"
        return Hexadecimal.encode(SHA256.digest(Array(text.utf8)).prefix(16))
    }

    /// The index of the item now: the old one, or another if it was moved; nil if it was changed or is gone.
    static func find(_ digest: String, near index: Int, in list: EditableList, cookie: String) -> Int? {
        let items = list.items
        let isMeant = { (index: Int) in Self.make(items[index], of: list, cookie: cookie) == digest }
        return items.indices.contains(index) && isMeant(index) ? index : items.indices.first(where: isMeant)
    }
}
