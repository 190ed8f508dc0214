// Views of pages: texts in the reader's languages, hidden rows, order of choices, locks, secrets, and rows that are not
// supported.

import TandemPages
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

@Suite struct PageViewTests {
    private func view(
        _ specifiers: [Specifier], _ request: PageRequest = PageRequest(), strings: StringsTables = StringsTables(),
        device: DeviceKind = .phone, _ declarations: [SettingDeclaration]? = nil
    ) throws -> PageView {
        let tree = pageTree(["Root": specifiers], strings: strings, device: device)
        return try #require(PageView.make(tree, SettingsSchema(declarations ?? specifiers.declarations), request))
    }

    @Test("PAG-10: a title is translated by the page's table, then by Root's, in the reader's order, else it stays")
    func translation() throws {
        var strings = StringsTables()
        for (language, table, texts) in [
            ("de", "Root", ["Sound": "Ton", "Hello": "Hallo"]), ("de", "Deep", ["Sound": "Klang"]),
            ("pt_BR", "Root", ["Sound": "Som"]), ("Base", "Root", ["Bare": "Basis"]),
        ] {
            _ = strings.add(texts, table: table, language: language)
        }
        func text(_ key: String, _ languages: [String], _ tables: [String] = ["Deep", "Root"]) -> String {
            strings.translation(for: languages).text(key, tables: tables)
        }
        #expect(text("Sound", ["de-CH", "pt"]) == "Klang" && text("Hello", ["de"]) == "Hallo")
        #expect(text("Sound", ["pt-BR"]) == "Som" && text("Sound", ["pt"]) == "Sound")
        #expect(text("Sound", ["de"], ["Root"]) == "Ton" && text("Bare", ["fr"]) == "Basis" && text("X", []) == "X")
        let group = Specifier(.group, ["Title": "Sound", "FooterText": "Hello"])
        let shown = try view([group], PageRequest(languages: ["de"]), strings: strings)
        #expect(shown.groups[0].title == "Ton" && shown.groups[0].footer == "Hallo")
    }

    @Test("PAG-10, LIM-154: a translation with many marks has no language, which pages look up by the text")
    func languagesOfMarks() throws {
        let marks = "a" + String(repeating: "\u{301}\u{323}", count: 500)
        var strings = StringsTables()
        _ = strings.add(["Sound": "Ton", "Noise": marks], table: "Root", language: "de")
        let root = ["Sound", "Noise"].map { Specifier(.childPane, ["Title": .string($0), "File": .string($0)]) }
        let tree = pageTree(["Root": root], strings: strings)
        let page = try #require(tree["Root"])
        #expect(tree.languages(of: page, ["de"]) == ["Ton": "de"] && tree.titleLanguages(["de"]) == ["Ton": "de"])
    }

    @Test("PAG-10: a text has the translation of its own scalars, and stands for itself without one")
    func composedKeys() throws {
        let (composed, parts) = ("Caf\u{E9}", "Cafe\u{301}")
        var one = StringsTables()
        _ = one.add([parts: "two scalars"], table: "Root", language: "en")
        #expect(one.translation(for: []).text(composed, tables: ["Root"]).utf8.elementsEqual(composed.utf8))
        let layout: PropertyListDictionary = [
            "en": ["Root": [.string(composed), "one scalar", .string(parts), "two scalars"]]
        ]
        let both = StringsTables(layout, region: nil)
        for (key, text) in [(composed, "one scalar"), (parts, "two scalars")] {
            #expect(both.translation(for: []).text(key, tables: ["Root"]) == text)
        }
        #expect(StringsTables(both.dictionary, region: nil) == both)
    }

    @Test("PAG-10: a reader of another language has the texts of the app's own one, English unless it is stated")
    func ownLanguage() throws {
        let cases: [(String?, String)] = [(nil, "Profile"), ("de", "Profil"), ("de-CH", "Profil"), ("it", "TITLE")]
        for (region, expected) in cases {
            var strings = StringsTables(region: region)
            _ = strings.add(["TITLE": "Profile"], table: "Root", language: "en")
            _ = strings.add(["TITLE": "Profil"], table: "Root", language: "de")
            let tree = pageTree(["Root": [Specifier(.group, ["Title": "TITLE"])]], strings: strings)
            let read = PageTree(layout: tree.layout(for: SettingsSchema([])))
            for languages in [[], ["fr-FR"]] {
                let shown = try #require(PageView.make(read, SettingsSchema([]), PageRequest(languages: languages)))
                #expect(shown.groups[0].title == expected)
            }
        }
        var german = StringsTables()
        _ = german.add(["Sound": "Ton"], table: "Root", language: "de")
        #expect(german.translation(for: ["fr"]).text("Sound", tables: ["Root"]) == "Sound", "the text itself")
    }

    @Test("PAG-5: a layout's own language has at most 64 bytes; a longer one is absent, however many parts it has")
    func longRegion() throws {
        var strings = StringsTables()
        _ = strings.add(["TITLE": "Profile"], table: "Root", language: "en")
        _ = strings.add(["TITLE": "Profil"], table: "Root", language: "de")
        var layout = pageTree(["Root": [Specifier(.group, ["Title": "TITLE"])]], strings: strings)
            .layout(for: SettingsSchema([]))
        // All prefixes of the last one together would be 100 MB.
        let cases = [(31, "", "Profil"), (31, "x", "Profile"), (10_000, "", "Profile")]
        for (parts, end, expected) in cases {
            layout["region"] = .string("de" + String(repeating: "-a", count: parts) + end)
            let tree = PageTree(layout: layout)
            let shown = try #require(PageView.make(tree, SettingsSchema([]), PageRequest(languages: ["fr"])))
            #expect(shown.groups[0].title == expected)
        }
        layout["region"] = ""
        #expect(PageTree(layout: layout).strings.region == "en")
    }

    @Test("LIM-120: 32 languages are taken")
    func languages() {
        var strings = StringsTables()
        let added = (0..<33).map { strings.add([:], table: "Root", language: "l\($0)") }
        let another = strings.add([:], table: "A", language: "l1")
        #expect(added == [Bool](repeating: true, count: 32) + [false] && another)
    }

    private static let linked = [
        Specifier(.toggle, ["Key": "auto", "DefaultValue": false]),
        Specifier(.group, ["Key": "login", "TandemVisibleWhen": ["auto": true]]),
        Specifier(.textField, ["Key": "user"]), Specifier(.group, ["Title": "Rest"]),
        Specifier(.textField, ["Key": "other"]),
    ]

    @Test("LIM-92: entries that repeat one long list show 16,384 items together, also in a search of all pages")
    func manyItems() throws {
        let entry: PropertyListValue = ["Type": "PSTextFieldSpecifier"]
        let list = Specifier(.listGroup, ["Key": "list", "Title": "Sought", "ItemSpecifier": entry])
        let pane = Specifier(.childPane, ["File": "Second"])
        let items = PropertyListValue.array((0..<1000).map { .integer($0) })
        let declaration = SettingDeclaration("list", .array, .preference, initial: .array([]))
        let request = PageRequest(values: ["list": PageValue(value: items, layer: "user")])
        func shown(_ rows: [PageView.Row]) -> Int { rows.count { $0.list != nil } }
        let lists = [Specifier](repeating: list, count: 12)
        let tree = pageTree(["Root": [pane] + lists, "Second": lists])
        let schema = SettingsSchema([declaration])
        for page in tree.pages {
            let rows = try #require(PageView.make(tree, schema, page: page.name, request)).rows
            #expect(shown(rows) == 12)
        }
        #expect(shown(PageView.search("sought", in: tree, schema, request).map(\.row)) == 16)
        let many = try view([pane] + Array(repeating: list, count: 20), request, [declaration]).rows
        #expect(shown(many) == 16)
    }

    private static func textBytes(_ view: PageView) -> Int {
        view.groups.reduce(0) { bytes, group in
            group.rows.reduce(bytes + (group.footer?.utf8.count ?? 0)) { bytes, row in
                let texts: [String?] = [row.title, row.subtitle, row.summary, row.input, row.shown, row.shownDefault]
                let items = row.list?.items.map(\.title) ?? []
                return (texts + items).reduce(bytes) { $0 + ($1?.utf8.count ?? 0) }
            }
        }
    }

    @Test("LIM-92: a page shows 4 MiB of texts, however often its entries repeat one, and says what it leaves out")
    func manyTexts() throws {
        let long = String(repeating: "x", count: 200_000)
        let field = Specifier(.textField, ["Key": "name"])
        func declaration(_ type: SettingType, _ summary: String, _ value: SettingValue) -> SettingDeclaration {
            SettingDeclaration("name", type, summary: summary, initial: value)
        }
        let summaries = try view(
            [Specifier](repeating: field, count: 64), PageRequest(), [declaration(.string, long, .string("a"))])
        #expect((3_000_000...4_194_304).contains(Self.textBytes(summaries)) && summaries.rows.count == 64)
        let last = try #require(summaries.rows.last)
        #expect(last.kind == .unsupported("The page has too much text to show this.") && !last.isEditable)
        let values = try view(
            [Specifier](repeating: field, count: 64), PageRequest(), [declaration(.string, "", .string(long))])
        #expect(Self.textBytes(values) <= 4_194_304)
        var strings = StringsTables()
        _ = strings.add(["T": long], table: "Root", language: "en")
        let item: PropertyListValue = ["Type": "PSTitleValueSpecifier", "Values": [1], "Titles": ["T"]]
        let list = Specifier(.listGroup, ["Key": "name", "ItemSpecifier": item])
        let group = Specifier(.group, ["FooterText": "T"])
        let items = PropertyListValue.array([PropertyListValue](repeating: 1, count: 30))
        for entries in [[list], [Specifier](repeating: group, count: 64)] {
            let shown = try view(
                entries,
                PageRequest(languages: ["en"], values: ["name": PageValue(value: items, layer: "user")]),
                strings: strings, [declaration(.array, "", .array([]))])
            #expect(Self.textBytes(shown) <= 4_194_304)
        }
    }

    @Test("LIM-92: a text counts with the bytes that it has in HTML")
    func escapedTexts() throws {
        let long = String(repeating: "\"", count: 100_000)
        let declaration = SettingDeclaration("name", .string, summary: long, initial: .string("a"))
        let field = Specifier(.textField, ["Key": "name"])
        let shown = try view([Specifier](repeating: field, count: 40), PageRequest(), [declaration]).rows
        #expect(shown.count { $0.summary != nil } == 6 && shown.count == 40)
    }

    @Test("LIM-92: a name that leads elsewhere has at most 48 characters, of however many scalars it is made")
    func shortNames() {
        let fitting = String(repeating: "x", count: 48)
        #expect(PageText.short(fitting) == fitting && PageText.short("").isEmpty)
        for name in [fitting + "x", String(repeating: "e\u{301}", count: 1000)] {
            let short = PageText.short(name)
            #expect(short.unicodeScalars.count == 48 && short.hasSuffix("\u{2026}"))
        }
    }

    @Test("LIM-92: choices are counted before any of them is made")
    func manyChoices() throws {
        let choices = (0..<11_000).map { SettingChoice(label: "c", value: .integer($0)) }
        let declaration = SettingDeclaration("name", .integer, .choice, choices: choices, initial: .integer(0))
        let schema = SettingsSchema([declaration], isForeign: true)
        let entries = [Specifier](repeating: Specifier(.multiValue, ["Key": "name"]), count: 2048)
        let begin = ThreadTime.now
        let view = try #require(PageView.make(pageTree(["Root": entries]), schema, PageRequest()))
        #expect(view.rows.count { $0.choices != nil } == 1)
        #expect(ThreadTime.now - begin < .seconds(5), "\(ThreadTime.now - begin)")
    }

    @Test("LIM-128: the rows of a page are judged as one set, however often they repeat a costly value")
    func costlyRows() throws {
        let text = String(repeating: "a", count: 900) + "x"
        let declaration = SettingDeclaration("text", .string, pattern: "[ab]*[cd]|x", initial: .string(text))
        let entries = [Specifier](repeating: Specifier(.textField, ["Key": "text"]), count: 100)
        let rows = try view(entries, PageRequest(), [declaration]).rows
        #expect((8...10).contains(rows.count { $0.error == nil }))
    }

    @Test("PAG-14: a hidden section goes with its rows, by its key or by values in force, from the first display on")
    func hidden() throws {
        func keys(_ request: PageRequest) throws -> [String?] { try view(Self.linked, request).rows.map(\.key) }
        #expect(try keys(PageRequest()) == ["auto", "other"])
        let on = ["auto": PageValue(value: true, layer: "user")]
        #expect(try keys(PageRequest(values: on)) == ["auto", "user", "other"])
        #expect(try keys(PageRequest(values: on, hidden: ["login"])) == ["auto", "other"])
        #expect(try keys(PageRequest(values: on, hidden: ["user", "auto"])) == ["other"])
    }

    @Test("PAG-2: entries for other devices are not shown, and what follows such a group is")
    func idioms() throws {
        let pad: PropertyListValue = ["Pad"]
        let specifiers = [
            Specifier(.group, ["Title": "First"]), Specifier(.textField, ["Key": "a"]),
            Specifier(.group, ["Title": "Pad only", "SupportedUserInterfaceIdioms": pad]),
            Specifier(.textField, ["Key": "b"]),
            Specifier(.textField, ["Key": "c", "SupportedUserInterfaceIdioms": pad]),
        ]
        let phone = try view(specifiers)
        #expect(phone.groups.map(\.title) == ["First"] && phone.rows.map(\.key) == ["a", "b"])
        #expect(try view(specifiers, device: .pad).rows.map(\.key) == ["a", "b", "c"])
    }

    @Test(
        "PAG-17: choices stand as given or by title with their icons; only those that the property takes; the app's own"
    )
    func choices() throws {
        let entries: PropertyListDictionary = [
            "Key": "k", "Values": [1, 2, 3], "Titles": ["b", "C", "a"], "ShortTitles": ["sb", "sc", "sa"],
            "IconNames": ["ib", "ic", "ia"], "DefaultValue": 2, "FooterText": "below",
        ]
        func options(_ more: PropertyListDictionary, _ request: PageRequest = PageRequest()) throws -> PageView.Choices
        {
            let specifier = Specifier(.multiValue, entries.merging(more))
            let declaration = try #require(Specifier(.multiValue, entries).declaration())
            let row = try view([specifier], request, [declaration]).rows[0]
            return try #require(row.choices)
        }
        let given = try options([:])
        #expect(given.options.map(\.title) == ["b", "C", "a"] && given.selected == 1 && given.footer == "below")
        let sorted = try options(["DisplaySortedByTitle": true])
        #expect(sorted.options.map(\.title) == ["a", "b", "C"] && sorted.options.map(\.image) == ["ia", "ib", "ic"])
        #expect(sorted.options.map(\.shortTitle) == ["sa", "sb", "sc"] && sorted.options.map(\.id) == [2, 0, 1])
        #expect(sorted.selected == 1)
        let fewer = try options(["Values": [3, 9], "Titles": ["drei", "neun"]])
        #expect(fewer.options.map(\.title) == ["drei", "b", "C"])
        let dynamic = PageRequest(choices: ["k": [SettingChoice(label: "two", value: .integer(2))]])
        #expect(try options(["Titles": []], dynamic).options.map(\.title) == ["two"])
        let running = PageRequest(choices: [
            "k": [(9, "nine"), (2, "two"), (1, "one")].map { SettingChoice(label: $1, value: .integer($0)) }
        ])
        let ofApp = try options([:], running)
        #expect(ofApp.options.map(\.title) == ["nine", "two", "one"] && ofApp.selected == 1)
        #expect(ofApp.options.map(\.shortTitle) == [nil, nil, nil])
        #expect(ofApp.options.map(\.image) == [nil, "ic", "ib"], "the picture is the value's")
        #expect(try options(["DisplaySortedByTitle": true], running).options.map(\.title) == ["nine", "one", "two"])
        #expect(try options([:], PageRequest(choices: ["k": []])).options.isEmpty)
        #expect(try view([Specifier(.multiValue, entries)]).rows[0].shown == "sc")
    }

    @Test("PAG-6: a page offers what the property takes by type, bounds and pattern, converted as files' entries are")
    func offered() throws {
        func options(_ values: PropertyListValue, _ declaration: SettingDeclaration) throws -> [PropertyListValue?] {
            let titles = PropertyListValue.array((values.arrayValue ?? []).map { .string("T\($0)") })
            let entries: PropertyListDictionary = ["Key": "tone", "Values": values, "Titles": titles]
            return try [Specifier.Kind.multiValue, .radioGroup].flatMap { kind -> [PropertyListValue?] in
                let row = try view([Specifier(kind, entries)], PageRequest(), [declaration]).rows[0]
                let options = try #require(row.choices).options
                #expect(options.allSatisfy { $0.title.hasPrefix("T") })
                return options.map(\.value)
            }
        }
        let tone = SettingDeclaration("tone", .integer, bounds: .integer(0...100), initial: .integer(0))
        let bounded: [PropertyListValue?] = [0, 50, 100]
        #expect(try options([0, 50, 100, 150], tone) == bounded + bounded)
        let converted: [PropertyListValue?] = [0, 1, 2]
        #expect(try options([0, 1, true, "2", "x"], tone) == converted + converted)
        let word = SettingDeclaration("tone", .string, pattern: "^[a-z]+$", initial: .string("a"))
        let words: [PropertyListValue?] = ["b", "a"]
        #expect(try options(["b", "B", 7, "a"], word) == words + words)
    }

    @Test("PAG-16, PAG-17: values that differ by scalars alone are choices of their own, each with its title")
    func composedAndNot() throws {
        let (composed, parts) = ("\u{E9}.txt", "e\u{301}.txt")
        let choices = [composed, parts].map { SettingChoice(label: "label of \($0)", value: .string($0)) }
        let file = SettingDeclaration("file", .string, .choice, choices: choices, initial: .string(composed))
        for kind in [Specifier.Kind.multiValue, .radioGroup] {
            let entries: PropertyListDictionary = [
                "Key": "file", "Values": [.string(parts), .string(composed)], "Titles": ["parts", "composed"],
            ]
            let named = try #require(view([Specifier(kind, entries)], PageRequest(), [file]).rows[0].choices)
            #expect(named.options.map(\.title) == ["parts", "composed"] && named.selected == 1)
            #expect(named.options.map(\.value) == [.string(parts), .string(composed)])
            let running = PageRequest(choices: ["file": choices])
            let offered = try #require(view([Specifier(kind, ["Key": "file"])], running, [file]).rows[0].choices)
            #expect(offered.options.map(\.value) == [.string(composed), .string(parts)])
        }
    }

    @Test(
        "PAG-4, PAG-17: of a value that stands twice the first title counts, and a toggle with one value is a boolean")
    func repeated() throws {
        let entries: PropertyListDictionary = ["Key": "k", "Values": [1, 2, 1], "Titles": ["a", "b", "c"]]
        let own = SettingDeclaration("k", .integer, initial: .integer(1))
        for kind in [Specifier.Kind.multiValue, .radioGroup] {
            let specifier = Specifier(kind, entries)
            for declaration in [own, try #require(specifier.declaration())] {
                let request = PageRequest(values: ["k": PageValue(value: 1, layer: "user")])
                let choices = try view([specifier], request, [declaration]).rows[0].choices
                #expect(choices?.options.map(\.title) == ["a", "b"] && choices?.selected == 0)
            }
        }
        let toggle = Specifier(.toggle, ["Key": "t", "TrueValue": "x", "FalseValue": "x"])
        #expect(try view([toggle]).rows[0].kind == .toggle(isOn: false))
        let on = PageRequest(values: ["t": PageValue(value: true, layer: "user")])
        #expect(try view([toggle], on).rows[0].kind == .toggle(isOn: true))
    }

    @Test("PAG-15: a row says why it is locked: signed value, signed property, not for the paired device, shown only")
    func locks() throws {
        func lock(
            _ access: SettingAccess, _ layer: String, _ editor: SettingAccess, _ kind: Specifier.Kind = .textField,
            isWaived: Bool = false, isNotLoaded: Bool = false
        ) throws -> PageView.Lock? {
            let declaration = SettingDeclaration("k", .string, access: access, initial: .string(""))
            let value = PageValue(value: "x", layer: layer, isWaived: isWaived, isNotLoaded: isNotLoaded)
            let request = PageRequest(editor: editor, values: ["k": value])
            return try view([Specifier(kind, ["Key": "k"])], request, [declaration]).rows[0].lock
        }
        #expect(try lock(.user, "signed", .user) == .signedValue && lock(.signed, "default", .user) == .signedOnly)
        #expect(try lock(.user, "signed", .user, isWaived: true) == .waivedValue)
        #expect(try lock(.user, "signed", .user, isWaived: true, isNotLoaded: true) == .notLoadedValue)
        #expect(try lock(.user, "user", .counterpart) == .notForCounterpart)
        #expect(try lock(.counterpart, "user", .counterpart) == nil && lock(.user, "user", .user) == nil)
        #expect(try lock(.user, "user", .user, .titleValue) == .shownOnly)
        for lock in PageView.Lock.allCases { #expect(lock.text.hasSuffix(".") || lock == .noValue) }
    }

    @Test("PAG-36: of a signed value that the app does not load a row has both values in words, and the one in force")
    func notLoaded() throws {
        let specifiers = [
            Specifier(.textField, ["Key": "k", "DefaultValue": "d"]),
            Specifier(.textField, ["Key": "other", "TandemVisibleWhen": ["k": "own"]]),
        ]
        let schema = SettingsSchema(specifiers.declarations)
        func rows(_ own: RunningPage.OwnValue?, isNotLoaded: Bool = true) throws -> [PageView.Row] {
            var request = PageRequest(values: [
                "k": PageValue(
                    value: "signed", layer: "signed", isEdited: true, edit: "edit", isNotLoaded: isNotLoaded)
            ])
            if let own { request.take(.running(RunningPage(values: ["k": own])), schema) }
            return try view(specifiers, request).rows
        }
        let both = try rows(RunningPage.OwnValue(.preference, "own"))
        #expect(both[0].shown == "own" && both[0].layer == "preference" && both[0].lock == .notLoadedValue)
        #expect(
            both[0].lockText
                == "Signed: signed, but the app does NOT load it. The app's own value (preference) is in force: own. "
                + "'tandem status' on its device says why.")
        #expect(both[0].edit == "Edited: edit. A reset removes the edit." && both[0].isEdited)
        #expect(both.count == 2, "a condition is about the value in force")
        let unknown = try rows(nil)
        #expect(unknown.count == 1 && unknown[0].shown == "signed" && unknown[0].layer == "signed")
        #expect(unknown[0].lockText?.contains("has another value, which this page does not know.") == true)
        let withheld = try rows(RunningPage.OwnValue(.file, nil, isWithheld: true))[0]
        #expect(withheld.lockText?.contains("The app's own value (file) is in force. ") == true)
        let loaded = try rows(RunningPage.OwnValue(.preference, "own"), isNotLoaded: false)[0]
        #expect(loaded.shown == "signed" && loaded.lockText == PageView.Lock.signedValue.text)
        #expect(loaded.edit == "Edited: edit. The signed value hides the edit, which a reset removes.")
    }

    @Test("PAG-13: no value of a secret is in a view, and a value that breaks its rule says so")
    func values() throws {
        let secret = Specifier(.textField, ["Key": "pin", "IsSecure": "YES", "DefaultValue": "0000"])
        let slider = Specifier(.slider, ["Key": "v", "MinimumValue": 0, "MaximumValue": 1, "DefaultValue": 0.5])
        let values = [
            "pin": PageValue(value: "1234", layer: "user", isEdited: true), "v": PageValue(value: 2.0, layer: "user"),
        ]
        let shown = try view([secret, slider], PageRequest(values: values))
        #expect(shown.rows[0].isSecret && shown.rows[0].isEdited && shown.rows[0].kind == .secureText(TextTraits()))
        #expect(!"\(shown)".contains("1234") && !"\(shown)".contains("0000"))
        for kind in [Specifier.Kind.button, .multiValue, .toggle, .titleValue] {
            let hidden = Specifier(kind, ["Key": "pin", "IsSecure": true, "Values": ["1234"], "Titles": ["A title"]])
            #expect(!"\(try view([hidden], PageRequest(values: values)))".contains("isSecret: false"))
            #expect(try view([hidden], PageRequest(values: values)).rows[0].title != "1234")
        }
        #expect(shown.rows[1].error == "2 is over the maximum 1" && shown.rows[1].shown == "2")
        #expect(shown.rows[1].shownDefault == "0.5" && shown.rows[1].layer == "user")
        let rows: [PropertyListDictionary] = [
            ["key": "a", "value": 1, "layer": "user", "edited": true], ["key": "a", "value": 2],
            ["key": "b", "unknown": true],
        ]
        #expect(PageValue.all(in: rows) == ["a": PageValue(value: 1, layer: "user", isEdited: true)])
        let marks = String(repeating: "\u{345}", count: 128)
        let costly: [PropertyListDictionary] = [["key": .string("s\(marks)")], ["key": "b", "layer": .string(marks)]]
        #expect(PageValue.all(in: costly) == ["b": PageValue(value: nil, layer: "unknown")], "what costs to compare")
    }

    @Test("PAG-22: what cannot be shown is a row with its reason")
    func unsupported() throws {
        let specifiers = [
            Specifier(.childPane, ["IASKViewControllerStoryBoardId": "Map"]), Specifier(["Type": "Fancy"]),
            Specifier(.textField, ["Key": "none"]), Specifier(.toggle, ["Key": "text"]),
            Specifier(.childPane, ["File": "Missing"]), Specifier(.openURL, ["File": "not a url"]),
            Specifier(.custom, ["Key": "text", "IASKViewControllerClass": "Map"]),
            Specifier(.custom, ["Key": "text", "IASKSegueIdentifier": "map", "File": "Root"]),
            Specifier(.childPane, ["IASKViewControllerClass": "Web", "File": "https://example.org"]),
        ]
        let text = SettingDeclaration("text", .data, initial: .data([]))
        let shown = try view(specifiers, PageRequest(), [text])
        #expect(
            shown.rows.map(\.kind) == [
                .unsupported("a storyboard needs UIKit."), .unsupported("Entries of this type are not known."),
                .unsupported("The app has no property for it."),
                .unsupported("A value of type data cannot be edited here."),
                .unsupported("The page is missing or cannot be read."), .unsupported("The entry has no address."),
                .unsupported("a view controller's class needs UIKit."), .custom(page: "Root"),
                .unsupported("a view controller's class needs UIKit."),
            ])
    }

    @Test(
        "PAG-10, PAG-13: a button's title is its value, a child pane shows its value, links and mails have their parts")
    func others() throws {
        let specifiers = [
            Specifier(.button, ["Key": "login", "Title": "Log in", "DefaultValue": "Log out"]),
            Specifier(.openURL, ["Title": "Site", "File": "https://example.org/?a=b"]),
            Specifier(.mailCompose, ["IASKMailComposeToRecipents": ["a@example.org"], "IASKMailComposeSubject": "Hi"]),
            Specifier(.childPane, ["Key": "tone", "Title": "Tone", "File": "Root"]),
            Specifier(.textField, ["Key": "tone", "DefaultValue": "low"]),
            Specifier(.toggle, ["Key": "on", "IASKSubtitle": ["YES": "is on", "NO": "is off"], "DefaultValue": true]),
        ]
        let shown = try view(specifiers)
        #expect(shown.rows[3].subtitle == "low" && shown.rows[3].kind == .page("Root"))
        #expect(shown.rows[5].subtitle == "is on")
        #expect(shown.rows[0].title == "Log out" && shown.rows[0].kind == .button && shown.rows[0].alignment == .center)
        #expect(shown.rows[1].kind == .link(url: "https://example.org/?a=b"))
        let mail = PageView.Mail(to: ["a@example.org"], copy: [], blindCopy: [], subject: "Hi", body: "")
        #expect(shown.rows[2].kind == .mail(mail))
    }

    @Test("PAG-18: a search finds rows of all pages by title, section and key, in any case")
    func search() throws {
        let tree = pageTree([
            "Root": [
                Specifier(.group, ["Title": "Loudness"]), Specifier(.textField, ["Key": "a", "Title": "Left"]),
                Specifier(.childPane, ["File": "Deep", "Title": "More", "Key": "more"]),
            ],
            "Deep": [
                Specifier(.textField, ["Key": "b", "Title": "left over"]), Specifier(.childPane, ["File": "Root"]),
            ],
        ])
        let schema = SettingsSchema(tree.named.map(\.specifier).declarations)
        func found(_ text: String) -> [String] {
            PageView.search(text, in: tree, schema, PageRequest()).map { "\($0.page.name) \($0.row.title)" }
        }
        #expect(found("LEFT") == ["Root Left", "Deep left over"] && found("loud") == ["Root Left", "Root More"])
        #expect(found("").isEmpty && found("nothing").isEmpty)
        let hidden = PageRequest(hidden: ["more"])
        #expect(PageView.search("left", in: tree, schema, hidden).map(\.page.name) == ["Root"])
    }

    /// The rows that a search finds below one section.
    private func found(_ text: String, section: String, titles: [String]) -> [String] {
        let rows = titles.map { Specifier(.openURL, ["Title": .string($0), "File": "https://example.org"]) }
        let tree = pageTree(["Root": [Specifier(.group, ["Title": .string(section)])] + rows])
        return PageView.search(text, in: tree, SettingsSchema([]), PageRequest()).map(\.row.title)
    }

    @Test(
        "PAG-18: any case of letters is found, also where the cases differ in their letters",
        arguments: [
            ("STRASSE", "Lange Straße"), ("straße", "LANGE STRASSE"), ("ΟΔΌΣ", "μια οδός"), ("FISH", "a ﬁsh"),
            ("aab", "aaab"), ("abcabd", "ABCABCABD"),
        ])
    func searchInAnyCase(_ text: String, _ title: String) {
        #expect(found(text, section: "", titles: [title, "other"]) == [title])
        #expect(found(text, section: title, titles: ["one", "two"]) == ["one", "two"])
    }

    @Test("PAG-18: a search reads a section's title once, and costs no more for a text that nearly fits everywhere")
    func searchCost() {
        let (section, titles) = (String(repeating: "a", count: 100_000), Array(repeating: "x", count: 1_000))
        let begin = ThreadTime.now
        #expect(found(String(repeating: "a", count: 200) + "b", section: section, titles: titles).isEmpty)
        #expect(ThreadTime.now - begin < .seconds(2), "\(ThreadTime.now - begin)")
    }

    @Test(
        "PAG-17, SET-56: labels match values in the property's type; nothing and a person's added values are choices, too"
    )
    func choicesInType() throws {
        let page = Specifier(
            .multiValue,
            [
                "Key": "gain", "Values": [1, 0.5, 0], "Titles": ["Full", "Half", "Off"],
                "ShortTitles": ["F", "H", "O"],
            ])
        func options(_ declaration: SettingDeclaration, _ page: Specifier, _ value: PageValue?) throws -> [String] {
            let request = PageRequest(values: value.map { [declaration.name: $0] } ?? [:])
            let row = try view([page], request, [declaration]).rows[0]
            let options = try #require(row.choices).options
            return options.map { "\($0.title) \($0.shortTitle ?? "-")" } + [row.shown]
        }
        for type in [SettingType.double, .float] {
            let values: [SettingValue] = [0, 0.5, 1].map { type == .float ? .float(Float($0)) : .double($0) }
            let gain = SettingDeclaration(
                "gain", type, .choice, choices: values.map { SettingChoice(label: "own \($0.text)", value: $0) },
                initial: values[2])
            #expect(try options(gain, page, nil) == ["Full F", "Half H", "Off O", "F"])
        }
        let mode = SettingDeclaration(
            "mode", .string, .editableChoice,
            choices: [SettingChoice(label: "None", value: .nothing), SettingChoice(label: "A", value: .string("a"))],
            allowsNothing: true, initial: .nothing)
        let added: PropertyListValue = [
            ["label": "Mine", "value": "m"], ["label": "Wrong", "value": 7], ["label": "Again", "value": "a"],
        ]
        let value = PageValue(value: nil, layer: "default", added: added)
        let entry = Specifier(.multiValue, ["Key": "mode"])
        #expect(try options(mode, entry, value) == ["None -", "A -", "Mine -", "None"])
        #expect(try options(mode, entry, PageValue(value: "m", layer: "user", added: added)).last == "Mine")
    }
}
