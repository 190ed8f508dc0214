// Questions to a running app about its pages: each is read as it was written, what has another form is none, and what
// the answers do to an edit and to a view.

import TandemPages
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

@Suite struct PageQuestionTests {
    @Test("PAG-24: a question is read as it was written, and one of another form is none")
    func questions() throws {
        for question: PageQuestion in [.page, .press("test"), .validate(["volume": 7]), .validate([:])] {
            #expect(PageQuestion(question.message()) == question && PageQuestion.isClaimed(by: question.message()))
        }
        let others: [PropertyListDictionary] = [
            [:], ["tandem.question": "press"], ["tandem.question": "validate", "tandem.values": 7],
            ["tandem.question": "press", "tandem.key": 1], ["tandem.question": "later"], ["tandem.question": 1],
        ]
        for message in others { #expect(PageQuestion(message) == nil, "\(message)") }
        #expect(!PageQuestion.isClaimed(by: ["tandem.reload": true]))
    }

    @Test("PAG-25, LIM-12: a text that is too long for a key hides no row and enables no button")
    func longKeys() {
        let (longest, longer) = (String(repeating: "k", count: 256), "s" + String(repeating: "\u{345}", count: 128))
        let keys = PropertyListValue.array([.string(longest), .string(longer), ""])
        let page = RunningPage(["hidden": keys, "buttons": keys])
        #expect(page?.hidden == [longest] && page?.buttons == [longest])
        #expect(RunningPage(["hidden": [.string(longest), 1]]) == nil)
    }

    @Test("PAG-33: a question names one person, and one that names nobody, two or nonsense is a question all the same")
    func persons() {
        for person: PagePerson in [.user(0), .user(.max), .primary("hub")] {
            let message = PageQuestion.press("test").message(by: person)
            #expect(PagePerson(message) == person && PageQuestion(message) == .press("test"))
        }
        let wrong: [PropertyListDictionary] = [
            [:], ["tandem.user": -1], ["tandem.user": 4_294_967_296], ["tandem.user": "0"], ["tandem.primary": 7],
            ["tandem.primary": ""], ["tandem.primary": .string(String(repeating: "p", count: 65))],
            ["tandem.user": 0, "tandem.primary": "hub"],
        ]
        for names in wrong {
            let message = PageQuestion.validate(["volume": 7]).message().merging(names)
            #expect(PagePerson(message) == nil && PageQuestion(message) == .validate(["volume": 7]), "\(names)")
        }
    }

    @Test("PAG-25, LIM-129: an answer of 65,536 bytes is read, and a larger one, or one of another form, is none")
    func answers() throws {
        func bytes(_ count: Int) throws -> [UInt8] {
            let empty = try PropertyListWriter.write(PageQuestion.reply(["text": ""]))
            let text = String(repeating: "x", count: count - empty.count - 8)
            let whole = try PropertyListWriter.write(PageQuestion.reply(["text": .string(text)]))
            let more = String(repeating: "x", count: count - whole.count)
            return try PropertyListWriter.write(PageQuestion.reply(["text": .string(text + more)]))
        }
        let largest = try bytes(65_536)
        #expect(largest.count == 65_536 && PageQuestion.answer(in: largest) != nil)
        #expect(PageQuestion.answer(in: try bytes(65_537)) == nil)
        #expect(PageQuestion.answer(in: [1, 2, 3]) == nil)
        let other: PropertyListDictionary = ["tandem.verdict": "applied"]
        #expect(PageQuestion.answer(in: try PropertyListWriter.write(other)) == nil)
        let page = RunningPage(
            hidden: ["a"], choices: ["b": [.init(label: "One", value: 1)]], buttons: ["c", "d"])
        #expect(RunningPage(page.body) == page && RunningPage([:]) == RunningPage())
        let mail = PageView.Mail(to: ["a@b"], copy: ["c@d"], blindCopy: [], subject: "Hi", body: "")
        let mails = RunningPage(mails: ["e": .compose(mail), "f": .refused("No account.")])
        #expect(RunningPage(mails.body) == mails)
        let empty = PageView.Mail(to: [], copy: [], blindCopy: [], subject: "", body: "")
        #expect(RunningPage(["mails": ["e": [:]]]) == RunningPage(mails: ["e": .compose(empty)]))
        let dates = RunningPage(dates: [
            "g": .init(date: PropertyListDate(millisecondsSince1970: 0), shown: "midnight"), "h": .init(date: nil),
        ])
        #expect(RunningPage(dates.body) == dates)
        let values = RunningPage(values: [
            "i": .init(.preference, 7), "j": .init(.commandLine, nil), "k": .init(.file, nil, isWithheld: true),
        ])
        #expect(RunningPage(values.body) == values)
        #expect(RunningPage(["values": ["i": ["layer": "moon", "value": 1]]]) == RunningPage(), "of a later release")
        for body: PropertyListDictionary in [
            ["values": 1], ["values": ["i": 1]], ["values": ["i": [:]]], ["values": ["i": ["layer": 1]]],
            ["values": ["i": ["layer": "file", "withheld": 1]]], ["values": ["i": ["layer": "moon", "withheld": ""]]],
            ["dates": 1], ["dates": ["g": 1]], ["dates": ["g": ["date": 1]]],
            ["dates": ["g": ["shown": 1]]],
            ["hidden": 1], ["hidden": [1]], ["choices": 1], ["buttons": ["a", 2]], ["choices": ["b": 1]],
            ["choices": ["b": [1]]],
            ["choices": ["b": [["label": "x"]]]], ["choices": ["b": [["value": 1]]]], ["mails": 1],
            ["mails": ["e": 1]], ["mails": ["e": ["to": "a@b"]]], ["mails": ["e": ["cc": [1]]]],
            ["mails": ["e": ["subject": 1]]], ["mails": ["e": ["refused": 1]]],
        ] { #expect(RunningPage(body) == nil, "\(body)") }
        for answer: PressAnswer in [.done(nil), .done("It sounds."), .refused("No.")] {
            #expect(PressAnswer(answer.body) == answer)
        }
        #expect(PressAnswer([:]) == nil && PressAnswer(["done": 1]) == nil)
    }

    @Test("PAG-19, PAG-26: a value is stored, replaced or refused with text and shake, as the app's answer says")
    func checks() throws {
        let asked: PropertyListDictionary = ["a": 1, "b": 2, "c": 3, "d": 4]
        func answer(_ results: [String: PageValidation]) -> PropertyListDictionary {
            var all: PropertyListDictionary = [:]
            for (key, result) in results { all[key] = .dictionary(result.dictionary) }
            return ["results": .dictionary(all)]
        }
        let taken = try #require(
            CheckedEdit(
                asked, answer(["a": .ok, "b": .replaced(5), "c": .replaced(3), "x": .replaced(9)]), secrets: []))
        #expect(taken.replacements == ["b": 5] && taken.refusals.isEmpty)
        let refused = try #require(
            CheckedEdit(
                asked, answer(["b": .failed("", replacement: 6), "c": .failed("No.", replacement: nil, shakes: true)]),
                secrets: ["b"]))
        #expect(
            refused.refusals == [
                PageRefusal(key: "b", text: "The app does not take it."),
                PageRefusal(key: "c", text: "No.", shakes: true),
            ])
        let shown = PageRefusal(key: "b", text: "No.", shakes: true, replacement: 6)
        #expect(PageRefusal.all(in: ["b": .dictionary(shown.dictionary)]) == [shown])
        for results: PropertyListValue in [
            1, ["a": 1], ["a": [:]], ["a": ["result": "later"]], ["a": ["result": "replaced"]],
        ] { #expect(CheckedEdit(asked, ["results": results], secrets: []) == nil, "\(results)") }
        #expect(CheckedEdit(asked, [:], secrets: []) == nil)
    }

    @Test("PAG-26, LIM-129: an answer that is too long is sent with shorter texts, and what it refuses stays refused")
    func fitting() throws {
        func fitted(_ body: PropertyListDictionary) throws -> PropertyListDictionary {
            let bytes = try PropertyListWriter.write(PageQuestion.reply(fitting: body))
            return try #require(PageQuestion.answer(in: bytes))
        }
        let long = String(repeating: "é", count: 40_000)
        #expect(try fitted(PressAnswer.done("short").body) == PressAnswer.done("short").body)
        guard case .refused(let text) = PressAnswer(try fitted(PressAnswer.refused(long).body))
        else { throw Unexpected("the refusal is lost") }
        #expect(text.utf8.count <= 200 && long.hasPrefix(text))
        let page = RunningPage(hidden: ["a"], choices: ["b": [.init(label: long, value: 1)]], buttons: ["c"])
        #expect(RunningPage(try fitted(page.body)) == RunningPage(hidden: ["a"], buttons: ["c"]))
        // Of the app's own values the long ones are withheld first, and none because something else is too long.
        let choices = ["b": [RunningPage.Choice(label: "One", value: 1)]]
        let withheld = RunningPage.OwnValue(.file, nil, isWithheld: true)
        let (small, large) = (RunningPage.OwnValue(.preference, 1), RunningPage.OwnValue(.file, .string(long)))
        let own = RunningPage(choices: choices, values: ["d": small, "e": large])
        #expect(
            RunningPage(try fitted(own.body)) == RunningPage(choices: choices, values: ["d": small, "e": withheld]))
        let wordy = RunningPage(choices: ["b": [.init(label: long, value: 1)]], values: ["d": small])
        #expect(RunningPage(try fitted(wordy.body)) == RunningPage(values: ["d": small]))
        func many(_ value: RunningPage.OwnValue, _ key: String) -> RunningPage {
            let values = (0..<1024).map { (key + "\($0)", value) }
            return RunningPage(buttons: ["c"], values: Dictionary(uniqueKeysWithValues: values))
        }
        let wide = RunningPage.OwnValue(.file, .string(String(repeating: "é", count: 300)))
        #expect(RunningPage(try fitted(many(wide, "").body))?.values["0"] == withheld)
        let crowd = many(wide, String(repeating: "k", count: 60)).values
        let full = RunningPage(buttons: ["c"], values: crowd.merging(["list": withheld]) { $1 })
        #expect(RunningPage(try fitted(full.body)) == RunningPage(buttons: ["c"], values: ["list": withheld]))
        func checked(_ results: [(String, PageValidation)]) throws -> CheckedEdit? {
            let all = PropertyListDictionary(
                uniqueKeysWithValues: results.map { ($0.0, PropertyListValue.dictionary($0.1.dictionary)) })
            let asked = PropertyListDictionary(
                uniqueKeysWithValues: results.map { ($0.0, PropertyListValue.integer(1)) })
            return CheckedEdit(asked, try fitted(["results": .dictionary(all)]), secrets: [])
        }
        let key = { (number: Int) in String(repeating: "k", count: 250) + "\(number)" }
        let fine = try checked((0..<900).map { (key($0), .ok) })
        #expect(fine?.refusals.isEmpty == true && fine?.replacements.isEmpty == true)
        let words = String(repeating: "é", count: 400)
        let refused = try checked((0..<900).map { (key($0), .failed(words, replacement: .string(words))) })
        #expect(refused?.refusals.isEmpty == false)
        let replaced = try checked([("a", .replaced(.string(long))), ("b", .ok)])
        #expect(replaced?.replacements.isEmpty == true && replaced?.refusals.map(\.key) == ["a"])
    }

    @Test("LIM-129: an answer that repeats its parts is none, and one with many keys is written at once")
    func repeated() throws {
        let text = PropertyListValue.string(String(repeating: "x", count: 8_000))
        let hidden = PropertyListValue.array([PropertyListValue](repeating: text, count: 500))
        let bytes = try PropertyListWriter.write(PageQuestion.reply(["hidden": hidden]))
        #expect(bytes.count < 16_384 && PageQuestion.answer(in: bytes) == nil)
        let many = (0..<16_000).map { ("\($0)", [RunningPage.Choice]()) }
        let page = RunningPage(choices: Dictionary(uniqueKeysWithValues: many))
        let begin = ThreadTime.now
        #expect(page.body["choices"]?.dictionaryValue?.count == 16_000)
        #expect(ThreadTime.now - begin < .seconds(2), "\(ThreadTime.now - begin)")
    }

    private static let page = [
        Specifier(.group, ["Key": "group", "Title": "Sound"]), Specifier(.textField, ["Key": "name"]),
        Specifier(.multiValue, ["Key": "tone", "DefaultValue": "a"]), Specifier(.group, ["Title": "More"]),
        Specifier(.button, ["Key": "test", "Title": "Test"]), Specifier(.button, ["Key": "other", "Title": "Other"]),
    ]

    private func view(
        _ state: RunningState, on page: [Specifier] = Self.page, values: [String: PageValue] = [:]
    ) throws -> PageView {
        let schema = SettingsSchema(page.filter { $0.kind != .button }.declarations)
        var request = PageRequest(values: values)
        request.take(state, schema)
        return try #require(PageView.make(pageTree(["Root": page]), schema, request))
    }

    @Test("PAG-14, PAG-17, PAG-27: hidden keys, choices and buttons of the moment count, in the property's type")
    func running() throws {
        let page = RunningPage(
            hidden: ["name"],
            choices: ["tone": [.init(label: "Low", value: "a"), .init(label: "Number", value: 7)], "no": []],
            buttons: ["test", "none"])
        let shown = try view(.running(page))
        #expect(!shown.rows.contains { $0.key == "name" } && shown.rows.compactMap(\.press) == ["test"])
        let choices = try #require(shown.rows.first { $0.key == "tone" }?.choices)
        #expect(choices.options.map(\.title) == ["Low"] && choices.selected == 0)
        #expect(try view(.running(RunningPage(hidden: ["group"]))).groups.map(\.title) == ["More"])
    }

    @Test(
        "PAG-34: the app's own value is in force over a default, in conditions too, and under an edit and a signed one")
    func ownValues() throws {
        let page = [
            Specifier(.toggle, ["Key": "auto"]), Specifier(.textField, ["Key": "name", "DefaultValue": "x"]),
            Specifier(.group, ["Title": "More", "TandemVisibleWhen": ["auto": true]]),
            Specifier(.textField, ["Key": "more"]),
            Specifier(.listGroup, ["Key": "list", "ItemSpecifier": ["Type": "PSTextFieldSpecifier"]]),
        ]
        let own = RunningPage(values: [
            "auto": .init(.preference, true), "name": .init(.environment, "y"), "none": .init(.file, 1),
            "list": .init(.preference, nil, isWithheld: true),
        ])
        let running = try view(.running(own), on: page)
        #expect(running.rows.map(\.layer) == ["preference", "environment", "default", "preference"])
        #expect(running.rows.map(\.shown).prefix(2) == ["true", "y"] && running.rows[0].kind == .toggle(isOn: true))
        #expect(running.rows.map(\.lock) == [nil, nil, nil, .withheld] && !running.rows.contains(where: \.isEdited))
        let stopped = try view(.notRunning, on: page).rows
        #expect(stopped.map(\.key) == ["auto", "name", "list"] && stopped.allSatisfy { $0.layer == "default" })
        for layer in ["user", "signed"] {
            let value = PageValue(value: "z", layer: layer, isEdited: layer == "user")
            let row = try view(.running(own), on: page, values: ["name": value]).rows[1]
            #expect(row.shown == "z" && row.layer == layer)
        }
    }

    @Test("PAG-31: a running app changes the parts of a mail, or refuses it with its reason; others stay as they are")
    func mails() throws {
        let page = [
            Specifier(.mailCompose, ["Key": "ask", "Title": "Ask", "IASKMailComposeToRecipents": ["a@b"]]),
            Specifier(.mailCompose, ["Key": "tell", "Title": "Tell", "IASKMailComposeToRecipents": ["a@b"]]),
            Specifier(.mailCompose, ["Title": "Write", "IASKMailComposeToRecipents": ["a@b"]]),
            Specifier(.mailCompose, ["Key": "wish", "Title": "Wish"]),
        ]
        let mail = PageView.Mail(to: ["c@d"], copy: ["e@f"], blindCopy: ["g@h"], subject: "Lamp 7", body: "It\nhums")
        let running = RunningPage(mails: [
            "ask": .compose(mail), "tell": .refused("No account."), "none": .compose(mail), "wish": .refused(""),
        ])
        let kinds = try view(.running(running), on: page).rows.map(\.kind)
        let own = PageView.Mail(to: ["a@b"], copy: [], blindCopy: [], subject: "", body: "")
        #expect(
            kinds == [
                .mail(mail), .unsupported("No account."), .mail(own), .unsupported("The app does not offer it now."),
            ])
        #expect(try view(.notRunning, on: page).rows.prefix(2).map(\.kind) == [.mail(own), .mail(own)])
    }

    private static func hour(_ hour: Int64) throws -> PropertyListDate {
        try #require(PropertyListDate(millisecondsSince1970: hour * 3_600_000))
    }

    @Test("PAG-32: a running app shows any property in a date picker, and what is picked is a date for the app")
    func dates() throws {
        let page = ["wake", "sleep", "at"].map { key in
            Specifier(.datePicker, ["Key": .string(key), "DatePickerMode": "Time"])
        }
        let tree = pageTree(["Root": page])
        let (seven, nine) = (try Self.hour(7), try Self.hour(9))
        let schema = SettingsSchema([
            SettingDeclaration("wake", .integer, bounds: .integer(0...1439), initial: .integer(420)),
            SettingDeclaration("sleep", .string, allowsNothing: true, initial: .nothing),
            SettingDeclaration("at", .date, initial: .date(nine)),
        ])
        func view(_ dates: [String: RunningPage.PickedDate]) throws -> PageView {
            var request = PageRequest()
            request.take(.running(RunningPage(dates: dates)), schema)
            return try #require(PageView.make(tree, schema, request))
        }
        let shown = try view([
            "wake": .init(date: seven, shown: "seven"), "sleep": .init(date: nil),
            "at": .init(date: nine, shown: "nine"),
        ])
        #expect(shown.rows.map(\.shown) == ["seven", "", "nine"] && shown.rows.map(\.input) == ["07:00", "", "09:00"])
        #expect(shown.rows.allSatisfy { $0.kind == .date(DateTraits(mode: .time)) && $0.isEditable })
        #expect(shown.rows[0].value == 420 && shown.rows[0].shownDefault.isEmpty)
        let input = PageInput(["wake": "08:00", "sleep": "09:00", "at": "09:00"], of: shown, schema)
        #expect(input.values == ["wake": .date(try Self.hour(8)), "sleep": .date(nine)] && input.errors.isEmpty)
        #expect(PageInput(["wake": "07:00", "sleep": ""], of: shown, schema).values == [:])
        #expect(PageInput(["wake": "later"], of: shown, schema).errors["wake"]?.contains("time") == true)
        let without = try view(["at": .init(date: seven, shown: "seven")])
        #expect(without.rows.map(\.isEditable) == [false, false, true] && without.rows[2].shown == "09:00")
    }

    @Test("PAG-28: without an answer the page is whole, has no button to press, and says what it lacks")
    func absent() throws {
        for state: RunningState in [.notRunning, .noAnswer, .busy, .elsewhere] {
            let shown = try view(state)
            #expect(shown.rows.count == 4 && shown.rows.allSatisfy { $0.press == nil } && state.note != nil)
        }
        #expect(RunningState.withoutHooks.note == nil && RunningState.running(RunningPage()).note == nil)
        let page = RunningPage(hidden: ["a"], buttons: ["b"])
        for state: RunningState in [.running(page), .withoutHooks, .notRunning, .noAnswer] {
            #expect(RunningState(state.body) == state)
        }
        #expect(RunningState(["state": "running", "hidden": 1]) == .noAnswer && RunningState([:]) == .unknown)
    }

    @Test("PAG-30: the paired device has of an answer what is open: entries, sections, buttons, and no secret")
    func opened() throws {
        let declarations = [
            SettingDeclaration("name", .string, access: .counterpart, initial: .string("")),
            SettingDeclaration("pin", .string, access: .counterpart, initial: .string("")),
            SettingDeclaration("codes", .array, .preference, access: .counterpart, initial: .array([])),
        ]
        let tree = pageTree([
            "Root": [
                Specifier(.group, ["Key": "group"]), Specifier(.textField, ["Key": "pin", "IsSecure": true]),
                Specifier(.button, ["Key": "test"]),
            ]
        ])
        let document = try SchemaDocument(
            writing: declarations, layout: tree.layout(for: SettingsSchema(declarations)), buttons: ["test", "bare"])
        let one = [RunningPage.Choice(label: "One", value: "1")]
        let page = RunningPage(
            hidden: ["group", "name", "test", "closed"],
            choices: ["name": one, "pin": one, "codes": one, "group": one, "closed": one],
            buttons: ["test", "bare", "erase"], mails: ["test": .refused("No account.")],
            dates: ["name": .init(date: nil), "pin": .init(date: nil), "closed": .init(date: nil)])
        let open = RunningPage(
            hidden: ["group", "name", "test"], choices: ["name": one], buttons: ["test", "bare"],
            dates: ["name": .init(date: nil)])
        #expect(page.opened(by: document, secrets: ["codes"]) == open)
        #expect(RunningState.running(page).opened(by: document, secrets: ["codes"]) == .running(open))
        #expect(RunningState.notRunning.opened(by: document, secrets: []) == .notRunning)
        let states = ["not-here", "full", "unreachable", "unknown-command"].map { RunningState(refusedAs: $0) }
        #expect(states == [.elsewhere, .busy, .noAnswer, .unknown])
    }

    @Test("PAG-4: the key of a group, a button, a mail or an address need not be a property")
    func keysOfEntries() throws {
        let page = [Specifier.Kind.group, .button, .mailCompose, .openURL].map { kind in
            Specifier(kind, ["Key": .string(kind.rawValue)])
        }
        var bundle = SettingsBundle(pageTree(["Root": page + [Specifier(.textField, ["Key": "name"])]]))
        _ = bundle.defaults(of: SettingsSchema([]))
        let missing = bundle.problems.filter { if case .noProperty = $0 { true } else { false } }
        #expect(missing == [.noProperty(key: "name", SettingsPageLocation(page: "Root", index: 4))])
    }

    @Test("PAG-4: a key without a property is reported at a field, also if it names a group or a button, too")
    func sharedKeys() {
        let page = [Specifier.Kind.group, .textField, .button, .toggle].map { kind in
            Specifier(kind, ["Key": "name"])
        }
        var bundle = SettingsBundle(pageTree(["Root": page]))
        _ = bundle.defaults(of: SettingsSchema([]))
        let missing = bundle.problems.filter { if case .noProperty = $0 { true } else { false } }
        #expect(missing == [.noProperty(key: "name", SettingsPageLocation(page: "Root", index: 1))])
    }
}
