// Reading files, the environment and the command line into a layer: which key is which property's, and what is skipped.

import TandemPropertyList
import TandemSettings
import Testing

@Suite struct LayerReadingTests {
    private static func declaration(_ name: String, _ type: SettingType) -> SettingDeclaration {
        SettingDeclaration(
            name: name, type: type, editor: .preference, summary: "",
            bounds: type == .integer ? .integer(0...100) : nil, isSecret: name == "pin", allowsNothing: true,
            initialValue: .nothing)
    }

    private static func reading(_ declarations: [(String, SettingType)]) -> LayerReading {
        LayerReading(
            SettingsSchema(declarations.map { declaration($0.0, $0.1) }), SettingConversion(dates: .standard))
    }

    private static let names: [(String, SettingType)] = [
        ("baseURL", .url), ("baseUrl", .string), ("mySuperSecret", .string), ("apiKeyGoogle", .string),
        ("myApiKey", .string), ("volume", .integer), ("logging", .boolean), ("tags", .strings), ("pin", .integer),
    ]

    private static func skipped(_ key: String, _ reason: LoadReport.Reason) -> LoadReport.Skipped {
        LoadReport.Skipped(key: key, reason: reason)
    }

    // MARK: files

    @Test("SET-9: the exact name is found first, then the camel case of a key in snake case, and nothing else")
    func namesOfKeys() {
        var reading = Self.reading(Self.names)
        reading.read([
            "baseURL": "a:1", "my_super_secret": "s", "base_url": "b", "google_api_key": "g", "my_API_key": "k",
        ])
        #expect(reading.report.loaded == ["baseURL", "baseUrl", "mySuperSecret", "myApiKey"])
        #expect(reading.report.skipped == [Self.skipped("google_api_key", .noProperty)])
        #expect(reading.payload.values[0] == .url("a:1"))
        #expect(reading.payload.values[1] == .string("b"))
    }

    @Test(
        "SET-9: snake case becomes camel case by its underscores, with the tail of each word in lower case",
        arguments: [
            ("base_url", "baseUrl"), ("my_API_key", "myApiKey"), ("URL", "URL"), ("Base_URL", "baseUrl"), ("", ""),
            ("_a", "A"), ("a__b", "aB"), ("a_", "a"), ("a_b_c", "aBC"), ("_", ""),
            ("gr\u{FC}n_\u{E9}t\u{E9}", "gr\u{FC}n\u{C9}t\u{E9}"),
        ])
    func camelCase(key: String, name: String) { #expect(SettingSpelling.camelCase(ofSnakeCase: key) == name) }

    @Test("SET-9: of two keys of one property the exact name counts, and the other is reported")
    func twoKeysOfOneProperty() {
        var reading = Self.reading([("baseUrl", .string)])
        reading.read(["baseUrl": "exact", "base_url": "snake", "BASE_url": "other"])
        #expect(reading.payload.values == [.string("exact")])
        #expect(
            reading.report.skipped == [
                Self.skipped("BASE_url", .hidden(by: "baseUrl")), Self.skipped("base_url", .hidden(by: "baseUrl")),
            ])
        var snakes = Self.reading([("baseUrl", .string)])
        snakes.read(["base_url": "second", "BASE_url": "first"])
        #expect(snakes.payload.values == [.string("first")])
        #expect(snakes.report.skipped == [Self.skipped("base_url", .hidden(by: "BASE_url"))])
    }

    @Test("SET-9: only declared properties match: no key reaches anything else that an object has")
    func onlyDeclaredProperties() {
        var reading = Self.reading([("volume", .integer)])
        let others = ["configurationName", "description", "hash", "publicKey", "self", "snapshot"]
        reading.read(PropertyListDictionary(uniqueKeysWithValues: others.map { ($0, "x") }))
        #expect(reading.report.loaded.isEmpty)
        #expect(reading.report.skipped == others.map { Self.skipped($0, .noProperty) })
    }

    @Test("SET-10: an entry that is not taken is skipped with its reason, and the others are taken")
    func skippedEntries() {
        var reading = Self.reading(Self.names)
        reading.read(["logging": "true", "volume": 101, "tags": ["a"], "pin": 1234, "baseURL": ["a"], "myApiKey": 56.0])
        #expect(reading.report.loaded == ["myApiKey", "tags"])
        #expect(
            reading.report.skipped.map(\.description) == [
                "'baseURL' is skipped: an array of 1 is not read as url",
                "'logging' is skipped: a string is not read as boolean",
                "'pin' is skipped: pin: <redacted> is over the maximum 100",
                "'volume' is skipped: volume: 101 is over the maximum 100",
            ])
    }

    @Test("SET-10: a key from outside is quoted and escaped in the report's lines")
    func aKeyIsQuoted() {
        let hidden = Self.skipped("a\nb", .hidden(by: "c\u{1B}[2J"))
        #expect(hidden.description == #"'a\nb' is skipped: 'c\u{1B}[2J' takes precedence"#)
    }

    @Test("SET-9: an exact name whose value is not taken leaves no room for the key in snake case")
    func anExactNameThatIsNotTaken() {
        var reading = Self.reading([("baseUrl", .url)])
        reading.read(["baseUrl": true, "base_url": "a:1"])
        #expect(reading.report.loaded.isEmpty)
        #expect(reading.report.skipped.count == 2)
    }

    // MARK: environment

    @Test(
        "SET-17: the variable of a property is its name in capitals, with an underscore between words",
        arguments: [
            ("baseURL", "BASE_URL"), ("myAPIKey", "MY_API_KEY"), ("volume", "VOLUME"), ("level2", "LEVEL2"),
            ("level2Name", "LEVEL2_NAME"), ("URL", "URL"), ("snake_case", "SNAKE_CASE"), ("a.b-c", "A_B_C"),
        ])
    func variables(name: String, variable: String) { #expect(SettingSpelling.environmentCase(of: name) == variable) }

    @Test("SET-17: variables are taken with their prefix, converted as entries of files are, and the rest is reported")
    func theEnvironment() throws {
        var reading = Self.reading([("baseURL", .url)] + Self.names.suffix(4))
        let environment = [
            "KIOSK_BASE_URL": "localhost:8080", "KIOSK_VOLUME": "56", "KIOSK_LOGGING": "Yes", "KIOSK_TAGS": "a,b",
            "KIOSK_PIN": "x", "KIOSK_SPEED": "1", "VOLUME": "3", "HOME": "/",
        ]
        try reading.readEnvironment(prefix: "KIOSK", all: Array(environment.keys)) { environment[$0] }
        #expect(
            reading.payload.values == [
                .url("localhost:8080"), .integer(56), .boolean(true), .strings(["a", "b"]), nil,
            ])
        #expect(
            reading.report.skipped == [
                Self.skipped("KIOSK_PIN", .notConvertible(kind: "a string", .integer)),
                Self.skipped("KIOSK_SPEED", .noProperty),
            ])
        var plain = Self.reading([("volume", .integer), ("logging", .boolean)])
        try plain.readEnvironment(prefix: "", all: ["VOLUME", "HOME"]) { ["VOLUME": "3", "LOGGING": ""][$0] }
        #expect(plain.payload.values == [.integer(3), nil])
        #expect(plain.report.skipped.isEmpty)
    }

    @Test("SET-19: two properties of one variable, or of one option, are an error that names both")
    func collisions() {
        var reading = Self.reading([("baseURL", .url), ("volume", .integer), ("baseUrl", .string)])
        #expect(throws: SettingNameCollision(spelling: "K_BASE_URL", properties: ["baseURL", "baseUrl"])) {
            try reading.readEnvironment(prefix: "K_") { _ in "x" }
        }
        #expect(throws: SettingNameCollision(spelling: "--base-url", properties: ["baseURL", "baseUrl"])) {
            try reading.read(arguments: ["--volume", "1"])
        }
        var negated = Self.reading([("logging", .boolean), ("noLogging", .boolean)])
        #expect(throws: SettingNameCollision(spelling: "--no-logging", properties: ["logging", "noLogging"])) {
            try negated.read(arguments: [])
        }
        #expect(reading.report == LoadReport() && negated.report == LoadReport())
    }

    @Test("SET-47: the report of a load names the loaded properties whose values need a restart")
    func restart() {
        let declarations = ["port", "name", "size"].map { name in
            SettingDeclaration(
                name: name, type: .string, editor: .edit, summary: "", needsRestart: name != "name",
                initialValue: .string(""))
        }
        var reading = LayerReading(SettingsSchema(declarations), SettingConversion(dates: .standard))
        reading.read(["port": "1", "name": "a", "size": 7.5, "gone": true])
        #expect(reading.report.restartNames == ["port", "size"] && LoadReport().restartNames.isEmpty)
        reading.read(["size": [1]])
        #expect(reading.report.restartNames == ["port", "size"])
    }

    // MARK: command line

    @Test("SET-18: options are taken with a space or an equals sign, and booleans with and without no")
    func options() throws {
        var reading = Self.reading([("baseURL", .url)] + Self.names.suffix(4))
        try reading.read(arguments: [
            "serve", "--base-url", "localhost:8080", "--volume=56", "--no-logging", "--tags", "a,b", "--tags=c", "-v",
            "--", "--volume", "1",
        ])
        #expect(
            reading.payload.values == [
                .url("localhost:8080"), .integer(56), .boolean(false), .strings(["a", "b", "c"]), nil,
            ])
        #expect(reading.report.skipped.isEmpty)
    }

    @Test("SET-18: the last option of a property counts, and what is not taken is reported")
    func optionsThatAreNotTaken() throws {
        var reading = Self.reading(Self.names.suffix(4) + [("baseURL", .url)])
        try reading.read(arguments: [
            "--volume", "1", "--volume=-5", "--volume=2", "--logging", "--verbose", "--pin", "--baseURL=", "--tags",
            "--no-logging=yes", "--no-volume",
        ])
        #expect(reading.payload.values == [.integer(2), .boolean(true), nil, nil, nil])
        #expect(
            reading.report.skipped == [
                Self.skipped("--verbose", .noProperty), Self.skipped("--pin", .missingValue),
                Self.skipped("--tags", .missingValue), Self.skipped("--no-logging=yes", .unexpectedValue),
                Self.skipped("--no-volume", .noProperty), Self.skipped("--volume", .hidden(by: "--volume")),
                Self.skipped("--volume", .hidden(by: "--volume")),
                Self.skipped("--baseURL", .notConvertible(kind: "a string", .url)),
            ])
        var again = Self.reading(Self.names.suffix(4))
        try again.read(arguments: ["--logging=off", "--logging=false", "--no-logging", "--logging", "--volume", "-5"])
        #expect(again.payload.values == [nil, .boolean(true), nil, nil])
        #expect(
            again.report.skipped.first
                == Self.skipped(
                    "--volume",
                    .invalid(
                        SettingError(property: "volume", value: "-5", rule: .minimum("0")))))
    }

    @Test("SET-18: the word behind a boolean's option is not its value, and is reported")
    func booleanOperand() throws {
        var reading = Self.reading([("logging", .boolean)])
        try reading.read(arguments: ["--logging", "false", "serve"])
        #expect(reading.payload.values == [.boolean(true)])
        #expect(reading.report.skipped == [Self.skipped("false", .unexpectedValue)])
        var other = Self.reading([("logging", .boolean)])
        try other.read(arguments: ["--logging=false", "serve"])
        #expect(other.payload.values == [.boolean(false)] && other.report.skipped.isEmpty)
    }

    // MARK: layers

    @Test("SET-7: a source replaces its whole layer as one batch with its origin, below preferences, above defaults")
    func aSourceIsOneLayer() throws {
        let schema = SettingsSchema([Self.declaration("volume", .integer), Self.declaration("logging", .boolean)])
        var layers = SettingLayers(schema)
        func apply(_ layer: SettingLayer, _ origin: SettingOrigin, _ values: PropertyListDictionary) -> SettingChanges {
            var reading = LayerReading(schema, SettingConversion(dates: .standard))
            reading.read(values)
            return layers.replace(layer, with: reading.payload, origin: origin)
        }
        let file = apply(.file, .file, ["volume": 1, "logging": true])
        #expect(file.origin == .file && file.changes.map(\.name) == ["volume", "logging"])
        #expect(apply(.commandLine, .commandLine, ["volume": 3]).changes.map(\.new) == [.integer(3)])
        #expect(apply(.environment, .environment, ["volume": 2]).changes.isEmpty)
        #expect(layers.layer(at: 0) == .commandLine && layers.layer(at: 1) == .file)
        #expect(layers.put(.integer(4), at: 0, in: .storedPreference).changes.map(\.new) == [.integer(4)])
        _ = layers.removePreference(at: 0)
        #expect(apply(.commandLine, .commandLine, [:]).changes.map(\.new) == [.integer(2)])
        #expect(apply(.environment, .environment, [:]).changes.map(\.new) == [.integer(1)])
        #expect(apply(.file, .file, ["volume": 1]).changes.map(\.name) == ["logging"])
    }
}
