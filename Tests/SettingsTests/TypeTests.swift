// Types of settings: the way to property lists and back, the types that may be signed, sets, URLs, toggles as stores
// and pages spell them, and secrets, which no text shows.

import TandemPropertyList
import TandemSettings
import Testing

@Suite struct TypeTests {
    private static let samples: [(SettingType, SettingValue, PropertyListValue)] = [
        (.boolean, .boolean(true), true), (.integer, .integer(-7), -7),
        (.float, .float(0.1), .real(Double(Float(0.1)))),
        (.double, .double(0.1), 0.1), (.string, .string("a"), "a"), (.strings, .strings(["a", ""]), ["a", ""]),
        (.data, .data([0, 255]), .data([0, 255])),
        (
            .date, .date(PropertyListDate(millisecondsSinceReferenceDate: 1)),
            .date(PropertyListDate(millisecondsSinceReferenceDate: 1))
        ),
        (.url, .url("localhost:8080"), "localhost:8080"), (.array, .array([1, "a", [true]]), [1, "a", [true]]),
        (.dictionary, .dictionary(["a": ["b": 1]]), ["a": ["b": 1]]), (.set, .set(["b", "a"]), ["a", "b"]),
        (
            .coded, .coded(CodedSetting(tag: "Frame", version: 2, bytes: [1])),
            ["tag": "Frame", "version": 2, "data": .data([1])]
        ),
    ]

    private static func declaration(
        _ type: SettingType, _ initial: SettingValue, pattern: String? = nil, secret: Bool = false,
        restart: Bool = false, toggle: ToggleValues? = nil
    ) -> SettingDeclaration {
        SettingDeclaration(
            name: "property", type: type, editor: .edit, summary: "", pattern: pattern, needsRestart: restart,
            isSecret: secret, allowsNothing: true, toggleValues: toggle, initialValue: initial)
    }

    @Test("SET-40: every type has one property-list form, from which an equal value is read")
    func everyTypeHasOneForm() {
        #expect(Self.samples.count == SettingType.allCases.count)
        for (type, value, form) in Self.samples {
            #expect(value.propertyListValue == form, "\(type)")
            #expect(SettingValue(form, as: type) == value, "\(type)")
            #expect(SettingsSchema([Self.declaration(type, value)]).problems.isEmpty, "\(type)")
        }
        #expect(SettingValue.nothing.propertyListValue == nil)
    }

    @Test("SET-40: a value is equal to itself, and is of its own type; a set is also an array")
    func eachValueHasOneType() {
        for (type, value, _) in Self.samples {
            for (other, another, _) in Self.samples {
                #expect((value == another) == (type == other), "\(type) and \(other)")
                let problem = SettingsSchema([Self.declaration(other, another)]).problem(of: value, at: 0)
                #expect((problem == nil) == (type == other || (type, other) == (.set, .array)), "\(type) as \(other)")
            }
        }
    }

    @Test("SET-40: a form of another type is no value")
    func anotherTypesFormIsNoValue() {
        let foreign: [(SettingType, PropertyListValue)] = [
            (.strings, ["a", 1]), (.strings, "a"), (.data, "a"), (.date, 1.0), (.url, "a b"), (.url, ""), (.url, "%4"),
            (.url, "%zz"), (.url, 1), (.array, [:]), (.dictionary, []), (.set, [:]), (.set, ["a", 1]),
            (.coded, .data([])),
            (.coded, ["tag": "a", "version": 0, "data": .data([])]), (.coded, ["tag": "a", "version": 1]),
            (.coded, ["tag": "a", "version": 1, "data": .data([]), "more": 1]),
        ]
        for (type, form) in foreign { #expect(SettingValue(form, as: type) == nil, "\(type) \(form)") }
    }

    @Test("SET-40: an integer stands for a real if it is exactly that number, above 2^63 too")
    func integersAsReals() {
        let exact: [(PropertyListValue, Double)] = [
            (-3, -3), (.unsigned(1 << 63), 0x1p63), (.unsigned(3 << 62), 0x3p62),
        ]
        for (form, number) in exact {
            #expect(SettingValue(form, as: .double) == .double(number))
            #expect(SettingValue(form, as: .float) == .float(Float(number)))
        }
        for form in [.integer(1 << 53 + 1), .unsigned(.max)] as [PropertyListValue] {
            #expect(SettingValue(form, as: .double) == nil && SettingValue(form, as: .float) == nil)
        }
        #expect(SettingValue(.unsigned(1 << 63), as: .integer) == nil)
    }

    @Test("SET-41: a set has each element once, and its order does not matter")
    func aSetHasEachElementOnce() {
        #expect(SettingValue.set([2, "a", 2, 1, "a"]) == SettingValue.set(["a", 1, 2]))
        #expect(SettingValue.set([1]) != SettingValue.set([1.0]))
        let (short, long) = ("\u{E9}", "e\u{301}")
        for texts in [[short, long], [long, short]] {
            let value = SettingValue(.array(texts.map { .string($0) }), as: .set)
            #expect(value == .array([.string(long)]), "one text in two spellings")
        }
        let schema = SettingsSchema([Self.declaration(.set, .set([]))])
        #expect(schema.problem(of: .set(["b", "a"]), at: 0) == nil)
        #expect(schema.problem(of: .array(["a", "a"]), at: 0)?.rule == .type(.set))
        #expect(schema.problem(of: .set([1]), at: 0)?.rule == .type(.set), "only texts")
    }

    @Test("SET-42: a URL is checked text of at most 2,048 bytes")
    func aURLIsCheckedText() {
        for text in ["localhost:8080", "https://example.org/a?b=c#d", "/path", "a%20b", "http://[::1]/"] {
            #expect(SettingURL(text)?.text == text)
        }
        for text in ["", "a b", "a\n", "é", "<a>", "%", "%2", "%2g", String(repeating: "a", count: 2049)] {
            #expect(SettingURL(text) == nil)
        }
        #expect(SettingURL(String(repeating: "a", count: 2048)) != nil)
    }

    @Test("CFG-12: a signed value may be a list of strings; every other further type is local only")
    func furtherTypesAreLocalOnly() throws {
        for (type, value, form) in Self.samples {
            let schema = SettingsSchema([Self.declaration(type, value)])
            if type.isSignable {
                #expect(try schema.payload(["property": form]).values == [value])
            } else {
                let error = #expect(throws: SettingsPayloadError.self) { try schema.payload(["property": form]) }
                #expect(error?.errors.map(\.rule) == [.localOnly(type)])
            }
        }
        #expect(SettingType.allCases.filter(\.isSignable) == [.boolean, .integer, .float, .double, .string, .strings])
    }

    @Test("SET-41, LIM-154: an element with many combining marks in a row is refused by name")
    func marks() {
        func list(_ count: Int) -> PropertyListValue {
            .array([.string("a" + String(repeating: "\u{301}", count: count))])
        }
        let schema = SettingsSchema([Self.declaration(.set, .set([]))])
        #expect(SettingValue(list(30), as: .set) != nil && SettingValue(list(31), as: .set) == nil)
        #expect(SettingValue(list(31), as: .strings) != nil, "the elements of a list are not compared")
        #expect(schema.mistype(list(31), at: 0).rule.name == "not-storable")
        #expect(schema.mistype(["a", 1], at: 0).rule == .type(.set))
        #expect(schema.problem(of: .array(list(31).arrayValue ?? []), at: 0)?.rule.name == "not-storable")
    }

    @Test("SET-43: a value that no property list can hold is refused where it is set")
    func whatCannotBeStoredIsRefused() {
        let cases: [(SettingType, SettingValue)] = [
            (.array, .array([.real(.infinity)])), (.dictionary, .dictionary(["": 1])),
            (.dictionary, .dictionary([String(repeating: "k", count: 257): 1])),
            (.date, .date(PropertyListDate(millisecondsSinceReferenceDate: .max))),
        ]
        for (type, value) in cases {
            let schema = SettingsSchema([Self.declaration(type, .nothing)])
            #expect(schema.problem(of: value, at: 0)?.rule.name == "not-storable", "\(value)")
        }
    }

    @Test("SET-44: every text of a list keeps the expression")
    func everyTextOfAListKeepsTheExpression() {
        let schema = SettingsSchema([Self.declaration(.strings, .strings([]), pattern: "^[a-z]+$")])
        #expect(schema.problem(of: .strings(["a", "bc"]), at: 0) == nil)
        #expect(schema.problem(of: .strings(["a", "1"]), at: 0)?.rule.name == "pattern")
    }

    @Test("SET-45: a toggle reads its own two values first, then booleans, numbers and the words for yes and no")
    func aToggleReadsForeignForms() {
        let words = Self.declaration(.boolean, .boolean(false), toggle: ToggleValues(on: "on", off: "off"))
        let plain = Self.declaration(.boolean, .boolean(false))
        let cases: [(SettingDeclaration, PropertyListValue, SettingValue?)] = [
            (words, "on", .boolean(true)), (words, "off", .boolean(false)), (words, 1, .boolean(true)),
            (words, 0, .boolean(false)), (words, true, .boolean(true)), (words, "maybe", nil),
            (plain, 1, .boolean(true)), (plain, 0.5, .boolean(true)), (plain, "YES", .boolean(true)),
            (plain, "0", .boolean(false)), (plain, "on", nil), (plain, .data([1]), nil), (plain, [], nil),
        ]
        for (declaration, stored, value) in cases { #expect(declaration.value(stored: stored) == value, "\(stored)") }
        #expect(words.stored(.boolean(true)) == "on")
        #expect(words.stored(.boolean(false)) == "off")
        #expect(plain.stored(.boolean(true)) == true)
        let inverted = Self.declaration(.boolean, .boolean(false), toggle: ToggleValues(on: 0, off: 1))
        #expect(inverted.value(stored: 0) == .boolean(true))
        #expect(inverted.value(stored: 1) == .boolean(false))
    }

    @Test("SET-45: no other type is read loosely, and no signed value is")
    func onlyStoredTogglesAreReadLoosely() {
        #expect(Self.declaration(.integer, .integer(0)).value(stored: "1") == nil)
        #expect(Self.declaration(.string, .string("")).value(stored: 1) == nil)
        let schema = SettingsSchema([Self.declaration(.boolean, .boolean(false))])
        #expect(throws: SettingsPayloadError.self) { try schema.payload(["property": 1]) }
    }

    @Test("SET-46: no error, change, snapshot, declaration or dump shows a secret")
    func nothingShowsASecret() throws {
        let canary = "correct horse"
        let secret = Self.declaration(.string, .string(canary), pattern: "^[a-z ]+$", secret: true)
        let schema = SettingsSchema([secret])
        var texts: [String] = []
        func show(_ value: Any) {
            var dumped = ""
            dump(value, to: &dumped)
            texts += ["\(value)", String(reflecting: value), dumped]
        }
        show(try #require(schema.problem(of: .string(canary + "1"), at: 0)))
        let refused = #expect(throws: SettingsPayloadError.self) { try schema.payload(["property": "\(canary)!"]) }
        show(try #require(refused))
        let unknown = #expect(throws: SettingsPayloadError.self) { try schema.payload(["other": "\(canary)"]) }
        show(try #require(unknown))
        show(schema.mistype("\(canary)", at: 0))
        var layers = SettingLayers(schema)
        show(layers.snapshot)
        show(layers.put(.string("\(canary)\(canary)"), at: 0, in: .storedPreference))
        show(secret)
        show(
            SettingsSchema([Self.declaration(.string, .string("\(canary)?"), pattern: "^[a-z ]+$", secret: true)])
                .problems)
        for text in texts { #expect(!text.contains(canary), "\(text)") }
        #expect(texts.contains { $0.contains(SettingError.redacted) })
    }

    @Test("SET-47: a change and a snapshot name the properties that need a restart")
    func theRestartFlagIsTold() throws {
        var layers = SettingLayers(SettingsSchema([Self.declaration(.integer, .integer(1), restart: true)]))
        let changes = layers.put(.integer(2), at: 0, in: .storedPreference)
        #expect(changes["property"]?.needsRestart == true)
        #expect(changes["property"]?.description == "property: 1 -> 2 (at the next start)")
        #expect(layers.snapshot.restartNames == ["property"])
    }
}
