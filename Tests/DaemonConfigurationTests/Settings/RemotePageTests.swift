// Pages of a running app on a secondary, through its primary: the buttons that the app has opened, and its decisions of
// the moment as far as they are about what it has opened. Everything else is as if the app had no other.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPages
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSettings
import TandemTestSupport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct RemotePageTests {
    private let nodes: TwoNodes
    private let document: SchemaDocument

    private static let entries = [
        Specifier(.group, ["Key": "night", "Title": "Night"]),
        Specifier(.slider, ["Key": "volume", "Title": "Volume"]),
        Specifier(.textField, ["Key": "closed", "Title": "Closed"]),
        Specifier(.textField, ["Key": "pin", "Title": "PIN", "IsSecure": true]),
        Specifier(.button, ["Key": "test", "Title": "Test"]), Specifier(.button, ["Key": "erase", "Title": "Erase"]),
    ]

    init() throws {
        nodes = try TwoNodes()
        let declarations = [
            SettingDeclaration(
                name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
                access: .counterpart, initialValue: .integer(7)),
            SettingDeclaration(
                name: "closed", type: .string, editor: .edit, summary: "", initialValue: .string("")),
            SettingDeclaration(
                name: "pin", type: .string, editor: .edit, summary: "", access: .counterpart,
                initialValue: .string("")),
            SettingDeclaration(
                name: "token", type: .string, editor: .edit, summary: "", isSecret: true, access: .counterpart,
                initialValue: .string("")),
        ]
        let tree = PageTree { name throws(SettingsBundleProblem) in
            name == PageTree.root ? ["PreferenceSpecifiers": .array(Self.entries.map { .dictionary($0.entries) })] : nil
        }
        document = try SchemaDocument(
            writing: declarations, layout: tree.layout(for: SettingsSchema(declarations)), buttons: ["test", "pin"])
    }

    /// The app on the secondary, with a link to the primary.
    private func startApp(_ document: SchemaDocument? = nil) throws -> Client {
        try nodes.pair()
        return try nodes.startApp(with: document ?? self.document)
    }

    private func body(_ more: PropertyListDictionary) -> PropertyListDictionary {
        var body = nodes.body(more)
        body["who"] = "the secondary"
        return body
    }

    private func ask(_ command: String, _ more: PropertyListDictionary = [:]) -> ControlAnswer {
        nodes.ask(nodes.primary, command, body(more))
    }

    private var presses: [String] { nodes.lines("button pressed") }

    // MARK: presses

    @Test("SES-82, CTL-58, THR-151: a primary presses what the app has opened, and its name is in the secondary's log")
    func press() throws {
        let app = try startApp()
        var answer = PressAnswer.done("It sounds.")
        app.answerQuestion = { _ in PageQuestion.reply(answer.body) }
        #expect(ask("settings-press", ["key": "test"]) == .done(["text": "It sounds."]))
        answer = .refused("Not at night.")
        let refused = ask("settings-press", ["key": "test"])
        #expect(refused.name == "refused" && refused.body["text"] == "Not at night.")
        #expect(app.questions == [.press("test"), .press("test")] && presses.count == 2)
        for (line, outcome) in zip(presses, ["done", "refused"]) {
            #expect(line.contains("key=test") && line.contains("outcome=\(outcome)"))
            #expect(line.contains("by=") && line.contains("the primary"))
        }
    }

    @Test("PAG-33, THR-155: the app learns the name of the primary that presses and edits, and of none that looks")
    func person() throws {
        let app = try startApp()
        app.answerQuestion = { question in
            question.kind == .validate ? PageQuestion.reply(["results": [:]]) : PageQuestion.reply(RunningPage().body)
        }
        _ = ask("settings-press", ["key": "test"])
        #expect(ask("settings-set", ["values": ["volume": 10]]).code == 0)
        _ = ask("settings-page")
        #expect(app.persons == [.primary("the primary"), .primary("the primary"), nil])
    }

    @Test("CTL-58, PAG-30, THR-138: a button that the app has not opened is not-here, as one that it does not have")
    func closed() throws {
        let app = try startApp()
        app.answerQuestion = { _ in PageQuestion.reply(PressAnswer.done(nil).body) }
        let answers = ["erase", "volume", "none"].map { ask("settings-press", ["key": .string($0)]) }
        #expect(answers.allSatisfy { $0 == answers[0] } && answers[0].name == "not-here")
        for bad: PropertyListValue in ["", 7, .string(String(repeating: "k", count: 257))] {
            #expect(ask("settings-press", ["key": bad]).name == "bad-request")
        }
        let user = nodes.ask(nodes.primary, "settings-press", body(["key": "test"]), isOperator: false)
        #expect(user.name == "not-allowed" && app.questions.isEmpty && presses.isEmpty)
        #expect(nodes.ask(nodes.secondary, "settings-press", nodes.body(["key": "erase"])).code == 0)
    }

    @Test("SES-82, SES-83: a press that waits for its turn is not made once the pairing has ended")
    func pressAfterTheEnd() throws {
        // It answers nothing, so that the second press waits.
        let app = try startApp()
        for _ in 0..<2 { nodes.begin(nodes.primary, "settings-press", body(["key": "test"])) { _ in } }
        nodes.run(until: { !app.questions.isEmpty })
        nodes.clock.advance(by: .seconds(1))
        try nodes.unpair(nodes.secondary)
        nodes.clock.advance(by: .seconds(20))
        #expect(app.questions == [.press("test")])
    }

    @Test("PAG-32, THR-152: a running app is asked about no picked date of a property that it has not opened")
    func closedDate() throws {
        let app = try startApp()
        let refusal = PageValidation.failed("It is seven.", replacement: "7").dictionary
        app.answerQuestion = { _ in PageQuestion.reply(["results": ["closed": .dictionary(refusal)]]) }
        let date = PropertyListValue.date(PropertyListDate(millisecondsSinceReferenceDate: 0))
        let answer = ask("settings-set", ["values": ["closed": date]])
        #expect(answer.code != 0 && answer.body["checks"] == nil && app.questions.isEmpty, "\(answer)")
    }

    @Test("SCH-21, PAG-7: a primary knows the entries of open buttons, and of no others")
    func layout() throws {
        _ = try startApp()
        let bytes = try #require(ask("settings-schema").body["schema"]?.dataValue)
        let open = try SchemaDocument(reading: bytes)
        #expect(open.buttons == ["test", "pin"])
        #expect(PageTree(open)["Root"]?.specifiers.map(\.key) == ["night", "volume", "pin", "test"])
    }

    @Test("PAG-7, PAG-10: a primary's reader of another language has the open entries in the app's own language")
    func ownLanguage() throws {
        var strings = StringsTables(region: "de")
        for (language, text) in [("de", "Lautstärke"), ("en", "Loudness")] {
            _ = strings.add(["Volume": text], table: "Root", language: language)
        }
        let tree = PageTree(strings: strings) { name throws(SettingsBundleProblem) in
            name == PageTree.root ? ["PreferenceSpecifiers": [.dictionary(Self.entries[1].entries)]] : nil
        }
        let declarations = [
            SettingDeclaration(
                name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
                access: .counterpart, initialValue: .integer(7))
        ]
        let layout = tree.layout(for: SettingsSchema(declarations))
        _ = try startApp(SchemaDocument(writing: declarations, layout: layout))
        let open = try SchemaDocument(reading: try #require(ask("settings-schema").body["schema"]?.dataValue))
        let view = try #require(PageView.make(PageTree(open), open.schema, PageRequest(languages: ["fr"])))
        #expect(view.rows.map(\.title) == ["Lautstärke"])
    }

    @Test("LIM-116, SES-82: a primary's presses have the pace of its edits, and its looks at pages one of their own")
    func pace() throws {
        let app = try startApp()
        app.answerQuestion = { question in
            switch question {
            case .press: PageQuestion.reply(PressAnswer.done(nil).body)
            case .page: PageQuestion.reply(RunningPage().body)
            case .validate: PageQuestion.reply(["results": [:]])
            }
        }
        let begin = nodes.clock.now
        for value in 0..<8 {
            #expect(ask("settings-set", ["values": ["volume": .integer(Int64(value))]]).code == 0)
            #expect(ask("settings-press", ["key": "test"]).code == 0)
        }
        let burst = nodes.clock.now.since(begin)
        #expect(burst < .seconds(3))
        for _ in 0..<4 { #expect(ask("settings-press", ["key": "test"]).code == 0) }
        #expect(nodes.clock.now.since(begin) >= .seconds(4))
        let page = nodes.clock.now
        #expect(ask("settings-page").body["state"] == "running" && nodes.clock.now.since(page) < .milliseconds(500))
    }

    // MARK: pages

    @Test(
        "PAG-30, CTL-59: a primary has hidden rows, choices and buttons as far as the app has opened them, no secrets")
    func page() throws {
        let app = try startApp()
        let choices = [RunningPage.Choice(label: "swordfish", value: "swordfish")]
        app.answerQuestion = { _ in
            PageQuestion.reply(
                RunningPage(
                    hidden: ["night", "volume", "closed", "erase", "other"],
                    choices: [
                        "volume": [.init(label: "Low", value: 1)], "closed": choices, "token": choices, "pin": choices,
                        "test": choices,
                    ], buttons: ["test", "erase"]
                ).body)
        }
        let answer = ask("settings-page")
        let open = RunningPage(
            hidden: ["night", "volume"], choices: ["volume": [.init(label: "Low", value: 1)]], buttons: ["test"])
        #expect(RunningState(answer.body) == .running(open) && !"\(answer.body)".contains("swordfish"))
    }

    @Test("PAG-28, CTL-58, CTL-59: a page whose app is stopped or silent says so, and a press of it has its deadline")
    func absent() throws {
        let app = try startApp()
        let begin = nodes.clock.now
        #expect(RunningState(ask("settings-page").body) == .noAnswer && nodes.clock.now.since(begin) < .seconds(2))
        let press = nodes.clock.now
        #expect(ask("settings-press", ["key": "test"]).name == "no-answer")
        #expect(nodes.clock.now.since(press) >= .seconds(5) && nodes.clock.now.since(press) < .seconds(6))
        #expect(presses.count == 1 && presses[0].contains("outcome=no-answer"))
        app.disconnect()
        nodes.clock.run()
        #expect(RunningState(ask("settings-page").body) == .notRunning)
        #expect(ask("settings-press", ["key": "test"]).name == "not-running" && presses.count == 1)
    }

    @Test("SES-82: an app that has opened nothing is not asked for its primary")
    func nothing() throws {
        let app = try startApp(
            SchemaDocument(writing: document.schema.declarations.filter { $0.access == .user }))
        #expect(ask("settings-page").name == "not-found" && ask("settings-press", ["key": "test"]).name == "not-found")
        #expect(app.questions.isEmpty)
    }

    @Test("SES-82: a link that ends while the app thinks ends the press at the primary")
    func gone() throws {
        let app = try startApp()
        var answer: ControlAnswer?
        nodes.begin(nodes.primary, "settings-press", body(["key": "test"])) { answer = $0 }
        nodes.run(until: { !app.questions.isEmpty })
        nodes.stop(.secondary)
        nodes.run(until: { answer != nil })
        #expect(answer?.name == "unreachable")
    }
}
