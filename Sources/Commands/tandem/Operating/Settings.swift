// `settings`: a user's edits of an app's properties, in the daemon that keeps them. They work while the app does not
// run; one that runs takes them at once. The app's schema judges values, with the texts of every other source.

import TandemBase
import TandemControl
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemSettings
import TandemWire

extension Subcommand {
    static let settingsList = Subcommand(
        path: ["settings", "list"], summary: "show an app's properties with their values",
        options: [.device, .secondary, .application.required, .json],
        notes: """
            'layer' is where the value comes from, as far as the daemon knows: 'signed' configuration, a 'user's
            edit, or the app's 'default'. A signed value is 'NOT loaded by the app' if the app has said that it does
            not load the configuration: 'tandem status' names the fault, and the app has another value. 'by' is the
            primary that made the edit; without one it was made on the device.
            'rules' are those of the app's schema beside the type: bounds, choices, a pattern, and whether nil is
            allowed.
            'settings pages' also shows what a running app's own code, files and environment set.
            """,
        examples: ["settings list --app org.example.lamp", "settings list --app org.example.lamp --json"]
    ) { arguments, console in
        let path = try arguments.settingsPath()
        let answer = try SettingsAnswer(arguments, at: path)
        let isEmpty = answer.rows.isEmpty
        if isEmpty, arguments.has("secondary"), !arguments.has("json") {
            return console.print("no settings that the app opens to its primary (access 'counterpart')")
        }
        let schema = isEmpty ? SettingsSchema([]) : readableSchema(arguments, at: path, console)
        if arguments.has("json") { return console.print(json: answer.json(with: schema)) }
        for line in answer.table(with: schema).listing { console.print(line) }
    }

    static let settingsGet = Subcommand(
        path: ["settings", "get"], summary: "print the value of an app's property",
        operands: [.required("KEY")], options: [.device, .secondary, .application.required, .json],
        notes: "The value of a secret is never printed.",
        examples: ["settings get --app org.example.lamp volume"]
    ) { arguments, console in
        let key = arguments.operands[0]
        let rows = try SettingsAnswer(arguments, at: try arguments.settingsPath()).rows
        guard let row = rows.first(where: { $0.body["key"] == .string(key) }) else {
            throw CommandFailure.refused(
                SettingError(property: key, value: "", rule: .unknownProperty).description)
        }
        if arguments.has("json") { return console.print(json: .dictionary(row.body)) }
        console.print(SettingsAnswer.value(of: row))
    }

    static let settingsSet = Subcommand(
        path: ["settings", "set"], summary: "edit an app's properties, all of them or none",
        operands: [.several("KEY=VALUE")],
        options: [
            .device, .secondary, .application.required,
            .valued("values", "FILE", "values from a file with one JSON object"),
            Option.valued("nothing", "KEY", "set to no value, where the property allows that").repeated, .json,
        ],
        notes: """
            VALUE is true, 7, 1.5, or text; "7" is text. Lists, data (base64url) and dates (milliseconds since 1970)
            need --values FILE, with {"hosts": ["a", "b"], "photo": {"$data": "AAEC"}, "day": {"$date": 1795426200000}}.
            'tandem settings edit' takes a date as the page shows it.
            An edit hides what the app itself has stored, and is hidden by signed configuration. A secret belongs into a
            file: arguments are visible to other users.
            """,
        examples: [
            "settings set --app org.example.lamp volume=80 logging=true",
            "settings set --app org.example.lamp --nothing colour",
            "settings set --app org.example.lamp --values secrets.json",
        ]
    ) { arguments, console in
        let input = ValuesInput(arguments, assignments: arguments.operands)
        let values = try input.values()
        let nothing = arguments.all("nothing")
        guard !values.isEmpty || !nothing.isEmpty else {
            throw CommandFailure.usage("KEY=VALUE, --values or --nothing is missing")
        }
        if let key = nothing.first(where: { values[$0] != nil }) {
            throw CommandFailure.usage("'\(key)' has a value and --nothing")
        }
        var body: PropertyListDictionary = ["values": .dictionary(values)]
        if !nothing.isEmpty { body["nothing"] = .array(nothing.map { .string($0) }) }
        let path = try arguments.settingsPath()
        do {
            warn(of: try ControlClient.answer(at: path, .settingsSet, try arguments.settings(body)), console)
        } catch let error as ControlError {
            arguments.printForPrograms(error, on: console)
            throw input.explained(CommandFailure(error))
        }
        try printRows(of: values.keys + nothing, arguments, at: path, console)
    }

    static let settingsChoices = Subcommand(
        path: ["settings", "choices"], summary: "replace the values that people have added to a property's list",
        operands: [.required("KEY"), .several("LABEL=VALUE")], options: [.device, .application.required, .json],
        notes: """
            They are offered on this device beside those of the app, which lets people add some to an editable list. Without
            LABEL=VALUE there are none any more.
            """,
        examples: [
            "settings choices --app org.example.player duration Month=30 Year=365",
            "settings choices --app org.example.player duration",
        ]
    ) { arguments, console in
        let key = arguments.operands[0]
        let list = try arguments.operands.dropFirst().map { text throws -> PropertyListValue in
            let (label, value) = try ValuesInput.assignment(text)
            return ["label": .string(label), "value": value]
        }
        let choices: PropertyListDictionary = [key: .array(Array(list))]
        _ = try arguments.ask(
            .settingsSet, try arguments.settings(["values": [:], "choices": .dictionary(choices)]))
        if arguments.has("json") { return console.print(json: .dictionary(choices)) }
        console.print("\(list.count) added \(list.count == 1 ? "value" : "values")")
    }

    static let settingsReset = Subcommand(
        path: ["settings", "reset"], summary: "undo edits of an app's properties",
        operands: [.several("KEY")],
        options: [.device, .secondary, .application.required, .flag("all", "all edits"), .yes, .json],
        notes: """
            The value that the app has stored applies again, or else its default. On a terminal --all asks before it
            removes anything, unless --yes is given.
            """,
        examples: ["settings reset --app org.example.lamp volume", "settings reset --app org.example.lamp --all"]
    ) { arguments, console in
        guard arguments.operands.isEmpty == arguments.has("all") else {
            throw CommandFailure.usage("name the KEYs, or --all")
        }
        let path = try arguments.settingsPath()
        let body = try arguments.settingsToReset { arguments.agrees(to: $0, console) }
        let answer = try ControlClient.answer(at: path, .settingsReset, try arguments.settings(body))
        let keys = (answer["keys"]?.arrayValue ?? []).compactMap(\.stringValue)
        try printRows(of: keys, arguments, at: path, console)
    }

    static let settingsWatch = Subcommand(
        path: ["settings", "watch"], summary: "print an app's properties as edits change them; ends with Ctrl-C",
        options: [.device, .secondary, .application.required, .json],
        notes: """
            Prints one line for each property that changes, and nothing until then. Through a primary it ends when the link
            to the secondary does.
            """,
        examples: ["settings watch --app org.example.lamp", "settings watch --app org.example.lamp --json"]
    ) { arguments, console in
        let path = try arguments.settingsPath()
        var known = try SettingsAnswer(arguments, at: path)
        while true {
            let next = try SettingsAnswer(arguments, at: path, after: known)
            for row in next.rows where !known.rows.contains(where: { $0.body == row.body }) {
                if arguments.has("json") {
                    console.print(json: .dictionary(row.body))
                } else {
                    console.print(
                        "\(row.text("key")) \(SettingsAnswer.shown(of: row)) (\(SettingsAnswer.layer(of: row)))")
                }
            }
            known = next
            await Task.yield()
        }
    }

    static let settingsExport = Subcommand(
        path: ["settings", "export"], summary: "print the edits of an app's properties as one JSON object",
        options: [
            .device, .secondary, .application.required, .valued("out", "FILE", "write to a new file of mode 0600"),
        ],
        notes: "Secrets are left out, and so are lists whose items have any.",
        examples: ["settings export --app org.example.lamp --out lamp.json"]
    ) { arguments, console in
        var edits: PropertyListDictionary = [:]
        for row in try SettingsAnswer(arguments, at: try arguments.settingsPath()).rows {
            guard let key = row.body["key"]?.stringValue else { continue }
            // A secondary's answer may name a key twice.
            if let edit = row.body["edit"] {
                // Without its secrets an import would take them from the items that it replaces.
                if ListSecrets.hasMarks(edit) {
                    console.warn("left out \(Printable.text(key)): its items have secrets")
                } else {
                    edits[key] = edit
                }
            }
            if row.isNothing { console.warn("left out \(Printable.text(key)): it was set to nothing (--nothing)") }
        }
        let value = PropertyListValue.dictionary(edits)
        guard let path = arguments.value("out") else { return console.print(json: value) }
        try LocalFile(path: path).create(Array((PropertyListJSON.text(value) + "\n").utf8), mode: 0o600)
    }

    static let settingsImport = Subcommand(
        path: ["settings", "import"], summary: "edit an app's properties from a file, all of them or none",
        operands: [.required("FILE")], options: [.device, .secondary, .application.required, .json],
        notes: """
            FILE has one JSON object. Other spellings are converted here, as files of settings have them: "YES", "0" or
            1 for a switch, "80" for a number. The command names each property whose value was converted.
            """,
        examples: ["settings import --app org.example.lamp lamp.json"]
    ) { arguments, console in
        let values = try ValuesInput.file(arguments.operands[0])
        let path = try arguments.settingsPath()
        let answer = try ControlClient.answer(
            at: path, .settingsSet, try arguments.settings(["values": .dictionary(values), "import": true]))
        for key in (answer["converted"]?.arrayValue ?? []).compactMap(\.stringValue) {
            console.warn("converted \(Printable.text(key))")
        }
        warn(of: answer, console)
        try printRows(of: values.keys, arguments, at: path, console)
    }

    static let settingsSchema = Subcommand(
        path: ["settings", "schema"], summary: "write the schema of an app's properties to a file",
        options: [.device, .secondary, .application.required, .out.required],
        notes: "'tandem sign --check FILE' refuses to sign values that the schema refuses.",
        examples: ["settings schema --app org.example.lamp --out lamp.schema"]
    ) { arguments, console in
        let answer = try arguments.ask(.settingsSchema, try arguments.settings([:]))
        guard let schema = answer["schema"]?.dataValue else {
            throw CommandFailure.refused("the daemon's answer has no schema")
        }
        let file = LocalFile(path: try arguments.required("out"))
        try file.create(schema, mode: 0o644)
        console.print("wrote  \(file.path), \(schema.count) bytes")
        console.print("digest \(Fact(answer).text("digest"))")
    }

    static let settingsPress = Subcommand(
        path: ["settings", "press"], summary: "press a button of a running app's pages",
        operands: [.required("KEY")], options: [.device, .secondary, .application.required, .json],
        notes:
            "'settings pages' shows the buttons that can be pressed, with their keys. The command prints the app's answer.",
        examples: [
            "settings press --app org.example.lamp test",
            "settings press --app org.example.lamp --secondary kiosk test",
        ]
    ) { arguments, console in
        let key = PropertyListValue.string(arguments.operands[0])
        let answer = try arguments.ask(.settingsPress, try arguments.settings(["key": key]))
        if arguments.has("json") { return console.print(json: .dictionary(answer)) }
        console.print(Printable.text(answer["text"]?.stringValue ?? "done"))
    }

    /// The schema with the rules of the rows. Without one that this version reads, the rows are shown without rules.
    private static func readableSchema(
        _ arguments: Arguments, at path: String, _ console: Console
    ) -> SettingsSchema {
        let problem: String
        do { return try arguments.schema(at: path).schema } catch let failure as CommandFailure {
            problem = failure.text
        } catch {
            problem = "\(error)"
        }
        console.warn("the properties are shown without their rules: \(problem)")
        return SettingsSchema([])
    }

    /// Prints what the app's own checks have done, or could not do.
    private static func warn(of answer: PropertyListDictionary, _ console: Console) {
        for warning in EditReport(answer).warnings() { console.warn(Printable.text(warning)) }
    }

    private static func printRows(
        of keys: [String], _ arguments: Arguments, at path: String, _ console: Console
    ) throws {
        var answer = try SettingsAnswer(arguments, at: path)
        answer.keep(keys)
        for row in answer.rows where row.text("layer") == "signed" && row.body["edited"] == true {
            console.warn("\(row.text("key")): the edit is stored, but the value of a signed configuration hides it")
        }
        if arguments.has("json") { return console.print(json: answer.json()) }
        for line in answer.table.lines { console.print(line) }
    }
}

extension Option {
    /// The secondary whose app is meant, through its primary.
    static let secondary = Option.valued(
        "secondary", "NAME", "the app on this secondary of the asked primary, as far as the app allows it")
}

extension Fact {
    /// Whether a row's property was edited to nothing.
    fileprivate var isNothing: Bool { body["edited"] == true && body["edit"] == nil && body["secret"] != true }
}

extension Arguments {
    /// The body of a request about an app's settings.
    func settings(_ more: PropertyListDictionary) throws -> PropertyListDictionary {
        var body = more
        body["app"] = .string(try application().description)
        return body.merging(value("secondary").map(Self.pairingOrName) ?? [:])
    }

    /// The local socket for all requests of one command about an app's settings: a second search could find another
    /// daemon.
    func settingsPath() throws -> String {
        // A mistake in the arguments is reported before a missing daemon.
        _ = try application()
        return try daemonPath()
    }
}

/// The daemon's answer about an app's settings.
struct SettingsAnswer {
    private(set) var rows: [Fact]
    private let ordinal: PropertyListValue?

    /// - Parameters:
    ///   - path: the daemon's local socket.
    ///   - known: waits until something has changed since this answer.
    init(_ arguments: Arguments, at path: String, after known: SettingsAnswer? = nil) throws {
        var body: PropertyListDictionary = [:]
        if let known {
            body["after"] = known.ordinal
            body["wait"] = 10_000
        }
        let answer = try ControlClient.answer(
            at: path, .settingsGet, try arguments.settings(body), time: known == nil ? .zero : .seconds(10))
        rows = Fact.list(answer["settings"])
        ordinal = answer["ordinal"]
        guard known == nil || ordinal != nil else { throw CommandFailure.refused("the device cannot wait for changes") }
    }

    mutating func keep(_ keys: [String]) {
        rows.removeAll { row in !keys.contains { row.body["key"] == .string($0) } }
    }

    /// Values as they are, since an app's data is no identifier; each row with the rules of its property, where the
    /// schema has any.
    func json(with schema: SettingsSchema = SettingsSchema([])) -> PropertyListValue {
        let rows = rows.map { row -> PropertyListValue in
            var body = row.body
            if let rules = declaration(of: row, in: schema)?.rules, !rules.isEmpty {
                body["rules"] = .dictionary(rules)
            }
            return .dictionary(body)
        }
        return .dictionary(["settings": .array(rows)])
    }

    var table: Table { Table("settings", Self.columns, of: rows) }

    /// The same with the rules of each property. The last column: it may be long.
    func table(with schema: SettingsSchema) -> Table {
        let rules = Table.Column("rules") { Printable.text(declaration(of: $0, in: schema)?.rulesText ?? "") }
        return Table("settings", Self.columns + [rules], of: rows)
    }

    private static var columns: [Table.Column] {
        [
            "key", .init("value", cell: shown),
            .init("layer") { $0.body["unknown"] == true ? "not in the schema" : layer(of: $0) }, "by", "type",
            "access", "restart",
        ]
    }

    /// The declaration of a row's property; nil for an edit whose key the schema no longer has.
    private func declaration(of row: Fact, in schema: SettingsSchema) -> SettingDeclaration? {
        row.body["key"]?.stringValue.flatMap { schema[$0] }
    }

    static func layer(of row: Fact) -> String {
        row.text("layer") + (row.body["waived"] == true ? ", INVALID signature allowed" : "")
            + (row.body["notLoaded"] == true ? ", NOT loaded by the app" : "")
    }

    /// As ``value(of:)``, but a value that the app itself has encoded by its tag and size (CTL-39).
    static func shown(of row: Fact) -> String {
        guard row.body["secret"] != true, row.body["type"]?.stringValue == SettingType.coded.rawValue,
            let coded = row.body["value"]?.dictionaryValue.flatMap({ CodedSetting($0) })
        else { return value(of: row) }
        return Printable.text(SettingValue.coded(coded).description)
    }

    /// A value on one line; never a secret's.
    static func value(of row: Fact) -> String {
        if row.body["secret"] == true { return SettingError.redacted }
        guard let value = row.body["value"] else { return "nil" }
        return Printable.text(value.stringValue ?? PropertyListJSON.text(value))
    }
}
