// Input of pages: text into stored forms, forms judged as a whole, checks of the app's own, and drafts of lists.

import TandemBase
import TandemPages
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct PageInputTests {
    private static let specifiers = [
        Specifier(.toggle, ["Key": "t", "TrueValue": "on", "FalseValue": "off", "DefaultValue": "off"]),
        Specifier(.slider, ["Key": "v", "MinimumValue": 0, "MaximumValue": 10, "TandemInteger": true]),
        Specifier(.multiValue, ["Key": "m", "Values": ["a", "b"], "Titles": ["A", "B"], "DefaultValue": "a"]),
        Specifier(.textField, ["Key": "name", "DefaultValue": "me"]),
        Specifier(.textField, ["Key": "pin", "IsSecure": true]),
        Specifier(.datePicker, ["Key": "day", "DatePickerMode": "Date"]),
        Specifier(.datePicker, ["Key": "time", "DatePickerMode": "Time"]),
        Specifier(.datePicker, ["Key": "both"]), Specifier(.titleValue, ["Key": "fixed", "DefaultValue": "1"]),
    ]
    private static let schema = SettingsSchema(specifiers.declarations)

    private func input(
        _ fields: [String: String], _ values: [String: PageValue] = [:], shown: [String: String] = [:]
    ) throws -> PageInput {
        let tree = pageTree(["Root": Self.specifiers])
        let view = try #require(PageView.make(tree, Self.schema, PageRequest(values: values)))
        return PageInput(fields, shown: shown, of: view, Self.schema)
    }

    @Test("PAG-16, PAG-17: a choice of nothing is nothing, also where an empty text would be a value")
    func nothingChosen() throws {
        let declaration = SettingDeclaration(
            "mode", .string, .editableChoice,
            choices: [SettingChoice(label: "None", value: .nothing), SettingChoice(label: "A", value: .string("a"))],
            allowsNothing: true, initial: .nothing)
        let schema = SettingsSchema([declaration])
        for kind in [Specifier.Kind.multiValue, .radioGroup] {
            let tree = pageTree(["Root": [Specifier(kind, ["Key": "mode"])]])
            let request = PageRequest(values: ["mode": PageValue(value: "a", layer: "user")])
            let view = try #require(PageView.make(tree, schema, request))
            let input = PageInput(["mode": ""], of: view, schema)
            #expect(input.empty == ["mode"] && input.values.isEmpty && input.errors.isEmpty)
        }
    }

    @Test("PAG-16: text means the stored form of its property; what is as before is no change")
    func texts() throws {
        let changed = try input(["t": "on", "v": "7", "m": "b", "name": "you", "pin": "1234"])
        #expect(changed.errors.isEmpty && changed.empty.isEmpty)
        #expect(changed.values == ["t": "on", "v": 7, "m": "b", "name": "you", "pin": "1234"])
        let same = try input(["t": "off", "v": "0.0", "m": "a", "name": "me", "pin": ""])
        #expect(same.values.isEmpty && same.errors.isEmpty)
        #expect(try input(["name": ""]).values == ["name": ""], "an empty text is a value where there is one")
        let day = ["day": PageValue(value: .date(PropertyListDate(millisecondsSinceReferenceDate: 0)), layer: "user")]
        #expect(try input(["day": ""], day).empty == ["day"] && input(["day": ""]).empty.isEmpty)
    }

    @Test("SET-45: a toggle takes the texts of its two stored values before the words for yes and no")
    func toggles() throws {
        for (on, off) in [("EIN", "AUS"), ("no", "yes"), (0, 1)] as [(PropertyListValue, PropertyListValue)] {
            let declaration = SettingDeclaration(
                "t", .boolean, .toggle, toggleValues: ToggleValues(on: on, off: off), initial: .boolean(false))
            let schema = SettingsSchema([declaration])
            let tree = PageTree(declarations: [declaration])
            for (stored, other) in [(on, off), (off, on)] {
                let values = ["t": PageValue(value: other, layer: "user")]
                let view = try #require(PageView.make(tree, schema, PageRequest(values: values)))
                for text in [stored.stringValue ?? stored.description, stored == on ? "on" : "off"] {
                    #expect(PageInput(["t": text], of: view, schema).values == ["t": stored], "\(text)")
                }
                #expect(PageInput(["t": "maybe"], of: view, schema).errors.count == 1)
            }
        }
    }

    @Test("PAG-16: a field is an edit only if its text is not the one that was shown, whatever is stored now")
    func touched() throws {
        let values = [
            "m": PageValue(value: "gone", layer: "user"), "v": PageValue(value: 3, layer: "signed"),
            "name": PageValue(value: "x", layer: "user"), "t": PageValue(value: "Maybe", layer: "user"),
        ]
        let shown = ["m": "a", "v": "2.0", "name": "me", "t": "off", "pin": ""]
        let same = try input(["m": "a", "v": "2", "name": "me", "t": "off", "pin": ""], values, shown: shown)
        #expect(try input([:]) == same)
        #expect(try input(["m": "gone", "v": "3", "name": "x", "t": "Maybe"], values) == same)
        let edit = try input(["name": "x", "t": "on", "v": "9"], values, shown: shown)
        #expect(edit.values == ["t": "on"] && edit.errors.keys.sorted() == ["v"])
        #expect(edit.typed == [3: "x", 0: "on", 1: "9"])
        #expect(try input(["m": "c"], values).errors["m"] == "'c' is none of the choices: 'A' ('a'), 'B' ('b')")
        #expect(try input(["pin": "hush", "v": "x"]).typed == [1: "x"])
    }

    @Test("PAG-16: ends of lines are LF, an empty line is a text of its own, and containers are JSON")
    func lines() throws {
        let declarations = [
            SettingDeclaration("hosts", .strings, initial: .strings(["a", "b"])),
            SettingDeclaration("note", .string, initial: .string("a\r\nb")),
            SettingDeclaration("map", .dictionary, initial: .dictionary([:])),
            SettingDeclaration("set", .set, initial: .set(["a"])),
            SettingDeclaration("colour", .string, pattern: "^#", allowsNothing: true, initial: .string("#f00")),
        ]
        let schema = SettingsSchema(declarations)
        func view(_ values: [String: PageValue] = [:]) throws -> PageView {
            try #require(PageView.make(PageTree(declarations: declarations), schema, PageRequest(values: values)))
        }
        let page = try view()
        func input(_ fields: [String: String]) -> PageInput { PageInput(fields, of: page, schema) }
        #expect(
            input(["hosts": "a\r\n\r\nb\r\n"]).values == ["hosts": ["a", "", "b"]], "the last line feed ends a text")
        #expect(input(["hosts": ""]).values == ["hosts": []] && input(["hosts": "a\r\nb"]).values.isEmpty)
        #expect(input(["note": "a\nb", "map": "{}", "set": "[\"a\"]"]).values.isEmpty)
        let note = try #require(input(["note": "e\u{301}\r\n"]).values["note"]?.stringValue)
        #expect(Array(note.utf8) == Array("e\u{301}\n".utf8))
        let containers = input(["map": "{\"a\": [1]}", "set": "[\"b\", \"b\"]"])
        #expect(containers.values == ["map": ["a": [1]], "set": ["b"]])
        #expect(input(["map": "{"]).errors["map"]?.hasPrefix("'{' is no object in JSON such as") == true)
        #expect(input(["colour": ""]).empty == ["colour"], "its rule takes no empty text")
        let odd = try view(["hosts": PageValue(value: ["a\nb"], layer: "user", isEdited: true, author: "hub")])
        for texts in [["a", ""], [""], ["", ""]] as [[String]] {
            let value = PropertyListValue.array(texts.map { .string($0) })
            let page = try view(["hosts": PageValue(value: value, layer: "user")])
            #expect(
                page.rows[0].lock == nil && PageInput(["hosts": page.rows[0].input], of: page, schema).values.isEmpty)
            #expect(input(["hosts": page.rows[0].input]).values == ["hosts": value], "each list has a text")
        }
        #expect(odd.rows[0].lock == .noText && odd.rows[0].author == "hub" && page.rows[0].lock == nil)
    }

    @Test(
        "PAG-13, PAG-16: input of an entry that hides its text is told to nobody, also where its property is no secret")
    func hiddenInput() throws {
        let specifier = Specifier(.textField, ["Key": "code", "IsSecure": true])
        let declaration = SettingDeclaration("code", .integer, initial: .integer(0))
        let schema = SettingsSchema([declaration])
        let view = try #require(PageView.make(pageTree(["Root": [specifier]]), schema, PageRequest()))
        let input = PageInput(["code": "hush"], of: view, schema)
        #expect(input.errors.count == 1 && input.typed.isEmpty && !"\(input)".contains("hush"))
    }

    @Test("PAG-16, CTL-43: an edit of the paired device's person is judged as theirs")
    func author() throws {
        let declaration = SettingDeclaration("k", .string, access: .user, initial: .string(""))
        let schema = SettingsSchema([declaration])
        let view = try #require(PageView.make(PageTree(declarations: [declaration]), schema, PageRequest()))
        #expect(PageInput(["k": "x"], of: view, schema, by: .counterpart).errors.count == 1)
        #expect(PageInput(["k": "x"], of: view, schema).errors.isEmpty)
    }

    @Test("PAG-16, PAG-17: an editable choice takes its options' values and any other that keeps the rule")
    func editableChoice() throws {
        let declaration = SettingDeclaration(
            "days", .integer, .editableChoice, bounds: .integer(0...365),
            choices: [
                SettingChoice(label: "Week", value: .integer(7)), SettingChoice(label: "One", value: .integer(1)),
            ], initial: .integer(7))
        let schema = SettingsSchema([declaration])
        let view = try #require(PageView.make(PageTree(declarations: [declaration]), schema, PageRequest()))
        #expect(view.rows[0].choices?.options.map(\.input) == ["7", "1"])
        #expect(view.rows[0].input == "7" && view.rows[0].shown == "Week")
        func input(_ text: String) -> PageInput { PageInput(["days": text], of: view, schema) }
        #expect(input("1").values == ["days": 1] && input("45").values == ["days": 45] && input("7").values.isEmpty)
        #expect(input("366").errors["days"] == "366 is over the maximum 365" && input("x").errors.count == 1)
    }

    @Test(
        "PAG-16: a text that is no value of its field's type is refused with an example of one, or with its range",
        arguments: [
            (.integer, "1.5", "1.5' is no whole number such as 15"),
            (.integer, "-9223372036854775809", "is not between -9223372036854775808 and 9223372036854775807"),
            (.double, "1,5", "'1,5' is no number such as 1.5"),
            (.url, "a b", "is no address such as https://example.org/"), (.array, "[null]", "without null"),
            (.set, "[1]", "is no list of texts in JSON such as"),
            (.dictionary, "{\"k\":1,\"k\":2}", "without a key twice"),
        ] as [(SettingType, String, String)])
    func examples(type: SettingType, text: String, refusal: String) throws {
        let declaration = SettingDeclaration("k", type, allowsNothing: true, initial: .nothing)
        let schema = SettingsSchema([declaration])
        let view = try #require(PageView.make(PageTree(declarations: [declaration]), schema, PageRequest()))
        let error = PageInput(["k": text], of: view, schema).errors["k"]
        #expect(error?.contains(refusal) == true && error?.contains("k: ") == false, "\(error ?? "")")
    }

    @Test("PAG-16: dates are days, times and both, in UTC; a time stays on its day, and a day keeps its time")
    func dates() throws {
        let day = try #require(PropertyListDate(millisecondsSince1970: 1_795_392_000_000))
        let dates = try input(
            ["day": "2026-11-23", "both": "2026-11-23T09:30", "time": "09:30:00"],
            ["time": PageValue(value: .date(day), layer: "user")])
        #expect(dates.values["day"]?.dateValue?.millisecondsSince1970 == 1_795_392_000_000)
        #expect(dates.values["both"]?.dateValue?.millisecondsSince1970 == 1_795_426_200_000)
        #expect(dates.values["time"]?.dateValue?.millisecondsSince1970 == 1_795_426_200_000)
        for text in ["2026-02-30", "23.11.2026", "2026-11-2x", ""] { #expect(try input(["day": text]).values.isEmpty) }
        let evening = try #require(PropertyListDate(millisecondsSince1970: 68_400_500))
        let moved = try input(
            ["day": "2026-11-23", "both": "2026-11-23T09:30:15"],
            ["day": PageValue(value: .date(evening), layer: "user")])
        #expect(moved.values["day"]?.dateValue?.millisecondsSince1970 == 1_795_460_400_500)
        #expect(moved.values["both"]?.dateValue?.millisecondsSince1970 == 1_795_426_215_000)
        for text in ["2026-11-23T09:30:60", "2026-11-23T09:60", "2026-11-23T09:30:7", "2026-11-23T09:30:15.5"] {
            #expect(try input(["both": text]).errors.count == 1, "\(text)")
        }
        let tree = pageTree(["Root": Self.specifiers])
        let values = Dictionary(
            uniqueKeysWithValues: dates.values.map { ($0.key, PageValue(value: $0.value, layer: "user")) })
        let view = try #require(PageView.make(tree, Self.schema, PageRequest(values: values)))
        #expect(view.rows[5...7].map(\.shown) == ["2026-11-23", "09:30", "2026-11-23T09:30"])
        let later = try values.mapValues { page in
            let date = try #require(page.value?.dateValue)
            let moved = try #require(PropertyListDate(millisecondsSince1970: date.millisecondsSince1970 + 15_000))
            return PageValue(value: .date(moved), layer: "user")
        }
        let seconds = try #require(PageView.make(tree, Self.schema, PageRequest(values: later)))
        #expect(seconds.rows[5...7].map(\.shown) == ["2026-11-23", "09:30:15", "2026-11-23T09:30:15"])
        #expect(seconds.rows[5...7].map(\.input) == ["2026-11-23", "09:30", "2026-11-23T09:30"])
    }

    @Test("PAG-16, CON-12: a day and a time of one key are one date, a field without a row is refused, the last counts")
    func fieldsOfOneKey() throws {
        let rows = ["Date", "Time"].map { mode in
            Specifier(.datePicker, ["Key": "at", "DatePickerMode": .string(mode)])
        }
        let schema = SettingsSchema([
            SettingDeclaration(
                name: "at", type: .date, editor: .edit, summary: "", allowsNothing: true, initialValue: .nothing)
        ])
        func date(_ seconds: Int64) throws -> PropertyListValue {
            .date(try #require(PropertyListDate(millisecondsSince1970: (1_795_392_000 + seconds) * 1000)))
        }
        let tree = pageTree(["Root": rows])
        let stored = PageValue(value: try date(34_215), layer: "user")
        func input(_ day: String, _ time: String, at index: Int = 1, of value: PageValue? = stored) throws -> PageInput
        {
            let values = value.map { ["at": $0] } ?? [:]
            let view = try #require(PageView.make(tree, schema, PageRequest(values: values)))
            let further = PageInput.Further(index: index, key: "at", text: time, shown: value == nil ? "" : "09:30")
            let shown = ["at": value == nil ? "" : "2026-11-23"]
            return PageInput(["at": day], shown: shown, of: view, schema, further: [further])
        }
        let edits: [(String, String, Int64)] = [
            ("2026-11-24", "09:30", 120_615), ("2026-11-23", "10:00", 36_000), ("2026-11-24", "10:00", 122_400),
            ("", "10:00", 36_000),
        ]
        for (day, time, seconds) in edits {
            let edit = try input(day, time)
            #expect(try edit.values == ["at": date(seconds)] && edit.empty.isEmpty, "\(day) \(time)")
        }
        #expect(try input("2026-11-23", "10:00").typed == [1: "10:00"])
        #expect(try input("2026-11-23", "09:30").values.isEmpty)
        for (day, time) in [("2026-11-24", ""), ("", "09:30"), ("", "")] {
            let nothing = try input(day, time)
            #expect(nothing.empty == ["at"] && nothing.values.isEmpty, "\(day) \(time)")
        }
        #expect(try input("2026-11-23", "10:00", of: nil).values == ["at": date(36_000)])
        #expect(try input("2026-11-23", "soon").errors["at"]?.contains("is no time such as") == true)
        #expect(try input("2026-11-23", "10:00", at: 2).errors["at"]?.contains("has no field") == true)
    }

    @Test("PAG-16: a form with one refused field names each of them, and shows no secret")
    func whole() throws {
        let refused = try input(["v": "11", "m": "5", "name": "ok", "fixed": "2", "foreign": "x", "day": "never"])
        #expect(refused.errors.keys.sorted() == ["day", "fixed", "foreign", "m", "v"])
        #expect(refused.errors["v"] == "11 is over the maximum 10" && refused.errors["fixed"] == "Shown only.")
        let signed = try input(["v": "3"], ["v": PageValue(value: 1, layer: "signed")])
        #expect(signed.errors.count == 1 && signed.values.isEmpty)
    }

    @Test("PAG-16: a field that nobody has touched is no edit where the page has no such field any more")
    func goneRow() throws {
        let further = PageInput.Further(index: 40, key: "day", text: "a\r\nb", shown: "a\nb")
        let tree = pageTree(["Root": Self.specifiers])
        let view = try #require(PageView.make(tree, Self.schema, PageRequest(values: [:])))
        let shown = ["name": "me", "guest": "a\nb", "token": ""]
        var fields = ["name": "you", "guest": "a\r\nb", "token": ""]
        let untouched = PageInput(fields, shown: shown, of: view, Self.schema, further: [further])
        #expect(untouched.errors.isEmpty && untouched.values == ["name": "you"])
        fields["guest"] = "typed"
        let touched = PageInput(fields, shown: shown, of: view, Self.schema)
        #expect(touched.errors.keys.sorted() == ["guest"])
        #expect(try input(["guest": ""]).errors.count == 1, "a form that says no text that the page showed")
    }

    // MARK: lists

    private static let account = [
        Specifier(.textField, ["Key": "name", "DefaultValue": "me"]),
        Specifier(.slider, ["Key": "port", "MinimumValue": 1, "MaximumValue": 9, "TandemInteger": true]),
    ]
    private static let accounts = Specifier(
        .listGroup,
        [
            "Key": "accounts", "Deletable": true,
            "ItemSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Account", "Key": "name"],
            "AddSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Account", "Title": "Add"],
        ])
    private static let tree = pageTree(["Root": [accounts], "Account": account])

    @Test("PAG-20, PAG-21: a draft of a page is refused until it is valid, and is one dictionary")
    func draft() throws {
        var draft = try #require(ListDraft(of: Self.accounts, items: [], at: nil, in: Self.tree))
        #expect(draft.content == ["name": "me", "port": 1])
        #expect(draft.take(["port": "10"], in: Self.tree).errors.count == 1)
        #expect(draft.content["port"] == 1, "a refused value changes nothing")
        #expect(draft.take(["name": "you"], in: Self.tree).errors.isEmpty)
        #expect(draft.done([]) == [["name": "you", "port": 1]])
        let stale: [PropertyListValue] = [["name": "a", "port": 99]]
        let broken = try #require(ListDraft(of: Self.accounts, items: stale, at: 0, in: Self.tree))
        #expect(broken.done(stale) == nil && broken.errors.count == 1)
        var edit = try #require(ListDraft(of: Self.accounts, items: [["name": "a", "extra": 1]], at: 0, in: Self.tree))
        #expect(edit.take(["name": "b"], in: Self.tree).errors.isEmpty)
        #expect(edit.done([["name": "a", "extra": 1]]) == [["name": "b", "extra": 1]])
        #expect(ListDraft(of: Self.accounts, items: [], at: 0, in: Self.tree) == nil)
    }

    @Test("PAG-21: an item without a key shows its default if nil is no value of it, and stores what is changed alone")
    func olderItem() throws {
        let page = [
            Specifier(.textField, ["Key": "name", "DefaultValue": "me"]),
            Specifier(.toggle, ["Key": "isSafe", "DefaultValue": true]),
            Specifier(.slider, ["Key": "level", "DefaultValue": 0.5]),
        ]
        let tree = pageTree(["Root": [Self.accounts], "Account": page])
        var draft = try #require(ListDraft(of: Self.accounts, items: [["name": "a"]], at: 0, in: tree))
        #expect(draft.view(in: tree).rows.map(\.input) == ["a", "on", "0.5"])
        #expect(draft.take(["isSafe": "on", "level": "0.5"], in: tree).errors.isEmpty)
        #expect(draft.done([["name": "a"]]) == [["name": "a"]])
        #expect(draft.take(["isSafe": "off"], in: tree).errors.isEmpty)
        #expect(draft.done([["name": "a"]]) == [["name": "a", "isSafe": false]])
        let nameless = try #require(ListDraft(of: Self.accounts, items: [["isSafe": false]], at: 0, in: tree))
        #expect(nameless.view(in: tree).rows.map(\.input) == ["", "off", "0.5"], "a text may be nil")
    }

    @Test(
        "PAG-20, PAG-21: text, toggle, slider and choice make single values",
        arguments: [
            (["Type": "PSTextFieldSpecifier"], "tag", "tag"), (["Type": "PSToggleSwitchSpecifier"], "on", true),
            (["Type": "PSSliderSpecifier", "MaximumValue": 3, "TandemInteger": true], "2", 2),
            (["Type": "PSMultiValueSpecifier", "Values": ["A", "G"], "Titles": ["Adenine", "Guanine"]], "G", "G"),
        ] as [(PropertyListDictionary, String, PropertyListValue)])
    func singles(add: PropertyListDictionary, text: String, value: PropertyListValue) throws {
        let group = Specifier(
            .listGroup, ["Key": "l", "ItemSpecifier": .dictionary(add), "AddSpecifier": .dictionary(add)])
        var draft = try #require(ListDraft(of: group, items: ["x"], at: nil, in: Self.tree))
        #expect(draft.take(["value": text], in: Self.tree).errors.isEmpty)
        #expect(draft.done(["x"]) == ["x", value])
    }

    @Test("PAG-20: items of a list that its reader may edit are drafted, removed where the list allows it, and moved")
    func editable() throws {
        let entry: PropertyListValue = ["Type": "PSTextFieldSpecifier"]
        let group = Specifier(
            .listGroup, ["Key": "l", "ItemSpecifier": entry, "AddSpecifier": entry, "Deletable": true])
        let plain = Specifier(
            .listGroup, ["Key": "fixed", "ItemSpecifier": ["Type": "PSTitleValueSpecifier"]])
        let tree = pageTree(["Root": [group, plain]])
        let schema = SettingsSchema([group, plain].declarations)
        func list(_ key: String, layer: String = "user") -> EditableList? {
            let values = ["l", "fixed"].map { ($0, PageValue(value: ["x", "y"], layer: layer)) }
            return EditableList(key, in: tree, schema, PageRequest(values: Dictionary(uniqueKeysWithValues: values)))
        }
        let open = try #require(list("l"))
        #expect(open.items(after: .remove, of: 0) == ["y"] && open.items(after: .down, of: 0) == ["y", "x"])
        #expect(open.items(after: .up, of: 1) == ["y", "x"])
        let nowhere: [(EditableList.Change, Int)] = [(.remove, 2), (.remove, -1), (.up, 0), (.down, 1), (.down, -1)]
        for (change, index) in nowhere { #expect(open.items(after: change, of: index) == nil, "\(change) \(index)") }
        var draft = try #require(open.draft(at: 1))
        #expect(draft.take(["value": "z"], in: tree).errors.isEmpty)
        #expect(open.done(draft) == ["x", "z"] && open.draft(at: 2) == nil && open.draft(at: nil) != nil)
        let fixed = try #require(list("fixed"))
        #expect(fixed.items(after: .remove, of: 0) == nil && fixed.draft(at: 0) == nil && fixed.draft(at: nil) == nil)
        #expect(list("l", layer: "signed") == nil && list("none") == nil)
    }

    @Test(
        "PAG-13, PAG-21: a draft's page has its content, in the reader's language, and no secret; input is judged whole"
    )
    func page() throws {
        var strings = StringsTables()
        _ = strings.add(["Name": "Rufname", "Tag": "Marke"], table: "Root", language: "de")
        let group = Specifier(
            .listGroup,
            [
                "Key": "l",
                "ItemSpecifier": ["Type": "PSChildPaneSpecifier", "File": "P", "Key": "pin", "Title": "One"],
                "AddSpecifier": ["Type": "PSTextFieldSpecifier", "Title": "Tag"],
            ])
        let item = [
            Specifier(.textField, ["Key": "name", "Title": "Name", "DefaultValue": "me"]),
            Specifier(.textField, ["Key": "pin", "IsSecure": true]), group,
        ]
        let tree = pageTree(["Root": [group], "P": item], strings: strings)
        let items: [PropertyListValue] = [["pin": "4711"]]
        var draft = try #require(ListDraft(of: group, items: items, at: 0, in: tree))
        let view = draft.view(in: tree, languages: ["de"])
        #expect(view.rows.map(\.title) == ["Rufname", "", ""] && view.rows.map(\.input) == ["", "", ""])
        #expect(
            view.rows[1].value == nil
                && view.rows[2].kind == .unsupported("Pages and lists within an item are not supported."))
        let refused = draft.take(["name": "a", "none": "b"], of: view)
        #expect(refused.errors.count == 1 && draft.content == ["pin": "4711"])
        #expect(draft.take(["name": "a", "pin": ""], of: view).errors.isEmpty)
        #expect(draft.done(items) == [["name": "a", "pin": "4711"]])
        let host = try #require(tree.list("l"))
        let new = try #require(ListDraft(of: group, items: items, at: nil, in: tree, on: host.page))
        #expect(new.view(in: tree, languages: ["de"]).rows.map(\.title) == ["Marke"] && tree.list("name") == nil)
        let request = PageRequest(values: ["l": PageValue(value: .array(items), layer: "user")])
        let shown = PageView.make(tree, SettingsSchema([group].declarations), request)?.rows.first
        #expect(shown?.list?.items.map(\.title) == ["One"], "a secret is no title")
    }

    @Test("LIM-122, PAG-20: the store decides about items; 1,024 are shown, and no further one is added")
    func items() throws {
        let items = [PropertyListValue](repeating: ["name": "a"], count: 1025)
        let schema = SettingsSchema([Self.accounts].declarations)
        func list(_ items: [PropertyListValue]) throws -> PageView.List {
            let request = PageRequest(values: ["accounts": PageValue(value: .array(items), layer: "user")])
            let row = try #require(PageView.make(Self.tree, schema, request)?.rows.first)
            #expect(row.isEditable)
            return try #require(row.list)
        }
        #expect(try list(items).items.count == 1024)
        let one = try list([["name": "a"]])
        #expect(one.items.map(\.title) == ["a"] && one.items[0].page == "Account" && one.isDeletable)
        #expect(one.add?.file == "Account" && one.addTitle == "Add")
        #expect(ListDraft(of: Self.accounts, items: Array(items.prefix(1024)), at: nil, in: Self.tree) == nil)
        #expect(ListDraft(of: Self.accounts, items: Array(items.prefix(1023)), at: nil, in: Self.tree) != nil)
    }
}

extension ListDraft {
    /// Reads fields of the draft's page as it is now.
    fileprivate mutating func take(_ fields: [String: String], in tree: PageTree) -> PageInput {
        take(fields, of: view(in: tree))
    }
}
