// Form of an app's settings that a browser sent: values of a page or of a draft, a change of an item, or a reset. The
// names of its fields stand here and in ``ItemChange`` alone.

import TandemPages

/// A form of settings that came back.
struct SettingsInput {
    /// The prefixes of a value's field, and of the text that the page showed.
    static let (value, shown) = ("v.", "b.")

    private let fields: FormFields

    init(_ fields: FormFields) { self.fields = fields }

    /// The values, judged as a whole.
    func values(on view: PageView, of settings: AppSettings) -> PageInput {
        PageInput(
            fields.values(after: Self.value), shown: fields.values(after: Self.shown), of: view, settings.schema,
            by: settings.author)
    }

    /// The fields of a draft, and the texts that it showed.
    var draft: (values: [String: String], shown: [String: String], mark: String?) {
        (fields.values(after: Self.value), fields.values(after: Self.shown), fields[ItemMark.field])
    }

    /// The change of a list's item; nil for every other form.
    var itemChange: ItemChange? { ItemChange(fields) }

    /// The edits that the form takes back; nil for a form of values.
    func reset(on view: PageView) -> Reset? {
        if fields["reset-all"] != nil { return .all }
        if fields["reset-page"] != nil { return .keys(Self.edited(view.rows)) }
        if let group = fields["reset-group"] {
            return .keys(Self.edited(view.groups.first { $0.rows.first.map { "\($0.place)" } == group }?.rows ?? []))
        }
        return fields["reset"].map { .keys([$0]) }
    }

    private static func edited(_ rows: [PageView.Row]) -> [String] { rows.filter(\.isEdited).compactMap(\.key) }

    enum Reset {
        /// Edits of keys that the schema no longer has, too.
        case all
        case keys([String])
    }
}
