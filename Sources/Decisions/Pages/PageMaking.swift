// Making of a page's view: entries for the device that are not hidden, in sections, with their texts translated and
// their values judged.

import TandemPattern
import TandemPropertyList
package import TandemSettings

extension PageView {
    /// The view of a page; nil if there is no page of that name.
    /// - Parameters:
    ///   - tree: the pages of the app.
    ///   - schema: the app's properties, whose rules judge the values.
    ///   - page: the page's name.
    ///   - request: the reader, and the values in force.
    package static func make(
        _ tree: PageTree, _ schema: SettingsSchema, page: String = PageTree.root, _ request: PageRequest
    ) -> PageView? {
        tree[page].map { make(tree, schema, page: $0, request) }
    }

    static func make(_ tree: PageTree, _ schema: SettingsSchema, page: Page, _ request: PageRequest) -> PageView {
        var making = PageMaking(tree, schema, request)
        return making.view(of: page)
    }

    /// The rows of all pages that shown rows lead to, whose title, subtitle, explanation, key or section contains the
    /// text, in any case of letters; each page once.
    package static func search(
        _ text: String, in tree: PageTree, _ schema: SettingsSchema, _ request: PageRequest
    ) -> [(page: PageView, row: Row)] {
        guard let sought = SoughtText(text) else { return [] }
        var making = PageMaking(tree, schema, request)
        var views: [String: PageView] = [:]
        var waiting = [PageTree.root][...]
        while let name = waiting.popFirst() {
            guard views[name] == nil, let page = tree[name] else { continue }
            let view = making.view(of: page)
            views[name] = view
            waiting += view.rows.compactMap(\.kind.opened)
        }
        return tree.opened.compactMap { views[$0.name] }.flatMap { view in
            view.groups.flatMap { group in
                // Once, and not for each row: the budget of texts counts it once, too.
                let hasAll = sought.isIn(group.title)
                return group.rows.filter { row in
                    hasAll || [row.title, row.subtitle, row.summary, row.key].contains { sought.isIn($0) }
                }.map { (view, $0) }
            }
        }
    }
}

/// How much the views that one reader asks for may cost, however their entries repeat a key.
private struct PageBudget {
    /// The steps that judging the values may still take.
    var steps = PatternSteps.ofSet
    /// Items and choices that may still be drawn, and bytes of texts in HTML (LIM-92).
    private var (parts, bytes) = (16_384, PageText.limit)

    /// Whether so many more items and choices may be drawn; they are counted before any of them is made.
    mutating func draws(_ count: Int) -> Bool {
        guard count <= parts else { return false }
        parts -= count
        return true
    }

    /// Whether texts of so many bytes more may be shown. After the first that may not there are none: to make a row
    /// costs as much as to show it.
    mutating func shows(_ count: Int) -> Bool {
        bytes = count <= bytes ? bytes - count : 0
        return hasTexts
    }

    /// Whether there may be another text.
    var hasTexts: Bool { bytes > 0 }
}

/// The making of pages for one reader, who has one budget for all of them.
private struct PageMaking {
    private let tree: PageTree
    private let schema: SettingsSchema
    private let request: PageRequest
    private let translation: StringsTables.Translation
    private var budget = PageBudget()
    /// Those that translate the page.
    private var tables: [String] = []

    init(_ tree: PageTree, _ schema: SettingsSchema, _ request: PageRequest) {
        (self.tree, self.schema, self.request) = (tree, schema, request)
        translation = tree.strings.translation(for: request.languages)
    }

    mutating func view(of page: Page) -> PageView {
        tables = page.tables
        var groups: [PageView.Group] = []
        var isHiding = false
        for (index, specifier) in page.specifiers.enumerated() where specifier.isFor(tree.device) {
            let isHidden = isHidden(specifier)
            if specifier.kind?.isSection == true {
                isHiding = isHidden
                if !isHidden { groups.append(section(specifier, index)) }
            } else if !isHiding, !isHidden {
                if groups.isEmpty { groups.append(PageView.Group(title: nil, footer: nil, rows: [])) }
                groups[groups.count - 1].append(row(specifier, index))
            }
        }
        return PageView(
            name: page.name, title: tree.title(of: page, request.languages), groups: groups,
            images: groups.shown(of: tree.images))
    }

    /// Whether an entry is not shown now: the request hides its key, or the entry's `TandemVisibleWhen` does for these
    /// values.
    private func isHidden(_ specifier: Specifier) -> Bool {
        if let key = specifier.key, request.hidden.contains(key) { return true }
        guard let conditions = specifier[.visibleWhen]?.dictionaryValue else { return false }
        return !conditions.allSatisfy { condition in
            guard let index = schema.index(of: condition.key) else { return false }
            let declaration = schema.declarations[index]
            if declaration.isSecret { return false }
            let value = request.value(of: condition.key).map(\.value) ?? declaration.stored(declaration.initialValue)
            return value.flatMap { declaration.value(stored: $0) } == declaration.value(stored: condition.value)
        }
    }

    private func text(_ key: String) -> String { translation.text(key, tables: tables) }

    private mutating func section(_ specifier: Specifier, _ index: Int) -> PageView.Group {
        let (title, footer) = (specifier.title.map(text), specifier.text(.footer).map(text))
        // Without room nothing is counted: a page may have its longest text in each of its groups.
        // The title is in the question about a reset of the section, too, and on its button.
        let isShown = budget.hasTexts && budget.shows(3 * PageText.bytes(title) + PageText.bytes(footer))
        return PageView.Group(
            title: isShown ? title : nil, footer: isShown ? footer : nil,
            rows: specifier.kind == .group ? [] : [row(specifier, index)])
    }

    // MARK: rows

    private mutating func row(_ specifier: Specifier, _ index: Int) -> PageView.Row {
        if budget.hasTexts {
            let row = wholeRow(specifier, index)
            if budget.shows(row.textBytes) { return row }
        }
        return PageView.Row(index: index, kind: .unsupported("The page has too much text to show this."))
    }

    private mutating func wholeRow(_ specifier: Specifier, _ index: Int) -> PageView.Row {
        let declaration = specifier.key.flatMap { schema[$0] }
        let known = specifier.key.flatMap { request.value(of: $0) }
        // The daemon's row: the app's own value in its place has neither a lock nor an edit.
        let stored = specifier.key.flatMap { request.values[$0] }
        let isSecret = declaration?.isSecret ?? false || specifier.isSecure
        let initial = declaration.flatMap { $0.stored($0.initialValue) }
        // Nothing of a view depends on a secret's value.
        let value = isSecret ? nil : known.map(\.value) ?? initial
        let picked = isSecret ? nil : picked(specifier, declaration, value)
        let dated: PropertyListValue? = if let picked { picked.date.map { .date($0) } } else { value }
        let kind: PageView.Kind =
            if !budget.draws(parts(of: specifier, declaration, value)) {
                .unsupported("The page has too many choices and items to show these.")
            } else if picked != nil {
                .date(specifier.dateTraits)
            } else {
                kind(specifier, declaration, value)
            }
        let name = title(specifier, kind, value)
        let shown = picked?.shown.map { (text: $0, isTitle: false) } ?? shown(dated, kind, declaration, specifier)
        let readable = isSecret ? nil : declaration
        let hiddenEdit: String? =
            stored?.isHiddenEdit == true ? beside(stored?.edit, kind, readable, specifier) : nil
        let notLoaded: String? = stored?.isNotLoaded == true ? beside(stored?.value, kind, readable, specifier) : nil
        let lock = lock(kind, declaration, stored, isWithheld: known?.isWithheld ?? false, value)
        return PageView.Row(
            index: index, key: declaration == nil ? nil : specifier.key, type: declaration?.type, kind: kind,
            title: name, subtitle: subtitle(specifier, declaration, value),
            summary: declaration.flatMap { $0.summary.isEmpty ? nil : $0.summary }, image: specifier.image(.image),
            alignment: specifier.alignment, value: value,
            shown: isSecret ? "" : shown.text, isShownByTitle: !isSecret && shown.isTitle,
            input: isSecret ? "" : input(dated, kind, declaration), date: dated?.dateValue,
            shownDefault: isSecret || picked != nil ? "" : zoned(initial, kind, declaration, specifier),
            layer: declaration == nil ? nil : known?.layer ?? "default", isEdited: stored?.isEdited ?? false,
            hiddenEdit: hiddenEdit, notLoaded: notLoaded, author: stored?.author, tag: stored?.tag ?? [],
            allowsNothing: declaration?.allowsNothing ?? false, range: range(kind, declaration), lock: lock,
            needsRestart: declaration?.needsRestart ?? false,
            isSecret: isSecret,
            error: specifier.key.flatMap { request.errors[$0] } ?? error(declaration, value),
            press: kind == .button ? specifier.key.flatMap { request.buttons.contains($0) ? $0 : nil } : nil)
    }

    /// A value for people that is not the one in force; empty for none, and for a secret.
    /// - Parameter declaration: nil for a secret.
    private func beside(
        _ value: PropertyListValue?, _ kind: PageView.Kind, _ declaration: SettingDeclaration?, _ specifier: Specifier
    ) -> String {
        guard let declaration, let value else { return "" }
        if case .list = kind { return value.arrayValue.map { "\($0.count) items" } ?? "" }
        return zoned(value, kind, declaration, specifier)
    }

    private func range(_ kind: PageView.Kind, _ declaration: SettingDeclaration?) -> String? {
        switch kind {
        case .text, .secureText: declaration?.bounds?.text
        case .choice(let choices) where choices.allowsOthers: declaration?.bounds?.text
        default: nil
        }
    }

    /// The date of a picker as the running app has it: of any value; of one that is a date the text alone, and not that
    /// of another date, which is of another moment.
    private func picked(
        _ specifier: Specifier, _ declaration: SettingDeclaration?, _ value: PropertyListValue?
    ) -> RunningPage.PickedDate? {
        guard specifier.kind == .datePicker, let declaration, let picked = request.dates[declaration.name] else {
            return nil
        }
        return declaration.type != .date || picked.date == value?.dateValue ? picked : nil
    }

    /// A button's title is the value of its key, if it has one.
    private func title(_ specifier: Specifier, _ kind: PageView.Kind, _ value: PropertyListValue?) -> String {
        if kind == .button, let stored = value?.stringValue, !stored.isEmpty { return text(stored) }
        return specifier.title.map(text) ?? ""
    }

    private func subtitle(
        _ specifier: Specifier, _ declaration: SettingDeclaration?, _ value: PropertyListValue?
    ) -> String? {
        let typed = value.flatMap { declaration?.value(stored: $0) }
        let word: String? =
            switch typed {
            case .boolean(let isOn): isOn ? "YES" : "NO"
            case let typed?: typed.text
            case nil: nil
            }
        if let subtitle = specifier.subtitle { return subtitle.text(for: word).map(text) }
        // A child pane shows its value.
        return specifier.kind == .childPane ? word.map(text) : nil
    }

    private mutating func error(_ declaration: SettingDeclaration?, _ value: PropertyListValue?) -> String? {
        guard let declaration, let value, let index = schema.index(of: declaration.name),
            case .failure(let error) = schema.judge(stored: value, at: index, within: &budget.steps)
        else { return nil }
        return PageInput.reason(of: error)
    }

    /// The choices and items that an entry makes at most, as options or as labels of its value.
    private func parts(
        of specifier: Specifier, _ declaration: SettingDeclaration?, _ value: PropertyListValue?
    ) -> Int {
        let labels = specifier.labelCount
        switch specifier.kind {
        case .multiValue, .radioGroup:
            guard let declaration else { return labels }
            let added = request.values[declaration.name]?.added?.arrayValue?.count ?? 0
            let choices = request.choices[declaration.name] ?? declaration.choices
            return max(labels, choices.count) + min(added, AddedChoices.countLimit.ofList)
        case .listGroup:
            let items = min(value?.arrayValue?.count ?? 0, ListDraft.itemLimit)
            return max(items, labels, specifier.specifier(.item)?.labelCount ?? 0)
        default: return labels
        }
    }

    private func lock(
        _ kind: PageView.Kind, _ declaration: SettingDeclaration?, _ stored: PageValue?, isWithheld: Bool,
        _ value: PropertyListValue?
    ) -> PageView.Lock? {
        guard let declaration else { return .noValue }
        if let stored, stored.layer == "signed" {
            if stored.isNotLoaded { return .notLoadedValue }
            return stored.isWaived ? .waivedValue : .signedValue
        }
        if declaration.access == .signed { return .signedOnly }
        if declaration.access < request.editor { return .notForCounterpart }
        if isWithheld { return .withheld }
        switch kind {
        case .text, .multilineText: return value.map { PageInput.hasText($0, declaration) } ?? true ? nil : .noText
        case .toggle, .slider, .secureText, .choice, .radio, .date, .list: return nil
        case .titleValue, .page, .custom: return .shownOnly
        case .button, .link, .mail, .unsupported: return .noValue
        }
    }

    // MARK: kinds

    private mutating func kind(
        _ specifier: Specifier, _ declaration: SettingDeclaration?, _ value: PropertyListValue?
    ) -> PageView.Kind {
        guard let kind = specifier.kind else { return .unsupported("Entries of this type are not known.") }
        if request.isOfItem, kind == .childPane || kind == .listGroup {
            return .unsupported("Pages and lists within an item are not supported.")
        }
        if let kind = kindWithoutValue(specifier) { return kind }
        guard let declaration else {
            return .unsupported(specifier.key == nil ? "The entry has no key." : "The app has no property for it.")
        }
        guard kind.takes(declaration.type) else {
            return .unsupported("A value of type \(declaration.type.rawValue) cannot be edited here.")
        }
        switch kind {
        case .toggle:
            let isOn = value.flatMap { declaration.value(stored: $0) } == .boolean(true)
            return .toggle(isOn: isOn)
        case .slider: return slider(specifier, declaration)
        case .multiValue: return .choice(choices(specifier, declaration, value))
        case .radioGroup: return .radio(choices(specifier, declaration, value))
        case .textView: return .multilineText(traits(specifier))
        case .textField: return textField(specifier, declaration)
        case .datePicker: return .date(specifier.dateTraits)
        case .listGroup: return list(specifier, value)
        // A title with its value. A group is no row, and the other types are among those that need no property.
        default: return .titleValue
        }
    }

    /// A field of one line, or of several for a value with elements.
    private func textField(_ specifier: Specifier, _ declaration: SettingDeclaration) -> PageView.Kind {
        switch declaration.type {
        case .strings, .array, .dictionary, .set: return .multilineText(traits(specifier))
        case .boolean, .integer, .float, .double, .string, .data, .date, .url, .coded:
            let traits = traits(specifier, declaration.type)
            return declaration.isSecret || specifier.isSecure ? .secureText(traits) : .text(traits)
        }
    }

    private func kindWithoutValue(_ specifier: Specifier) -> PageView.Kind? {
        switch specifier.kind {
        case .button: return .button
        case .custom:
            if let reason = needingUIKit(specifier) { return reason }
            return .custom(page: request.isOfItem ? nil : specifier.page.flatMap { tree[$0]?.name })
        case .childPane:
            if let file = specifier.file, tree[file] != nil { return .page(file) }
            let none = specifier.file == nil ? "The entry names no page." : "The page is missing or cannot be read."
            return needingUIKit(specifier) ?? .unsupported(none)
        case .openURL:
            guard let url = specifier.text(.file).flatMap({ SettingURL($0) }) else {
                return .unsupported("The entry has no address.")
            }
            return .link(url: url.text)
        case .mailCompose: return mail(specifier)
        default: return nil
        }
    }

    /// Why an entry that names no page of the app cannot be opened here; nil for one that can. A view controller
    /// may show an address, which is no page.
    private func needingUIKit(_ specifier: Specifier) -> PageView.Kind? {
        guard specifier.page.flatMap({ tree[$0] }) == nil else { return nil }
        let key = SpecifierKey.allCases.first { specifier[$0] != nil && $0.unsupported != nil }
        return key?.unsupported.map { .unsupported("\($0).") }
    }

    /// The app's parts are translated as the entry's are.
    private func mail(_ specifier: Specifier) -> PageView.Kind {
        let parts: PageView.Mail
        switch specifier.key.flatMap({ request.mails[$0] }) {
        case .refused(let reason)?: return .unsupported(reason.isEmpty ? "The app does not offer it now." : reason)
        case .compose(let mail)?: parts = mail
        case nil: parts = PageView.Mail(specifier)
        }
        return .mail(
            PageView.Mail(
                to: parts.to, copy: parts.copy, blindCopy: parts.blindCopy, subject: text(parts.subject),
                body: text(parts.body)))
    }

    private func traits(_ specifier: Specifier, _ type: SettingType = .string) -> TextTraits {
        var traits = specifier.textTraits
        traits.placeholder = traits.placeholder.map(text)
        guard specifier[.keyboard] == nil else { return traits }
        switch type {
        case .integer: traits.keyboard = .numbersAndPunctuation
        case .float, .double: traits.keyboard = .decimalPad
        case .url: traits.keyboard = .url
        default: break
        }
        return traits
    }

    private func slider(_ specifier: Specifier, _ declaration: SettingDeclaration) -> PageView.Kind {
        // Without bounds any number is valid, and an editor of text shows no rule that there is not.
        guard let bounds = declaration.bounds else { return .text(traits(specifier, declaration.type)) }
        let ends = bounds.ends
        return .slider(
            PageView.Slider(
                minimum: ends.lower, maximum: ends.upper, range: bounds.text,
                step: declaration.type == .integer ? 1 : nil,
                minimumImage: specifier.image(.minimumImage), maximumImage: specifier.image(.maximumImage),
                icon: specifier[.minimumImage] == nil && specifier[.maximumImage] == nil ? declaration.icon : nil))
    }

    // MARK: choices

    private mutating func choices(
        _ specifier: Specifier, _ declaration: SettingDeclaration, _ value: PropertyListValue?
    ) -> PageView.Choices {
        let labels = ChoiceLabels(specifier, declaration)
        let running = request.choices[declaration.name]
        let choices = (running ?? declaration.choices) + added(declaration)
        let allowed = choices.compactMap { choice -> (label: String, value: PropertyListValue?)? in
            if choice.value == .nothing { return (choice.label, nil) }
            return declaration.stored(choice.value).map { (choice.label, $0) }
        }
        let names = ValueIndices(allowed.map(\.value))
        // The page's order and texts, unless the app has its own now; a choice that the page does not name stands at
        // the end.
        let named: [PropertyListValue?] =
            if running != nil {
                []
            } else if choices.isEmpty {
                taken(labels, declaration)
            } else {
                labels.values.filter { names.index(of: $0) != nil }
            }
        let known = ValueIndices(named)
        let values =
            named
            + allowed.enumerated().filter { names.index(of: $1.value) == $0 && known.index(of: $1.value) == nil }
            .map(\.element.value)
        let allowsOthers = declaration.editor == .editableChoice
        let options = values.enumerated().map { id, stored -> PageView.Option in
            let label = labels.index(of: stored)
            let ofPage = running == nil ? label : nil
            let title = ofPage.flatMap { labels.title($0) }
            let own = names.index(of: stored).map { allowed[$0].label }
            return PageView.Option(
                id: id, input: stored.map { PageInput.text(ofChoice: $0, declaration) } ?? "",
                title: text(title ?? own ?? stored?.description ?? ""), isTitleOfPage: title != nil,
                shortTitle: ofPage.flatMap { labels.shortTitle($0) }.map(text),
                image: label.flatMap { labels.image($0) },
                value: stored)
        }
        return PageView.Choices(
            options: specifier.flag(.isSorted) == true ? options.byTitle : options,
            selected: options.first { $0.value == value }?.id,
            allowsOthers: allowsOthers, footer: specifier.text(.footer).map(text))
    }

    /// The values of the page that the property takes: without choices of its own its rules alone say which (PAG-6).
    private mutating func taken(_ labels: ChoiceLabels, _ declaration: SettingDeclaration) -> [PropertyListValue?] {
        guard let index = schema.index(of: declaration.name) else { return [] }
        var taken: [PropertyListValue?] = []
        for case let value? in labels.values {
            if case .success = schema.judge(stored: value, at: index, within: &budget.steps) { taken.append(value) }
        }
        return taken
    }

    /// The values that a person has added to the list, and that keep its rules.
    private mutating func added(_ declaration: SettingDeclaration) -> [SettingChoice] {
        guard let list = request.values[declaration.name]?.added, let index = schema.index(of: declaration.name) else {
            return []
        }
        return AddedChoices([declaration.name: list]).choices(at: index, in: schema, within: &budget.steps)
    }

    // MARK: lists

    private func list(_ specifier: Specifier, _ value: PropertyListValue?) -> PageView.Kind {
        guard let item = specifier.specifier(.item) else { return .unsupported("The list names no items.") }
        let all = value?.arrayValue ?? []
        let add = specifier.specifier(.add).flatMap {
            $0.hasDraft(in: tree) && all.count < ListDraft.itemLimit ? $0 : nil
        }
        let labels = ChoiceLabels(item, nil)
        let hasSecretTitle =
            item.isSecure
            || item.page.flatMap { tree[$0] }?.specifiers.contains { entry in
                entry.key == item.key && entry.isSecure
            } == true
        let items = all.prefix(ListDraft.itemLimit).map { value in
            let title = itemTitle(hasSecretTitle ? nil : value, item, labels)
            return PageView.Item(
                title: title.text, isTitleOfPage: title.isTitle, page: item.page.flatMap { tree[$0]?.name })
        }
        return .list(
            PageView.List(
                items: items, add: add, addTitle: add?.title.map(text),
                isItemEditable: item.hasDraft(in: tree), isDeletable: specifier.flag(.isDeletable) ?? false))
    }

    /// The value of the item's key in a dictionary, else the value itself, with the label that the item has for it.
    private func itemTitle(
        _ value: PropertyListValue?, _ item: Specifier, _ labels: ChoiceLabels
    ) -> (text: String, isTitle: Bool) {
        let own = value?.dictionaryValue.map { dictionary in item.key.flatMap { dictionary[$0] } } ?? value
        guard let own else { return (item.title.map(text) ?? "", true) }
        if let label = labels.index(of: own).flatMap({ labels.title($0) }) { return (text(label), true) }
        return (own.stringValue ?? own.description, false)
    }

    // MARK: values for people

    private func input(
        _ value: PropertyListValue?, _ kind: PageView.Kind, _ declaration: SettingDeclaration?
    ) -> String {
        switch kind {
        case .toggle(let isOn) where value.flatMap { declaration?.value(stored: $0) } != nil:
            return isOn ? "on" : "off"
        case .date(let traits): return value.map { PageInput.text($0, traits) } ?? ""
        case .choice, .radio:
            return value.flatMap { value in declaration.map { PageInput.text(ofChoice: value, $0) } } ?? ""
        case .toggle, .slider, .text, .secureText, .multilineText:
            return value.map { PageInput.text($0, declaration) } ?? ""
        case .titleValue, .button, .link, .mail, .page, .list, .custom, .unsupported: return ""
        }
    }

    /// As ``shown(_:_:_:_:)``, with the zone of a date: no field stands beside it (PAG-16).
    private func zoned(
        _ value: PropertyListValue?, _ kind: PageView.Kind, _ declaration: SettingDeclaration?, _ specifier: Specifier
    ) -> String {
        let text = shown(value, kind, declaration, specifier).text
        return PageView.Row.zone(of: value, shownAs: text, kind).map { "\(text) \($0)" } ?? text
    }

    private func shown(
        _ value: PropertyListValue?, _ kind: PageView.Kind, _ declaration: SettingDeclaration?, _ specifier: Specifier
    ) -> (text: String, isTitle: Bool) {
        if case .choice(let choices) = kind, let chosen = choices.title(of: value) { return chosen }
        if case .radio(let choices) = kind, let chosen = choices.title(of: value) { return chosen }
        guard let value else { return ("", false) }
        switch kind {
        case .date(let traits): return (PageInput.shown(value, traits), false)
        case .list(let list): return (String(list.items.count), false)
        // Perhaps because it has too many labels.
        case .unsupported: break
        default:
            let labels = ChoiceLabels(specifier, declaration)
            if let label = labels.index(of: value).flatMap({ labels.title($0) }) { return (text(label), true) }
        }
        return (PageInput.shown(value, declaration), false)
    }
}

extension [PageView.Option] {
    /// In the order of their titles: of equal titles the first comes first. Titles that no row has room for stay as
    /// they are.
    fileprivate var byTitle: [PageView.Option] {
        guard reduce(0, { $0 + $1.title.utf8.count }) <= PageText.limit else { return self }
        // By their bytes: of a text with many marks the order of Unicode costs the square of its length.
        let named = map { (option: $0, title: [UInt8]($0.title.lowercased().utf8)) }
        return named.sorted {
            $0.title == $1.title ? $0.option.id < $1.option.id : $0.title.lexicographicallyPrecedes($1.title)
        }.map(\.option)
    }
}

extension PageView.Row {
    /// A row that shows nothing but that there is one.
    fileprivate init(index: Int, kind: PageView.Kind) {
        self.init(
            index: index, key: nil, type: nil, kind: kind, title: "", subtitle: nil, summary: nil, image: nil,
            alignment: .natural, value: nil, shown: "", isShownByTitle: false, input: "", date: nil, shownDefault: "",
            layer: nil,
            isEdited: false, hiddenEdit: nil, notLoaded: nil, author: nil, tag: [], allowsNothing: false, range: nil,
            lock: .noValue, needsRestart: false, isSecret: false, error: nil, press: nil)
    }
}

extension PageView.Choices {
    /// The title of the option that has the value; an option may stand for no value.
    fileprivate func title(of value: PropertyListValue?) -> (text: String, isTitle: Bool)? {
        guard let option = options.first(where: { $0.value == value }) else { return nil }
        return option.shortTitle.map { ($0, true) } ?? (option.title, option.isTitleOfPage)
    }
}

extension PageView.Kind {
    fileprivate var opened: String? {
        switch self {
        case .page(let name): name
        case .custom(let page): page
        default: nil
        }
    }
}
