// Form of an app's settings that a browser sent: values of a page or of a draft, a change of an item, or a reset. The
// names of its fields stand here and in ``ItemChange`` alone.

import TandemBase
import TandemCrypto
import TandemPages

/// A form of settings that came back.
struct SettingsInput {
    /// The prefix of a value's field.
    static let value = "v."
    /// The prefix of the field with a slider's number, beside the slider's own.
    static let number = "n."
    /// The prefixes of the text that the page showed, and of the digest of a long one.
    private static let (shownPrefix, digestPrefix) = ("b.", "d.")
    /// The prefix of the field that marks a secret's.
    private static let secretPrefix = "s."
    /// Bytes of a shown text that a form carries whole (LIM-123): a long value stands in it once.
    private static let shownLimit = 256
    /// The name of a button that presses one of the app's; its value is the key.
    static let pressed = "press"

    private let fields: FormFields

    init(_ fields: FormFields) { self.fields = fields }

    /// The name of a field of a further row of a key (CON-12).
    static func name(_ prefix: String, ofFurther row: PageView.Row) -> String {
        "\(prefix.dropLast())\(row.index).\(FieldKey.encode(row.key ?? ""))"
    }

    /// The field that tells the text of a row, which distinguishes an edit from a field that was left as it was.
    static func shown(_ row: PageView.Row, isFurther: Bool) -> Markup {
        if isFurther { return .hidden(name(shownPrefix, ofFurther: row), row.input) }
        let key = FieldKey.encode(row.key ?? "")
        if row.isSecret { return Markup([.hidden(shownPrefix + key, ""), .hidden(secretPrefix + key, "")]) }
        guard row.input.utf8.count > shownLimit else { return .hidden(shownPrefix + key, row.input) }
        return .hidden(digestPrefix + key, code(of: Markup.carried(row.input)))
    }

    private static func code(of text: String) -> String {
        Hexadecimal.encode(SHA256.digest(Array(PageInput.lines(text).utf8)))
    }

    func values(on view: PageView, of settings: AppSettings) -> PageInput {
        PageInput(texts, shown: shownTexts, of: view, settings.schema, by: settings.access, further: further)
    }

    /// The texts. A typed number counts before its slider, unless it is the one that the page showed (CON-24).
    private var texts: [String: String] {
        let shown = byKey(Self.shownPrefix)
        let typed = byKey(Self.number).filter { key, number in shown[key] != number }
        return byKey(Self.value).merging(typed) { _, number in number }
    }

    /// The fields whose names begin with a text, by the keys behind it.
    private func byKey(_ prefix: String) -> [String: String] {
        let fields = fields.values(after: prefix).map { (FieldKey.decode($0.key), $0.value) }
        return Dictionary(fields) { first, _ in first }
    }

    /// The texts that the page showed. Of a long one that a person has changed it is not known what it was.
    private var shownTexts: [String: String] {
        var shown = byKey(Self.shownPrefix)
        let texts = texts
        for (key, digest) in byKey(Self.digestPrefix) {
            if let text = texts[key], Self.code(of: text) == digest { shown[key] = text }
        }
        return shown
    }

    /// The fields of further rows of keys, by the names that ``name(_:ofFurther:)`` makes, and those of rows that the
    /// page has no more, which the script names so whatever they are.
    private var further: [PageInput.Further] {
        fields.values(after: "v").compactMap { name, text in
            let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let index = Int(parts[0]), "\(index)" == parts[0] else { return nil }
            let number = fields["n\(name)"]
            let shown = fields["b\(name)"] ?? (fields["d\(name)"] == Self.code(of: text) ? text : nil)
            return PageInput.Further(
                index: index, key: FieldKey.decode(String(parts[1])), text: number == shown ? text : number ?? text,
                shown: shown)
        }
    }

    var draft: (values: [String: String], shown: [String: String], further: [PageInput.Further], digest: String?) {
        (texts, shownTexts, further, fields[ItemDigest.field])
    }

    /// The form for another try.
    var unsent: Unsent {
        var unsent = Unsent(fields: fields.values(after: ""))
        unsent.fields[FormToken.field] = nil
        for name in fields.values(after: String(Self.secretPrefix.dropLast())).keys {
            let typed = unsent.fields.removeValue(forKey: "v\(name)")
            if let typed, !typed.isEmpty { unsent.hasSecrets = true }
        }
        let bytes = unsent.fields.reduce(0) { $0 + PageText.bytes($1.key) + PageText.bytes($1.value) }
        unsent.isTooLong = bytes > PageText.limit
        for (name, text) in unsent.fields where Markup.carried(name) != name || Markup.carried(text) != text {
            unsent.fields[name] = nil
            let prefix = [Self.value, Self.number].first { name.hasPrefix($0) }
            unsent.changed.append(prefix.map { FieldKey.decode(String(name.dropFirst($0.count))) } ?? name)
        }
        unsent.changed.sort()
        return unsent
    }

    struct Unsent {
        /// Without the token of the form, and without what no page may have or carry.
        fileprivate(set) var fields: [String: String]
        fileprivate(set) var hasSecrets = false
        /// The keys of the fields that a page would send with other texts, as HTML has no control characters.
        fileprivate(set) var changed: [String] = []
        /// The fields are longer than the texts of a page (LIM-92).
        fileprivate(set) var isTooLong = false
    }

    /// The change of a list's item; nil for every other form.
    var itemChange: ItemChange? { ItemChange(fields) }

    /// The key of the button that was pressed; nil for every other form.
    var press: String? { fields[Self.pressed].map(FieldKey.decode) }

    /// The edits that the form takes back; nil for a form of values.
    func reset(on view: PageView, of settings: AppSettings) -> Reset? {
        guard let (button, value) = ResetButton.pressed(in: fields) else { return nil }
        switch button {
        case .all: return .all
        case .page: return .keys(view.rows.filter(\.isEdited).compactMap(\.key))
        case .group: return .keys(FieldKey.decodeList(value).filter(settings.isEdited))
        case .edit: return .keys([FieldKey.decode(value)])
        }
    }

    enum Reset {
        /// Edits of keys that the schema no longer has, too.
        case all
        case keys([String])
    }
}

/// The key of a property in a field's name or value (CON-12). HTML has no control characters, and a browser changes the
/// ends of lines in names, too: such a key is percent-encoded, and so is one with `%`, so that each has one spelling.
enum FieldKey {
    static func encode(_ key: String) -> String {
        let isPlain = key.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "%") }
        return isPlain ? key : PercentText.encode(key)
    }

    /// Keys as one value, with tabs between them: neither HTML nor a browser changes one, and no encoded key has one.
    static func encode(list keys: [String]) -> String { keys.map(encode).joined(separator: "\t") }

    static func decodeList(_ text: String) -> [String] { text.split(separator: "\t").map { decode(String($0)) } }

    /// The key; a text that no key is encoded as stands for itself.
    static func decode(_ text: String) -> String {
        let key = PercentEncoding.decode(text.utf8).flatMap { String(validating: $0, as: UTF8.self) }
        return key.flatMap { encode($0) == text ? $0 : nil } ?? text
    }
}

/// A button that takes edits back, by the name of its field.
enum ResetButton: String, CaseIterable {
    case all = "reset-all"
    case page = "reset-page"
    /// Its value is the keys of the section's rows: another release of the app may have other rows in that place.
    case group = "reset-group"
    /// Its value is the key.
    case edit = "reset"

    /// The end of the sentence about the edits that a button takes back.
    static let next = "the values that the app has stored, or else the defaults, apply again."

    /// The button of a form, with its value; of several the one that takes back most.
    static func pressed(in fields: FormFields) -> (button: ResetButton, value: String)? {
        allCases.lazy.compactMap { button in fields[button.rawValue].map { (button: button, value: $0) } }.first
    }
}
