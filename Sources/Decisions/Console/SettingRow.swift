// Row of a form as HTML: title, layer, control and notes, on a page of an app and in the draft of an item.

import TandemPages

/// The fields of a page, and what all of its rows share.
struct PageFields {
    let indices: Set<Int>
    /// Those of fields whose key has a field before, in whose names they stand.
    let further: Set<Int>
    /// The rows with the fields of those that could be edited and have none, by the indices of these.
    let others: [Int: PageView.Row]
    /// The languages of the page's texts, by these texts.
    let languages: [String: String]
    let images: [String: PageImage]
    let instance: AppInstance
    /// The input of a form that was refused.
    let refused: PageInput?

    init(_ view: PageView, _ languages: [String: String], of instance: AppInstance, refused: PageInput?) {
        (indices, further, others) = (view.fieldIndices, view.furtherIndices, view.otherRows)
        self.languages = languages
        (images, self.instance, self.refused) = (view.images, instance, refused)
    }
}

struct SettingRow {
    enum Form {
        /// A page of an app. Its list, if the row is one that can be edited, has buttons.
        case page(ListControl?)
        /// A draft, which has no layers and takes nothing back.
        case draft
    }

    let row: PageView.Row
    let fields: PageFields
    let form: Form

    private var isEditable: Bool { fields.indices.contains(row.index) }
    /// The text of a refused form.
    private var typed: String? { isEditable || isOfDraft ? fields.refused?.typed[row.index] : nil }
    /// Whether the field draws attention to itself, because the app has refused what was typed.
    private var shakes: Bool { row.key.map { fields.refused?.shaking.contains($0) == true } ?? false }

    var markup: Markup {
        let control = SettingControl(row: row, text: typed ?? row.input, isEditable: isEditable, fields: fields)
        let title =
            row.isLabelled
            ? Markup.tag("label", .init("class", "title"), .init("for", row.field), of: control.title)
            : .tag("span", .init("class", "title"), .init("id", "\(row.id)-title"), of: control.title)
        return .tag(
            "div", .init("class", (["row"] + classes).joined(separator: " ")), .init("id", row.id),
            .optional("data-key", row.mark), .optional("data-typed", typed.map { _ in "yes" }),
            of: [control.hasOwnTitle ? Markup([]) : title, layer] + (isEditable ? [shown] : [])
                + [list?.markup ?? control.markup, notes])
    }

    private var shown: Markup { SettingsInput.shown(row, isFurther: fields.further.contains(row.index)) }
    private var list: ListControl? { if case .page(let list) = form { list } else { nil } }
    private var isOfDraft: Bool { if case .draft = form { true } else { false } }

    private var classes: [String] {
        let alignment: [String] =
            switch row.alignment {
            case .center: ["center"]
            case .right: ["right"]
            case .left, .natural: []
            }
        return alignment + (row.error == nil ? [] : ["wrong"]) + (shakes ? ["shake"] : [])
    }

    private var layer: Markup {
        guard let layer = row.layer, !isOfDraft else { return Markup([]) }
        let text = layer == "user" ? "edited" : row.hiddenEdit == nil ? layer : "\(layer), edited"
        return .tag("span", .init("class", "layer \(layer)"), text: text)
    }

    private var notes: Markup {
        var notes = [row.subtitle, row.footer, row.summary].compactMap(\.self).map { text in
            Markup.tag("p", of: [.spoken(text, fields.languages)])
        }
        if let lock = row.lockText { notes.append(.tag("p", .init("class", "lock"), foreign: lock)) }
        // Of an edit in force by a person here its layer says everything.
        if let edit = row.edit, row.author != nil || row.hiddenEdit != nil {
            notes.append(.tag("p", foreign: edit))
        }
        if let other = fields.others[row.index] {
            let place = other.isLabelled ? other.field : other.id
            let link = Markup.tag("a", .init("href", "#" + place), of: [.name(other.name, fields.languages)])
            notes.append(.tag("p", .init("class", "lock"), of: [Markup("The same setting as "), link, Markup(".")]))
        }
        if let range = row.rangeNote { notes.append(.tag("p", text: range)) }
        if let text = row.defaultNote(), !isOfDraft { notes.append(.tag("p", foreign: text)) }
        if let restart = row.restartNote { notes.append(.tag("p", text: restart)) }
        if row.isSecret, row.isEditable {
            notes.append(.tag("p", text: "A secret: it can be written and is never shown. Empty leaves it as it is."))
        }
        if let error = row.error { notes.append(.tag("p", .init("class", "mistake"), foreign: error)) }
        if let key = row.key, row.isEdited { notes.append(reset(key)) }
        return .tag("div", .init("id", "\(row.id)-notes"), .init("class", "notes"), of: notes)
    }

    /// The button that takes the edit back; that of a list asks first, because a list has several values.
    private func reset(_ key: String) -> Markup {
        let title = [Markup("Reset "), Markup.spoken(row.name, fields.languages)]
        let button = Markup.ofOtherForm(ResetButton.edit.rawValue, FieldKey.encode(key), title)
        guard case .list = row.kind else { return button }
        let lost = "Removes the edit of the whole list, with all of its items: \(ResetButton.next)"
        return .question(title, [Markup(lost)], button)
    }
}

extension Markup {
    /// A section with its title, rows and footer, and what stands below them.
    static func group(
        _ group: PageView.Group, _ rows: [SettingRow], _ languages: [String: String], _ end: Markup...
    ) -> Markup {
        let title = group.title.map { text in
            Markup.tag("legend", of: [Markup.tag("h2", of: [.spoken(text, languages)])])
        }
        let footer = group.footer.map { text in
            Markup.tag("p", .init("class", "footer"), of: [.spoken(text, languages)])
        }
        return .tag(
            "fieldset", of: [title].compactMap(\.self) + rows.map(\.markup) + [footer].compactMap(\.self) + end)
    }

    /// A button that takes back or deletes several values, behind a summary that opens a sentence about them (CON-25).
    /// - Parameters:
    ///   - title: that of the summary, which an ellipsis ends.
    ///   - lost: the sentence.
    static func question(_ title: [Markup], label: String? = nil, _ lost: [Markup], _ button: Markup) -> Markup {
        .tag(
            "details", .init("class", "question"),
            of: [
                .tag("summary", .optional("aria-label", label), of: title + [Markup("\u{2026}")]), .tag("p", of: lost),
                button,
            ])
    }

    /// A button of the page's other form, the one without values, wherever it stands.
    static func ofOtherForm(_ name: String, _ value: String, label: String? = nil, _ title: [Markup]) -> Markup {
        .tag(
            "button", .init("type", "submit"), .init("form", "resets"), .init("name", name), .init("value", value),
            .optional("aria-label", label), of: title)
    }

    /// The mistakes of a refused form, where a screen reader begins: in the order of the page, each with the name of
    /// its row and the way to its field.
    static func mistakes(_ input: PageInput?, _ refusal: FormRefusal, on view: PageView) -> Markup {
        var texts = input?.texts ?? [:]
        let indices = view.fieldIndices
        let fields = Set(view.rows.filter { indices.contains($0.index) }.compactMap(\.key))
        let ofRows = view.rows.compactMap { row -> Markup? in
            let hasField = indices.contains(row.index)
            guard let key = row.key, hasField || !fields.contains(key), let text = texts.removeValue(forKey: key) else {
                return nil
            }
            let place = hasField && row.isLabelled ? row.field : row.id
            return .tag(
                "a", .init("href", "#" + place),
                of: [.tag("bdi", text: row.name), Markup(": "), .tag("bdi", text: text)])
        }
        let others = texts.sorted { $0.key < $1.key }.map { Markup.tag("bdi", text: $0.value) }
        let all = (refusal.text.map { [Markup.tag("bdi", text: $0)] } ?? []) + ofRows + others
        return .tag(
            "div", .init("role", "alert"), .init("class", "mistake"), .init("id", "mistakes"),
            of: [.tag("p", text: refusal.heading), .tag("ul", of: all.map { .tag("li", of: [$0]) })])
    }
}

extension PageView {
    /// The indices of the rows with a field: of rows of one key the first that is editable. A date has one for each
    /// mode, as the field of a day takes no time.
    var fieldIndices: Set<Int> { Set(fields.map(\.index)) }

    /// Those of fields whose key has a field before.
    fileprivate var furtherIndices: Set<Int> {
        var known: Set<[UInt8]> = []
        return Set(fields.filter { !known.insert([UInt8](($0.key ?? "").utf8)).inserted }.map(\.index))
    }

    private var fields: [Row] {
        var known: [[UInt8]: Set<DateTraits.Mode>] = [:]
        return rows.filter { row in
            guard let key = row.key, row.isEditable else { return false }
            if case .list = row.kind { return false }
            let bytes = [UInt8](key.utf8)
            let before = known[bytes]
            let own: Set<DateTraits.Mode> = row.dateMode.map { [$0] } ?? []
            known[bytes] = before?.union(own) ?? own
            return before.map { !own.isSubset(of: $0) } ?? true
        }
    }

    /// As ``PageFields/others``.
    fileprivate var otherRows: [Int: Row] {
        let fields = fields
        let indices = Set(fields.map(\.index))
        let repeated = rows.filter { row in
            if case .list = row.kind { return false }
            return row.isEditable && !indices.contains(row.index)
        }
        let pairs = repeated.compactMap { row in
            fields.first { $0.key == row.key && (row.dateMode == nil || row.dateMode == $0.dateMode) }
                .map { (row.index, $0) }
        }
        return Dictionary(pairs) { first, _ in first }
    }
}

extension PageView.Row {
    /// Identifiers of the page's own: keys may have any character.
    var id: String { "r-\(index)" }
    var field: String { "f-\(index)" }

    /// The mode of a date's field; nil for every other field.
    fileprivate var dateMode: DateTraits.Mode? {
        guard case .date(let traits) = kind, !isSecret else { return nil }
        return traits.mode
    }

    /// Distinguishes the field of the row from all others, in every release of the app (CON-15): its key, and the mode
    /// of a date. nil for a row without a key.
    fileprivate var mark: String? { key.map { "\(dateMode?.rawValue ?? "").\(FieldKey.encode($0))" } }

    /// Whether the title is the label of one field.
    var isLabelled: Bool {
        switch kind {
        case .toggle, .slider, .text, .secureText, .multilineText, .choice, .date: true
        case .radio: isSecret
        case .titleValue, .button, .link, .mail, .page, .list, .custom, .unsupported: false
        }
    }
}
