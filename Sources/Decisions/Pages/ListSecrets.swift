// Secrets within the items of lists: a reader has a mark in the place of each, and a change with the mark keeps what is
// stored. A mark is a code of the whole item, so that it says nothing about the secret, not even whether two are equal,
// and that it is good only as long as nobody has changed the item.

import TandemBase
package import TandemPropertyList
package import TandemSettings

/// The secrets in one list's items.
package struct ListSecrets: Sendable {
    private static var prefix: String { "<redacted:" }

    /// The code of a text, under a key that nobody else has.
    package typealias Code = (String) -> [UInt8]

    private let list: String
    /// In an item and whatever it holds, these keys are secret.
    private let keys: Set<String>
    /// Each item is a secret itself.
    private let hidesItems: Bool

    /// The secrets of a list, by the entries of all pages that its items open; nil if it has none.
    package init?(of list: String, in tree: PageTree) {
        let groups = tree.pages.flatMap(\.specifiers).filter { $0.kind == .listGroup && $0.key == list }
        let entries = groups.flatMap(\.itemEntries)
        var found = tree.itemPages(of: groups).compactMap { tree[$0] }.flatMap(\.specifiers).filter {
            $0.isSecure || $0.itemEntries.contains { $0.isSecure && $0.page == nil }
        }
        found += entries.filter { $0.isSecure && $0.page != nil }
        self.list = list
        keys = Set(found.compactMap(\.key))
        hidesItems = groups.contains(where: \.isSecure) || entries.contains { $0.isSecure && $0.page == nil }
        if keys.isEmpty, !hidesItems { return nil }
    }

    /// The secrets of all lists of an app, by the key of the list.
    package static func all(in tree: PageTree) -> [String: ListSecrets] {
        let lists = Set(tree.pages.flatMap(\.specifiers).compactMap { $0.kind == .listGroup ? $0.key : nil })
        return lists.reduce(into: [:]) { $0[$1] = ListSecrets(of: $1, in: tree) }
    }

    /// The list as a reader has it: a mark for each secret.
    package func marked(_ value: PropertyListValue, _ code: @escaping Code) -> PropertyListValue {
        replacing(value, code) { .string($1()) } ?? value
    }

    /// The list without its secrets.
    package func leftOut(of value: PropertyListValue) -> PropertyListValue {
        replacing(value, { _ in [] }) { _, _ in nil } ?? .array([])
    }

    /// The list of a change, with the stored secrets in the places of their marks.
    /// - Parameter stored: the list as it is.
    package func unmarked(
        _ value: PropertyListValue, stored: PropertyListValue?, _ code: @escaping Code
    ) throws(SettingsPayloadError) -> PropertyListValue {
        var secrets: [String: PropertyListValue] = [:]
        if let stored {
            _ = replacing(stored, code) { secret, mark in
                secrets[mark()] = secret
                return nil
            }
        }
        var isGone = false
        let result = replacing(value, code) { secret, _ in
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

    /// Whether a value stands for a secret.
    package static func isMark(_ value: PropertyListValue) -> Bool {
        value.stringValue.map { $0.hasPrefix(prefix) && $0.hasSuffix(">") } ?? false
    }

    /// A value without all marks in it; nil for a mark.
    package static func withoutMarks(_ value: PropertyListValue) -> PropertyListValue? {
        switch value {
        case .array(let values): return .array(values.compactMap(withoutMarks))
        case .dictionary(let pairs):
            var kept: PropertyListDictionary = [:]
            for (key, value) in pairs { kept[key] = withoutMarks(value) }
            return .dictionary(kept)
        default: return isMark(value) ? nil : value
        }
    }

    // MARK: walking

    /// The list with another value for each secret; nil leaves it out.
    private func replacing(
        _ value: PropertyListValue, _ code: @escaping Code,
        _ new: (PropertyListValue, _ mark: () -> String) -> PropertyListValue?
    ) -> PropertyListValue? {
        func item(_ item: PropertyListValue) -> PropertyListValue? {
            // Once for an item, however many secrets it has.
            var itemCode: String?
            func mark(_ place: String) -> String {
                let own = itemCode ?? Hexadecimal.encode(code("\(list)\u{0}\(PropertyListJSON.text(item))"))
                itemCode = own
                return "\(Self.prefix)\(Hexadecimal.encode(code("\(own)\u{0}\(place)").prefix(16)))>"
            }
            if hidesItems { return new(item) { mark("") } }
            return inner(item, "") { value, place in new(value) { mark(place) } }
        }
        guard case .array(let items) = value else { return item(value) }
        return .array(items.compactMap(item))
    }

    private func inner(
        _ value: PropertyListValue, _ place: String,
        _ new: (PropertyListValue, _ place: String) -> PropertyListValue?
    ) -> PropertyListValue {
        switch value {
        case .array(let values):
            return .array(values.enumerated().map { inner($1, "\(place)\u{0}\($0)", new) })
        case .dictionary(let pairs):
            var result: PropertyListDictionary = [:]
            for (key, value) in pairs {
                let place = "\(place)\u{0}\(key)"
                result[key] = keys.contains(key) ? new(value, place) : inner(value, place, new)
            }
            return .dictionary(result)
        default: return value
        }
    }
}

extension [SettingDeclaration] {
    /// The declarations without the secrets in the defaults of lists.
    package func withoutSecrets(of tree: PageTree) -> [SettingDeclaration] {
        let secrets = ListSecrets.all(in: tree)
        return map { declaration in
            guard let list = secrets[declaration.name], let value = declaration.initialValue.propertyListValue,
                let rest = SettingValue(list.leftOut(of: value), as: declaration.type)
            else { return declaration }
            var declaration = declaration
            declaration.initialValue = rest
            return declaration
        }
    }
}

extension Specifier {
    /// The entries of a list's items and of a new one.
    fileprivate var itemEntries: [Specifier] { [specifier(.item), specifier(.add)].compactMap(\.self) }

    /// The entry as others may know it: without the defaults of secrets.
    var withoutSecrets: Specifier {
        var specifier = isSecure ? without([.defaultValue]) : self
        for key in [SpecifierKey.item, .add] {
            guard let inner = specifier.specifier(key) else { continue }
            var entries = specifier.entries
            entries[key.rawValue] = .dictionary(inner.withoutSecrets.entries)
            specifier = Specifier(entries)
        }
        return specifier
    }
}
