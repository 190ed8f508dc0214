// Schemas and user's edits of apps in a whole daemon: the schema's way from the app, edits with and without the app,
// the limits of one user, and what another user may not.

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemFiles
import TandemPages
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSettings
import TandemSignedConfiguration
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct ApplicationSettingsTests {
    private let nodes: TwoNodes
    private let document: SchemaDocument

    init() throws {
        nodes = try TwoNodes()
        document = try SchemaDocument(writing: [
            SettingDeclaration(
                name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
                needsRestart: true, initialValue: .integer(7)),
            SettingDeclaration(
                name: "token", type: .string, editor: .edit, summary: "", isSecret: true, initialValue: .string("")),
            SettingDeclaration(
                name: "server", type: .string, editor: .edit, summary: "", access: .signed,
                initialValue: .string("a")),
            SettingDeclaration(
                name: "notes", type: .string, editor: .edit, summary: "", allowsNothing: true, initialValue: .nothing),
            SettingDeclaration(
                name: "duration", type: .integer, editor: .editableChoice, summary: "", bounds: .integer(0...365),
                choices: [SettingChoice(label: "Week", value: .integer(7))], initialValue: .integer(7)),
        ])
    }

    private var registration: TandemSession.Registration {
        .init(anchor: nodes.signer.publicKey.key.pem, schema: SHA256.digest(document.bytes))
    }

    private func isAsked(_ client: Client) throws -> Bool? {
        try client.received(.registered).last?.dictionaryBody()["schema"]?.booleanValue
    }

    /// The app with its schema at the daemon.
    private func startApp(at place: TwoNodes.Place = .secondary) throws -> Client {
        let app = try nodes.startApp(at: place, registration)
        if try isAsked(app) == true { #expect(try nodes.bring(document.bytes, from: app)?.code == 0) }
        return app
    }

    /// A newer app with its schema at the daemon, in the place of the one that runs.
    private func replace(_ app: Client, with newer: SchemaDocument) throws {
        app.disconnect()
        let next = try nodes.startApp(.init(schema: SHA256.digest(newer.bytes)))
        #expect(try nodes.bring(newer.bytes, from: next)?.code == 0)
    }

    private func ask(_ command: String, _ more: PropertyListDictionary = [:], at node: Node? = nil) -> ControlAnswer {
        nodes.ask(node ?? nodes.secondary, command, nodes.body(more))
    }

    private func row(_ key: String) -> PropertyListDictionary? { nodes.setting(key) }

    private func set(_ values: PropertyListDictionary, loosely: Bool = false) -> ControlAnswer {
        ask("settings-set", ["values": .dictionary(values), "import": .boolean(loosely)])
    }

    private func folder() throws -> OwnedDirectory { try OwnedDirectory(existing: nodes.folder) }

    private func edits() throws -> PropertyListDictionary? {
        try folder().read("edits.plist", limit: 1 << 20).map { try PropertyListReader.readDictionary($0) }
    }

    // MARK: the schema

    @Test("the log has a file's path and the command to run whole, and cuts what an app chose")
    func remedyInLog() {
        let path = "/var/lib/tandem/secondary/apps/" + String(repeating: "long.", count: 30) + "lamp"
        let open = SettingsFailure.file(.loosePermissions(path: path, mode: 0o644)).logField
        #expect("\(LogEvent(.error, "x", open))".contains("run: chmod 600 \(path)"))
        let refused = SettingsFailure.unfit([PageRefusal(key: "volume", text: path)]).logField
        #expect(!"\(LogEvent(.error, "x", refused))".contains("lamp"))
    }

    @Test("CFG-22, CTL-39, SES-78: a signed value whose signature is invalid is marked, in full and in short rows")
    func waived() throws {
        let state = SettingsState(
            document: document, edits: SettingEdits(), signed: SignedValues(values: ["volume": 9], isWaived: true),
            secrets: [:], code: { _ in [] })
        let short = SettingsState.rows(state.shortRows.map { .dictionary($0) }, of: document)
        for rows in [state.declaredRows, short] {
            #expect(rows.filter { $0["waived"] == true }.map { $0["key"] } == ["volume"])
        }
    }

    @Test("CFG-42, CTL-39, SES-78: a signed value that the app does not load is marked, in full and in short rows")
    func markedAsNotLoaded() throws {
        let state = SettingsState(
            document: document, edits: SettingEdits(), signed: SignedValues(values: ["volume": 9], isNotLoaded: true),
            secrets: [:], code: { _ in [] })
        let short = SettingsState.rows(state.shortRows.map { .dictionary($0) }, of: document)
        for rows in [state.declaredRows, short] {
            #expect(rows.filter { $0["notLoaded"] == true }.map { $0["key"] } == ["volume"])
        }
    }

    @Test("SES-71, SCH-6: a daemon asks for a schema that it lacks, keeps it over a restart, and asks for another one")
    func brought() throws {
        let app = try nodes.startApp(registration)
        #expect(try isAsked(app) == true && ask("settings-get").name == "not-found")
        #expect(try nodes.bring(document.bytes, from: app)?.code == 0)
        #expect(
            ask("settings-schema").body == [
                "schema": .data(document.bytes), "digest": .data(SHA256.digest(document.bytes)),
            ])
        app.disconnect()
        try nodes.restart(.secondary)
        let again = try nodes.startApp(registration)
        #expect(try isAsked(again) == nil && row("volume")?["value"] == 7)
        again.disconnect()
        let other = try nodes.startApp(.init(schema: SHA256.digest([1])))
        #expect(try isAsked(other) == true)
    }

    @Test("SES-71, SCH-6: a document that is no schema is refused, and the one before stays")
    func refused() throws {
        try startApp().disconnect()
        let later: PropertyListDictionary = ["v": 9]
        for bytes in [[], [1, 2, 3], try PropertyListWriter.write(later), Array(repeating: 0, count: 262_145)] {
            let app = try nodes.startApp(.init(schema: SHA256.digest(bytes)))
            let answer = try nodes.bring(bytes, from: app)
            #expect(answer?.code == 7008 && answer?.name == "schema" && !app.isClosed)
            app.disconnect()
        }
        #expect(row("volume")?["value"] == 7 && nodes.hasNoted("an app's schema is refused"))
    }

    @Test("SES-71, SCH-18: only the schema that the daemon asked for is taken, and once")
    func unasked() throws {
        let other = try SchemaDocument(writing: [document.schema.declarations[0]])
        func isRefused(_ bytes: [UInt8], from app: Client) throws -> Bool {
            let answer = try nodes.bring(bytes, from: app)
            return answer?.code == 7008 && answer?.name == "schema" && !app.isClosed
        }
        let app = try nodes.startApp(registration)
        #expect(try isRefused(other.bytes, from: app), "it has named another one")
        #expect(try isRefused(document.bytes, from: app), "it was asked once")
        #expect(ask("settings-get").name == "not-found")
        app.disconnect()
        let again = try startApp()
        #expect(try isRefused(document.bytes, from: again), "the daemon has it")
        again.disconnect()
        let known = try nodes.startApp(registration)
        #expect(try isAsked(known) == nil && isRefused(document.bytes, from: known))
        known.disconnect()
        #expect(try isRefused(other.bytes, from: nodes.startApp()), "it has named none")
        #expect(row("duration")?["value"] == 7)
    }

    @Test("SES-71: a connection that only sends is not asked, and brings none")
    func senders() throws {
        let app = try nodes.startApp(registration)
        let sender = try nodes.connect(
            to: .secondary, .init(receives: false, schema: SHA256.digest(document.bytes)))
        #expect(try isAsked(sender) == nil)
        #expect(try nodes.bring(document.bytes, from: sender)?.name == "unknown-command")
        #expect(!app.isClosed && ask("settings-get").name == "not-found")
    }

    // MARK: edits

    @Test("SET-56, CTL-40: values that a person adds to a list are judged, kept over a restart, shown and taken back")
    func addedChoices() throws {
        let app = try startApp()
        let month: PropertyListValue = [["label": "Month", "value": 30]]
        func add(_ list: PropertyListValue) -> ControlAnswer {
            ask("settings-set", ["values": [:], "choices": ["duration": list]])
        }
        #expect(add(month).code == 0 && row("duration")?["choices"] == month)
        let refused = add([["label": "Long", "value": 366]])
        #expect(refused.name == "schema" && refused.body["text"] == "duration: 366 is over the maximum 365")
        let remote: PropertyListDictionary = ["values": [:], "choices": ["duration": []], "who": "the primary"]
        #expect(ask("settings-set", remote).name == "bad-request")
        app.disconnect()
        try nodes.restart(.secondary)
        #expect(row("duration")?["choices"] == month && row("duration")?["edited"] == nil)
        #expect(add([]).code == 0 && row("duration")?["choices"] == nil)
        #expect(try edits() == ["v": 1, "values": [:]])
    }

    @Test("LIM-128, LIM-102: the values and the lists of one request share their steps")
    func sharedSteps() throws {
        let app = try startApp()
        let costly = try SchemaDocument(
            writing: (0..<6).map {
                SettingDeclaration(
                    name: "p\($0)", type: .string, editor: .editableChoice, summary: "", pattern: "[ab]*[cd]|x",
                    initialValue: .string("x"))
            })
        try replace(app, with: costly)
        // A search takes some 800,000 steps.
        let text = PropertyListValue.string(String(repeating: "a", count: 900) + "x")
        let values = PropertyListValue.dictionary(.init(uniqueKeysWithValues: (0..<6).map { ("p\($0)", text) }))
        let list = PropertyListValue.array((0..<5).map { ["label": .string("\($0)"), "value": text] })
        let both = ask("settings-set", ["values": values, "choices": ["p0": list]])
        #expect(both.name == "schema" && both.body["text"]?.stringValue?.contains("costs too much") == true)
        #expect(try edits() == nil)
        #expect(ask("settings-set", ["values": values]).code == 0)
        #expect(ask("settings-set", ["values": [:], "choices": ["p0": list]]).code == 0)
    }

    @Test("CTL-39, CTL-40, CTL-41: an edit is judged, kept, shown and taken back")
    func edited() throws {
        _ = try startApp()
        #expect(set(["volume": 80, "notes": "x"]).code == 0)
        #expect(
            row("volume") == [
                "key": "volume", "type": "integer", "access": "user", "layer": "user", "value": 80, "edit": 80,
                "edited": true, "restart": true,
            ])
        let refused = set(["volume": 101, "notes": "y"])
        #expect(refused.name == "schema" && refused.body["text"] == "volume: 101 is over the maximum 100")
        #expect(set(["server": "b"]).body["text"] == "server: only a signed configuration sets it")
        #expect(try edits() == ["v": 1, "values": ["volume": 80, "notes": "x"]])
        #expect(set(["volume": "81"], loosely: true).body["converted"] == ["volume"])
        #expect(ask("settings-reset", ["keys": ["volume"]]).body["keys"] == ["volume"])
        #expect(row("volume")?["layer"] == "default" && row("notes")?["value"] == "x")
        #expect(ask("settings-reset").body["keys"] == ["notes"])
        #expect(row("notes")?["value"] == nil && row("notes")?["layer"] == "default")
        #expect(ask("settings-reset", ["keys": ["speed"]]).name == "schema")
        #expect(ask("settings-reset", ["keys": [1]]).name == "bad-request")
        let line = nodes.lines("settings edited").first
        #expect(line?.contains("volume") == true && line?.contains("80") == false)
    }

    @Test("CTL-41: a reset of all is one line of the log with the keys that had an edit, of many the first eight")
    func resetOfAll() throws {
        defer { nodes.stop() }
        let app = try startApp()
        #expect(set(["volume": 80, "notes": "x"]).code == 0 && ask("settings-reset").code == 0)
        func line() -> String { nodes.lines("settings reset").last ?? "" }
        #expect(line().contains("volume") && line().contains("notes") && line().contains("count=2"))
        try replace(
            app,
            with: try SchemaDocument(
                writing: (0..<9).map {
                    SettingDeclaration(
                        name: "p\($0)", type: .integer, editor: .edit, summary: "", initialValue: .integer(0))
                }))
        let values = PropertyListDictionary(
            uniqueKeysWithValues: (0..<9).map { ("p\($0)", PropertyListValue.integer(1)) })
        #expect(set(values).code == 0 && ask("settings-reset").body["keys"]?.arrayValue?.count == 9)
        #expect((0..<9).count { line().contains("p\($0)") } == 8 && line().contains("count=9"))
    }

    @Test(
        "SCH-12, SCH-8: a connected app reads its files again after a change, and one that is away has it at its start")
    func pushed() throws {
        let app = try startApp()
        #expect(set(["volume": 80]).code == 0)
        nodes.run(until: { app.reloads == 1 })
        #expect(set(["volume": 80]).code == 0 && app.reloads == 1)
        app.offerFailure = SessionError(.deliveryFailed, .inboxFull, reason: "too many unread messages")
        #expect(set(["volume": 85]).code == 0)
        nodes.clock.advance(by: .seconds(5))
        app.offerFailure = nil
        #expect(app.reloads == 1, "it has no room for the message (CFG-43)")
        nodes.run(until: { app.reloads == 2 })
        app.disconnect()
        #expect(set(["volume": 90]).code == 0)
        try nodes.restart(.secondary)
        #expect(try edits() == ["v": 1, "values": ["volume": 90]] && row("volume")?["value"] == 90)
    }

    @Test("SCH-4, CTL-39: a secret is written and never read")
    func secrets() throws {
        _ = try startApp()
        #expect(set(["token": "swordfish"]).code == 0)
        #expect(
            row("token") == [
                "key": "token", "type": "string", "access": "user", "layer": "user", "edited": true, "secret": true,
            ])
        #expect(!nodes.notes.contains { "\($0)".contains("swordfish") })
        #expect(try edits()?["values"] == ["token": "swordfish"])
    }

    @Test("CTL-44: a property is set to nothing where it may be, and the app is told as of any other edit")
    func nothing() throws {
        let app = try startApp()
        let set = { [self] (more: PropertyListDictionary) in
            var body = more
            body["values"] = body["values"] ?? [:]
            return ask("settings-set", body)
        }
        #expect(self.set(["notes": "x"]).code == 0 && set(["nothing": ["notes"]]).code == 0)
        #expect(
            row("notes") == [
                "key": "notes", "type": "string", "access": "user", "layer": "user", "edited": true,
            ])
        nodes.run(until: { app.reloads == 2 })
        #expect(try edits() == ["v": 1, "values": [:], "nothing": ["notes"]])
        let refused = set(["nothing": ["volume", "notes"]])
        #expect(refused.name == "schema" && refused.body["text"] == "volume: nil is not of type integer")
        for bad: PropertyListValue in [["notes", 1], "notes"] {
            #expect(set(["nothing": bad]).name == "bad-request")
        }
        #expect(set(["nothing": ["notes"], "values": ["notes": "y"]]).name == "bad-request")
        #expect(ask("settings-reset").body["keys"] == ["notes"])
    }

    @Test(
        "SCH-17: a schema changed or removed in its directory judges nothing, and the app is asked for it again",
        arguments: [false, true])
    func changedSchema(isRemoved: Bool) throws {
        let app = try startApp()
        let other = try SchemaDocument(writing: [document.schema.declarations[3]])
        if isRemoved {
            try folder().remove("schema.plist")
        } else {
            try folder().replace("schema.plist", with: other.bytes)
        }
        #expect(ask("settings-get").name == "store" && set(["notes": "x"]).name != nil)
        app.disconnect()
        let again = try nodes.startApp(registration)
        #expect(try isAsked(again) == true && nodes.bring(document.bytes, from: again)?.code == 0)
        #expect(row("volume")?["value"] == 7)
    }

    @Test("CTL-39: a signed value hides an edit, which stays")
    func signed() throws {
        try nodes.pair()
        _ = try startApp()
        #expect(set(["volume": 70]).code == 0)
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        #expect(row("volume")?["layer"] == "signed" && row("volume")?["value"] == 80 && row("volume")?["edit"] == 70)
    }

    @Test("SCH-8: an edit of a key that the next schema lacks is shown as unknown, and can be taken back")
    func orphans() throws {
        let app = try startApp()
        #expect(set(["volume": 80, "notes": "x"]).code == 0)
        let smaller = try SchemaDocument(writing: [document.schema.declarations[0]])
        try replace(app, with: smaller)
        #expect(row("notes") == ["key": "notes", "unknown": true] && row("volume")?["value"] == 80)
        #expect(ask("settings-reset", ["keys": ["notes"]]).body["keys"] == ["notes"])
        #expect(row("notes") == nil)
    }

    @Test("SCH-22: damaged edits are kept aside, logged and gone for the app too, and a later version's are refused")
    func damaged() throws {
        let app = try startApp()
        let message = "an app's edits were damaged: the file is kept under this name, and the app has none now"
        let mistyped: PropertyListDictionary = ["v": 1, "values": 7]
        let damages = [
            Array("nonsense".utf8), try PropertyListWriter.write(mistyped), Array(repeating: 0, count: 430_081),
        ]
        for (number, bytes) in damages.enumerated() {
            #expect(set(["volume": 80]).code == 0)
            let reloads = app.reloads
            try folder().replace("edits.plist", with: bytes)
            // One is found by an edit, the others by a reading.
            if number == 2 { #expect(set(["notes": "x"]).code == 0) }
            #expect(row("volume")?["layer"] == "default")
            #expect(try edits()?["values"] == (number == 2 ? ["notes": "x"] : [:]))
            let name = "edits.plist.damaged" + (number == 0 ? "" : "-\(number + 1)")
            #expect(try folder().read(name, limit: 1 << 20) == bytes)
            nodes.run(until: { app.reloads > reloads })
            #expect(nodes.lines(message).count == number + 1 && nodes.lines(message)[number].contains(name))
        }
        nodes.stop(.secondary)
        try folder().replace("edits.plist", with: [1])
        try nodes.start(.secondary)
        nodes.run(until: { nodes.lines(message).count == 4 })
        let laterFile: PropertyListDictionary = ["v": 2, "edits": []]
        let later = try PropertyListWriter.write(laterFile)
        try folder().replace("edits.plist", with: later)
        for answer in [ask("settings-get"), set(["volume": 80]), ask("settings-reset")] {
            #expect(answer.name == "store")
        }
        #expect(try folder().read("edits.plist", limit: 1 << 20) == later)
        try folder().replace("schema.plist", with: [1, 2, 3])
        #expect(ask("settings-get").name == "store" && set(["volume": 81]).name == "not-found")
    }

    @Test("CTL-2: the user of an app may edit its settings, and no other user")
    func users() throws {
        _ = try startApp()
        let body = nodes.body(["values": ["volume": 80]])
        for (user, name) in [(Linux.user, nil), (Linux.user + 1, "not-allowed")] {
            for command in ["settings-get", "settings-set", "settings-reset", "settings-schema"] {
                let answer = nodes.ask(nodes.secondary, command, body, user: user, isOperator: false)
                #expect(answer.name == name, "\(command)")
            }
        }
        #expect(ask("settings-get", at: nodes.primary).name == "not-found")
    }

    @Test("SES-73: an app that is removed leaves neither schema nor edits")
    func removed() throws {
        _ = try startApp()
        #expect(set(["volume": 80]).code == 0)
        #expect(ask("app-remove", ["yes": true]).code == 0)
        #expect(ask("settings-get").name == "not-found")
        _ = try startApp()
        #expect(row("volume")?["layer"] == "default")
    }

    // MARK: waiting and limits

    @Test("CTL-39: a request that waits is answered by the next change, or when its time is over")
    func waits() throws {
        _ = try startApp()
        let ordinal = try #require(ask("settings-get").body["ordinal"])
        let body = nodes.body(["after": ordinal, "wait": 60_000])
        var answer: ControlAnswer?
        nodes.begin(nodes.secondary, "settings-get", body) { answer = $0 }
        nodes.clock.run()
        #expect(answer == nil)
        #expect(set(["volume": 80]).code == 0)
        nodes.run(until: { answer != nil })
        let changed = try #require(answer?.body)
        #expect(changed["ordinal"] != ordinal)
        #expect(ask("settings-get", ["after": ordinal, "wait": 60_000]).body == changed, "it has changed already")
        let last = try #require(changed["ordinal"])
        #expect(ask("settings-get", ["after": last, "wait": 1000]).body["ordinal"] == last)
    }

    @Test("CTL-2: a request that waits while its app becomes another user's is not-allowed")
    func reassigned() throws {
        _ = try startApp()
        let ordinal = try #require(ask("settings-get").body["ordinal"])
        let body = nodes.body(["after": ordinal, "wait": 60_000])
        var answer: ControlAnswer?
        let request = nodes.request("settings-get", body, user: Linux.user, isOperator: false)
        nodes.secondary.respond(to: request) { answer = $0 }
        nodes.clock.run()
        #expect(answer == nil)
        let other = PropertyListValue.integer(Int64(Linux.user) + 1)
        #expect(ask("app-assign", ["uid": other, "yes": true]).code == 0)
        nodes.run(until: { answer != nil })
        #expect(answer?.name == "not-allowed")
    }

    @Test("LIM-104: of one user's requests 64 wait for a change, and the next is full")
    func waiters() throws {
        _ = try startApp()
        let ordinal = try #require(ask("settings-get").body["ordinal"])
        let body = nodes.body(["after": ordinal, "wait": 60_000])
        var answers: [ControlAnswer] = []
        for _ in 0..<65 { nodes.begin(nodes.secondary, "settings-get", body) { answers.append($0) } }
        nodes.clock.run()
        #expect(answers.map(\.name) == ["full"])
    }

    @Test("CTL-41, LIM-104: one change answers all requests of a user that wait, and none of them is full")
    func wokenWaiters() throws {
        _ = try startApp()
        let ordinal = try #require(ask("settings-get").body["ordinal"])
        let body = nodes.body(["after": ordinal, "wait": 60_000])
        var answers: [ControlAnswer] = []
        for _ in 0..<64 { nodes.begin(nodes.secondary, "settings-get", body) { answers.append($0) } }
        nodes.clock.run()
        #expect(answers.isEmpty && set(["volume": 80]).code == 0)
        nodes.run(until: { answers.count == 64 })
        #expect(answers.allSatisfy { $0.code == 0 && $0.body["ordinal"] != ordinal })
        // The change has come before these: they have nothing to wait for.
        for _ in 0..<64 { nodes.begin(nodes.secondary, "settings-get", body) { answers.append($0) } }
        nodes.run(until: { answers.count == 128 })
        #expect(answers.allSatisfy { $0.code == 0 })
    }

    @Test("LIM-102: of one user's changes four wait for the disk, and the next is full")
    func changesAtOnce() throws {
        _ = try startApp()
        var answers: [ControlAnswer] = []
        for number in 0..<6 {
            let body = nodes.body(["values": ["volume": .integer(Int64(number))]])
            nodes.begin(nodes.secondary, "settings-set", body) { answers.append($0) }
        }
        nodes.run(until: { answers.count == 6 })
        #expect(answers.count { $0.name == "full" } == 2 && answers.count { $0.code == 0 } == 4)
        #expect(set(["volume": 9]).code == 0)
    }

    @Test("LIM-103: a person's edits of 131,072 bytes are kept, and beyond them none is taken")
    func size() throws {
        _ = try startApp()
        let text = { (count: Int) in PropertyListValue.string(String(repeating: "x", count: count)) }
        #expect(set(["notes": text(130_900)]).code == 0 && set(["notes": text(131_072)]).name == "full")
        #expect(set(["notes": text(65_000), "token": text(65_000)]).code == 0)
        #expect(set(["volume": 1, "token": text(66_200)]).name == "full" && set(["volume": 1]).code == 0)
        let bytes = try folder().read("edits.plist", limit: 1 << 20) ?? []
        #expect((65_000..<70_000).contains(bytes.count), "the file has equal values once")
    }

    @Test("PAG-23, THR-135: a secret is written also if it is the same, so that no time tells")
    func sameSecret() throws {
        _ = try startApp()
        func written() throws -> [Int] {
            var facts = stat()
            #expect(stat("\(nodes.folder)/edits.plist", &facts) == 0)
            return [Int(facts.st_ctim.tv_sec), Int(facts.st_ctim.tv_nsec), Int(facts.st_ino)]
        }
        #expect(set(["token": "swordfish", "volume": 3]).code == 0)
        let first = try written()
        #expect(set(["volume": 3]).code == 0)
        #expect(try written() == first)
        #expect(set(["token": "swordfish"]).code == 0)
        #expect(try written() != first)
    }

    // MARK: signed configuration

    private func result(_ values: PropertyListDictionary) throws -> PropertyListDictionary? {
        nodes.results(try nodes.envelope(1) { $0.values = values })["the secondary"]
    }

    @Test("CFG-107, CFG-108, SCH-3: the daemon refuses what the schema of a connected app refuses, in the app's words")
    func refusedBySchema() throws {
        try nodes.pair()
        let app = try startApp()
        #expect(try result(["volume": 101, "notes": 7])?["verdict"] == "schema" && app.offers.isEmpty)
        let row = try nodes.rows("desired", of: nodes.primary).first
        #expect(row?["text"] == "notes: 7 is not of type string; volume: 101 is over the maximum 100")
        #expect(try result(["volume": 80, "server": "b"])?["verdict"] == "applied", "no version is burnt")
        #expect(app.offers.count == 1 && self.row("volume")?["value"] == 80)
    }

    @Test("CFG-109, SCH-18: while the app is away its last schema refuses nothing, and a newer app takes the value")
    func newerApp() throws {
        try nodes.pair()
        let app = try startApp()
        app.disconnect()
        nodes.run(until: { (try? nodes.rows("applications", of: nodes.secondary).first?["connected"]) == false })
        let envelope = try nodes.envelope(1) { $0.values = ["volume": 101] }
        let waiting = nodes.results(envelope)["the secondary"]
        #expect(waiting?["verdict"] == "waiting-for-app")
        let text = try nodes.rows("desired", of: nodes.primary).first?["text"]
        #expect(text == "the last schema of the app refuses it: volume: 101 is over the maximum 100")
        let newer = try SchemaDocument(writing: [
            SettingDeclaration(
                name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...200),
                initialValue: .integer(7))
        ])
        let next = try nodes.startApp(
            .init(anchor: nodes.signer.publicKey.key.pem, schema: SHA256.digest(newer.bytes)))
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(next.offers.map(\.envelope) == [envelope])
    }

    @Test("CFG-42, CFG-114, CTL-75: another version of the app that does not load what is applied says so everywhere")
    func notLoaded() throws {
        defer { nodes.stop() }
        func health(of node: Node) -> PropertyListDictionary? {
            nodes.ask(node, "health").body.rows("problems").first { $0["name"] == "not-loaded" }
        }
        func problem() -> String? { health(of: nodes.secondary)?["text"]?.stringValue }
        try nodes.pair()
        let app = try startApp()
        let envelope = try nodes.envelope(1) { $0.values = ["volume": 80] }
        #expect(nodes.verdict(envelope) == "applied")
        nodes.clock.advance(by: .seconds(45))
        nodes.run(until: { (try? nodes.held()?["trial"] == true) == false })
        app.disconnect()
        let fault = OfferReply(VerificationFailure(.schema, "volume: 80 is over the maximum 50"), of: envelope)
        let next = try nodes.connect(to: .secondary, registration) { client in
            client.judgeOffers(to: nodes.app, trusting: nodes.signer, on: nodes.clock)
            client.reloadAnswer = fault.message
        }
        nodes.run(until: { (try? nodes.held()?["lastVerdict"] == "schema") == true })
        let row = try #require(try nodes.held())
        #expect(row["state"] == "applied" && row["version"] == 1 && row["text"] == "the app does not load it")
        let lines = nodes.lines("the app does not load what is applied")
        #expect(lines.count == 1 && lines[0].contains("over the maximum 50"), "\(lines)")
        #expect(problem()?.contains("\(nodes.app) [schema]") == true)
        #expect(self.row("volume")?["layer"] == "signed" && self.row("volume")?["notLoaded"] == true)
        let words: PropertyListValue = "the app does not load it [schema]: volume: 80 is over the maximum 50"
        nodes.run(until: { (try? nodes.rows("desired", of: nodes.primary).first?["text"]) == words })
        #expect(try nodes.rows("desired", of: nodes.primary).first?["verdict"] == "applied")
        let there = try #require(health(of: nodes.primary))
        let pairing = try nodes.pairing(of: nodes.primary)
        #expect(there["pairing"] == pairing)
        #expect(there["text"]?.stringValue?.contains("apps of the secondary do not load") == true)
        next.disconnect()
        _ = try nodes.startApp(registration)
        nodes.run(until: { (try? nodes.held()?["lastVerdict"] == "applied") == true })
        #expect(try nodes.held()?["text"] == nil && problem() == nil && self.row("volume")?["notLoaded"] == nil)
    }
}
