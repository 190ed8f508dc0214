// A browser and a daemon of the tests: requests as values, and answers of a daemon with one app.

import TandemBase
import TandemConsole
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire

/// A browser at a console that has one app with some settings.
final class Browser {
    static let app = "org.example.lamp"
    static let page = "/apps/\(app)"
    /// Markup that would run if it was not escaped.
    static let markup = "</textarea><script>alert(\"'`&\")</script><img src=x onerror=a>"

    /// A join link that the daemon makes, and the token that names it.
    static let link = "tandem:join/1?at=127.0.0.1:4747&token=PyqRvAAAAAAAAAAAAAAAAA&secret=c2VjcmV0&name=hub"
    static let token: [UInt8] = [0x3F, 0x2A, 0x91, 0xBC] + [UInt8](repeating: 0, count: 12)

    private(set) var console: Console
    private var cookie: String?
    /// Cookies that other ports have set, which the browser sends too, and whether its own comes before them.
    var others: [String] = []
    var comesFirst = false
    var now = MonotonicTime(nanoseconds: 0)
    /// The daemon's rows about values, by key.
    var rows: [String: PropertyListDictionary] = [:]
    var application: PropertyListDictionary = ["app": .string(app), "name": "Lamp", "version": "1.2"]
    /// The daemon's rows about configurations.
    var configurations: [PropertyListDictionary] = []
    /// The daemon's answers to `settings-page` and `settings-press`.
    var running: ConsoleReply = .success(["state": "without-hooks"])
    var pressed: ConsoleReply = .success([:])
    /// The daemon's rows about join links, and the addresses that accept device links.
    var links: [PropertyListDictionary] = []
    var listening: [PropertyListValue] = ["127.0.0.1:4747"]
    var role = "primary"
    /// The daemon's answer to `settings-set`, and its rows about pairings.
    var stored: PropertyListDictionary = [:]
    var pairings: [PropertyListDictionary] = [["name": .string(markup)]]
    /// The events that the daemon has traced, of which it keeps all.
    var traced = 0
    /// The daemon's refusal of every question about settings.
    var silence: ControlError?
    /// The daemon's refusal of every change.
    var refusal: ControlError?
    /// Somebody else's change, which comes before the next `settings-set` and refuses it.
    var meanwhile: (() -> Void)?
    /// The commands that the daemon got, and the index of the first one for the last form.
    private(set) var commands: [ConsoleQuestion] = []
    private var formBegan = 0

    /// The app's properties, and its pages if it brings any.
    var declarations = Browser.declarations
    var layout: PropertyListDictionary?
    /// The digests of the schema in the daemon's answers to `settings-schema` and `settings-get`.
    var digests: (schema: [UInt8]?, values: [UInt8]?) = (nil, nil)
    /// The value of `Accept-Language`.
    var languages: String?

    static let declarations = [
        SettingDeclaration(
            name: "volume", type: .integer, editor: .slider, summary: "Loudness", bounds: .integer(0...100),
            title: "Volume", initialValue: .integer(50)),
        SettingDeclaration(
            name: "logging", type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(false)),
        SettingDeclaration(
            name: "name", type: .string, editor: .edit, summary: markup, title: markup, page: "More",
            initialValue: .string(markup)),
        SettingDeclaration(
            name: "mode", type: .string, editor: .choice, summary: "",
            choices: [
                SettingChoice(label: markup, value: .string("a")), SettingChoice(label: "B", value: .string("b")),
            ], access: .counterpart, initialValue: .string("a")),
        SettingDeclaration(
            name: "password", type: .string, editor: .edit, summary: "", isSecret: true, initialValue: .string("")),
        SettingDeclaration(
            name: "server", type: .string, editor: .edit, summary: "", access: .signed, initialValue: .string("s")),
        SettingDeclaration(
            name: "colour", type: .string, editor: .edit, summary: "", pattern: "^#", allowsNothing: true,
            initialValue: .nothing),
        SettingDeclaration(
            name: "hosts", type: .strings, editor: .edit, summary: "", initialValue: .strings(["a", "b"])),
    ]

    init() {
        var count: UInt8 = 0
        console = Console(scheme: "http", hosts: ["127.0.0.1:80", "localhost:80"], cookie: "tandem-80") { size in
            count += 1
            return [UInt8](repeating: count, count: size)
        }
    }

    /// A browser that was let in, at a console whose app has these properties on these pages.
    convenience init(_ declarations: [SettingDeclaration], on tree: PageTree) {
        self.init()
        self.declarations = declarations
        layout = tree.layout(for: SettingsSchema(declarations))
        enter()
    }

    /// As ``init(_:on:)``, with one page that shows all properties.
    convenience init(_ page: [Specifier]) { self.init(page.declarations, on: pageTree(["Root": page])) }

    static func head(_ extra: [(name: String, value: String)] = []) -> [(name: String, value: String)] {
        [("Host", "127.0.0.1:80")] + extra
    }

    /// The last answer of a request that the gate lets through.
    func send(_ request: WebRequest) -> WebAnswer? {
        if let refusal = console.refusal(of: request) { return refusal }
        return follow(console.answer(to: request, now: now))
    }

    func get(_ path: String, method: String = "GET") -> WebAnswer? {
        send(WebRequest(method, path, fields: Self.head(fields)))
    }

    private var fields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if let cookie {
            let own = ["tandem-80=\(cookie)"]
            let all = ["x=y"] + (comesFirst ? own + others : others + own)
            fields.append((name: "Cookie", value: all.joined(separator: "; ")))
        }
        if let languages { fields.append((name: "Accept-Language", value: languages)) }
        return fields
    }

    func post(_ path: String, _ body: String, token: Bool = true) -> WebAnswer? {
        formBegan = commands.count
        var body = body
        if token, let cookie, let route = ConsoleRoute(path: path) {
            body += "&form=\(FormToken.make(for: route, cookie: cookie))"
        }
        let fields = Self.head(
            [
                ("Origin", "http://127.0.0.1:80"), ("Content-Length", "\(body.utf8.count)"),
                ("Content-Type", "application/x-www-form-urlencoded"),
            ] + self.fields)
        return send(WebRequest("POST", path, fields: fields, body: Array(body.utf8)))
    }

    /// Sends the form of a new item, with the digest that its page has.
    func add(_ path: String, _ fields: String) -> WebAnswer? {
        let digest = get(path)?.text.components(between: "name=\"item\" value=\"", and: "\"").first
        return post(path, "item=\(digest ?? "")&\(fields)")
    }

    /// Enters with the printed token; returns the answer.
    @discardableResult
    func enter(_ token: String? = nil) -> WebAnswer? {
        let answer = post("/enter", "token=\(token ?? console.entryToken)")
        if let text = answer?.cookie {
            cookie = text.split(separator: ";").first?.split(separator: "=").last.map(String.init)
        }
        return answer
    }

    private func follow(_ step: ConsoleStep) -> WebAnswer? {
        switch step {
        case .answer(let answer), .welcome(let answer): return answer
        case .stream: return nil
        case .ask(let questions, let then):
            commands += questions
            let replies = questions.map(reply)
            return follow(then(replies))
        }
    }

    /// The daemon's answer.
    func reply(_ question: ConsoleQuestion) -> ConsoleReply {
        switch question.command {
        case .settingsSchema:
            guard let document = try? SchemaDocument(writing: declarations, layout: layout) else {
                return .success([:])
            }
            var body: PropertyListDictionary = ["schema": .data(document.bytes)]
            body["digest"] = digests.schema.map { .data($0) }
            return .success(body)
        case .settingsGet:
            if let silence { return .failure(silence) }
            let values = declarations.map { declaration -> PropertyListValue in
                var row: PropertyListDictionary = ["key": .string(declaration.name), "layer": "default"]
                row["value"] = declaration.isSecret ? nil : declaration.stored(declaration.initialValue)
                return .dictionary(row.merging(rows[declaration.name] ?? [:]))
            }
            var body: PropertyListDictionary = ["settings": .array(values), "ordinal": 1]
            body["digest"] = digests.values.map { .data($0) }
            return .success(body)
        case .settingsPage: return running
        case .settingsPress: return pressed
        case .settingsSet where meanwhile != nil:
            meanwhile?()
            meanwhile = nil
            return .failure(.refused(name: "schema", text: "tags: the list was changed meanwhile"))
        case .settingsSet, .settingsReset: return refusal.map { .failure($0) } ?? .success(stored)
        case .pair:
            links.append(["token": .data(Self.token), "left": 899_000, "attempts": 5])
            return refusal.map { .failure($0) }
                ?? .success(["link": .string(Self.link), "token": .data(Self.token), "expires": 1_800_000_000_000])
        case .pairCancel: return refusal.map { .failure($0) } ?? .success([:])
        case .status:
            return .success([
                "device": .data([UInt8](repeating: 7, count: 16)), "name": .string(Self.markup), "role": .string(role),
                "pairings": .array(pairings.map { .dictionary($0) }),
                "links": .array(links.map { .dictionary($0) }), "listening": .array(listening), "local": "/a/b.sock",
                "applications": [.dictionary(application)],
                "configurations": .array(configurations.map { .dictionary($0) }),
            ])
        case .apps: return .success(["apps": [["app": .string(Self.app), "uid": 0]]])
        case .trace:
            // As CTL-20 and LIM-35 have it: behind an ordinal the first ones, and without one what comes from now on.
            let after = question.body["after"]?.unsignedValue.map { Int($0) } ?? traced
            let ordinals = (after..<max(after, traced)).prefix(256).map { $0 + 1 }
            return .success([
                "last": .integer(Int64(ordinals.last ?? after)),
                "events": .array(ordinals.map { .dictionary(["detail": .string("event \($0)")]) }),
            ])
        default: return .success([:])
        }
    }

    /// The commands that the daemon got for the last form.
    var commandsOfForm: ArraySlice<ConsoleQuestion> { commands[formBegan...] }

    /// The values that the last form has changed; nil if it has changed none.
    var changed: PropertyListValue? { commandsOfForm.last { $0.command == .settingsSet }?.body["values"] }
}

func pageTree(_ pages: [String: [Specifier]], strings: StringsTables = StringsTables()) -> PageTree {
    PageTree(strings: strings) { name throws(SettingsBundleProblem) in
        pages[name].map { ["PreferenceSpecifiers": .array($0.map { .dictionary($0.entries) })] }
    }
}

extension WebAnswer {
    var text: String { String(decoding: body, as: UTF8.self) }
}
