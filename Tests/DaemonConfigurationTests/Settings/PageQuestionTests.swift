// Questions of a whole daemon to running apps: presses, checks and pages; apps that never answer, answer too much, die
// in between, or are another user's; and apps that have not named a question, which are never asked.

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

@Suite(.timeLimit(.minutes(10))) struct PageQuestionTests {
    private let nodes: TwoNodes
    private let document: SchemaDocument

    init() throws {
        nodes = try TwoNodes()
        document = try SchemaDocument(writing: [
            SettingDeclaration(
                name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
                access: .counterpart, initialValue: .integer(7)),
            SettingDeclaration(
                name: "token", type: .string, editor: .edit, summary: "", isSecret: true, initialValue: .string("")),
        ])
    }

    private func body(_ more: PropertyListDictionary) -> PropertyListDictionary { nodes.body(more) }

    private func ask(_ command: String, _ more: PropertyListDictionary = [:]) -> ControlAnswer {
        nodes.ask(nodes.secondary, command, body(more))
    }

    private func set(_ values: PropertyListDictionary) -> ControlAnswer { nodes.edit(values) }

    private func value(_ key: String) -> PropertyListValue? { nodes.setting(key)?["edit"] }

    private static func reply(_ results: [String: PageValidation]) -> PropertyListDictionary {
        var all: PropertyListDictionary = [:]
        for (key, result) in results { all[key] = .dictionary(result.dictionary) }
        return PageQuestion.reply(["results": .dictionary(all)])
    }

    // MARK: what an app answers

    @Test("SES-80, CTL-58: a press reaches the app, and its answer the person; each press is a line of the log")
    func press() throws {
        let app = try nodes.startApp(with: document)
        app.answerQuestion = { question in
            guard case .press(let key) = question else { return nil }
            return PageQuestion.reply((key == "test" ? PressAnswer.done("It sounds.") : .refused("No siren.")).body)
        }
        #expect(ask("settings-press", ["key": "test"]) == .done(["text": "It sounds."]))
        let refused = ask("settings-press", ["key": "other"])
        #expect(refused.name == "refused" && refused.body["text"] == "No siren.")
        let frame = try #require(app.received(.configuration).last)
        #expect(frame.wantsReply && frame.deadline == .seconds(5) && frame.pairing == .zero)
        #expect(app.questions == [.press("test"), .press("other")])
        let lines = nodes.lines("button pressed")
        #expect(lines.count == 2 && lines[0].contains("outcome=done") && lines[1].contains("outcome=refused"))
        for bad: PropertyListValue in ["", 7, .string(String(repeating: "k", count: 257))] {
            #expect(ask("settings-press", ["key": bad]).name == "bad-request")
        }
    }

    @Test("PAG-33: the app learns which user presses, edits or imports, and nobody of a look at a page")
    func person() throws {
        let app = try nodes.startApp(with: document)
        app.answerQuestion = { _ in Self.reply([:]) }
        for (command, more): (String, PropertyListDictionary) in [
            ("settings-press", ["key": "test"]), ("settings-set", ["values": ["volume": 10]]),
            ("settings-set", ["values": ["volume": "11"], "import": true]), ("settings-page", [:]),
        ] {
            _ = nodes.ask(nodes.secondary, command, body(more), user: 4711)
        }
        #expect(app.questions.map(\.kind) == [.press, .validate, .validate, .page])
        #expect(app.persons == [.user(4711), .user(4711), .user(4711), nil])
    }

    @Test("PAG-26, CTL-60: the app is asked about what its schema takes, and takes, replaces or refuses it")
    func validate() throws {
        let app = try nodes.startApp(with: document)
        var results: [String: PageValidation] = [:]
        app.answerQuestion = { _ in Self.reply(results) }
        #expect(set(["volume": 101]).name == "schema" && app.questions.isEmpty, "the declared rule counts first")
        #expect(set(["volume": 10]).body == ["converted": []] && value("volume") == 10)
        results = ["volume": .replaced(20)]
        #expect(set(["volume": 11]).body["replaced"] == ["volume"] && value("volume") == 20)
        results = ["volume": .replaced(200)]
        let replaced = set(["volume": 12])
        #expect(replaced.name == "refused" && value("volume") == 20, "the rule counts for replacements")
        let reason = "The app's own value in its place is refused: 200 is over the maximum 100."
        #expect(replaced.body["checks"] == ["volume": ["text": .string(reason)]])
        results = [
            "volume": .failed("Not at night.", replacement: 5, shakes: true), "token": .failed("x", replacement: "y"),
        ]
        let refused = set(["volume": 13, "token": "swordfish"])
        #expect(refused.name == "refused" && refused.body["text"] == "token: x; volume: Not at night.")
        #expect(
            refused.body["checks"] == [
                "token": ["text": "x"], "volume": ["text": "Not at night.", "shake": true, "value": 5],
            ])
        #expect(value("volume") == 20 && app.questions.last == .validate(["token": "swordfish", "volume": 13]))
        #expect(!nodes.notes.contains { "\($0)".contains("swordfish") })
        let loose = ask("settings-set", ["values": ["volume": "13"], "import": true])
        #expect(loose.name == "refused" && app.questions.last == .validate(["volume": 13]))
        #expect(ask("settings-reset").code == 0 && app.questions.count == 5, "a reset is not checked")
    }

    @Test("PAG-32: the app makes a value of a picked date, which the schema judges; without it the date is refused")
    func dates() throws {
        let app = try nodes.startApp(with: document)
        let date = PropertyListValue.date(PropertyListDate(millisecondsSinceReferenceDate: 0))
        var results: [String: PageValidation] = ["volume": .replaced(30)]
        app.answerQuestion = { _ in Self.reply(results) }
        #expect(set(["volume": date]).code == 0 && value("volume") == 30)
        #expect(app.questions == [.validate(["volume": date])])
        results = ["volume": .replaced(300)]
        #expect(set(["volume": date]).name == "refused" && value("volume") == 30)
        results = ["volume": .failed("Not on Sundays.", replacement: nil)]
        #expect(set(["volume": date]).body["text"] == "volume: Not on Sundays.")
        results = [:]
        let unmade = set(["volume": date])
        #expect(unmade.name == "refused" && value("volume") == 30)
        let reason = "The app has not said which value stands for this date."
        #expect(unmade.body["checks"] == ["volume": ["text": .string(reason)]])
        #expect(set(["volume": date, "none": 1]).name == "schema" && app.questions.count == 4, "the rest counts first")
        app.answerQuestion = { _ in nil }
        #expect(set(["volume": date]).body["checks"] == unmade.body["checks"], "a silent app has made none")
        app.disconnect()
        nodes.clock.run()
        #expect(set(["volume": date]).name == "schema")
    }

    @Test("PAG-26: the app checks a primary's edit, too, and the primary has the reason")
    func remote() throws {
        try nodes.pair()
        let app = try nodes.startApp(with: document)
        app.answerQuestion = { _ in Self.reply(["volume": .failed("Not from afar.", replacement: nil)]) }
        let edit = body(["who": "the secondary", "values": ["volume": 13]])
        let refused = nodes.ask(nodes.primary, "settings-set", edit)
        #expect(refused.name == "refused" && refused.body["text"] == "volume: Not from afar.")
        #expect(refused.body["checks"] == ["volume": ["text": "Not from afar."]] && value("volume") == nil)
        app.answerQuestion = { _ in Self.reply(["volume": .replaced(14)]) }
        #expect(nodes.ask(nodes.primary, "settings-set", edit).body["replaced"] == ["volume"] && value("volume") == 14)
    }

    @Test("CTL-59, PAG-27: the page of the moment is the app's answer")
    func page() throws {
        let app = try nodes.startApp(with: document)
        let page = RunningPage(
            hidden: ["token"], choices: ["volume": [.init(label: "Low", value: 1)]], buttons: ["test"])
        app.answerQuestion = { _ in PageQuestion.reply(page.body) }
        #expect(RunningState(ask("settings-page").body) == .running(page))
        app.answerQuestion = { _ in PageQuestion.reply(["hidden": 7]) }
        #expect(RunningState(ask("settings-page").body) == .noAnswer)
        app.disconnect()
        nodes.clock.run()
        #expect(RunningState(ask("settings-page").body) == .notRunning)
        #expect(ask("settings-press", ["key": "test"]).name == "not-running")
        #expect(set(["volume": 9]).body == ["converted": []] && value("volume") == 9)
    }

    // MARK: apps that are not asked

    @Test("SES-80: an app that has not named a question is not asked it")
    func older() throws {
        let app = try nodes.startApp(with: document, answering: ["later"])
        #expect(RunningState(ask("settings-page").body) == .withoutHooks)
        #expect(ask("settings-press", ["key": "test"]).name == "not-found")
        #expect(set(["volume": 9]).body == ["converted": []] && app.questions.isEmpty)
    }

    @Test("THR-136, CTL-58: another user presses no button of the app, and sees nothing of its page")
    func others() throws {
        let app = try nodes.startApp(with: document)
        app.answerQuestion = { _ in PageQuestion.reply(PressAnswer.done(nil).body) }
        for (user, name) in [(Linux.user, nil), (Linux.user + 1, "not-allowed")] {
            for command in ["settings-press", "settings-page"] {
                let answer = nodes.ask(
                    nodes.secondary, command, body(["key": "test"]), user: user, isOperator: false)
                #expect(answer.name == name, "\(command)")
            }
        }
        #expect(app.questions.count == 2)
    }

    @Test("CTL-2: an edit whose app becomes another user's while it is asked is not-allowed")
    func reassigned() throws {
        let app = try nodes.startApp(with: document)
        let edit = nodes.request(
            "settings-set", body(["values": ["volume": 9]]), user: Linux.user, isOperator: false)
        var answer: ControlAnswer?
        nodes.secondary.respond(to: edit) { answer = $0 }
        nodes.run(until: { !app.questions.isEmpty })
        let other = PropertyListValue.integer(Int64(Linux.user) + 1)
        #expect(ask("app-assign", ["uid": other, "yes": true]).code == 0)
        nodes.run(until: { answer != nil })
        #expect(answer?.name == "not-allowed")
    }

    // MARK: hostile apps

    @Test("LIM-129, THR-137: an app that never answers costs its asker five seconds, and an edit is made without it")
    func silent() throws {
        let app = try nodes.startApp(with: document)
        let begin = nodes.clock.now
        #expect(ask("settings-press", ["key": "test"]).name == "no-answer")
        #expect(nodes.clock.now.since(begin) >= .seconds(5) && nodes.clock.now.since(begin) < .seconds(6))
        let line = nodes.lines("button pressed").last
        #expect(line?.contains("outcome=no-answer") == true && line?.contains("test") == true, "CTL-58")
        let answer = set(["volume": 9])
        #expect(answer.code == 0 && answer.body["unchecked"] == true && value("volume") == 9)
        let page = nodes.clock.now
        #expect(RunningState(ask("settings-page").body) == .noAnswer && nodes.clock.now.since(page) < .seconds(2))
        #expect(app.questions.count == 3 && !app.isClosed)
    }

    @Test("LIM-129, SES-81: of one asker one question is open and eight wait, the next is full, and none waits longer")
    func turns() throws {
        let app = try nodes.startApp(with: document)
        var answers: [ControlAnswer] = []
        for _ in 0..<10 { nodes.begin(nodes.secondary, "settings-press", body(["key": "test"])) { answers.append($0) } }
        nodes.clock.run()
        #expect(answers.map(\.name) == ["full"] && app.questions.count == 1)
        let other = nodes.request("settings-press", body(["key": "other"]), user: Linux.user + 1)
        nodes.secondary.respond(to: other) { answers.append($0) }
        nodes.clock.run()
        #expect(app.questions == [.press("test"), .press("other")], "another asker does not wait")
        nodes.run(until: { answers.count == 11 })
        let silent = answers.filter { $0.name == "no-answer" }
        #expect(silent.count == 2 && answers.count { $0.name == "full" } == 9 && app.questions.count == 2)
        app.answerQuestion = { _ in PageQuestion.reply(PressAnswer.done(nil).body) }
        #expect(ask("settings-press", ["key": "test"]).code == 0)
    }

    @Test("CTL-58, SES-81: a press that waited in vain is full and no line of the log: the app has not got it")
    func waitedPresses() throws {
        let app = try nodes.startApp(with: document)
        var answers: [ControlAnswer] = []
        for key: PropertyListValue in ["first", "second", "third"] {
            nodes.begin(nodes.secondary, "settings-press", body(["key": key])) { answers.append($0) }
        }
        nodes.run(until: { answers.count == 3 })
        #expect(answers.map { $0.name ?? "" }.sorted() == ["full", "full", "no-answer"])
        let lines = nodes.lines("button pressed")
        #expect(lines.count == 1 && lines[0].contains("key=first") && app.questions == [.press("first")])
    }

    @Test("CTL-59, SES-81: a page whose question has to wait behind its asker's others is full, and not silent")
    func waitedPage() throws {
        let app = try nodes.startApp(with: document)
        var answers: [ControlAnswer] = []
        for command in ["settings-press", "settings-page"] {
            nodes.begin(nodes.secondary, command, body(["key": "test"])) { answers.append($0) }
        }
        nodes.run(until: { answers.count == 1 })
        #expect(answers[0].name == "full" && app.questions == [.press("test")])
        nodes.run(until: { answers.count == 2 })
    }

    @Test("PAG-26: an edit that lacked the time for its check because it had to wait is full, and is not stored")
    func waited() throws {
        let app = try nodes.startApp(with: document)
        app.answerQuestion = { question in
            if case .validate = question { return Self.reply(["volume": .failed("Never.", replacement: nil)]) }
            return nil
        }
        var answers: [ControlAnswer] = []
        nodes.begin(nodes.secondary, "settings-press", body(["key": "test"])) { answers.append($0) }
        nodes.begin(nodes.secondary, "settings-set", body(["values": ["volume": 9]])) { answers.append($0) }
        nodes.run(until: { answers.count == 2 })
        #expect(Set(answers.map(\.name)) == ["no-answer", "full"] && value("volume") == nil)
    }

    @Test("PAG-26, CTL-60: an edit whose app ends while its check waits for its turn is made, and says so")
    func endedMeanwhile() throws {
        defer { nodes.stop() }
        let app = try nodes.startApp(with: document)
        var press: ControlAnswer?
        var edit: ControlAnswer?
        nodes.begin(nodes.secondary, "settings-press", body(["key": "test"])) { press = $0 }
        nodes.begin(nodes.secondary, "settings-set", body(["values": ["volume": 9]])) { edit = $0 }
        nodes.run(until: { !app.questions.isEmpty })
        app.disconnect()
        nodes.run(until: { press != nil && edit != nil })
        #expect(app.questions == [.press("test")] && press?.name == "no-answer")
        #expect(edit?.code == 0 && edit?.body["unchecked"] == true && value("volume") == 9)
    }

    @Test("PAG-26: a running app that fails to answer, as one whose hooks hang, refuses an edit")
    func failing() throws {
        let app = try nodes.startApp(with: document)
        var answer: ControlAnswer?
        nodes.begin(nodes.secondary, "settings-set", body(["values": ["volume": 9]])) { answer = $0 }
        nodes.run(until: { !app.questions.isEmpty })
        let frame = try #require(app.received(.configuration).last)
        let failure = Envelope(.failure, app: frame.app, pairing: frame.pairing, id: frame.id, code: 7014)
        try app.send(failure.with(body: ["text": "32 hooks have not returned"]))
        nodes.run(until: { answer != nil })
        #expect(answer?.name == "no-answer" && value("volume") == nil)
        #expect(
            answer?.body["text"]
                == "the app has failed to make its own checks: 32 hooks have not returned; nothing was stored")
    }

    @Test("LIM-129, PAG-25, PAG-26: too much, or nonsense, is no answer and refuses an edit, and a late one is none")
    func wrong() throws {
        let app = try nodes.startApp(with: document)
        let long = String(repeating: "x", count: 70_000)
        for body: PropertyListDictionary in [
            PageQuestion.reply(PressAnswer.done(long).body), [:], ["tandem.answer": 7], PageQuestion.reply([:]),
            ["tandem.verdict": "applied"],
        ] {
            app.answerQuestion = { _ in body }
            #expect(ask("settings-press", ["key": "test"]).name == "no-answer")
            #expect(set(["volume": 9]).name == "no-answer" && value("volume") == nil)
        }
        app.answerQuestion = { _ in nil }
        #expect(ask("settings-press", ["key": "test"]).name == "no-answer")
        let late = try #require(app.received(.configuration).last)
        let reply = PageQuestion.reply(PressAnswer.done(nil).body)
        try app.send(Envelope(.reply, app: late.app, pairing: late.pairing, id: late.id).with(body: reply))
        nodes.clock.run()
        app.answerQuestion = { _ in reply }
        #expect(!app.isClosed && ask("settings-press", ["key": "test"]).code == 0)
    }

    @Test("SES-80: an app that dies before it answers ends the question at once")
    func dying() throws {
        let app = try nodes.startApp(with: document)
        app.answerQuestion = { [app] _ in
            app.disconnect()
            return nil
        }
        let begin = nodes.clock.now
        #expect(ask("settings-press", ["key": "test"]).name == "no-answer")
        #expect(nodes.clock.now.since(begin) < .seconds(1))
        let again = try nodes.startApp(with: document)
        again.answerQuestion = { [again] _ in
            again.disconnect()
            return nil
        }
        let answer = set(["volume": 9])
        #expect(answer.body["unchecked"] == true && value("volume") == 9)
    }
}
