// The same wrong value has the same text everywhere: in the app that is offered it, reads it as an edit or assigns it,
// and by the document of its schema, with which the daemon, the shell and a signer judge.

import PairedConfiguration
import Synchronization
import TandemBase
import TandemCrypto
import TandemFiles
import TandemPropertyList
import TandemSettings
import TandemSignedConfiguration
import Testing

/// Every editor and every type, each with a rule that values can break.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class EveryEditor: Configuration, @unchecked Sendable {
    enum Mode: String, CaseIterable, SettingRepresentable { case fast, quiet }
    struct Frame: Codable, Equatable, Sendable { var width = 1 }

    @Toggle("Toggle", on: "dark", off: "light") var toggle = false
    @Slider("Slider", in: 50...100) var slider = 75
    @Slider("Slider of floats", in: 60.5...120.25) var floatSlider: Float = 70
    @Slider("Slider of doubles", in: -1...1) var doubleSlider = 0.5
    @Edit("Integer", in: 0...99, matching: "^[0-9]$") var integer = 1
    @Edit("Float", in: 0...1) var float: Float = 0.5
    @Edit("Double", in: 0...1) var double = 0.5
    @Edit("Text", matching: "^[a-z]+$") var text = "a"
    @Edit("Optional text", matching: "^#") var optional: String?
    @Edit("Secret", matching: "^[a-z]+$", secret: true) var secret = "a"
    @Choice("Choice", ["Low": 1, "High": 9]) var choice = 1
    @Choice("Choice of an enumeration") var mode = Mode.fast
    @EditableChoice("Editable number", in: 0...9, ["One": 1]) var editable = 1
    @EditableChoice("Editable text", matching: "^#", ["Night": "#0"]) var editableText = "#0"
    @Preference var strings: [String] = []
    @Preference var preferredMode = Mode.quiet
    @Preference var data: [UInt8] = []
    @Preference var date = PropertyListDate(millisecondsSinceReferenceDate: 0)
    @Preference var url: SettingURL?
    @Preference var array: [PropertyListValue] = []
    @Preference var dictionary: PropertyListDictionary = [:]
    @Preference var set: Set<String> = []
    @Preference var frame = Frame()

    override var publicKey: String? { AppConfiguration.key.publicKey.key.pem }
    override var allowsInvalidSignatures: Bool { false }
}

@Suite struct SameTextTests {
    private let fixture: Fixture

    init() throws { fixture = try Fixture() }

    private static let wrong: [(key: String, value: PropertyListValue, text: String)] = [
        ("toggle", 7, "toggle: 7 is not of type boolean"),
        ("slider", 101, "slider: 101 is over the maximum 100"),
        ("slider", "80", "slider: '80' is not of type integer"),
        ("slider", 75.5, "slider: 75.5 is not of type integer"),
        ("floatSlider", 60.25, "floatSlider: 60.25 is under the minimum 60.5"),
        ("floatSlider", true, "floatSlider: true is not of type float"),
        ("doubleSlider", 1.5, "doubleSlider: 1.5 is over the maximum 1"),
        ("integer", 12, "integer: 12 does not match '^[0-9]$'"),
        ("integer", -1, "integer: -1 is under the minimum 0"),
        ("float", 2, "float: 2 is over the maximum 1"),
        ("double", "x", "double: 'x' is not of type double"),
        ("text", "A", "text: 'A' does not match '^[a-z]+$'"),
        ("text", ["a"], "text: an array of 1 is not of type string"),
        ("optional", "blue", "optional: 'blue' does not match '^#'"),
        ("secret", "Swordfish", "secret: <redacted> does not match '^[a-z]+$'"),
        ("secret", 7, "secret: <redacted> is not of type string"),
        ("choice", 5, "choice: 5 is none of the choices: 'Low' (1), 'High' (9)"),
        ("mode", "loud", "mode: 'loud' is none of the choices: 'fast', 'quiet'"),
        ("editable", 10, "editable: 10 is over the maximum 9"),
        ("editableText", "blue", "editableText: 'blue' does not match '^#'"),
        ("strings", "a", "strings: 'a' is not of type strings"),
        ("preferredMode", 1, "preferredMode: 1 is not of type string"),
        ("gone", 1, "there is no property 'gone'"),
    ]

    /// Values that nobody can sign: of local types, and a list of anything but texts.
    private static let wrongEdits: [(key: String, value: PropertyListValue, text: String)] = [
        ("strings", [1], "strings: an array of 1 is not of type strings"), ("data", 1, "data: 1 is not of type data"),
        ("date", "now", "date: 'now' is not of type date"),
        ("url", "a b", "url: 'a b' is not of type url"), ("array", 1, "array: 1 is not of type array"),
        ("dictionary", [1], "dictionary: an array of 1 is not of type dictionary"),
        ("set", 1, "set: 1 is not of type set"), ("set", ["a", 1], "set: an array of 2 is not of type set"),
        ("frame", ["a": 1], "frame: a dictionary of 1 is not of type coded"),
    ]

    private var schema: SettingsSchema {
        get throws {
            let document = try SchemaDocument(writing: EveryEditor().declarations)
            return try SchemaDocument(reading: document.bytes).schema
        }
    }

    private func text(_ judge: () throws -> Void) -> String? {
        do {
            try judge()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("SCH-3: a wrong signed value has one text, in the app and by its document")
    func signed() throws {
        let schema = try schema
        let app = EveryEditor()
        fixture.load(app, in: nil)
        for (key, value, expected) in Self.wrong {
            let values: PropertyListDictionary = [key: value]
            #expect(text { _ = try schema.payload(values) } == expected, "daemon and signer")
            let reply = app.sessionDidReceiveMessage(try fixture.message(try fixture.envelope(values: values)))
            #expect(reply?["tandem.verdict"] == "schema" && reply?["tandem.text"] == .string(expected), "app")
        }
        for (key, value, _) in Self.wrongEdits where key != "strings" {
            let type = EveryEditor().declarations.first { $0.name == key }?.type.rawValue ?? ""
            let expected = "\(key): a value of type \(type) cannot be signed"
            #expect(text { _ = try schema.payload([key: value]) } == expected)
        }
    }

    @Test("SCH-3: a wrong edit has one text, in the app and by its document, and it is that of a signed value")
    func edited() throws {
        let schema = try schema
        try Fixture.withDirectory { directory in
            let app = EveryEditor()
            fixture.load(app, in: directory.path)
            let events = Mutex<[String]>([])
            let observation = app.observeEvents { event in
                if case .editIgnored(let error) = event { events.withLock { $0.append(error.description) } }
            }
            for (key, value, expected) in Self.wrong + Self.wrongEdits {
                let values: PropertyListDictionary = [key: value]
                var edits = SettingEdits()
                #expect(text { _ = try edits.set(values, by: .user, in: schema) } == expected, "daemon and shell")
                try directory.write("edits.plist", ["v": 1, "values": .dictionary(values)])
                app.reload()
                #expect(events.withLock { $0.last } == expected, "app")
            }
            #expect(events.withLock { $0.count } == Self.wrong.count + Self.wrongEdits.count)
            observation.cancel()
        }
    }

    @Test("SCH-3: an assignment in the app has the text of every other source")
    func assigned() throws {
        let app = EveryEditor()
        let judges: [(String, () throws -> Void)] = [
            ("slider: 101 is over the maximum 100", { try app.$slider.set(101) }),
            ("floatSlider: 60.25 is under the minimum 60.5", { try app.$floatSlider.set(60.25) }),
            ("doubleSlider: 1.5 is over the maximum 1", { try app.$doubleSlider.set(1.5) }),
            ("integer: 12 does not match '^[0-9]$'", { try app.$integer.set(12) }),
            ("text: 'A' does not match '^[a-z]+$'", { try app.$text.set("A") }),
            ("optional: 'blue' does not match '^#'", { try app.$optional.set("blue") }),
            ("secret: <redacted> does not match '^[a-z]+$'", { try app.$secret.set("Swordfish") }),
            ("choice: 5 is none of the choices: 'Low' (1), 'High' (9)", { try app.$choice.set(5) }),
            ("editable: 10 is over the maximum 9", { try app.$editable.set(10) }),
            ("editableText: 'blue' does not match '^#'", { try app.$editableText.set("blue") }),
        ]
        for (expected, judge) in judges {
            #expect(text(judge) == expected && Self.wrong.contains { $0.text == expected })
        }
    }
}
