// Settings of an app on a secondary, read and edited through its primary: what the app has opened and nothing else, one
// request at a time, and an end for each request. The schema travels once, and the edits go with the pairing.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSettings
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct RemoteSettingsTests {
    private let nodes: TwoNodes
    private let document: SchemaDocument

    init() throws {
        nodes = try TwoNodes()
        document = try SchemaDocument(writing: [
            SettingDeclaration(
                name: "volume", type: .integer, editor: .slider, summary: "",
                bounds: .integer(0...100), initialValue: .integer(7)),
            SettingDeclaration(
                name: "name", type: .string, editor: .edit, summary: "", access: .counterpart,
                initialValue: .string("lamp")),
            SettingDeclaration(
                name: "token", type: .string, editor: .edit, summary: "", isSecret: true, access: .counterpart,
                initialValue: .string("")),
            SettingDeclaration(
                name: "server", type: .string, editor: .edit, summary: "", access: .signed,
                initialValue: .string("a")),
        ])
    }

    /// The app on the secondary with its schema there, and a link.
    private func startApp() throws -> Client {
        try nodes.pair()
        return try nodes.startApp(with: document, answering: [])
    }

    private func ask(
        _ command: String, _ more: PropertyListDictionary = [:], of name: String = "the secondary", at node: Node? = nil
    ) -> ControlAnswer {
        var body = nodes.body(more)
        body["who"] = .string(name)
        return nodes.ask(node ?? nodes.primary, command, body)
    }

    private func keys(_ answer: ControlAnswer) -> [String] {
        answer.body.rows("settings").compactMap { $0["key"]?.stringValue }
    }

    @Test("SES-72, CTL-42, SCH-9: a primary reads and edits what the app has opened, and the app has it at once")
    func edits() throws {
        let app = try startApp()
        let (opened, before) = (try opened, ask("settings-get"))
        #expect(keys(before) == ["name", "token"] && before.body["digest"] == .data(SHA256.digest(opened.bytes)))
        #expect(ask("settings-set", ["values": ["name": "hall", "token": "swordfish"]]).code == 0)
        nodes.run(until: { app.reloads == 1 })
        let rows = ask("settings-get").body.rows("settings")
        #expect(rows.first?["value"] == "hall" && rows.last?["value"] == nil && rows.last?["edited"] == true)
        let line = nodes.lines("settings edited").last
        #expect(line?.contains("the primary") == true && line?.contains("swordfish") == false)
        #expect(ask("settings-reset").body["keys"] == ["name", "token"])
        #expect(ask("settings-schema").body["schema"] == .data(opened.bytes))
    }

    @Test("LIM-117: the questions of a primary, and of users, compile an app's schema and its open part once")
    func compiledOnce() throws {
        _ = try startApp()
        for _ in 0..<3 { #expect(keys(ask("settings-get")) == ["name", "token"]) }
        for value in 1...3 as ClosedRange<Int64> { #expect(nodes.edit(["volume": .integer(value)]).code == 0) }
        #expect(nodes.secondary.settings.compiledSchemas == 2)
    }

    @Test("SCH-9: the paired device edits nothing that the app has not opened to it, with the text of every source")
    func closed() throws {
        _ = try startApp()
        let texts = [
            ("volume", "volume: the app does not let the paired device edit it"),
            ("server", "server: only a signed configuration sets it"),
        ]
        for (key, text) in texts {
            let answer = ask("settings-set", ["values": [key: 1, "name": "hall"]])
            #expect(answer.name == "schema" && answer.body["text"] == .string(text))
            #expect(ask("settings-reset", ["keys": [.string(key)]]).name == "schema")
        }
        #expect(ask("settings-get").body.rows("settings").first?["value"] == "lamp")
    }

    @Test("CTL-42, SES-72: without a link, at another role or for another user it is refused, and a second one waits")
    func refused() throws {
        _ = try startApp()
        #expect(ask("settings-get", of: "the primary", at: nodes.secondary).name == "wrong-role")
        #expect(ask("settings-get", of: "nobody").name == "not-found")
        let body = nodes.body(["who": "the secondary"])
        #expect(nodes.ask(nodes.primary, "settings-get", body, isOperator: false).name == "not-allowed")
        var answers: [ControlAnswer] = []
        for _ in 0..<2 { nodes.begin(nodes.primary, "settings-get", body) { answers.append($0) } }
        nodes.run(until: { answers.count == 2 })
        #expect(answers.map(\.name) == [nil, nil])
        nodes.stop(.secondary)
        #expect(ask("settings-get").name == "unreachable")
    }

    @Test("CTL-42: one answer stands for an app that is not there and for one that opens nothing to its primary")
    func nothingOpen() throws {
        try nodes.pair()
        let missing = ask("settings-get")
        let closed = try SchemaDocument(writing: [document.schema.declarations[0]])
        _ = try nodes.startApp(with: closed, answering: [])
        let text = "the device has taken no schema of the app, or the app opens nothing to this primary"
        for answer in [missing, ask("settings-get"), ask("settings-schema")] {
            #expect(answer.name == "not-found" && answer.body["text"] == .string(text))
        }
        #expect(nodes.ask(nodes.secondary, "settings-get", nodes.body([:])).code == 0, "the device itself has it")
    }

    // MARK: one end

    @Test("LIM-105, CTL-42: a request without an answer ends after 30 s, and that of a change may have been taken")
    func silence() throws {
        let end = try OneEnd(as: .primary)
        var sent: [Envelope] = []
        try end.link { sent.append($0) }
        var failures: [ControlFailure] = []
        end.ask { if case .failure(let failure) = $0 { failures.append(failure) } }
        end.scheduler.advance(by: .milliseconds(29_999))
        #expect(failures.isEmpty && sent.count == 1)
        end.scheduler.advance(by: .milliseconds(1))
        #expect(failures.map(\.text) == ["the device has not answered"])
        end.ask(.settingsReset, [:]) { if case .failure(let failure) = $0 { failures.append(failure) } }
        end.remote.closed(end.pairing)
        end.scheduler.run()
        #expect(failures.map(\.name) == ["unreachable", "unreachable"] && sent.count == 2)
        #expect(failures.last?.text.contains("whether it took the request is not known") == true)
        for command in [ControlName.settingsSet, .settingsReset, .settingsPress, .settingsGet] {
            end.ask(command, [:]) { if case .failure(let failure) = $0 { failures.append(failure) } }
        }
        end.scheduler.run()
        #expect(failures.suffix(4).allSatisfy { $0.name == "unreachable" })
        #expect(failures.map { $0.facts["sent"] } == [nil, nil, false, false, false, nil], "certainly not taken")
    }

    @Test("THR-135, LIM-103: no room that is left tells a primary whether its value is a secret of the user")
    func guesses() throws {
        _ = try startApp()
        let secret = String(repeating: "swordfish", count: 9_000)
        #expect(nodes.edit(["token": .string(secret)]).code == 0)
        for guess in [secret, String(repeating: "guesswork", count: 9_000)] {
            #expect(ask("settings-set", ["values": ["name": .string(guess)]]).name == nil)
            #expect(ask("settings-set", ["values": ["name": .string(guess + secret)]]).name == "full")
        }
    }

    @Test("CTL-40, THR-135: a tag tells a primary nothing of a property that is closed to it")
    func closedTags() throws {
        _ = try startApp()
        for isEdited in [false, true] {
            if isEdited { #expect(nodes.edit(["volume": 3]).code == 0) }
            let tags: PropertyListDictionary = ["volume": .data([]), "none": .data([])]
            let edit: PropertyListDictionary = ["values": ["name": "hall"], "tags": .dictionary(tags)]
            #expect(ask("settings-set", edit).code == 0, "\(isEdited)")
            let closed: PropertyListDictionary = ["values": ["volume": 4], "tags": .dictionary(tags)]
            #expect(
                ask("settings-set", closed).body["text"] == "volume: the app does not let the paired device edit it")
        }
    }

    @Test("SCH-15: an edit that waits for its turn is not stored once its pairing has ended")
    func endedMeanwhile() throws {
        let end = try OneEnd(as: .secondary, with: document)
        let editor = SettingsEditor.primary(end.pairing, name: "peer")
        let change = try SettingsChange(BodyFields(["values": ["name": "hall"]]))
        // The pairing ends while the edit waits for its turn.
        var asked = 0
        var failures: [SettingsFailure] = []
        end.scheduler.start { [settings = end.settings, app = end.app] in
            do throws(SettingsFailure) {
                _ = try await settings.set(change, of: app, by: editor) {
                    asked += 1
                    return asked == 1
                }
            } catch { failures.append(error) }
        }
        end.run()
        #expect(failures.count == 1 && asked == 2)
        var edited: PropertyListValue?
        end.scheduler.start { [settings = end.settings, app = end.app] in
            edited = try? await settings.state(of: app, for: .user(Linux.user)).declaredRows[1]["edited"]
        }
        end.run()
        #expect(edited == nil)
    }

    @Test("LIM-118, SES-72: four requests about as many apps are open at once, and others wait for their turn")
    func otherApps() throws {
        let end = try OneEnd(as: .primary)
        var sent: [Envelope] = []
        var names: [String?] = []
        end.remote.opened(end.pairing, try #require(RemoteSettings.Scope([.edits]))) { sent.append($0) }
        for app in ["a", "a", "b", "c", "d", "e"] {
            let app = try ApplicationIdentifier("org.example.\(app)")
            end.scheduler.start { [remote = end.remote, pairing = end.pairing] in
                do throws(ControlFailure) {
                    _ = try await remote.perform(.settingsReset, [:], of: app, at: pairing)
                } catch {
                    names.append(error.name)
                }
            }
        }
        end.run()
        #expect(sent.count == 4 && names.isEmpty)
        try end.answer(sent[1], [:])
        #expect(try sent.map { try SettingsQueryFrame($0).app.description.last } == ["a", "b", "c", "d", "e"])
        try end.answer(sent[0], [:])
        #expect(try sent.last.map { try SettingsQueryFrame($0).app } == ApplicationIdentifier("org.example.a"))
        end.remote.closed(end.pairing)
        end.run()
        #expect(names == Array(repeating: "unreachable", count: 4))
    }

    @Test("SES-72, LIM-118, LIM-105: a request waits 5 s for its turn, or until the link is gone, and is not sent then")
    func turnThatDoesNotCome() throws {
        let end = try OneEnd(as: .primary)
        var sent: [Envelope] = []
        var names: [String?] = []
        let note: (Result<PropertyListDictionary, ControlFailure>) -> Void = {
            if case .failure(let failure) = $0 { names.append(failure.name) }
        }
        try end.link { sent.append($0) }
        end.ask { note($0) }
        end.scheduler.advance(by: .seconds(26))
        for _ in 0..<2 { end.ask { note($0) } }
        end.scheduler.advance(by: .seconds(4))
        #expect(names == ["unreachable"] && sent.count == 2, "the turn of the second one has come")
        end.scheduler.advance(by: .seconds(1))
        #expect(names == ["unreachable", "full"] && sent.count == 2)
        end.scheduler.advance(by: .seconds(25))
        #expect(names == ["unreachable", "full", "unreachable"], "its time began when it was asked for")
        for _ in 0..<2 { end.ask { note($0) } }
        end.remote.closed(end.pairing)
        end.run()
        #expect(names == ["unreachable", "full"] + Array(repeating: "unreachable", count: 3) && sent.count == 3)
    }

    @Test("SES-72, LIM-118, LIM-105: a request of two frames keeps its turn for both, and ends 30 s after it was asked")
    func twoFrames() throws {
        let (end, document) = (try OneEnd(as: .primary), try opened)
        end.digest = SHA256.digest(document.bytes)
        var sent: [Envelope] = []
        var names: [String?] = []
        try end.link { sent.append($0) }
        for _ in 0..<2 {
            end.ask { if case .failure(let failure) = $0 { names.append(failure.name) } }
            end.scheduler.advance(by: .seconds(3))
        }
        try end.answer(sent[0], ["schema": .data(document.bytes)])
        #expect(names.isEmpty && sent.count == 2, "the schema took 6 s, and the second one has 2 s for its turn")
        try end.answer(sent[1], ["settings": [], "short": true, "ordinal": 3])
        #expect(names.isEmpty && sent.count == 3)
        end.scheduler.advance(by: .milliseconds(26_999))
        #expect(names.isEmpty)
        end.scheduler.advance(by: .milliseconds(1))
        #expect(names == ["unreachable"])
    }

    @Test("LIM-102, LIM-118: as many requests of a primary as two links let be open wait for the disk")
    func primaryAtOnce() throws {
        let end = try OneEnd(as: .secondary, with: document)
        var (answered, refused) = (0, 0)
        for _ in 0..<25 {
            end.scheduler.start { [settings = end.settings, app = end.app, pairing = end.pairing] in
                do throws(SettingsFailure) {
                    _ = try await settings.state(of: app, for: .pairing(pairing))
                    answered += 1
                } catch { refused += 1 }
            }
        }
        for _ in 0..<8 { end.run() }
        #expect(answered == 24 && refused == 1)
    }

    @Test("LIM-102: a request waits for one request of each other user or pairing, however many of theirs wait")
    func turns() throws {
        let end = try OneEnd(as: .secondary, with: document)
        var order: [String] = []
        for user in [1, 1, 1, 2] as [UInt32] {
            end.scheduler.start { [settings = end.settings, app = end.app] in
                _ = try? await settings.state(of: app, for: .user(user))
                order.append("user \(user)")
            }
        }
        end.run()
        #expect(order == ["user 1", "user 2", "user 1", "user 1"])
    }

    @Test("CTL-41, LIM-102: requests that a change has woken take turns, and the request of another user goes between")
    func turnsOfWaiters() throws {
        let end = try OneEnd(as: .secondary, with: document)
        let change = try SettingsChange(BodyFields(["values": ["volume": 80]]))
        var order: [String] = []
        for _ in 0..<6 {
            end.scheduler.start { [settings = end.settings, app = end.app] in
                let answer = try? await settings.state(
                    of: app, after: 1, atMost: .seconds(60), for: .user(1), isStillAllowed: { true })
                order.append(answer.map { "user 1, \($0.ordinal)" } ?? "none")
            }
        }
        end.run()
        #expect(order.isEmpty)
        end.scheduler.start { [settings = end.settings, app = end.app] in
            _ = try? await settings.set(change, of: app, by: .user(3), isStillAllowed: { true })
            let answer = try? await settings.state(of: app, for: .user(2))
            order.append(answer == nil ? "none" : "user 2")
        }
        for _ in 0..<3 { end.run() }
        #expect(order.prefix(2).contains("user 2") && order.count { $0 == "user 1, 2" } == 6, "\(order)")
    }

    @Test("SES-72: an answer of another request is dropped, and a frame that does not read is a fault")
    func answers() throws {
        let end = try OneEnd(as: .primary)
        var sent: [Envelope] = []
        var results: [Result<PropertyListDictionary, ControlFailure>] = []
        #expect(try !end.remote.receive(Envelope(.query), from: end.pairing), "no link")
        try end.link { sent.append($0) }
        end.ask { results.append($0) }
        let query = try SettingsQueryFrame(try #require(sent.first))
        let other = SettingsQueryFrame(.settingsGet, id: .random(), app: end.app, pairing: end.pairing, body: [:])
        #expect(try end.remote.receive(SettingsAnswerFrame(to: other, body: [:]).envelope, from: end.pairing))
        end.scheduler.run()
        #expect(results.isEmpty)
        var damaged = try SettingsAnswerFrame(to: query, body: [:]).envelope
        damaged.body = [1, 2, 3]
        #expect(throws: WireError.self) { try end.remote.receive(damaged, from: end.pairing) }
        let refusal = SettingsAnswerFrame(to: query, name: "schema", body: ["text": "no"])
        #expect(try end.remote.receive(refusal.envelope, from: end.pairing))
        end.scheduler.run()
        #expect(results.count == 1)
        if case .failure(let failure) = results[0] { #expect(failure.name == "schema" && failure.text == "no") }
        #expect(try end.remote.receive(other.envelope, from: end.pairing), "a secondary that asks")
        end.scheduler.run()
        #expect(try SettingsAnswerFrame(try #require(sent.last)).name == "wrong-role")
    }

    @Test("SES-82, CTL-58: a device that does not know questions about pages is not asked, and is answered none")
    func older() throws {
        let asking = try OneEnd(as: .primary)
        let asked = try OneEnd(as: .secondary, with: document)
        var sent: [Envelope] = []
        var names: [String?] = []
        try asking.link(knowing: [.edits]) { sent.append($0) }
        for command in [ControlName.settingsPress, .settingsPage] {
            asking.ask(command, ["key": "test"]) { if case .failure(let failure) = $0 { names.append(failure.name) } }
        }
        #expect(names == ["not-here", "not-here"] && sent.isEmpty)
        try asked.link(knowing: [.edits]) { sent.append($0) }
        for command in [ControlName.settingsPress, .settingsPage] { try asked.query(command, ["key": "test"]) }
        #expect(try sent.map { try SettingsAnswerFrame($0).name } == ["unknown-command", "unknown-command"])
        #expect(RemoteSettings.Scope([.pageQuestions]) == nil)
    }

    @Test("SES-82, LIM-118: four questions to apps are open on a link, beside another request, and the next is full")
    func questions() throws {
        let end = try OneEnd(as: .primary)
        var sent: [Envelope] = []
        var names: [String?] = []
        try end.link { sent.append($0) }
        for command in [ControlName.settingsPage, .settingsPress, .settingsPage, .settingsPress, .settingsPage] {
            end.ask(command, ["key": "test"]) { if case .failure(let failure) = $0 { names.append(failure.name) } }
        }
        #expect(names == ["full"] && sent.count == 4)
        end.ask { _ in }
        #expect(names == ["full"] && sent.count == 5)
    }

    // MARK: schemas that travel

    private var opened: SchemaDocument {
        get throws {
            try SchemaDocument(writing: document.schema.declarations.filter { $0.access == .counterpart })
        }
    }

    @Test("SES-77, SES-78, SCH-16: the schema of an announced digest is asked for once, and then only values travel")
    func fetchedOnce() throws {
        let (end, document) = (try OneEnd(as: .primary), try opened)
        let digest = SHA256.digest(document.bytes)
        end.digest = digest
        var sent: [Envelope] = []
        var results: [PropertyListDictionary] = []
        try end.link { sent.append($0) }
        let commands = { try sent.map { try SettingsQueryFrame($0).command } }
        end.ask { results.append((try? $0.get()) ?? [:]) }
        #expect(try commands() == ["settings-schema"])
        try end.answer(sent[0], ["schema": .data(document.bytes)])
        #expect(try commands() == ["settings-schema", "settings-get"])
        #expect(try SettingsQueryFrame(sent[1]).body["digest"] == .data(digest))
        let short: PropertyListDictionary = [
            "key": "name", "layer": "user", "value": "hall", "edit": "hall", "edited": true, "type": "data",
        ]
        try end.answer(sent[1], ["settings": [.dictionary(short)], "short": true, "ordinal": 3])
        #expect(
            results == [
                [
                    "settings": [
                        [
                            "key": "name", "type": "string", "access": "counterpart", "layer": "user", "value": "hall",
                            "edit": "hall", "edited": true,
                        ],
                        [
                            "key": "token", "type": "string", "access": "counterpart", "layer": "default",
                            "secret": true,
                        ],
                    ], "ordinal": 3,
                ]
            ])
        end.ask(.settingsSchema) { results.append((try? $0.get()) ?? [:]) }
        #expect(results.last == ["schema": .data(document.bytes), "digest": .data(digest)] && sent.count == 2)
        end.digest = SHA256.digest([1])
        end.ask { _ in }
        #expect(try commands() == ["settings-schema", "settings-get", "settings-schema"], "another digest")
    }

    @Test("SES-72, SES-78: requests that find a new schema ask for it once, and none of them is full")
    func newSchema() throws {
        let (end, document) = (try OneEnd(as: .primary), try opened)
        end.digest = SHA256.digest(document.bytes)
        var sent: [Envelope] = []
        var failures: [ControlFailure] = []
        try end.link { sent.append($0) }
        let queries = { try sent.map { try SettingsQueryFrame($0) } }
        let watch: PropertyListDictionary = ["after": 1, "wait": 10_000]
        for body in [watch, [:], watch, [:]] {
            end.ask(.settingsGet, body) { if case .failure(let failure) = $0 { failures.append(failure) } }
        }
        #expect(try queries().map(\.command) == ["settings-schema"])
        try end.answer(sent[0], ["schema": .data(document.bytes)])
        #expect(try queries().map(\.command) == ["settings-schema"] + Array(repeating: "settings-get", count: 2))
        let prompt = try queries().firstIndex { $0.command == "settings-get" && $0.body["wait"] == nil }
        try end.answer(sent[try #require(prompt)], ["settings": [], "short": true, "ordinal": 3])
        #expect(try queries().count { $0.body["wait"] == nil } == 3 && sent.count == 5 && failures.isEmpty)
    }

    @Test("SES-78: a document of the other device that is no schema is an error, and the next request asks again")
    func badSchema() throws {
        let end = try OneEnd(as: .primary)
        var sent: [Envelope] = []
        var names: [String?] = []
        end.digest = SHA256.digest([1])
        try end.link { sent.append($0) }
        for body: PropertyListDictionary in [["schema": .data([1])], ["schema": 7]] {
            end.ask { if case .failure(let failure) = $0 { names.append(failure.name) } }
            try end.answer(try #require(sent.last), body)
        }
        #expect(names == ["store", "unreachable"] && sent.count == 2)
    }

    @Test("SES-77: a device announces the schema that its primary may know, which has it without a link then")
    func announced() throws {
        let app = try startApp()
        #expect(ask("settings-set", ["values": ["name": "hall"]]).code == 0)
        let rows = ask("settings-get").body.rows("settings")
        #expect(rows.first?["value"] == "hall" && rows.last?["secret"] == true)
        let smaller = try SchemaDocument(writing: [document.schema.declarations[1]])
        app.disconnect()
        _ = try nodes.startApp(with: smaller, answering: [])
        nodes.run(until: { keys(ask("settings-get")) == ["name"] })
        let listed = try nodes.rows("counterparts", of: nodes.primary)
        #expect(listed.map { $0["app"] } == [.string(nodes.app.description)] && listed.first?["name"] == nil)
        nodes.stop(.secondary)
        #expect(ask("settings-schema").body["schema"] == .data(smaller.bytes))
        #expect(ask("settings-get").name == "unreachable")
    }

    // MARK: authors and pace

    @Test("SCH-15, CTL-43: a primary's edits are marked, and go with its pairing; the user's stay")
    func unpaired() throws {
        let app = try startApp()
        #expect(nodes.edit(["volume": 80]).code == 0)
        #expect(ask("settings-set", ["values": ["name": "hall", "token": "swordfish"]]).code == 0)
        #expect(nodes.settings.map { $0["by"] } == [nil, "the primary", "the primary", nil])
        let reloads = app.reloads
        let answer = nodes.ask(nodes.secondary, "unpair", ["who": "the primary", "yes": true])
        #expect(answer.body["edits"] == 2)
        nodes.run(until: { app.reloads > reloads })
        #expect(nodes.settings.map { $0["edited"] } == [true, nil, nil, nil])
        #expect(nodes.hasNoted("edits of a pairing that has ended are taken back"))
    }

    @Test("SCH-15: what a run has left of a pairing that ended goes at the next start")
    func unpairedBefore() throws {
        _ = try startApp()
        #expect(ask("settings-set", ["values": ["name": "hall"]]).code == 0)
        nodes.stop(.secondary)
        let folder = try OwnedDirectory(existing: nodes.folder)
        let file: PropertyListDictionary = [
            "v": 1, "values": ["name": "hall", "volume": 80], "by": ["name": .data(UniqueIdentifier.random().bytes)],
        ]
        try folder.replace("edits.plist", with: try PropertyListWriter.write(file))
        try nodes.start(.secondary)
        nodes.run(until: { nodes.hasNoted("edits of a pairing that has ended are taken back") })
        #expect(
            try folder.read("edits.plist", limit: 1 << 20).map { try PropertyListReader.readDictionary($0) }
                == ["v": 1, "values": ["volume": 80]])
    }

    @Test("LIM-116: the seventeenth edit of a primary in a moment waits for a second, and the others do not")
    func pace() throws {
        let end = try OneEnd(as: .secondary, with: document)
        var sent: [Envelope] = []
        try end.link { sent.append($0) }
        for number in 0..<17 { try end.query(.settingsSet, ["values": ["name": .string("\(number)")]]) }
        #expect(sent.count == 16)
        // A new link begins no burst.
        end.remote.closed(end.pairing)
        try end.link { sent.append($0) }
        try end.query(.settingsReset, [:])
        try end.query(.settingsGet, [:])
        #expect(try sent.map { try SettingsAnswerFrame($0).name }.suffix(2) == [nil, "full"])
        end.scheduler.advance(by: .milliseconds(1_999))
        end.run()
        #expect(sent.count == 17)
        end.scheduler.advance(by: .milliseconds(1))
        end.run()
        #expect(try sent.count == 18 && SettingsAnswerFrame(try #require(sent.last)).body["keys"] == ["name"])
    }

    @Test("CTL-40, CTL-41: a primary's body that is malformed takes nothing back and sets nothing")
    func malformed() throws {
        let end = try OneEnd(as: .secondary, with: document)
        var sent: [Envelope] = []
        try end.link { sent.append($0) }
        try end.query(.settingsSet, ["values": ["name": "hall"]])
        let bodies: [PropertyListDictionary] = [["keys": "name"], ["keys": ["name", 1]]]
        for body in bodies { try end.query(.settingsReset, body) }
        try end.query(.settingsSet, ["values": ["name": "attic"], "nothing": ["name"]])
        try end.query(.settingsSet, [:])
        #expect(try sent.map { try SettingsAnswerFrame($0).name } == [nil] + Array(repeating: "bad-request", count: 4))
        try end.query(.settingsGet, [:])
        let rows = try SettingsAnswerFrame(try #require(sent.last)).body.rows("settings")
        #expect(rows.first?["value"] == "hall")
    }

    @Test("SCH-15: of many edits the app reads its files once, and once more after that for all that came meanwhile")
    func reloads() throws {
        let end = try OneEnd(as: .secondary, with: document)
        try end.link { _ in }
        for number in 0..<5 { try end.query(.settingsSet, ["values": ["name": .string("\(number)")]]) }
        #expect(end.reloads.count == 1)
        end.reloads[0]()
        #expect(end.reloads.count == 2)
        end.reloads[1]()
        #expect(end.reloads.count == 2)
    }

    // MARK: waiting

    @Test("SES-79, CTL-45: a primary waits for a change of an app on a secondary")
    func waits() throws {
        _ = try startApp()
        let before = try #require(ask("settings-get").body["ordinal"])
        let body = nodes.body(["who": "the secondary", "after": before, "wait": 10_000])
        var answer: ControlAnswer?
        nodes.begin(nodes.primary, "settings-get", body) { answer = $0 }
        nodes.clock.run()
        #expect(ask("settings-get").code == 0 && answer == nil, "another request goes beside it")
        #expect(nodes.edit(["name": "hall"]).code == 0)
        nodes.run(until: { answer != nil })
        #expect(answer?.body["ordinal"] != before && answer.map(keys) == ["name", "token"])
    }

    @Test("LIM-118: four requests of a link wait for changes, the next is full, and none waits more than 20 s")
    func waiters() throws {
        let end = try OneEnd(as: .secondary, with: document)
        var sent: [Envelope] = []
        try end.link { sent.append($0) }
        for _ in 0..<5 { try end.query(.settingsGet, ["after": 1, "wait": 60_000]) }
        #expect(try sent.map { try SettingsAnswerFrame($0).name } == ["full"])
        end.scheduler.advance(by: .seconds(20))
        end.run()
        #expect(sent.count == 5)
        let asking = try OneEnd(as: .primary)
        var (asked, names) = ([Envelope](), [String?]())
        try asking.link { asked.append($0) }
        for _ in 0..<5 {
            asking.ask(.settingsGet, ["after": 1, "wait": 60_000]) {
                if case .failure(let failure) = $0 { names.append(failure.name) }
            }
        }
        #expect(names == ["full"] && asked.count == 4)
    }
}
