// Translations of a bundle's texts: strings by language, table and key. A text that no table has stands for itself.

import TandemBase
package import TandemPropertyList

package struct StringsTables: Sendable, Equatable {
    /// The most languages of a bundle (LIM-120).
    package static let languageLimit = 32
    /// The most bytes of the tag of an app's own language (PAG-5, SET-89).
    package static let regionLimit = 64

    /// The language that the app was written in, as its manifest has it: for a reader whose languages have no text.
    package let region: String
    /// Texts by key.
    fileprivate typealias Texts = [ExactText: String]
    /// By table, by the language's tag in lower case with hyphens.
    private var languages: [String: [String: Texts]] = [:]

    /// No translations.
    /// - Parameter region: the language that the app was written in; nil for English. An empty or too long text counts
    ///   as nil.
    package init(region: String? = nil) {
        self.region = region.flatMap { (1...Self.regionLimit).contains($0.utf8.count) ? $0 : nil } ?? Self.usualRegion
    }

    /// English, as in a bundle that names no development region.
    package static var usualRegion: String { "en" }

    package var isEmpty: Bool { languages.isEmpty }

    /// Adds a table.
    /// - Returns: false if there are as many languages as there may be.
    package mutating func add(_ texts: [String: String], table: String, language: String) -> Bool {
        add(texts.map { ($0.key, $0.value) }, table: table, language: language)
    }

    /// Adds a table; of one key twice the first text counts.
    private mutating func add(_ texts: [(key: String, text: String)], table: String, language: String) -> Bool {
        let tag = Self.tag(language)
        guard languages[tag] != nil || languages.count < Self.languageLimit else { return false }
        languages[tag, default: [:]][table] = Texts(texts.map { (ExactText($0.key), $0.text) }) { first, _ in first }
        return true
    }

    /// The tag of a language's directory or of a request: `pt_BR` is `pt-br`.
    private static func tag(_ language: String) -> String {
        language.lowercased().split(separator: "_", omittingEmptySubsequences: false).joined(separator: "-")
    }

    /// The languages to look through for those that are preferred: each tag, then it without its last part, and
    /// `Base` and the app's own language at the end.
    private func order(_ preferred: [String]) -> [String] {
        (Array(preferred.prefix(Self.languageLimit)) + ["base", region]).flatMap(known)
    }

    /// The tags with tables among that of a language, it without its last part, and so on. Only one candidate exists at
    /// a time: all prefixes of a long tag together would need the square of its length.
    private func known(_ language: String) -> [String] {
        var known: [String] = []
        var candidate = Self.tag(language)
        while !candidate.isEmpty {
            if languages[candidate] != nil { known.append(candidate) }
            candidate = candidate.lastIndex(of: "-").map { String(candidate[..<$0]) } ?? ""
        }
        return known
    }

    package func translation(for preferred: [String]) -> Translation {
        let order = languages.isEmpty ? [] : order(preferred)
        return Translation(languages: order.compactMap { tag in languages[tag].map { (tag: tag, tables: $0) } })
    }

    /// The tables of a reader's languages, in their order.
    package struct Translation: Sendable {
        fileprivate let languages: [(tag: String, tables: [String: Texts])]

        /// The translation of a text, else the text.
        /// - Parameter tables: the first table of the first language that has the text counts.
        package func text(_ key: String, tables: [String]) -> String { found(key, tables)?.text ?? key }

        /// The translation of a text with the tag of its language; nil for a text without one, and for one of `Base`.
        func tagged(_ key: String, tables: [String]) -> (text: String, tag: String)? {
            // A directory may have any name.
            found(key, tables).flatMap { (2...3).contains($0.tag.prefix { $0 != "-" }.utf8.count) ? $0 : nil }
        }

        private func found(_ key: String, _ tables: [String]) -> (text: String, tag: String)? {
            let key = ExactText(key)
            for language in languages {
                for table in tables {
                    if let text = language.tables[table]?[key] { return (text, language.tag) }
                }
            }
            return nil
        }
    }

    /// The tables with the texts of these keys alone, and whole ones.
    func keeping(_ keys: Set<String>, whole: Set<String>) -> StringsTables {
        var kept = StringsTables(region: region)
        kept.languages = languages.compactMapValues { tables in
            var used: [String: Texts] = [:]
            for (table, texts) in tables {
                let kept = whole.contains(table) ? texts : texts.filter { keys.contains($0.key.text) }
                if !kept.isEmpty { used[table] = kept }
            }
            return used.isEmpty ? nil : used
        }
        return kept
    }

    /// The form in a layout: texts, each followed by its translation, because a text may be longer than a key.
    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(names: languages) { tables in
            .dictionary(
                PropertyListDictionary(names: tables) { texts in
                    .array(texts.sorted { $0.key < $1.key }.flatMap { [.string($0.key.text), .string($0.value)] })
                })
        }
    }

    /// Reads the form in a layout, and passes over what is none.
    package init(_ dictionary: PropertyListDictionary, region: String?) {
        self.init(region: region)
        for (language, tables) in dictionary {
            for (table, list) in tables.dictionaryValue ?? [:] {
                let texts = list.arrayValue ?? []
                let pairs = stride(from: 0, to: texts.count - texts.count % 2, by: 2).compactMap { index in
                    texts[index].stringValue.flatMap { key in texts[index + 1].stringValue.map { (key, $0) } }
                }
                _ = add(pairs, table: table, language: language)
            }
        }
    }
}

extension PropertyListDictionary {
    /// Values by the names of files, which are short enough for keys.
    fileprivate init<Value>(names: [String: Value], _ value: (Value) -> PropertyListValue) {
        self.init(
            uniqueKeysWithValues: names.filter { (1...PropertyListLimits.maximumKeyLength).contains($0.key.utf8.count) }
                .map { ($0.key, value($0.value)) })
    }
}
