// Lines of `settings edit`: what each of them changes, opens or refuses, on pages, in lists and in drafts.

import TandemPages
import TandemPropertyList
import TandemSettings
import Testing

@testable import tandem

@Suite struct PageEditorTests {
    private static let pages: [String: [Specifier]] = [
        "Root": [
            Specifier(.group, ["Title": "Sound"]),
            Specifier(.slider, ["Key": "volume", "Title": "Volume", "MaximumValue": 10, "TandemInteger": true]),
            Specifier(
                .multiValue, ["Key": "speed", "Values": ["s", "f"], "Titles": ["Slow", "Fast"], "DefaultValue": "s"]),
            Specifier(.textField, ["Key": "pin", "Title": "Code", "IsSecure": true, "DefaultValue": "0000"]),
            Specifier(.childPane, ["Title": "More", "File": "More"]),
            Specifier(.textField, ["Key": "name", "DefaultValue": "me"]),
        ],
        "More": [
            Specifier(
                .listGroup,
                [
                    "Key": "tags", "Title": "Tags", "Deletable": true,
                    "ItemSpecifier": ["Type": "PSTextFieldSpecifier", "Title": "Tag"],
                    "AddSpecifier": ["Type": "PSChildPaneSpecifier", "File": "Tag"],
                ])
        ],
        "Tag": [Specifier(.slider, ["Key": "n", "Title": "Number", "MaximumValue": 3, "TandemInteger": true])],
    ]

    private static func document(of pages: [String: [Specifier]] = Self.pages) throws -> SchemaDocument {
        let tree = PageTree { name throws(SettingsBundleProblem) in
            pages[name].map { ["PreferenceSpecifiers": .array($0.map { .dictionary($0.entries) })] }
        }
        let declarations = tree.named.map(\.specifier).filter { $0.kind != .button }.declarations
        let layout = tree.layout(for: SettingsSchema(declarations))
        return try SchemaDocument(writing: declarations, layout: layout)
    }

    /// The change of the list, which had no edit with a tag.
    private static func tags(_ items: PropertyListValue) -> PageEditor.Step {
        .set(["tags": items], tags: ["tags": .data([])])
    }

    /// An editor and the values that a daemon would have.
    private struct Session {
        var editor: PageEditor
        var values: [String: PageValue] = [:]

        init(_ page: String = PageTree.root, by person: SettingAccess = .user) throws {
            editor = try #require(PageEditor(PageEditorTests.document(), page: page, PageRequest(editor: person)))
        }

        /// Shows the place, then takes a line; a change is stored.
        mutating func type(_ line: String) -> PageEditor.Step {
            _ = editor.lines(values)
            var step = editor.take(line, values)
            // The person agrees to each question.
            if case .ask(_, let change) = step { step = change }
            if case .set(let changes, let empty, _) = step {
                for (key, value) in changes { values[key] = PageValue(value: value, layer: "user", isEdited: true) }
                for key in empty { values[key] = PageValue(value: nil, layer: "user", isEdited: true) }
                editor.stored()
            }
            return step
        }

        mutating func shown() -> String { editor.lines(values).joined(separator: "\n") }
    }

    @Test("PAG-16: a line changes one field, by the rules of its page; a choice has its titles, a secret no line")
    func fields() throws {
        var session = try Session()
        for text in ["Root", "Sound", "1  Volume  0 (0 to 10)", "2  speed   Slow", "page More", "<redacted>"] {
            let shown = session.shown()
            #expect(shown.contains(text), "\(text)")
        }
        #expect(!session.shown().contains("0000"))
        #expect(session.type("1 7") == .set(["volume": 7]) && session.shown().contains("Edited."))
        #expect(session.type("2 Fast") == .set(["speed": "f"]) && session.type("2 s") == .set(["speed": "s"]))
        #expect(session.type("5 a b  c") == .set(["name": "a b  c"]))
        #expect(session.type("empty 5") == .set(["name": ""]) && session.type("reset 1") == .reset(["volume"]))
        #expect(session.type("2") == .say(["  s  Slow", "  f  Fast"]) && session.type("") == .show)
        for line in [
            "1 11", "1 x", "2 none", "3 4711", "4 x", "9 1", "0 1", "-1 1", "\(Int.min) 1", "reset \(Int.min)",
            "\(Int.max) 1", "reset 3", "reset 9", "add", "done",
        ] {
            let step = session.type(line)
            #expect(step.refusal?.contains("4711") == false, "\(line)")
        }
        #expect(session.type("9 1") == .refuse("There is no such row: the page has the rows 1 to 5."))
        #expect(session.type("1 7") == .say(["It has that value already."]) && session.type("quit") == .end)
        var other = try Session(by: .counterpart)
        #expect(other.shown().contains("paired device"))
        let ofItems = PageEditor(try Self.document(), page: "Tag", PageRequest()) != nil
        #expect(!ofItems)
    }

    private static let described: [String: [Specifier]] = [
        "Root": [
            Specifier(.group, ["Title": "Sound", "FooterText": "All of them are loud."]),
            Specifier(
                .textView,
                ["Key": "hosts", "Title": .string(String(repeating: "Hosts ", count: 40)), "IASKSubtitle": "Where?"]),
            Specifier(.textView, ["Key": "note", "Title": "Note"]),
            Specifier(.datePicker, ["Key": "wake", "Title": "Wake", "DatePickerMode": "Time"]),
        ]
    ]

    /// The same pages with a list of texts, an explanation and a restart, which no entry of a page has.
    private static func describedForm() throws -> PageEditor {
        let tree = PageTree { name throws(SettingsBundleProblem) in
            Self.described[name].map { ["PreferenceSpecifiers": .array($0.map { .dictionary($0.entries) })] }
        }
        let declarations = [
            SettingDeclaration(
                name: "hosts", type: .strings, editor: .edit, summary: "Names of hosts.", needsRestart: true,
                initialValue: .strings(["a", "b"])),
            SettingDeclaration(
                name: "note", type: .string, editor: .edit, summary: "", initialValue: .string("one\ntwo")),
            SettingDeclaration(
                name: "wake", type: .date, editor: .edit, summary: "", allowsNothing: true, initialValue: .nothing),
        ]
        let layout = tree.layout(for: SettingsSchema(declarations))
        let document = try SchemaDocument(writing: declarations, layout: layout)
        return try #require(PageEditor(document, page: PageTree.root, PageRequest()))
    }

    @Test("PAG-13: a row has its layer, its restart, the app's texts and the footer, within the width of the terminal")
    func described() throws {
        var form = try Self.describedForm()
        let edit = ["hosts": PageValue(value: ["c"], layer: "user", isEdited: true)]
        for width in [40, 80, 200] {
            let lines = form.lines(edit, width: width)
            #expect(lines.allSatisfy { $0.count <= width }, "\(width)")
            let text = lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
            for part in [
                "user", "default", "Edited. Takes effect when the app starts again.", #"Default: ["a","b"]"#, "Where?",
                "Names of hosts.", "All of them are loud.", #"["c"]"#,
            ] {
                #expect(text.contains(part), "\(width): \(part)")
            }
        }
    }

    @Test("PAG-35: a list of texts and a text of several lines are shown in full and typed as JSON, as their rows say")
    func several() throws {
        var form = try Self.describedForm()
        #expect(form.lines([:]).contains { $0.contains(#""one\ntwo""#) })
        let hosts = form.take("1", [:])
        #expect(hosts == .say(["  a", "  b", #"It is typed like this: 1 ["first","second"]"#]))
        let note = form.take("2", [:])
        #expect(note == .say(["  one", "  two", #"It is typed like this: 2 "first line\nsecond line""#]))
        #expect(form.take("3", [:]) == .say(["  No value.", "It is typed like this: 3 09:30"]))
        let plain = form.take("1 c", [:])
        #expect(plain.refusal?.contains(#"such as ["first","second"]"#) == true)
        #expect(form.take(#"1 ["c","d e"]"#, [:]) == .set(["hosts": ["c", "d e"]]))
        #expect(form.take(#"2 "three\nfour""#, [:]) == .set(["note": "three\nfour"]))
        #expect(form.take("empty 1", [:]) == .set(["hosts": []]))
    }

    @Test("PAG-16, PAG-35: a line is read by its row, also if two rows have one key, and a date with its seconds")
    func rowsOfOneKey() throws {
        let rows = ["Date", "Time"].map { mode in
            Specifier(.datePicker, ["Key": "at", "Title": .string(mode), "DatePickerMode": .string(mode)])
        }
        var form = try #require(
            PageEditor(Self.document(of: ["Root": rows]), page: PageTree.root, PageRequest()))
        func date(_ seconds: Int64) throws -> PropertyListValue {
            .date(try #require(PropertyListDate(millisecondsSince1970: (1_795_392_000 + seconds) * 1000)))
        }
        let values = ["at": PageValue(value: try date(34_215), layer: "user", isEdited: true)]
        #expect(form.lines(values).contains { $0.contains("09:30:15 UTC") })
        for (line, seconds) in [("1 2026-11-24", 120_615), ("2 10:30:15", 37_815), ("2 09:30", 34_200)] {
            let step = form.take(line, values)
            #expect(try step == .set(["at": date(Int64(seconds))]), "\(line)")
        }
        for line in ["1 2026-11-23 UTC", "2 09:30:15", "2 09:30:15 UTC"] {
            let step = form.take(line, values)
            #expect(step == .say(["It has that value already."]), "\(line)")
        }
        let (day, time) = (form.take("1 10:30", values), form.take("2 2026-11-24", values))
        #expect(day.refusal?.contains("is no date such as") == true)
        #expect(time.refusal?.contains("is no time such as") == true)
    }

    @Test("PAG-27, PAG-28: a button is pressed by its number while the app takes presses, and else the page says why")
    func buttons() throws {
        let document = try Self.document(of: ["Root": [Specifier(.button, ["Key": "test", "Title": "Test"])]])
        var form = try #require(PageEditor(document, page: PageTree.root, PageRequest()))
        form.follow(.running(RunningPage(buttons: ["test"])))
        #expect(form.lines([:]).joined().contains("Can be pressed.") && form.take("1", [:]) == .press("test"))
        form.follow(.notRunning)
        #expect(form.lines([:]).contains { $0.contains("does not run") })
        #expect(form.take("1", [:]) == .refuse("This button works in the app alone."))
    }

    @Test("PAG-20, PAG-21: items are added by drafts that end in done or cancel, changed, moved and deleted")
    func items() throws {
        var session = try Session()
        #expect(session.type("4") == .show && session.type("1") == .show && session.shown().contains("No items."))
        #expect(session.type("add") == .show && session.type("1 4") != .show && session.type("1 2") == .show)
        #expect(session.shown().contains("Number  2") && session.type("back") != .show)
        #expect(session.type("done") == Self.tags([["n": 2]]) && session.type("add") == .show)
        #expect(session.type("cancel") == .show)
        session.values["tags"] = PageValue(value: ["a", "b"], layer: "user")
        #expect(session.shown().contains("2  b") && session.type("2") == .show && session.type("1 c") == .show)
        #expect(session.type("done") == Self.tags(["a", "c"]))
        #expect(session.type("up 2") == Self.tags(["c", "a"]) && session.type("delete 1") == Self.tags(["a"]))
        #expect(session.type("delete 9") == .refuse("There is no such item: the list has item 1 only."))
        #expect(session.type("1 x") == .refuse("Type the number alone to open the item."))
        for line in ["up 1", "down 1", "delete 2", "delete", "delete \(Int.min)", "\(Int.min)", "1 x", "reset 1"] {
            let step = session.type(line)
            #expect(step.refusal != nil, "\(line)")
        }
        #expect(session.type("back") == .show && session.type("back") == .show && session.type("back") != .show)
    }

    @Test("PAG-37: an item is deleted and a list is reset after a question, and everything else without one")
    func questions() throws {
        var session = try Session("More")
        session.values["tags"] = PageValue(value: ["a", ""], layer: "user", isEdited: true, tag: [1])
        func step(_ line: String) -> PageEditor.Step {
            _ = session.editor.lines(session.values)
            return session.editor.take(line, session.values)
        }
        #expect(step("reset 1") == .ask("This removes the edit of Tags with all of its items.", then: .reset(["tags"])))
        #expect(step("1") == .show)
        func tags(_ items: PropertyListValue) -> PageEditor.Step { .set(["tags": items], tags: ["tags": .data([1])]) }
        #expect(step("delete 1") == .ask("This deletes a with all of its values.", then: tags([""])))
        #expect(step("delete 2") == .ask("This deletes item 2 with all of its values.", then: tags(["a"])))
        #expect(step("up 2") == tags(["", "a"]))
        var root = try Session()
        root.values["volume"] = PageValue(value: 7, layer: "user", isEdited: true)
        _ = root.shown()
        #expect(root.editor.take("reset 1", root.values) == .reset(["volume"]))
    }

    @Test("PAG-19, PAG-21: a refusal of the app's own checks shows its correction, which a draft takes")
    func corrections() throws {
        var session = try Session()
        let louder = PageRefusal(key: "volume", text: "Too loud.", replacement: 5)
        let refused = session.editor.refused("Too loud.", [louder], of: ["volume": 9])
        #expect(refused == .refuse("Too loud.", offers: ["The app offers Volume: 5 (0 to 10)"]))
        #expect(session.editor.refused("No.", [PageRefusal(key: "name", text: "No.")], of: [:]) == .refuse("No."))
        for line in ["4", "1", "add", "1 2"] { #expect(session.type(line) == .show) }
        let odd = PageRefusal(key: "tags", text: "Odd only.", replacement: [["n": 3]])
        let offered = session.editor.refused("Odd only.", [odd], of: ["tags": [["n": 2]]])
        #expect(offered == .refuse("Odd only.", offers: ["The app offers Number: 3 (0 to 3)"]))
        let more = PageRefusal(key: "tags", text: "No.", replacement: [["n": 3, "z": 1]])
        let named = session.editor.refused("No.", [more], of: ["tags": [["n": 3]]])
        #expect(named == .refuse("No.", offers: ["The app also wants other values, which have no field here: 'z'."]))
        #expect(session.type("done") == Self.tags([["n": 3, "z": 1]]))
    }

    @Test("PAG-14: the draft of an item shows no row that the app hides")
    func hidden() throws {
        var session = try Session()
        session.editor.follow(.running(RunningPage(hidden: ["n"])))
        for line in ["4", "1", "add"] { #expect(session.type(line) == .show) }
        #expect(!session.shown().contains("Number"))
    }

    @Test("PAG-20: a list that was changed since it was shown is not overwritten")
    func meanwhile() throws {
        var session = try Session("More")
        session.values["tags"] = PageValue(value: ["a", "b"], layer: "user")
        #expect(session.type("1") == .show)
        let other = ["tags": PageValue(value: ["b"], layer: "user")]
        _ = session.shown()
        for line in ["delete 1", "1", "down 1"] {
            let step = session.editor.take(line, other)
            #expect(step.refusal != nil, "\(line)")
        }
        #expect(session.type("1") == .show && session.type("1 x") == .show)
        #expect(session.editor.take("done", other) != .show && session.type("done") == Self.tags(["x", "b"]))
        session.values["tags"] = PageValue(value: ["a"], layer: "signed")
        #expect(session.shown().contains("cannot be edited"))
    }
}

extension PageEditor.Step {
    /// Why nothing was changed; nil for every other step.
    fileprivate var refusal: String? { if case .refuse(let text, _) = self { text } else { nil } }
}
