// State of an app's settings as its daemon knows it, and its rows for those who ask: schema, edits and signed values.
// Of a secret's value there is nothing in a row, and for the secrets of a list's items there are marks.

import TandemBase
import TandemCrypto
import TandemPages
import TandemPropertyList
import TandemSettings

/// The digests of the schema that an app has sent (SCH-16).
struct SchemaDigests: Sendable, Equatable {
    /// Of the exact bytes.
    let exact: [UInt8]
    /// Of the document that the paired device may know; nil if the app has opened no property to it.
    let open: [UInt8]?
}

/// The marks that one run of a daemon makes for secrets of list items (PAG-23).
struct SecretMarks: Sendable {
    private let key = SecretBytes(randomCount: 32)

    func code(_ text: String) -> [UInt8] { HMACSHA256.code(for: Array(text.utf8), key: key) }
}

/// An app's settings at one moment, as far as its daemon knows them.
struct SettingsState: Sendable {
    let document: SchemaDocument
    let edits: SettingEdits
    let signed: PropertyListDictionary
    private let marks: SecretMarks
    /// Of the lists whose items have any.
    private let secrets: [String: ListSecrets]

    /// - Parameters:
    ///   - document: the one that the reader may know.
    ///   - whole: the app's own, whose pages say what is a secret.
    init(
        document: SchemaDocument, of whole: SchemaDocument, edits: SettingEdits, signed: PropertyListDictionary,
        marks: SecretMarks
    ) {
        let secrets = whole.layout == nil ? [:] : ListSecrets.all(in: PageTree(whole))
        self.init(document, edits, signed, marks, secrets)
    }

    private init(
        _ document: SchemaDocument, _ edits: SettingEdits, _ signed: PropertyListDictionary, _ marks: SecretMarks,
        _ secrets: [String: ListSecrets]
    ) {
        (self.document, self.edits, self.signed) = (document, edits, signed)
        (self.marks, self.secrets) = (marks, secrets)
    }

    var digest: [UInt8] { SHA256.digest(document.bytes) }

    /// The document for those who ask for it.
    var schemaBody: PropertyListDictionary { ["schema": .data(document.bytes), "digest": .data(digest)] }

    /// A row for each property in the order of declaration, and then for each edit that the schema no longer has
    /// (CTL-39). Nothing of a secret's value.
    /// - Parameter name: the name of a primary that has edited; nil if the pairing has gone.
    func rows(naming name: (UniqueIdentifier) -> String?) -> [PropertyListDictionary] {
        let orphans = edits.keys.filter { document.schema.place(of: $0) == nil }
        let declared = declaredRows.map { row in
            var row = row
            if case .primary(let pairing)? = row["key"]?.stringValue.flatMap({ edits[$0]?.author }) {
                row["by"] = .string(name(pairing) ?? "\(pairing)")
            }
            return row
        }
        return declared + orphans.map { ["key": .string($0), "unknown": true] }
    }

    /// A row for each property, without the names of those who have edited.
    var declaredRows: [PropertyListDictionary] { document.schema.declarations.map(row) }

    private func row(_ declaration: SettingDeclaration) -> PropertyListDictionary {
        let (signed, edit) = (signed[declaration.name], edits[declaration.name])
        let layer = signed != nil ? "signed" : edit != nil ? "user" : "default"
        var row: PropertyListDictionary = [
            "key": .string(declaration.name), "type": .string(declaration.type.rawValue), "layer": .string(layer),
            "access": .string(declaration.access.rawValue),
        ]
        if declaration.needsRestart { row["restart"] = true }
        if edit != nil { row["edited"] = true }
        guard !declaration.isSecret else {
            row["secret"] = true
            return row
        }
        let initial = declaration.stored(declaration.initialValue)
        let secrets = secrets[declaration.name]
        let shown = { [marks] (value: PropertyListValue?) in
            value.map { value in secrets.map { $0.marked(value, marks.code) } ?? value }
        }
        row["value"] =
            signed != nil || edit != nil
            ? shown(signed ?? edit?.value) : initial.map { value in secrets?.leftOut(of: value) ?? value }
        row["edit"] = shown(edit?.value)
        if declaration.editor == .editableChoice { row["choices"] = edits.choices.lists[declaration.name] }
        return row
    }

    /// A change with the stored secrets in the places of their marks.
    static func unmarked(
        _ values: PropertyListDictionary, _ edits: SettingEdits, _ document: SchemaDocument, _ marks: SecretMarks
    ) throws(SettingsPayloadError) -> PropertyListDictionary {
        guard document.layout != nil else { return values }
        var result = values
        for (key, list) in ListSecrets.all(in: PageTree(document)) {
            guard let value = values[key] else { continue }
            result[key] = try list.unmarked(value, stored: edits.values[key], marks.code)
        }
        return result
    }

    // MARK: short rows (SES-78)

    /// The keys of a row that the document does not decide.
    private static let shortKeys = ["layer", "value", "edit", "edited"]

    /// The rows of the properties that are not at their defaults, without what the document says.
    var shortRows: [PropertyListDictionary] {
        declaredRows.filter { $0["layer"] != "default" }.map { row in
            var short: PropertyListDictionary = [:]
            for key in ["key"] + Self.shortKeys { short[key] = row[key] }
            return short
        }
    }

    /// The rows that short ones stand for, by the document that both ends have. They are the other device's: of two
    /// with one key the first counts, and what is no row is passed over.
    static func rows(_ short: [PropertyListValue], of document: SchemaDocument) -> [PropertyListDictionary] {
        var changes: [String: PropertyListDictionary] = [:]
        for case .dictionary(let row) in short {
            if let key = row["key"]?.stringValue, changes[key] == nil { changes[key] = row }
        }
        let untouched = SettingsState(document, SettingEdits(), [:], SecretMarks(), [:])
        return untouched.declaredRows.map { row in
            guard let changed = row["key"]?.stringValue.flatMap({ changes[$0] }) else { return row }
            var row = row
            for key in shortKeys { row[key] = changed[key] }
            return row
        }
    }
}

extension SchemaDocument {
    /// The document as the paired device may know it: of the properties that it may edit; nil if there are none.
    var forCounterpart: SchemaDocument? {
        let open = schema.declarations.filter { $0.access == .counterpart }
        guard !open.isEmpty else { return nil }
        let schema = SettingsSchema(open, isForeign: true)
        guard let layout else { return try? SchemaDocument(writing: open, isForeign: true) }
        let tree = PageTree(layout: layout)
        let pages = tree.keeping { schema.place(of: $0) != nil }.layout(for: schema)
        return try? SchemaDocument(writing: open.withoutSecrets(of: tree), layout: pages, isForeign: true)
    }
}
