// Secrets within the items of lists: a reader has a mark in the place of each, and a change with the mark keeps what is
// stored. A mark is a code of the item and of its path. Two items of one list never share one, and the key of the code
// is another one after each change of such a list: otherwise the mark of a guess would tell whether the guess is right.

import TandemBase
package import TandemPropertyList
package import TandemSettings

package struct ListSecrets: Sendable {
    private static var prefix: String { "<redacted:" }
    /// Bytes of a mark's code.
    private static var size: Int { 16 }

    /// The code of a text, of 16 bytes and more, under a key that nobody else has.
    package typealias Code = (String) -> [UInt8]

    /// The layer that a list is of. Each has marks of its own: otherwise a guess in an edit could be compared with the
    /// signed secret beside it.
    package enum Layer: String, Sendable {
        case edit, signed
    }

    private let list: String
    /// In an item and whatever it holds, these keys are secret. All lists that open a page share its set.
    private let keys: [Set<ComparedText>]
    /// Each item is a secret itself.
    private let hidesItems: Bool
    /// Whether all pages of the items are there: otherwise any value of an item may be a secret.
    fileprivate let isKnown: Bool

    /// The secrets of all lists of an app by the key of the list, each by the entries of all pages that items open.
    package static func all(in tree: PageTree) -> [String: ListSecrets] {
        var entries: [String: [Specifier]] = [:]
        for group in tree.pages.flatMap(\.specifiers) where group.kind == .listGroup {
            guard let key = group.key else { continue }
            entries[key, default: []] += group.itemEntries + (group.isSecure ? [group] : [])
        }
        var pages = ItemPages(of: tree)
        return entries.reduce(into: [:]) { $0[$1.key] = ListSecrets(of: $1.key, $1.value, &pages) }
    }

    /// nil if the list has none.
    private init?(of list: String, _ entries: [Specifier], _ pages: inout ItemPages) {
        let opened = Set(entries.compactMap(\.page))
        let own = Set(entries.filter { $0.isSecure && $0.page != nil }.compactMap(\.key).map { ComparedText($0) })
        self.list = list
        keys = (opened.map { pages.secrets(from: $0).keys } + [own]).filter { !$0.isEmpty }
        isKnown = opened.allSatisfy { pages.secrets(from: $0).isKnown }
        hidesItems = !isKnown || entries.contains { $0.isSecure && $0.page == nil }
        if keys.isEmpty, !hidesItems { return nil }
    }

    /// The list as a reader has it: a mark for each secret.
    package func marked(
        _ value: PropertyListValue, of layer: Layer = .edit, _ code: @escaping Code
    ) -> PropertyListValue {
        replacing(value, layer, code) { .string($1()) } ?? value
    }

    package func leftOut(of value: PropertyListValue) -> PropertyListValue {
        replacing(value, .edit, { _ in [] }) { _, _ in nil } ?? .array([])
    }

    /// The list of a change, with the stored secrets instead of their marks.
    /// - Parameter stored: the list as it is.
    package func unmarked(
        _ value: PropertyListValue, stored: PropertyListValue?, of layer: Layer = .edit, _ code: @escaping Code
    ) throws(SettingsPayloadError) -> PropertyListValue {
        var secrets: [String: PropertyListValue] = [:]
        if let stored {
            _ = replacing(stored, layer, code) { secret, mark in
                secrets[mark()] = secret
                return nil
            }
        }
        var isGone = false
        let result = replacing(value, layer, code) { secret, _ in
            guard Self.isMark(secret), let mark = secret.stringValue else { return secret }
            if secrets[mark] == nil { isGone = true }
            return secrets[mark]
        }
        guard !isGone, let result else {
            let reason = "an item was changed meanwhile; its secret has to be given again"
            throw SettingsPayloadError(errors: [
                SettingError(property: list, value: SettingError.redacted, rule: .notStorable(reason))
            ])
        }
        return result
    }

    // MARK: marks

    package static func isMark(_ value: PropertyListValue) -> Bool {
        // By its bytes: an item may have any text in the place of a secret.
        guard let text = value.stringValue?.utf8, text.count == prefix.utf8.count + 2 * size + 1,
            text.starts(with: prefix.utf8), text.last == UInt8(ascii: ">")
        else { return false }
        return Hexadecimal.decode(String(decoding: text.dropFirst(prefix.utf8.count).dropLast(), as: UTF8.self)) != nil
    }

    /// Whether a mark stands anywhere in a value.
    package static func hasMarks(_ value: PropertyListValue) -> Bool {
        switch value {
        case .array(let values): values.contains(where: hasMarks)
        case .dictionary(let pairs): pairs.contains { hasMarks($0.value) }
        default: isMark(value)
        }
    }

    // MARK: walking

    /// The list with another value for each secret; nil leaves it out.
    private func replacing(
        _ value: PropertyListValue, _ layer: Layer, _ code: @escaping Code,
        _ new: (PropertyListValue, _ mark: () -> String) -> PropertyListValue?
    ) -> PropertyListValue? {
        func codeOfItem(_ index: Int, _ item: PropertyListValue) -> String {
            Hexadecimal.encode(code("\(layer)\u{0}\(list)\u{0}\(index)\u{0}\(PropertyListJSON.text(item))"))
        }
        func item(_ index: Int, _ item: PropertyListValue) -> PropertyListValue? {
            // Once for an item, however many secrets it has.
            var itemCode: String?
            func mark(_ path: String) -> String {
                let own = itemCode ?? codeOfItem(index, item)
                itemCode = own
                return "\(Self.prefix)\(Hexadecimal.encode(code("\(own)\u{0}\(path)").prefix(Self.size)))>"
            }
            if hidesItems { return new(item) { mark("") } }
            return inner(item, "") { value, path in new(value) { mark(path) } }
        }
        guard case .array(let items) = value else { return item(0, value) }
        return .array(items.enumerated().compactMap { item($0, $1) })
    }

    private func inner(
        _ value: PropertyListValue, _ path: String,
        _ new: (PropertyListValue, _ path: String) -> PropertyListValue?
    ) -> PropertyListValue {
        switch value {
        case .array(let values):
            return .array(values.enumerated().map { inner($1, "\(path)\u{0}\($0)", new) })
        case .dictionary(let pairs):
            return .dictionary(
                pairs.compactMapValues { key, value in
                    let (path, name) = ("\(path)\u{0}\(key)", ComparedText(key))
                    return keys.contains { $0.contains(name) } ? new(value, path) : inner(value, path, new)
                })
        default: return value
        }
    }
}

/// The secrets on pages of items, each page looked at once for all lists.
private struct ItemPages {
    private let tree: PageTree
    private let own: [String: Set<ComparedText>]
    private var known: [String: (keys: Set<ComparedText>, isKnown: Bool)] = [:]

    init(of tree: PageTree) {
        self.tree = tree
        own = tree.pages.reduce(into: [:]) { own, page in
            let secret = page.specifiers.filter { specifier in
                specifier.isSecure || specifier.itemEntries.contains { $0.isSecure && $0.page == nil }
            }
            let inner = page.specifiers.flatMap(\.itemEntries).filter { $0.isSecure && $0.page != nil }
            own[page.name] = Set((secret + inner).compactMap(\.key).map { ComparedText($0) })
        }
    }

    /// The keys of secrets on a page and on all that it leads to, and whether all of these are there.
    mutating func secrets(from page: String) -> (keys: Set<ComparedText>, isKnown: Bool) {
        if let known = known[page] { return known }
        let names = tree.pages(from: [page])
        let found = (
            names.reduce(into: Set()) { $0.formUnion(own[$1] ?? []) }, names.allSatisfy { tree.isWhole($0) }
        )
        known[page] = found
        return found
    }
}

extension [SettingDeclaration] {
    /// The declarations without the secrets in the defaults of lists.
    /// - Parameter hasPages: whether the reader gets the pages, which tell the secrets of a list; without them a list
    ///   that has any is a secret as a whole.
    package func withoutSecrets(of tree: PageTree, hasPages: Bool = true) -> [SettingDeclaration] {
        let secrets = ListSecrets.all(in: tree)
        return map { declaration in
            guard let list = secrets[declaration.name] else { return declaration }
            var declaration = declaration
            if let value = declaration.initialValue.propertyListValue,
                let rest = SettingValue(list.leftOut(of: value), as: declaration.type)
            {
                declaration.initialValue = rest
            }
            if !hasPages || !list.isKnown { declaration.isSecret = true }
            return declaration
        }
    }
}

extension Specifier {
    /// The entry as others may know it: without the defaults of secrets.
    var withoutSecrets: Specifier {
        // The default of a list is its declaration's, which leaves its secrets out.
        var specifier = isSecure || kind == .listGroup ? without([.defaultValue]) : self
        for key in SpecifierKey.ofItems {
            guard let inner = specifier.specifier(key) else { continue }
            var entries = specifier.entries
            entries[key.rawValue] = .dictionary(inner.withoutSecrets.entries)
            specifier = Specifier(entries)
        }
        return specifier
    }
}
