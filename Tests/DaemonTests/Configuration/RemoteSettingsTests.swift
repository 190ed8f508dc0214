// Settings of an app on a secondary, read and edited through its primary: what the app has opened and nothing else, one
// request at a time, and an end for each request.

import TandemBase
import TandemCrypto
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSettings
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(2))) struct RemoteSettingsTests {
    private let nodes: TwoNodes
    private let document: SchemaDocument

    init() throws {
        nodes = try TwoNodes()
        document = try SchemaDocument(writing: [
            SettingDeclaration(
                name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
                initialValue: .integer(7)),
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
        let app = try nodes.startApp(at: .secondary, .init(schema: SHA256.digest(document.bytes)))
        let question = QueryFrame.Question.schema(document: document.bytes)
        try app.send(QueryFrame(question, id: .random(), app: nodes.app, pairing: nil, channel: nil).envelope)
        nodes.run(until: { !app.received(.answer).isEmpty })
        return app
    }

    private func ask(
        _ command: String, _ more: PropertyListDictionary = [:], of name: String = "the secondary", at node: Node? = nil
    ) -> ControlAnswer {
        var body = more
        body["app"] = .string(nodes.app.description)
        body["who"] = .string(name)
        return nodes.ask(node ?? nodes.primary, command, body)
    }

    private func keys(_ answer: ControlAnswer) -> [String] {
        (answer.body["settings"]?.arrayValue ?? []).compactMap { $0.dictionaryValue?["key"]?.stringValue }
    }

    @Test("SES-72, CTL-42, SCH-9: a primary reads and edits what the app has opened, and the app has it at once")
    func edits() throws {
        defer { nodes.stop() }
        let app = try startApp()
        let opened = try SchemaDocument(writing: document.schema.declarations.filter { $0.access == .counterpart })
        let before = ask("settings-get")
        #expect(keys(before) == ["name", "token"] && before.body["digest"] == .data(SHA256.digest(opened.bytes)))
        #expect(ask("settings-set", ["values": ["name": "hall", "token": "swordfish"]]).code == 0)
        nodes.run(until: { app.reloads == 1 })
        let rows = ask("settings-get").body["settings"]?.arrayValue?.compactMap(\.dictionaryValue) ?? []
        #expect(rows.first?["value"] == "hall" && rows.last?["value"] == nil && rows.last?["edited"] == true)
        let line = nodes.notes.last { "\($0.message)" == "settings edited" }.map { "\($0)" }
        #expect(line?.contains("the primary") == true && line?.contains("swordfish") == false)
        #expect(ask("settings-reset").body["keys"] == ["name", "token"])
        #expect(ask("settings-schema").body["schema"] == .data(opened.bytes))
    }

    @Test("SCH-9: the paired device edits nothing that the app has not opened to it, with the text of every source")
    func closed() throws {
        defer { nodes.stop() }
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
        #expect(ask("settings-get").body["settings"]?.arrayValue?.first?.dictionaryValue?["value"] == "lamp")
    }

    @Test("CTL-42, SES-72: without a link, at another role, for another user, or beside an open request it is refused")
    func refused() throws {
        defer { nodes.stop() }
        _ = try startApp()
        #expect(ask("settings-get", of: "the primary", at: nodes.secondary).name == "wrong-role")
        #expect(ask("settings-get", of: "nobody").name == "not-found")
        #expect(ask("settings-get", ["after": 1]).name == "bad-request")
        let body: PropertyListDictionary = ["app": .string(nodes.app.description), "who": "the secondary"]
        var answers: [ControlAnswer] = []
        nodes.primary.respond(to: nodes.request("settings-get", body, isPrivileged: false)) { answers.append($0) }
        nodes.run(until: { answers.count == 1 })
        #expect(answers.last?.name == "not-allowed")
        for _ in 0..<2 { nodes.begin(nodes.primary, "settings-get", body) { answers.append($0) } }
        nodes.run(until: { answers.count == 3 })
        #expect(answers.suffix(2).map(\.name) == ["full", nil])
        nodes.stop(.secondary)
        #expect(ask("settings-get").name == "unreachable")
    }

    // MARK: one end

    /// A device in the role, whose link the test is the other end of.
    private struct OneEnd {
        let scheduler = ManualScheduler()
        let pairing = UniqueIdentifier.random()
        let app: ApplicationIdentifier
        let directory = TemporaryDirectory()
        let remote: RemoteSettings

        init(as role: DeviceRole) throws {
            app = try ApplicationIdentifier("org.example.alarm")
            let applications = try OwnedDirectory(existing: directory.path)
            let settings = ApplicationSettings(
                in: applications,
                device: ApplicationSettings.Surroundings(
                    owner: { _ in Linux.user }, signed: { _ in [:] }, reload: { _ in }, log: { _, _ in }),
                scheduler: scheduler)
            remote = RemoteSettings(
                settings,
                device: RemoteSettings.Surroundings(
                    role: { _ in role }, name: { _ in "peer" }, owner: { _ in Linux.user }), scheduler: scheduler)
        }

        /// Asks; the outcome comes later.
        func ask(_ done: @escaping (Result<PropertyListDictionary, ControlFailure>) -> Void) {
            scheduler.start { [remote, app, pairing] in
                do throws(ControlFailure) {
                    done(.success(try await remote.ask(.settingsGet, [:], of: app, at: pairing)))
                } catch { done(.failure(error)) }
            }
            scheduler.run()
        }
    }

    @Test("LIM-105: a request without an answer ends after 30 s, and the next one may be asked")
    func silence() throws {
        let end = try OneEnd(as: .primary)
        var sent: [Envelope] = []
        end.remote.opened(end.pairing) { sent.append($0) }
        var names: [String?] = []
        end.ask { if case .failure(let failure) = $0 { names.append(failure.name) } }
        end.scheduler.advance(by: .milliseconds(29_999))
        #expect(names.isEmpty && sent.count == 1)
        end.scheduler.advance(by: .milliseconds(1))
        #expect(names == ["unreachable"])
        end.ask { if case .failure(let failure) = $0 { names.append(failure.name) } }
        end.remote.closed(end.pairing)
        end.scheduler.run()
        #expect(names == ["unreachable", "unreachable"] && sent.count == 2)
    }

    @Test("SES-72: an answer of another request is dropped, and a frame that does not read has no place")
    func answers() throws {
        let end = try OneEnd(as: .primary)
        var sent: [Envelope] = []
        var results: [Result<PropertyListDictionary, ControlFailure>] = []
        #expect(!end.remote.receive(Envelope(.query), from: end.pairing), "no link")
        end.remote.opened(end.pairing) { sent.append($0) }
        end.ask { results.append($0) }
        let query = try SettingsQueryFrame(try #require(sent.first))
        let other = SettingsQueryFrame(.settingsGet, id: .random(), app: end.app, pairing: end.pairing, body: [:])
        #expect(end.remote.receive(try SettingsAnswerFrame(to: other, body: [:]).envelope, from: end.pairing))
        end.scheduler.run()
        #expect(results.isEmpty)
        var damaged = try SettingsAnswerFrame(to: query, body: [:]).envelope
        damaged.body = [1, 2, 3]
        #expect(!end.remote.receive(damaged, from: end.pairing))
        let refusal = SettingsAnswerFrame(to: query, name: "schema", body: ["text": "no"])
        #expect(end.remote.receive(try refusal.envelope, from: end.pairing))
        end.scheduler.run()
        #expect(results.count == 1)
        if case .failure(let failure) = results[0] { #expect(failure.name == "schema" && failure.text == "no") }
        #expect(end.remote.receive(try other.envelope, from: end.pairing), "a secondary that asks")
        end.scheduler.run()
        #expect(try SettingsAnswerFrame(try #require(sent.last)).name == "wrong-role")
    }
}
