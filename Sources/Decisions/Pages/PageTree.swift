// Pages of an app: from the files of a bundle, from the layout in a schema, or made of the declarations where an app
// brings no bundle. A page is read once, however the pages lead to each other. Each fault is reported, and leaves out
// nothing but itself.

import TandemBase
package import TandemPropertyList
package import TandemSettings

package struct Page: Sendable, Equatable {
    /// The bare name of its file.
    package let name: String
    package let title: String?
    /// The table of its texts; nil: that of its own name.
    package let stringsTable: String?
    /// In the order of the page, for all kinds of devices.
    package let specifiers: [Specifier]

    package init(name: String, title: String? = nil, stringsTable: String? = nil, specifiers: [Specifier]) {
        self.name = name.asName
        self.title = title
        self.stringsTable = stringsTable?.asName
        self.specifiers = specifiers
    }

    /// Whether it has headings and footers alone.
    fileprivate var isText: Bool { specifiers.allSatisfy { $0.kind == .group } }

    /// The tables that translate the page's texts.
    package var tables: [String] { stringsTable.map { [$0] } ?? [name, PageTree.root] }
}

package struct PageTree: Sendable {
    /// The first page.
    package static var root: String { "Root" }
    /// The most pages (LIM-99).
    package static let pageLimit = 64
    /// The most entries of one page, and of all pages of an app (LIM-119).
    package static let specifierLimit = 2048

    /// The root, and the others in the order in which a walk through child panes meets them; then pages that only items
    /// of lists and custom views open.
    package private(set) var pages: [Page] = []
    /// How many of the pages child panes lead to.
    private var paneCount = 0
    private var indices: [String: Int] = [:]
    /// The pages of which the limits have cut entries off.
    private var cut: Set<String> = []
    package private(set) var strings: StringsTables
    /// The images that entries name, by their names.
    package private(set) var images: [String: PageImage] = [:]
    private var imageBytes = 0
    package let device: DeviceKind
    private var faults = PageFaults()

    /// Faults of the pages, in their order.
    package var problems: [SettingsBundleProblem] { faults.problems }

    /// The page of a name; nil if there is none.
    package subscript(name: String) -> Page? { indices[name].map { pages[$0] } }

    /// Whether a page is there with all of its entries.
    func isWhole(_ name: String) -> Bool { self[name] != nil && !cut.contains(name) }

    /// The pages that child panes lead to from the root.
    package var panes: ArraySlice<Page> { pages.prefix(paneCount) }

    /// The pages that a reader gets to from the root, by child panes and views of the app's own, and not by items of
    /// lists alone.
    package var opened: [Page] {
        let ways = ways
        return pages.filter { ways[$0.name] != nil }
    }

    /// Whether a page is one of those.
    package func opens(_ name: String) -> Bool { self[name] != nil && ways[name] != nil }

    /// The title of a page: as the first pane that leads to it states it, else the page's own, else the pane's; nil for
    /// a root without a title.
    package func title(of page: Page, _ languages: [String]) -> String? {
        let translation = strings.translation(for: languages)
        let own = page.title.map { translation.text($0, tables: page.tables) }
        guard page.name != Self.root else { return own }
        for host in pages {
            guard let pane = host.specifiers.first(where: { $0.kind == .childPane && $0.file == page.name }) else {
                continue
            }
            let titles = [SpecifierKey.childTitle, .title].map { key in
                pane.text(key).map { translation.text($0, tables: host.tables) }
            }
            return titles[0] ?? own ?? titles[1]
        }
        return own
    }

    /// The languages of a page's translated texts, by the texts as its reader has them.
    package func languages(of page: Page, _ languages: [String]) -> [String: String] {
        guard !strings.isEmpty else { return [:] }
        let translation = strings.translation(for: languages)
        let texts = page.specifiers.flatMap(\.texts).compactMap { translation.tagged($0, tables: page.tables) }
        return Self.tags(texts)
    }

    /// The languages of the translated titles of pages, by the titles as their reader has them.
    package func titleLanguages(_ languages: [String]) -> [String: String] {
        guard !strings.isEmpty else { return [:] }
        let translation = strings.translation(for: languages)
        let titles = pages.flatMap { page in
            let panes = page.specifiers.filter { $0.kind == .childPane }
            let own = [page.title] + panes.flatMap { [$0.text(.childTitle), $0.text(.title)] }
            return own.compactMap { $0.flatMap { translation.tagged($0, tables: page.tables) } }
        }
        return Self.tags(titles)
    }

    /// The languages by the texts, without the texts that take long to compare: these have no language.
    private static func tags(_ texts: [(text: String, tag: String)]) -> [String: String] {
        let known = texts.filter { !CombiningMarks.areMany(in: $0.text) }
        return Dictionary(known.map { ($0.text, $0.tag) }) { first, _ in first }
    }

    /// The pages from the root to another one on the shortest way, without the page itself.
    package func path(to name: String) -> [Page] { ways[name] ?? [] }

    /// The shortest way to each page that a reader gets to.
    private var ways: [String: [Page]] {
        var ways: [String: [Page]] = [Self.root: []]
        var waiting = [Self.root][...]
        while let next = waiting.popFirst() {
            guard let page = self[next], let way = ways[next] else { continue }
            for file in page.specifiers.compactMap(\.page) where ways[file] == nil {
                ways[file] = way + [page]
                waiting.append(file)
            }
        }
        return ways
    }

    /// Takes an image of a new name; false if there would be too many of them, or of their bytes (LIM-130).
    package mutating func add(_ image: PageImage, named name: String) -> Bool {
        guard images[name] == nil, images.count < PageImage.countLimit,
            imageBytes + image.bytes.count <= PageImage.totalLimit
        else { return false }
        images[name] = image
        imageBytes += image.bytes.count
        return true
    }

    /// Whether there is nothing to show.
    package var isEmpty: Bool { pages.isEmpty }

    /// The tree without its pages of headings and footers alone, as licences are; the root stays.
    package var withoutTexts: PageTree {
        var kept = self
        (kept.pages, kept.indices, kept.paneCount) = ([], [:], 0)
        for page in pages where page.name == Self.root || !isPane(page) || !page.isText {
            if isPane(page) { kept.paneCount += 1 }
            kept.append(page)
        }
        return kept
    }

    private mutating func append(_ page: Page) {
        indices[page.name] = pages.count
        pages.append(page)
    }
}

/// Faults, of which no more are kept than a report can have.
struct PageFaults: Sendable {
    /// The most faults that are reported of an app's pages (LIM-121).
    static let limit = 256

    private(set) var problems: [SettingsBundleProblem] = []

    mutating func add(_ problem: SettingsBundleProblem) {
        if problems.count < Self.limit { problems.append(problem) }
    }
}

// MARK: - reading files
extension PageTree {
    package init(device: DeviceKind = .phone) {
        self.device = device
        strings = StringsTables()
    }

    /// Visits all pages of a bundle.
    /// - Parameter page: the content of a page by its name, which has no `.plist`; nil if there is none.
    package init(
        device: DeviceKind = .phone, strings: StringsTables = StringsTables(),
        reading page: (String) throws(SettingsBundleProblem) -> PropertyListDictionary?
    ) {
        self.device = device
        self.strings = strings
        var walk = PageWalk(root: Self.root)
        while let name = walk.next() {
            if pages.count == Self.pageLimit {
                faults.add(.tooManyPages(limit: Self.pageLimit))
                break
            }
            do throws(SettingsBundleProblem) {
                guard let content = try page(name) else { throw .missingPage(name) }
                let page = try read(content, name)
                append(page)
                if !walk.isBeyondPanes { paneCount += 1 }
                walk.add(page)
            } catch {
                faults.add(error)
            }
        }
        reportCycles()
    }

    private mutating func read(
        _ content: PropertyListDictionary, _ name: String
    ) throws(SettingsBundleProblem) -> Page {
        guard let list = content["PreferenceSpecifiers"]?.arrayValue else { throw .malformedPage(name) }
        let rows = list.compactMap(\.dictionaryValue)
        guard rows.count == list.count else { throw .malformedPage(name) }
        let room = Self.specifierLimit - pages.reduce(0) { $0 + $1.specifiers.count }
        if rows.count > room {
            faults.add(.tooManySpecifiers(page: name, limit: Self.specifierLimit))
            cut.insert(name)
        }
        let specifiers = rows.prefix(room).map { Specifier($0) }
        for (index, specifier) in specifiers.enumerated() {
            let place = SettingsPageLocation(page: name, index: index)
            for fault in specifier.faults { faults.add(.specifier(place, fault)) }
        }
        if content["ApplicationGroupContainerIdentifier"] != nil {
            let fault = SpecifierFault.unsupported("ApplicationGroupContainerIdentifier")
            faults.add(.specifier(SettingsPageLocation(page: name, index: nil), fault))
        }
        return Page(
            name: name, title: content["Title"]?.stringValue, stringsTable: content["StringsTable"]?.stringValue,
            specifiers: specifiers)
    }

    /// Reports each child pane that leads back to a page from which one gets to it.
    private mutating func reportCycles() {
        let children = panes.map { page in page.specifiers.compactMap { $0.kind == .childPane ? $0.file : nil } }
        for index in children.indices {
            var reported: Set<String> = []
            for file in children[index] {
                guard reported.insert(file).inserted, let target = indices[file], target <= index,
                    reaches(index, from: target, children)
                else { continue }
                faults.add(.cycle(page: pages[index].name, leadsTo: file))
            }
        }
    }

    private func reaches(_ goal: Int, from start: Int, _ children: [[String]]) -> Bool {
        var known: Set<Int> = [start]
        var waiting = [start]
        while let index = waiting.popLast() {
            if index == goal { return true }
            for file in children[index] {
                if let next = indices[file], next < children.count, known.insert(next).inserted { waiting.append(next) }
            }
        }
        return false
    }
}

/// The order of a walk: all of a page's entries, then the pages of its child panes in their order, each with its own
/// before the next; and pages that child panes do not lead to at the end.
private struct PageWalk {
    private var known: Set<String>
    /// The next page is the last.
    private var panes: [String]
    /// Pages of items and custom views, which may turn out to be panes, too.
    private var others: [String] = []
    private(set) var isBeyondPanes = false

    init(root: String) {
        known = [root]
        panes = [root]
    }

    mutating func next() -> String? {
        if let pane = panes.popLast() { return pane }
        isBeyondPanes = true
        while !others.isEmpty {
            let name = others.removeFirst()
            if known.insert(name).inserted { return name }
        }
        return nil
    }

    mutating func add(_ page: Page) {
        for specifier in page.specifiers {
            others += specifier.itemPages
            if specifier.kind == .custom, let page = specifier.page { others.append(page) }
        }
        let files = page.specifiers.compactMap { $0.kind == .childPane ? $0.file : nil }
        if isBeyondPanes {
            others += files
        } else {
            panes += files.filter { known.insert($0).inserted }.reversed()
        }
    }
}

// MARK: - layout of a schema

/// The translations that a layout has (PAG-10).
package enum LayoutTranslations: Sendable {
    case none
    /// Of the texts that entries and pages have.
    case ofEntries
    /// Those, and whole tables where a page translates texts of the running app.
    case all
}

extension PageTree {
    /// Reads the layout of a schema document (PAG-5), and passes over what is none.
    package init(layout: PropertyListDictionary) {
        self.init(device: DeviceKind(configured: layout["device"]?.stringValue))
        strings = StringsTables(layout["strings"]?.dictionaryValue ?? [:], region: layout["region"]?.stringValue)
        for (name, value) in (layout["images"]?.dictionaryValue ?? [:]).prefix(PageImage.countLimit) {
            if let image = value.dataValue.flatMap({ PageImage($0) }) { _ = add(image, named: name) }
        }
        var count = 0
        for row in (layout["pages"]?.arrayValue ?? []).prefix(Self.pageLimit).compactMap(\.dictionaryValue) {
            guard let name = row["name"]?.stringValue?.asName, indices[name] == nil else { continue }
            let rows = (row["specifiers"]?.arrayValue ?? []).compactMap(\.dictionaryValue)
            let specifiers = rows.prefix(Self.specifierLimit - count).map { Specifier($0) }
            count += specifiers.count
            if specifiers.count < rows.count { cut.insert(name) }
            if row["ofItems"]?.booleanValue != true, paneCount == pages.count { paneCount += 1 }
            append(
                Page(
                    name: name, title: row["title"]?.stringValue, stringsTable: row["table"]?.stringValue,
                    specifiers: specifiers))
        }
    }

    /// The layout for a schema document: entries with a declared key leave rule and default to the declaration, and
    /// entries of secrets have no default.
    /// - Parameters:
    ///   - translations: those that the layout has.
    ///   - hasImages: false leaves images out.
    package func layout(
        for schema: SettingsSchema, translations: LayoutTranslations = .all, hasImages: Bool = true
    ) -> PropertyListDictionary {
        let rows = pages.map { page -> PropertyListValue in
            let isPane = isPane(page)
            let specifiers = page.specifiers.map { specifier -> PropertyListValue in
                let isDeclared = isPane && specifier.key.map { schema.index(of: $0) != nil } == true
                let entry = isDeclared ? specifier.without(SpecifierKey.ofRules) : specifier
                return .dictionary(entry.withoutSecrets.entries)
            }
            return .dictionary(
                PropertyListDictionary(present: [
                    "name": .string(page.name), "ofItems": isPane ? nil : true, "title": page.title.map { .string($0) },
                    "table": page.stringsTable.map { .string($0) }, "specifiers": .array(specifiers),
                ]))
        }
        var layout: PropertyListDictionary = ["pages": .array(rows)]
        if device != .phone { layout["device"] = .string(device.rawValue) }
        let used = used(translations)
        if !used.isEmpty {
            layout["strings"] = .dictionary(used.dictionary)
            if used.region != StringsTables.usualRegion { layout["region"] = .string(used.region) }
        }
        var images: PropertyListDictionary = [:]
        for name in imageNames { images[name] = self.images[name].map { .data($0.bytes) } }
        if hasImages, !images.isEmpty { layout["images"] = .dictionary(images) }
        return layout
    }

    /// The translations of the entries' texts and, for `all`, the whole tables in which a page looks for texts of the
    /// running app.
    private func used(_ translations: LayoutTranslations) -> StringsTables {
        guard translations != .none else { return StringsTables() }
        let texts = pages.flatMap { page in page.specifiers.flatMap(\.texts) + [page.title].compactMap(\.self) }
        let running = pages.filter { $0.specifiers.contains(where: \.showsRunningTexts) }
        let whole = translations == .all ? running.flatMap(\.tables) : []
        return strings.keeping(Set(texts), whole: Set(whole))
    }

    /// Whether child panes lead to the page, not only lists.
    private func isPane(_ page: Page) -> Bool { (indices[page.name] ?? 0) < paneCount }

    /// The pages as far as a paired device may know them: other entries with a key go, and child panes whose pages have
    /// no open entry left. Pages of the items of a list stay with the list.
    /// - Parameter isOpen: whether the app opens an entry to the paired device.
    package func keeping(_ isOpen: (Specifier) -> Bool) -> PageTree {
        let useful = usefulPages(isOpen)
        let ofItems = pages(from: pages.flatMap(\.specifiers).filter(isOpen).flatMap(\.itemPages))
        var kept = PageTree(device: device)
        kept.strings = strings
        // A layout of these pages has those that are named there.
        (kept.images, kept.imageBytes) = (images, imageBytes)
        for page in pages where useful.contains(page.name) || ofItems.contains(page.name) {
            let specifiers = page.specifiers.keeping { specifier in
                if ofItems.contains(page.name) || specifier.kind == .group { return true }
                if specifier.key != nil, specifier.kind != .childPane { return isOpen(specifier) }
                return specifier.page.map { useful.contains($0) } ?? true
            }
            if isPane(page) { kept.paneCount += 1 }
            kept.append(
                Page(name: page.name, title: page.title, stringsTable: page.stringsTable, specifiers: specifiers))
        }
        return kept
    }

    /// The pages that have an open entry, or lead to one that has.
    private func usefulPages(_ isOpen: (Specifier) -> Bool) -> Set<String> {
        var useful: Set<String> = []
        var hasGrown = true
        while hasGrown {
            let more = pages.filter { page in
                !useful.contains(page.name)
                    && page.specifiers.contains { specifier in
                        isOpen(specifier) || specifier.page.map { useful.contains($0) } == true
                    }
            }
            useful.formUnion(more.map(\.name))
            hasGrown = !more.isEmpty
        }
        return useful
    }

    /// These pages, and those that their entries and the items of their lists lead to.
    func pages(from names: [String]) -> Set<String> {
        var known: Set<String> = []
        var waiting = names
        while let name = waiting.popLast() {
            guard known.insert(name).inserted, let page = self[name] else { continue }
            waiting += page.specifiers.flatMap { $0.itemPages + [$0.page].compactMap(\.self) }
        }
        return known
    }
}

// MARK: - pages of declarations
extension PageTree {
    /// The pages of an app without a bundle: its properties in the order of declaration, each on the page that it
    /// names.
    package init(declarations: [SettingDeclaration]) {
        self.init()
        var names = [Self.root]
        var specifiers: [String: [Specifier]] = [:]
        for declaration in declarations {
            var name = declaration.page ?? Self.root
            if specifiers[name] == nil, name != Self.root {
                if names.count < Self.pageLimit { names.append(name) } else { name = Self.root }
            }
            specifiers[name, default: []].append(Specifier(of: declaration))
        }
        let children = names.dropFirst().map { name in
            Specifier(.childPane, ["Title": .string(name), "File": .string(name)])
        }
        if !children.isEmpty { specifiers[Self.root, default: []] += [Specifier(.group, [:])] + children }
        for name in names {
            append(Page(name: name, title: name == Self.root ? nil : name, specifiers: specifiers[name] ?? []))
        }
        paneCount = pages.count
    }

    /// The pages of a schema document: those of its layout, else of its declarations.
    package init(_ document: SchemaDocument) {
        let layout = document.layout.map { PageTree(layout: $0) }
        self = layout.flatMap { $0.isEmpty ? nil : $0 } ?? PageTree(declarations: document.schema.declarations)
    }
}

extension [Specifier] {
    /// The entries that are kept, without the groups that have lost all of theirs.
    fileprivate func keeping(_ isKept: (Specifier) -> Bool) -> [Specifier] {
        enumerated().filter { index, specifier in
            guard isKept(specifier) else { return false }
            let rows = specifier.kind == .group ? self[(index + 1)...].prefix { $0.kind?.isSection != true } : []
            return rows.isEmpty || rows.contains(where: isKept)
        }.map(\.element)
    }
}

extension Specifier {
    /// The pages of a list's items and of a new one.
    fileprivate var itemPages: [String] { itemEntries.compactMap(\.page) }

    /// The entry of a property that no bundle shows.
    init(of declaration: SettingDeclaration) {
        let kind: Kind =
            switch declaration.editor {
            case .toggle: .toggle
            case .slider: .slider
            case .choice, .editableChoice: .multiValue
            case .preference where !declaration.choices.isEmpty: .multiValue
            case .edit where declaration.type == .date: .datePicker
            case .edit: .textField
            case .preference: .titleValue
            }
        self.init(
            kind, ["Key": .string(declaration.name), "Title": .string(declaration.title ?? declaration.name)])
    }

    var texts: [String] {
        let subtitles: [String] =
            switch subtitle {
            case .fixed(let text): [text]
            case .byValue(let texts): Array(texts.values)
            case nil: []
            }
        let own = [SpecifierKey.title, .footer, .placeholder, .childTitle, .mailSubject, .mailBody].compactMap(text)
        return own + texts(.titles) + texts(.shortTitles) + subtitles + itemEntries.flatMap(\.texts)
    }

    /// Whether a page shows and translates texts in the entry that only the running app or the store has: a stored
    /// title or value, parts of a mail, labels of choices.
    fileprivate var showsRunningTexts: Bool {
        guard key != nil else { return false }
        return switch kind {
        case .button, .childPane, .mailCompose, .multiValue, .radioGroup: true
        case .group, .toggle, .slider, .textField, .titleValue, .textView, .openURL, .datePicker, .listGroup, .custom,
            nil:
            false
        }
    }
}

// MARK: - defaults
extension PageTree {
    /// The keys of all entries that child panes lead to, with their entries and their places, in the order of the
    /// pages; whatever is hidden or for another device.
    package var named: [(key: String, specifier: Specifier, entry: SettingsPageLocation)] {
        panes.flatMap { page in
            page.specifiers.enumerated().compactMap { index, specifier in
                specifier.key.map {
                    (key: $0, specifier: specifier, entry: SettingsPageLocation(page: page.name, index: index))
                }
            }
        }
    }

    /// The first default of each key of a bundle's pages, whatever is hidden.
    package var defaults: PropertyListDictionary {
        var defaults: PropertyListDictionary = [:]
        for (key, specifier, _) in named where defaults[key] == nil { defaults[key] = specifier[.defaultValue] }
        return defaults
    }
}
