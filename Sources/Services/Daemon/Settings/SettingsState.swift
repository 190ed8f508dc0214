// State of an app's settings as its daemon knows it, and its rows for those who ask: schema, edits and signed values.
// Of a secret's value there is nothing in a row, and for the secrets of a list's items there are marks.

import Synchronization
import TandemBase
import TandemCrypto
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire

/// The digests of the schema that an app has sent (SCH-16).
struct SchemaDigests: Sendable, Equatable {
    /// Of the exact bytes.
    let exact: [UInt8]
    /// Of the document that the paired device may know; nil if the app has opened no property to it.
    let open: [UInt8]?
}

/// The keys of the marks for secrets of list items (PAG-23), one for each app; any thread.
final class SecretMarks: Sendable {
    typealias Code = @Sendable (String) -> [UInt8]

    private let keys = Mutex<[ApplicationIdentifier: SecretBytes]>([:])

    /// The code of the marks that are good now.
    func code(of app: ApplicationIdentifier) -> Code {
        let key = keys.withLock { keys in
            let key = keys[app] ?? SecretBytes(randomCount: 32)
            keys[app] = key
            return key
        }
        return { HMACSHA256.code(for: Array($0.utf8), key: key) }
    }

    /// A list with secrets has been written: the marks from before are good no more.
    func renew(_ app: ApplicationIdentifier) { keys.withLock { $0[app] = nil } }
}

/// The values of the configuration that an app has applied.
struct SignedValues: Sendable {
    private(set) var values: PropertyListDictionary = [:]
    /// Their signature is invalid, and was allowed (CFG-22).
    private(set) var isWaived = false
    /// The app has said that it does not load them (CFG-42, CFG-115, CFG-116): it has its other values.
    private(set) var isNotLoaded = false
}

/// An app's settings at one moment, as far as its daemon knows them.
struct SettingsState: Sendable {
    let document: SchemaDocument
    let edits: SettingEdits
    let signed: SignedValues
    /// A row for each property, without the names of those who have edited. Made beside the loop, with its marks.
    let declaredRows: [PropertyListDictionary]

    /// - Parameters:
    ///   - document: the one that the reader may know.
    ///   - secrets: those of the app's own document, whose pages say what is a secret.
    ///   - code: of the app's marks.
    init(
        document: SchemaDocument, edits: SettingEdits, signed: SignedValues, secrets: [String: ListSecrets],
        code: @escaping SecretMarks.Code
    ) {
        (self.document, self.edits, self.signed) = (document, edits, signed)
        declaredRows = document.schema.declarations.map { declaration in
            let (name, list) = (declaration.name, secrets[declaration.name])
            var row = Self.row(declaration, signed.values[name], edits[name], edits.choices.lists[name], list, code)
            if signed.isWaived, signed.values[name] != nil { row["waived"] = true }
            if signed.isNotLoaded, signed.values[name] != nil { row["notLoaded"] = true }
            return row
        }
    }

    var digest: [UInt8] { SHA256.digest(document.bytes) }

    /// The document for those who ask for it.
    var schemaBody: PropertyListDictionary { ["schema": .data(document.bytes), "digest": .data(digest)] }

    /// A row for each property in the order of declaration, and then for each edit that the schema no longer has
    /// (CTL-39). Nothing of a secret's value.
    /// - Parameter name: the name of a primary that has edited; nil if the pairing has gone.
    func rows(naming name: (UniqueIdentifier) -> String?) -> [PropertyListDictionary] {
        let orphans = edits.keys.filter { document.schema.index(of: $0) == nil }
        let declared = declaredRows.map { row in
            var row = row
            if case .primary(let pairing)? = row["key"]?.stringValue.flatMap({ edits[$0]?.author }) {
                row["by"] = .string(name(pairing) ?? "\(pairing)")
            }
            return row
        }
        return declared + orphans.map { ["key": .string($0), "unknown": true] }
    }

    private static func row(
        _ declaration: SettingDeclaration, _ signed: PropertyListValue?, _ edit: SettingEdit?,
        _ choices: PropertyListValue?, _ secrets: ListSecrets?, _ code: @escaping SecretMarks.Code
    ) -> PropertyListDictionary {
        let layer = signed != nil ? "signed" : edit != nil ? "user" : "default"
        var row = PropertyListDictionary(present: [
            "key": .string(declaration.name), "type": .string(declaration.type.rawValue), "layer": .string(layer),
            "access": .string(declaration.access.rawValue), "restart": declaration.needsRestart ? true : nil,
            "edited": edit != nil ? true : nil,
        ])
        guard !declaration.isSecret else {
            row["secret"] = true
            return row
        }
        let edited = edit?.value.map { value in secrets?.marked(value, of: .edit, code) ?? value }
        if let signed {
            row["value"] = secrets?.marked(signed, of: .signed, code) ?? signed
        } else if edit != nil {
            row["value"] = edited
        } else {
            row["value"] = declaration.stored(declaration.initialValue).map { secrets?.leftOut(of: $0) ?? $0 }
        }
        row["edit"] = edited
        if let value = edit?.value, declaration.type == .array || declaration.type == .strings {
            row["tag"] = .data(tag(of: value, declaration.name, code))
        }
        if declaration.editor.takesAddedChoices { row["choices"] = choices }
        return row
    }

    /// Stands for an edit of a list in a change that is made on top of it (CTL-40). Keyed like the app's secret marks,
    /// which are renewed with each change of a list with secrets. Under a fixed key a primary could test a guess of a
    /// secret: its edit would have the same tag.
    private static func tag(
        of value: PropertyListValue, _ name: String, _ code: SecretMarks.Code
    ) -> [UInt8] {
        Array(code("tag\u{0}\(name)\u{0}\(PropertyListJSON.text(value))").prefix(16))
    }

    /// A list that is edited on top of what it was must still be that.
    /// - Parameter tags: by the key of the list; no bytes for one that has no edit.
    static func check(
        _ tags: PropertyListDictionary, _ edits: SettingEdits, _ code: SecretMarks.Code
    ) throws(SettingsPayloadError) {
        let errors = tags.compactMap { name, tag -> SettingError? in
            let present = edits[name]?.value.map { Self.tag(of: $0, name, code) } ?? []
            guard tag.dataValue != present else { return nil }
            return SettingError(
                property: name, value: "the new list", rule: .notStorable("the list was changed meanwhile"))
        }
        if !errors.isEmpty { throw SettingsPayloadError(errors: errors) }
    }

    /// A change with the stored secrets instead of their marks.
    static func unmarked(
        _ values: PropertyListDictionary, _ edits: SettingEdits, _ secrets: [String: ListSecrets],
        _ code: @escaping SecretMarks.Code
    ) throws(SettingsPayloadError) -> PropertyListDictionary {
        try values.compactMapValues { key, value throws(SettingsPayloadError) in
            try secrets[key]?.unmarked(value, stored: edits.values[key], of: .edit, code) ?? value
        }
    }

    // MARK: short rows (SES-78)

    /// The keys of a row that the document does not decide.
    private static let shortKeys = ["layer", "waived", "notLoaded", "value", "edit", "edited", "tag"]

    /// The rows of the properties that are not at their defaults, without what the document says.
    var shortRows: [PropertyListDictionary] {
        declaredRows.filter { $0["layer"] != "default" }.map { row in
            var short: PropertyListDictionary = [:]
            for key in ["key"] + Self.shortKeys { short[key] = row[key] }
            return short
        }
    }

    /// The rows that short ones stand for, by the document that both ends have. They are the other device's: of two
    /// with one key the first counts, and what is no row is passed over. It reads only as many as the document has
    /// properties: a list of references may have tens of thousands, with keys that take long to compare.
    static func rows(_ short: [PropertyListValue], of document: SchemaDocument) -> [PropertyListDictionary] {
        var changes: [String: PropertyListDictionary] = [:]
        for case .dictionary(let row) in short.prefix(document.schema.declarations.count) {
            if let key = row["key"]?.keyValue, changes[key] == nil { changes[key] = row }
        }
        let untouched = SettingsState(
            document: document, edits: SettingEdits(), signed: SignedValues(), secrets: [:], code: { _ in [] })
        return untouched.declaredRows.map { row in
            guard let changed = row["key"]?.stringValue.flatMap({ changes[$0] }) else { return row }
            var row = row
            for key in shortKeys { row[key] = changed[key] }
            return row
        }
    }
}

extension SchemaDocument {
    /// The secrets in its lists, by the key of the list.
    var listSecrets: [String: ListSecrets] { layout == nil ? [:] : ListSecrets.all(in: PageTree(self)) }

    /// Whether one of these is a secret, or a list with secrets.
    func hides(anyOf keys: [String]) -> Bool {
        let lists = listSecrets
        return keys.contains { key in
            lists[key] != nil || schema[key]?.isSecret ?? false
        }
    }

    /// Whether a person may edit a key.
    func opens(_ key: String, to author: SettingAuthor) -> Bool {
        schema[key].map { $0.access >= author.access } ?? false
    }

    /// The keys of secrets, and of lists with secrets in their items.
    var secrets: Set<String> {
        Set(schema.declarations.filter(\.isSecret).map(\.name)).union(listSecrets.keys)
    }

    /// The document as the paired device may know it: of the properties that it may edit, and the buttons that it may
    /// press; nil if there are none.
    var forCounterpart: SchemaDocument? {
        let open = schema.declarations.filter { $0.access == .counterpart }
        guard !open.isEmpty || !buttons.isEmpty else { return nil }
        let schema = SettingsSchema(open, isForeign: true)
        guard let layout else { return try? SchemaDocument(writing: open, buttons: buttons, isForeign: true) }
        let tree = PageTree(layout: layout)
        let pages = tree.keeping { specifier in
            guard let key = specifier.key else { return false }
            return schema.index(of: key) != nil || (specifier.kind == .button && buttons.contains(key))
        }
        // A whole table has texts of entries that are not open.
        let kept = pages.layout(for: schema, translations: .ofEntries)
        return try? SchemaDocument(
            writing: open.withoutSecrets(of: tree), layout: kept, buttons: buttons, isForeign: true)
    }
}
