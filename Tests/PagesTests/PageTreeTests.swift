// Trees of pages: walks, gathered defaults, the layout there and back, what a paired device gets of it, and pages made
// of declarations.

import TandemPages
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct PageTreeTests {
    private static func child(_ file: String, _ entries: PropertyListDictionary = [:]) -> Specifier {
        var entries = entries
        entries["File"] = .string(file)
        return Specifier(.childPane, entries)
    }

    private static func toggle(_ key: String, _ entries: PropertyListDictionary = [:]) -> Specifier {
        var entries = entries
        entries["Key"] = .string(key)
        return Specifier(.toggle, entries)
    }

    @Test("PAG-12: defaults come from all pages, hidden, of other devices or in a ring, each page once")
    func defaults() {
        let tree = pageTree([
            "Root": [
                Specifier(.group, ["Key": "section"]), Self.toggle("a", ["DefaultValue": true]), Self.child("A"),
                Self.toggle("pad", ["DefaultValue": "YES", "SupportedUserInterfaceIdioms": ["Pad"]]),
                Specifier(.titleValue, ["Key": "version", "DefaultValue": "1"]),
            ],
            "A": [Self.child("B"), Self.toggle("b", ["DefaultValue": 1]), Self.toggle("a", ["DefaultValue": false])],
            "B": [Self.child("A"), Self.toggle("c")],
        ])
        #expect(tree.pages.map(\.name) == ["Root", "A", "B"])
        #expect(tree.problems == [.cycle(page: "B", leadsTo: "A")])
        #expect(tree.defaults == ["a": true, "b": 1, "pad": "YES", "version": "1"])
        let schema = SettingsSchema(tree.named.map(\.specifier).declarations)
        let view = PageView.make(tree, schema, PageRequest(hidden: ["section"]))
        #expect(view?.rows.isEmpty == true)
    }

    private static let list = Specifier(
        .listGroup,
        [
            "Key": "accounts", "ItemSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Account", "Key": "name"],
            "AddSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Account", "Title": "Add"],
        ])
    private static let pages: [String: [Specifier]] = [
        "Root": [
            toggle("open", ["DefaultValue": true, "Title": "Open", "Later": 7]), child("Deep", ["Title": "More"]), list,
        ],
        "Deep": [toggle("closed"), Specifier(.slider, ["Key": "volume", "MinimumValue": 0, "MaximumValue": 1])],
        "Account": [Specifier(.textField, ["Key": "name", "DefaultValue": "me"])],
    ]

    @Test(
        "PAG-5, PAG-6: a layout is read back as it was, without rules and defaults of properties, with those of items")
    func layout() throws {
        var strings = StringsTables()
        _ = strings.add(["Open": "Offen", "Unused": "Nichts"], table: "Root", language: "de")
        let tree = pageTree(Self.pages, strings: strings, device: .pad)
        let schema = SettingsSchema(tree.named.map(\.specifier).declarations)
        let layout = tree.layout(for: schema)
        let document = try SchemaDocument(reading: SchemaDocument(writing: schema.declarations, layout: layout).bytes)
        #expect(document.layout == layout)
        let read = PageTree(document)
        #expect(read.pages.map(\.name) == ["Root", "Deep", "Account"] && read.panes.count == 2)
        #expect(read.device == .pad && read.layout(for: schema) == layout)
        #expect(
            read["Root"]?.specifiers[0].entries == [
                "Type": "PSToggleSwitchSpecifier", "Key": "open", "Title": "Open", "Later": 7,
            ])
        #expect(read["Deep"]?.specifiers[1].number(.maximum) == nil)
        #expect(read["Account"]?.specifiers[0][.defaultValue] == "me")
        #expect(layout["strings"] == ["de": ["Root": ["Open", "Offen"]]])
        #expect(tree.layout(for: schema, translations: .none)["strings"] == nil)
    }

    @Test("PAG-10, PAG-31: a page that shows texts of the running app has its whole tables in the layout")
    func runningTexts() throws {
        var strings = StringsTables()
        _ = strings.add(["LOG_OUT": "Abmelden"], table: "Root", language: "de")
        _ = strings.add(["OTHER": "Anderes"], table: "Other", language: "de")
        let button = Specifier(.button, ["Key": "session", "Title": "Session"])
        let declarations = [SettingDeclaration("session", .string, .preference, initial: .string("LOG_OUT"))]
        let schema = SettingsSchema(declarations)
        let tree = pageTree(["Root": [button]], strings: strings)
        let layout = tree.layout(for: schema)
        #expect(layout["strings"] == ["de": ["Root": ["LOG_OUT", "Abmelden"]]])
        let read = PageTree(layout: layout)
        #expect(PageView.make(read, schema, PageRequest(languages: ["de"]))?.rows.first?.title == "Abmelden")
        // A paired device reads the texts of its entries alone.
        #expect(tree.layout(for: schema, translations: .ofEntries)["strings"] == nil)
        for entry in [
            Specifier(.mailCompose, ["Key": "m"]), Specifier(.multiValue, ["Key": "m"]),
            Self.child("Root", ["Key": "m"]), Specifier(.radioGroup, ["Key": "m"]),
        ] {
            let tree = pageTree(["Root": [entry]], strings: strings)
            #expect(tree.layout(for: schema)["strings"] == layout["strings"])
        }
        #expect(pageTree(["Root": [Self.toggle("m")]], strings: strings).layout(for: schema)["strings"] == nil)
    }

    @Test("PAG-10: a layout has the translations of all texts of the entries within a list")
    func textsOfItems() throws {
        let texts = ["TITLE", "FOOTER", "SHORT", "LONG", "ON", "HINT"]
        var strings = StringsTables()
        let pairs = texts.map { ($0, "\($0)-de") }
        _ = strings.add(Dictionary(pairs) { first, _ in first }, table: "Root", language: "de")
        let item: PropertyListDictionary = [
            "Type": "PSMultiValueSpecifier", "Key": "v", "Title": "TITLE", "FooterText": "FOOTER",
            "ShortTitles": ["SHORT"], "Titles": ["LONG"], "Values": [1], "IASKSubtitle": ["1": "ON"],
            "IASKPlaceholder": "HINT",
        ]
        for key in ["ItemSpecifier", "AddSpecifier"] {
            let list = Specifier(.listGroup, ["Key": "l", key: .dictionary(item)])
            let layout = pageTree(["Root": [list]], strings: strings).layout(for: SettingsSchema([]))
            let table = layout["strings"]?.dictionaryValue?["de"]?.dictionaryValue?["Root"]?.arrayValue
            #expect(table?.count == 2 * texts.count)
        }
    }

    /// An image of some bytes.
    private static func image(_ count: Int = 8) -> PageImage? {
        PageImage([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 0, count: count - 8))
    }

    @Test("PAG-29, PAG-7: a layout has the images that its entries name, and those of items, and no others")
    func images() throws {
        var tree = pageTree([
            "Root": [
                Self.toggle("a", ["IASKCellImage": "bulb"]),
                Specifier(.slider, ["Key": "s", "MinimumValueImage": "low", "MaximumValueImage": "bulb"]),
                Specifier(.multiValue, ["Key": "m", "Values": [1, 2], "IconNames": ["one", ""]]),
                Specifier(
                    .listGroup,
                    ["Key": "l", "ItemSpecifier": ["Type": "PSTextFieldSpecifier", "IASKCellImage": "i"]]),
            ]
        ])
        #expect(tree.imageNames == ["bulb", "low", "one", "i"])
        for name in ["bulb", "i", "other"] { _ = tree.add(try #require(Self.image()), named: name) }
        let schema = SettingsSchema(tree.named.map(\.specifier).declarations)
        let layout = tree.layout(for: schema)
        let data: PropertyListValue = .data(try #require(Self.image()).bytes)
        #expect(layout["images"] == ["bulb": data, "i": data])
        #expect(tree.layout(for: schema, hasImages: false)["images"] == nil)
        let read = PageTree(layout: layout)
        #expect(read.images.keys.sorted() == ["bulb", "i"] && read.layout(for: schema) == layout)
        #expect(PageView.make(read, schema, PageRequest())?.images["bulb"]?.kind == .png)
        #expect(read.keeping { $0.key == "l" }.layout(for: schema)["images"] == ["i": data])
    }

    @Test("PAG-29, LIM-130: an image is of four kinds by its first bytes, and within its bounds; anything else is none")
    func imageBytes() throws {
        let kinds: [([UInt8], PageImage.Kind?)] = [
            ([0xFF, 0xD8, 0xFF, 0xE0], .jpeg), (Array("GIF89a".utf8), .gif), (Array("RIFF1234WEBPVP8".utf8), .webp),
            (Array("<svg onload=alert(1)>".utf8), nil), (Array("RIFF1234WAVE".utf8), nil), ([], nil), ([0x89], nil),
        ]
        for (bytes, kind) in kinds { #expect(PageImage(bytes)?.kind == kind, "\(bytes)") }
        let largest = try #require(Self.image(16_384))
        #expect(Self.image(16_385) == nil)
        var tree = PageTree()
        let taken = (0..<7).map { tree.add(largest, named: "\($0)") }
        #expect(taken == [true, true, true, true, true, true, false] && tree.images.count == 6)
        let entries = (0..<17).map { Self.toggle("k\($0)", ["IASKCellImage": "0"]) }
        for (count, names) in [(16, ["0"]), (17, [])] {
            var crowded = pageTree(["Root": Array(entries.prefix(count))])
            _ = crowded.add(largest, named: "0")
            #expect(PageView.make(crowded, SettingsSchema([]), PageRequest())?.images.keys.sorted() == names)
        }
        let small = try #require(Self.image(16))
        let rows = PropertyListDictionary(
            uniqueKeysWithValues: (0..<300).map { ("\($0)", PropertyListValue.data(small.bytes)) })
        #expect(PageTree(layout: ["images": .dictionary(rows)]).images.count == 256)
        let malformed = PageTree(layout: [
            "images": ["a": "x", "b": .data([1]), "c": .data(largest.bytes)], "pages": 1,
        ])
        #expect(malformed.images.keys.sorted() == ["c"] && PageTree(layout: ["images": 1]).images.isEmpty)
    }

    @Test("CON-18: the way to a page is the shortest, also in a ring; to an item's page there is none")
    func way() {
        let list = Specifier(.listGroup, ["Key": "l", "ItemSpecifier": ["Type": "PSChildPaneSpecifier", "File": "I"]])
        let tree = pageTree([
            "Root": [Self.child("A"), list], "A": [Self.child("B"), Self.child("Root")],
            "B": [Self.child("A"), Self.child("C")], "C": [], "I": [],
        ])
        let names = ["Root", "A", "C", "I", "none"].map { tree.path(to: $0).map(\.name) }
        #expect(names == [[], ["Root"], ["Root", "A", "B"], [], []])
    }

    @Test(
        "PAG-10, CON-18: a page has the title that its pane states, else its own, else the pane's; an item's is not opened"
    )
    func titles() {
        var strings = StringsTables()
        _ = strings.add(["Mine": "Meins"], table: "Root", language: "de")
        let contents: [String: PropertyListDictionary] = [
            "Root": [
                "Title": "App",
                "PreferenceSpecifiers": .array(
                    [
                        Self.child("A", ["Title": "Pane", "IASKChildTitle": "Mine"]),
                        Self.child("B", ["Title": "Pane"]),
                        Self.child("C", ["Title": "Mine"]), Specifier(.custom, ["Key": "v", "File": "D"]),
                        Specifier(
                            .listGroup,
                            ["Key": "l", "ItemSpecifier": ["Type": "PSChildPaneSpecifier", "File": "I"]]),
                    ].map { .dictionary($0.entries) }),
            ],
            "A": ["Title": "Own"], "B": ["Title": "Own"], "C": [:], "D": [:], "I": [:],
        ]
        let tree = PageTree(strings: strings) { name throws(SettingsBundleProblem) in
            contents[name].map { content in
                var content = content
                if content["PreferenceSpecifiers"] == nil {
                    content["PreferenceSpecifiers"] = .array([Self.child("Root").entries].map { .dictionary($0) })
                }
                return content
            }
        }
        let titles = ["Root", "A", "B", "C", "D"].map { name in tree[name].map { tree.title(of: $0, ["de"]) } }
        #expect(titles == ["App", "Meins", "Own", "Meins", .some(nil)])
        #expect(["Root", "A", "D", "I", "none"].map(tree.opens) == [true, true, true, false, false])
        #expect(tree.opened.map(\.name) == ["Root", "A", "B", "C", "D"])
        #expect(tree.path(to: "D").map(\.name) == ["Root"])
        #expect(PageView.make(tree, SettingsSchema([]), page: "A", PageRequest(languages: ["de"]))?.title == "Meins")
    }

    @Test("PAG-7: a paired device gets the entries that it may edit, with the pages that lead to them")
    func counterpart() {
        let tree = pageTree(Self.pages)
        let open = tree.keeping { $0.key == "volume" }
        #expect(open.pages.map(\.name) == ["Root", "Deep"])
        #expect(open["Root"]?.specifiers.map(\.file) == ["Deep"] && open["Deep"]?.specifiers.map(\.key) == ["volume"])
        let lists = tree.keeping { $0.key == "accounts" }
        #expect(lists.pages.map(\.name) == ["Root", "Account"] && lists.panes.count == 1)
        #expect(tree.keeping { _ in false }.isEmpty)
        #expect(tree.keeping { $0.key == "volume" && $0.kind == .button }.isEmpty, "an entry of another type")
    }

    @Test("PAG-7: a group goes with the last of its entries, and one that has only a footer stays")
    func emptiedGroups() {
        let root = [
            Specifier(.group, ["Title": "Closed"]), Specifier(.toggle, ["Key": "a"]),
            Specifier(.group, ["Title": "Open"]), Specifier(.toggle, ["Key": "b"]), Specifier(.toggle, ["Key": "c"]),
            Specifier(.group, ["FooterText": "A text"]),
        ]
        let open = pageTree(["Root": root]).keeping { $0.key == "c" }
        #expect(open["Root"]?.specifiers.map { $0.title ?? $0.key } == ["Open", "c", nil])
    }

    @Test("PAG-6: what is malformed in a layout is passed over, and no bytes of one trap")
    func malformed() {
        let tree = PageTree(layout: [
            "pages": [
                1, ["name": 1], ["name": "Root", "specifiers": ["x", ["Type": "PSGroupSpecifier"]]],
                ["name": "Root"], ["name": "Other", "specifiers": 7, "title": 1],
            ], "strings": ["de": 1, "fr": ["Root": ["a", 1, "b", "c", "d"]]], "device": 3,
        ])
        #expect(tree.pages.map(\.name) == ["Root", "Other"] && tree["Root"]?.specifiers.count == 1)
        #expect(tree.strings.dictionary == ["fr": ["Root": ["b", "c"]]] && tree.device == .phone)
        #expect(PageTree(layout: [:]).isEmpty)
        #expect(throws: SchemaError("layout", .expected("a dictionary"))) {
            try SchemaDocument(
                reading: PropertyListWriter.write(["v": 1, "properties": [], "layout": 1] as PropertyListDictionary))
        }
    }

    @Test(
        "PAG-8: properties without a bundle stand on the pages that they name, and the first page leads to the others")
    func ofDeclarations() throws {
        func property(_ name: String, _ editor: SettingEditor, _ type: SettingType, page: String? = nil)
            -> SettingDeclaration
        {
            SettingDeclaration(
                name, type, editor, title: name.uppercased(), page: page,
                initial: type == .boolean ? .boolean(false) : .string(""))
        }
        let declarations = [
            property("a", .toggle, .boolean), property("b", .edit, .string, page: "Sound"),
            property("c", .preference, .string), property("d", .edit, .string, page: "Sound"),
        ]
        let tree = PageTree(try SchemaDocument(writing: declarations))
        #expect(tree.pages.map(\.name) == ["Root", "Sound"])
        #expect(tree["Root"]?.specifiers.map(\.kind) == [.toggle, .titleValue, .group, .childPane])
        #expect(tree["Sound"]?.specifiers.map(\.key) == ["b", "d"] && tree["Sound"]?.title == "Sound")
        #expect(tree["Root"]?.specifiers[0].title == "A")
        let many = PageTree(declarations: (0..<100).map { property("p\($0)", .edit, .string, page: "\($0)") })
        #expect(many.pages.count == 64 && many.pages.reduce(0) { $0 + $1.specifiers.count } == 100 + 64)
    }
}
