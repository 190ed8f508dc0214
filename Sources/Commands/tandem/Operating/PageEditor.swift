// Pages of an app as a form of lines: what a person types becomes a change of one field, a step to another page, or the
// draft of an item. It has no input and no output of its own; numbers are those of the rows that were shown last.

import TandemBase
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings

/// The screens that a person has opened in the pages of an app.
struct PageEditor {
    /// The effect of a line.
    enum Step: Equatable {
        /// The screen is shown again, with the values of now.
        case show
        /// Lines of text.
        case say([String])
        /// Nothing was changed, and why.
        /// - offers: lines about the values that the app would take.
        case refuse(String, offers: [String] = [])
        /// A change for the daemon; ``stored()`` follows if it is taken.
        /// - empty: keys that are set to nothing.
        /// - tags: as ``EditableList/tags``.
        case set(PropertyListDictionary, empty: [String] = [], tags: PropertyListDictionary = [:])
        case reset([String])
        /// A change of several values, which is made once the person has agreed to the sentence (PAG-37).
        indirect case ask(String, then: Step)
        /// A press of the button with this key, for the app.
        case press(String)
        case end
    }

    private enum Word: String {
        case quit, help, back, cancel, done, add, reset, empty, delete, up, down
    }

    private enum Screen {
        case page(String)
        case list(String)
        case draft(list: String, ListDraft, of: PropertyListValue?)
    }

    private let document: SchemaDocument
    private let tree: PageTree
    private var request: PageRequest
    /// The open screens, the one that is shown last.
    private var screens: [Screen]
    /// The rows and items as they were shown last.
    private var rows: [PageView.Row] = []
    private var items: [PropertyListValue] = []
    /// The layer of these items: the default of an app that has fallen silent is not what was shown (PAG-34).
    private var layer: String?
    /// A sentence about what the pages lack now.
    private var note: String?

    static let help = """
        N TEXT    give row N a value             N         open row N, press it, or show its value and choices
        empty N   take its value away            reset N   take the edit of row N back
        add       begin a new item of a list     up N, down N, delete N   move or delete an item
        done      store the draft of an item     cancel    drop it
        back      to where you came from         quit      end
        A list of texts is typed as JSON, such as ["first","second"], and so is a text
        of several lines, such as "first\\nsecond". A text in quotation marks is JSON, too.
        Dates and times are in UTC, as 2026-11-23, 09:30 or 2026-11-23T09:30.
        """

    init?(_ document: SchemaDocument, page: String, _ request: PageRequest) {
        (self.document, tree, self.request) = (document, PageTree(document), request)
        screens = [.page(page)]
        guard tree.opens(page) else { return nil }
    }

    // MARK: showing

    /// The running app's decisions count from now on.
    mutating func follow(_ state: RunningState) {
        request.take(state, document.schema)
        note = state.note
    }

    /// The screen as text.
    /// - Parameters:
    ///   - values: those of now.
    ///   - width: the columns of the terminal.
    mutating func lines(_ values: [String: PageValue], width: Int = Console.plainColumns) -> [String] {
        request.values = values
        switch screens[screens.count - 1] {
        case .page(let name):
            guard let view = PageView.make(tree, document.schema, page: name, request) else { return [] }
            rows = view.rows
            let note = note.map { TextColumns.wrapped($0, within: width) } ?? []
            return [view.title ?? view.name] + note + numbered(view, width)
        case .draft(let key, let draft, let old):
            let view = view(draft)
            rows = view.rows
            let wrong = draft.errors.map { "  \($0.description)" }
            let head = "\(key): \(old == nil ? "new item" : "item"), ends with done or cancel"
            return [head] + numbered(view, width) + wrong
        case .list(let key):
            guard let editable = list(key) else { return ["The list cannot be edited."] }
            let list = editable.list
            (items, layer) = (editable.items, editable.row.layer)
            let shown = list.items.enumerated().map { "  \($0 + 1)  \($1.title)" }
            let adding = list.add == nil ? [] : ["  add  \(list.addTitle ?? "a new item")"]
            return [editable.row.title] + (shown.isEmpty ? ["  No items."] : shown) + adding
        }
    }

    private func view(_ draft: ListDraft) -> PageView {
        draft.view(in: tree, languages: request.languages, hidden: request.hidden)
    }

    /// The rows with their numbers. An item has no layers: all of its values are those of one property.
    private func numbered(_ view: PageView, _ width: Int) -> [String] {
        let layers = isDrafting ? [] : ["layer"]
        var number = 0
        return view.groups.flatMap { group in
            var table = Table(cell(group.title ?? "-"), ["", "title", "value"] + layers)
            for row in group.rows {
                number += 1
                let cells = ["\(number)", cell(row.name), cell(row.text)] + layers.map { _ in row.layer ?? "" }
                table.add(cells, notes: row.notes)
            }
            return group.lines(of: table, width: width - 2, notesBelow: 1).map { "  \($0)" }
        }
    }

    /// A text that an app or another device has written, so short that the line shows the cells after it, too.
    private func cell(_ text: String) -> String { Printable.text(text, limit: 80) }

    // MARK: lines

    mutating func take(_ line: String, _ values: [String: PageValue]) -> Step {
        request.values = values
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        guard let first = words.first else { return .show }
        let rest = words.count > 1 ? words[1] : nil
        let word = Word(word: first)
        switch (word, screens[screens.count - 1]) {
        case (.quit, _): return .end
        case (.help, _): return .say(Self.help.split(separator: "\n").map(String.init))
        case (.back, .page), (.back, .list), (.cancel, .draft): return back()
        case (.done, .draft(let key, let draft, let old)): return done(key, draft, old)
        case (.add, .list(let key)): return open(key, at: nil)
        case (_, .list(let key)): return inList(key, word, word == nil ? first : rest ?? "", isAlone: rest == nil)
        case (.reset, .page), (.empty, _):
            guard let row = rest.flatMap(row) else { return noRow }
            return word == .reset ? reset(row) : edit(row, "")
        default:
            guard let row = row(first) else { return Int(first) == nil ? Self.unknown : noRow }
            return rest.map { edit(row, $0) } ?? open(row)
        }
    }

    /// Whether the answer to a line depends on what the app has set.
    func asks(_ line: String) -> Bool {
        switch line.split(separator: " ").first.flatMap({ Word(word: String($0)) }) {
        case .quit, .help, .back, .cancel: false
        default: !line.isEmpty
        }
    }

    /// Whether the draft of an item has neither ended with done nor with cancel.
    var isDrafting: Bool { if case .draft = screens[screens.count - 1] { true } else { false } }

    /// The name of a property, by the rows that were shown last.
    func name(of key: String) -> String { rows.name(of: key) }

    /// The change was taken: a draft has ended.
    mutating func stored() {
        if isDrafting { screens.removeLast() }
    }

    /// The app's own checks refused a change. A draft takes their corrections; for a page the refusal names them.
    /// - Parameter values: those of the change.
    mutating func refused(_ text: String, _ refusals: [PageRefusal], of values: PropertyListDictionary) -> Step {
        let corrections: [PageView.Row]
        var further: String?
        switch screens[screens.count - 1] {
        case .draft(let list, let draft, let old):
            guard let refusal = refusals.first(where: { $0.key == list }), let items = values[list]?.arrayValue else {
                return .refuse(text)
            }
            let corrected = draft.corrected(by: refusal, of: items, typed: [])
            screens[screens.count - 1] = .draft(list: list, corrected.draft, of: old)
            corrections = view(corrected.draft).rows.filter { row in corrected.fields.contains { $0.key == row.key } }
            further = corrected.further
        case .page(let name):
            var request = request
            request.values.place(refusals)
            let rows = PageView.make(tree, document.schema, page: name, request)?.rows ?? []
            corrections = rows.filter { row in
                refusals.contains { $0.key == row.key && $0.replacement != nil }
            }
        case .list: corrections = []
        }
        let offers = corrections.map { "The app offers \(cell($0.name)): \(cell($0.text))" }
        return .refuse(text, offers: offers + [further].compactMap(\.self))
    }

    private static var unknown: Step { .refuse("Type help for what can be typed.") }
    private static var noValue: Step { .refuse("The row has no value.") }
    private var noRow: Step { Self.noPart("row", rows.count, of: "page") }

    private static func noPart(_ part: String, _ count: Int, of whole: String) -> Step {
        let present =
            switch count {
            case 0: "none"
            case 1: "\(part) 1 only"
            default: "the \(part)s 1 to \(count)"
            }
        return .refuse("There is no such \(part): the \(whole) has \(present).")
    }

    private func row(_ number: String) -> PageView.Row? { Self.index(number, in: rows.indices).map { rows[$0] } }

    /// The index that a number from 1 names.
    private static func index(_ number: String, in indices: Range<Int>) -> Int? {
        guard let number = Int(number), number > 0, indices.contains(number - 1) else { return nil }
        return number - 1
    }

    private mutating func back() -> Step {
        guard screens.count > 1 else { return .refuse("This is the first page; quit ends.") }
        screens.removeLast()
        return .show
    }

    private mutating func open(_ row: PageView.Row) -> Step {
        switch row.kind {
        case .page(let name), .custom(let name?):
            screens.append(.page(name))
            return .show
        case .list:
            guard let key = row.key, list(key) != nil else { return .refuse(row.state ?? "It cannot be opened.") }
            screens.append(.list(key))
            return .show
        case .choice(let choices), .radio(let choices):
            return .say(choices.options.map { "  \($0.input)  \($0.title)" })
        case .toggle: return .say(["  on", "  off"])
        case .button: return row.press.map { .press($0) } ?? .refuse("This button works in the app alone.")
        default: return .say(whole(row))
        }
    }

    /// A list has several values.
    private func reset(_ row: PageView.Row) -> Step {
        guard let key = row.key else { return Self.noValue }
        guard row.isEdited else { return .refuse("It has no edit.") }
        guard case .list = row.kind else { return .reset([key]) }
        return .ask("This removes the edit of \(cell(row.name)) with all of its items.", then: .reset([key]))
    }

    /// The value of a row in full, and how another one is typed.
    private func whole(_ row: PageView.Row) -> [String] {
        let lines = row.lines.count > 1 ? row.lines : row.text.isEmpty ? ["No value."] : [row.text]
        let number = (rows.firstIndex { $0.index == row.index } ?? 0) + 1
        let example = row.isEditable && !row.isSecret ? row.example : nil
        return lines.map { "  \($0)" } + (example.map { ["It is typed like this: \(number) \($0)"] } ?? [])
    }

    private mutating func edit(_ row: PageView.Row, _ text: String) -> Step {
        guard let key = row.key else { return Self.noValue }
        guard !row.isSecret else { return .refuse("A secret would be seen here: use settings set --values FILE.") }
        if case .list = row.kind { return .refuse("Type the number alone to open the list.") }
        guard let field = row.input(ofLine: text) else {
            let example = row.example.map { ", such as \($0)" } ?? ""
            return .refuse("A list of texts is typed as JSON, each text without a line end\(example).")
        }
        let fields = [key: field]
        let shown = [key: row.lineInput]
        switch screens[screens.count - 1] {
        case .draft(let list, var draft, let old):
            let input = draft.take(fields, shown: shown, of: view(draft), line: row.index)
            if let error = input.errors[key] { return .refuse(error) }
            screens[screens.count - 1] = .draft(list: list, draft, of: old)
            return .show
        case .page(let name):
            guard let view = PageView.make(tree, document.schema, page: name, request) else { return noRow }
            let input = PageInput(
                fields, shown: shown, of: view, document.schema, by: request.editor, line: row.index)
            if let error = input.errors[key] { return .refuse(error) }
            let isSame = input.values.isEmpty && input.empty.isEmpty
            return isSame ? .say(["It has that value already."]) : .set(input.values, empty: input.empty)
        case .list: return noRow
        }
    }

    // MARK: lists

    /// The list, if the person may edit it.
    private func list(_ key: String) -> EditableList? { EditableList(key, in: tree, document.schema, request) }

    private mutating func open(_ key: String, at index: Int?) -> Step {
        guard let draft = list(key)?.draft(at: index) else { return .refuse("There is no such item to be edited.") }
        screens.append(.draft(list: key, draft, of: index.map { items[$0] }))
        return .show
    }

    private mutating func inList(_ key: String, _ word: Word?, _ number: String, isAlone: Bool) -> Step {
        guard let index = Self.index(number, in: items.indices) else {
            return Int(number) == nil ? Self.unknown : Self.noPart("item", items.count, of: "list")
        }
        guard let list = list(key), list.items == items, list.row.layer == layer else { return Self.changed }
        let change: EditableList.Change
        switch word {
        case .delete: change = .remove
        case .up: change = .up
        case .down: change = .down
        default: return isAlone ? open(key, at: index) : .refuse("Type the number alone to open the item.")
        }
        guard let next = list.items(after: change, of: index) else { return .refuse("The list does not allow it.") }
        let step = Step.set([key: .array(next)], tags: list.tags)
        guard change == .remove else { return step }
        let titles = list.list.items.map(\.title)
        let title = titles.indices.contains(index) && !titles[index].isEmpty ? titles[index] : "item \(index + 1)"
        return .ask("This deletes \(cell(title)) with all of its values.", then: step)
    }

    private func done(_ key: String, _ draft: ListDraft, _ old: PropertyListValue?) -> Step {
        guard let list = list(key), list.row.layer == layer else { return Self.changed }
        if let index = draft.index, !list.items.indices.contains(index) || list.items[index] != old {
            return Self.changed
        }
        guard let next = list.done(draft) else {
            return .refuse(draft.errors.first?.description ?? EditableList.noItem)
        }
        return .set([key: .array(next)], tags: list.tags)
    }

    private static var changed: Step { .refuse("The list was changed meanwhile; nothing is stored.") }
}
