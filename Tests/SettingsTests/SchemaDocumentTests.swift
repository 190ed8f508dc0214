// The schema as a document: the way there and back for random declarations, one form of each, what a reader passes over
// and what it refuses, its limits, and secrets that do not travel.

import TandemBase
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

@Suite struct SchemaDocumentTests {
    private static func document(_ root: PropertyListDictionary) throws -> SchemaDocument {
        try SchemaDocument(reading: try PropertyListWriter.write(root))
    }

    private static func row(_ changes: PropertyListDictionary = [:]) -> PropertyListDictionary {
        var row: PropertyListDictionary = ["key": "volume", "type": "integer", "editor": "edit", "default": 7]
        for (key, value) in changes { row[key] = value }
        return row
    }

    private static func document(of row: PropertyListDictionary) throws -> SchemaDocument {
        try document(["v": 1, "properties": [.dictionary(row)]])
    }

    private func location(_ row: PropertyListDictionary) -> String? {
        do {
            _ = try Self.document(of: row)
            return nil
        } catch let error as SchemaError {
            return error.location
        } catch {
            return "\(error)"
        }
    }

    @Test("SCH-2, LIM-154: names over their length and labels of many marks are never compared by Unicode")
    func marks() throws {
        let marks = ["\u{301}\u{316}", "\u{316}\u{301}"].map { String(repeating: $0, count: 100) }
        let long = SettingsSchema(
            marks.map {
                SettingDeclaration(name: $0, type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(true))
            }, isForeign: true)
        #expect(long.problems == marks.map { .invalidName($0) } && long.index(of: marks[0]) == nil)
        let choices = (marks + ["\u{E9}", "e\u{301}"]).map { SettingChoice(label: $0, value: .integer($0.utf8.count)) }
        let schema = SettingsSchema(
            [
                SettingDeclaration(
                    name: "volume", type: .integer, editor: .choice, summary: "", choices: choices,
                    initialValue: .integer(2))
            ], isForeign: true)
        #expect(schema.problems == [.duplicateLabel(property: "volume", label: "e\u{301}")])
        #expect(location(Self.row(["type": "set", "default": [.string(marks[0])]]))?.hasSuffix("default") == true)
    }

    @Test("SCH-1, SCH-5: random declarations are read back as they were, and equal ones are equal bytes")
    func roundTrip() throws {
        var random = SeededGenerator(seed: 14)
        for _ in 0..<500 {
            let declarations = (0..<Int.random(in: 0...8, using: &random)).map { RandomSchema.declaration($0, &random) }
            let written = try SchemaDocument(writing: declarations)
            let read = try SchemaDocument(reading: written.bytes)
            #expect(read.schema.declarations.count == declarations.count)
            for (old, new) in zip(declarations, read.schema.declarations) { #expect(RandomSchema.isSame(old, new)) }
            #expect(try SchemaDocument(writing: read.schema.declarations).bytes == written.bytes)
        }
    }

    @Test("SCH-1: each row of the table has its form")
    func forms() throws {
        let declaration = SettingDeclaration(
            name: "volume", type: .integer, editor: .slider, summary: "How loud", bounds: .integer(0...100),
            pattern: "^[0-9]+$", choices: [SettingChoice(label: "Low", value: .integer(10))], icon: .volume,
            needsRestart: true, allowsNothing: true, title: "Volume", page: "Sound", access: .counterpart,
            initialValue: .integer(7))
        let bytes = try SchemaDocument(writing: [declaration]).bytes
        let expected: PropertyListDictionary = [
            "v": 1,
            "properties": [
                [
                    "key": "volume", "type": "integer", "editor": "slider", "title": "Volume",
                    "description": "How loud", "page": "Sound", "minimum": 0, "maximum": 100, "pattern": "^[0-9]+$",
                    "choices": [["label": "Low", "value": 10]], "default": 7, "icon": "volume", "nothing": true,
                    "restart": true, "access": "counterpart",
                ]
            ],
        ]
        #expect(try PropertyListReader.readDictionary(bytes) == expected)
    }

    @Test("SCH-21: the keys of open buttons are read as they were written, and another form is refused")
    func buttons() throws {
        let written = try SchemaDocument(writing: [], buttons: ["b", "a"])
        #expect(try SchemaDocument(reading: written.bytes).buttons == ["a", "b"])
        #expect(try PropertyListReader.readDictionary(written.bytes)["buttons"] == ["a", "b"])
        #expect(try SchemaDocument(writing: []).buttons.isEmpty)
        for form: PropertyListValue in ["a", [1], [""], [.string(String(repeating: "k", count: 257))], [:]] {
            #expect(throws: SchemaError.self, "\(form)") {
                try Self.document(["v": 1, "properties": [], "buttons": form])
            }
        }
        #expect(throws: SchemaError.self) { try SchemaDocument(writing: [], buttons: [""]) }
        #expect(throws: SchemaError.self) {
            try SchemaDocument(writing: [], buttons: Set((0...SchemaDocument.propertyLimit).map { "b\($0)" }))
        }
    }

    @Test("SCH-2: unknown keys and an unknown icon are passed over; an unknown word that judges values is refused")
    func unknown() throws {
        let known = try Self.document(of: Self.row(["icon": "sparkle", "later": ["a": 1]])).schema.declarations[0]
        #expect(known.icon == nil && known.initialValue == .integer(7))
        #expect(try Self.document(["v": 1, "properties": [], "later": true]).schema.declarations.isEmpty)
        for key in ["type", "editor", "access"] {
            #expect(location(Self.row([key: "later"])) == "properties[0].\(key)")
        }
    }

    @Test("SCH-2: a document of another form is refused with the location, and shows no value")
    func hostile() throws {
        let rows: [(PropertyListDictionary, String)] = [
            (Self.row(["key": 1]), "key"), (Self.row(["type": 1]), "type"), (Self.row(["default": "x"]), "default"),
            (Self.row(["minimum": 1]), "minimum"), (Self.row(["minimum": 2, "maximum": 1]), "maximum"),
            (Self.row(["minimum": "a", "maximum": 1]), "minimum"), (Self.row(["choices": 1]), "choices"),
            (Self.row(["choices": [1]]), "choices[0]"), (Self.row(["choices": [["label": "a"]]]), "choices[0].value"),
            (Self.row(["choices": [["value": 1]]]), "choices[0].label"), (Self.row(["secret": 1]), "secret"),
            (Self.row(["description": 1]), "description"), (Self.row(["pattern": true]), "pattern"),
            (Self.row(["icon": 1]), "icon"),
        ]
        for (row, key) in rows { #expect(location(row) == "properties[0].\(key)") }
        for row in [Self.row(["key": ""]), Self.row(["pattern": "("])] { #expect(location(row) == "properties") }
        let float: PropertyListDictionary = ["type": "float", "default": 1e300]
        #expect(location(Self.row(float)) == "properties[0].default", "no float is that large")
        for root: PropertyListDictionary in [
            [:], ["v": 2, "properties": []], ["v": 1], ["v": 1, "properties": [1]],
            ["v": 1, "properties": [.dictionary(Self.row()), .dictionary(Self.row())]],
        ] {
            #expect(throws: SchemaError.self) { try Self.document(root) }
        }
        #expect(throws: SchemaError.self) { try SchemaDocument(reading: Array("bplist00 and nothing".utf8)) }
    }

    @Test("SCH-2: a document whose bytes were damaged anywhere is read or refused, and nothing traps")
    func damaged() throws {
        var random = SeededGenerator(seed: 2)
        let bytes = try SchemaDocument(writing: (0..<6).map { RandomSchema.declaration($0, &random) }).bytes
        for _ in 0..<2000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                damaged[Int.random(in: damaged.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let document = try? SchemaDocument(reading: damaged) else { continue }
            _ = try? document.schema.payload(["a0": 1, "a1": "x", "a2": 0.5])
        }
    }

    @Test("LIM-100, LIM-101: a schema of 262,144 bytes and 1,024 properties is one, and a larger one is none")
    func limits() throws {
        let row = { (number: Int) in
            SettingDeclaration(
                name: "a\(number)", type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(false))
        }
        let most = (0..<1024).map(row)
        #expect(try SchemaDocument(reading: SchemaDocument(writing: most).bytes).schema.declarations.count == 1024)
        #expect(throws: SchemaError("", .tooMany(1025))) { try SchemaDocument(writing: most + [row(1024)]) }
        let rows = (0..<1025).map { number in
            PropertyListValue.dictionary([
                "key": .string("a\(number)"), "type": "boolean", "editor": "toggle", "default": false,
            ])
        }
        #expect(throws: SchemaError("properties", .tooMany(1025))) {
            try Self.document(["v": 1, "properties": .array(rows)])
        }
        let text = { (count: Int) -> PropertyListDictionary in
            ["v": 1, "properties": [], "x": .string(String(repeating: "x", count: count))]
        }
        let around = try PropertyListWriter.write(text(200_000)).count - 200_000
        #expect(try Self.document(text(262_144 - around)).bytes.count == 262_144)
        #expect(throws: SchemaError("", .tooLarge(262_145))) { try Self.document(text(262_145 - around)) }
    }

    @Test("LIM-117: of the schemas of other devices the last 64 that were used are kept, and at most 4 MiB")
    func cache() throws {
        let document = try SchemaDocument(writing: [
            SettingDeclaration(name: "a", type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(false))
        ])
        var cache = SchemaCache()
        for number in 0..<64 { cache.insert(document, [UInt8(number)]) }
        #expect(cache.document([0])?.bytes == document.bytes)
        cache.insert(document, [64])
        #expect(cache.document([1]) == nil && cache.document([0]) != nil && cache.document([64]) != nil)
        let text = String(repeating: "x", count: 260_000)
        let large = try SchemaDocument(writing: [
            SettingDeclaration(name: "a", type: .boolean, editor: .toggle, summary: text, initialValue: .boolean(false))
        ])
        for number in 100..<117 { cache.insert(large, [UInt8(number)]) }
        #expect(cache.document([100]) == nil && cache.document([101]) != nil && cache.document([116]) != nil)
    }

    @Test("LIM-117: a short document that names one value thousands of times counts as what it takes in memory")
    func cacheOfRepeatedValues() throws {
        let choice: PropertyListValue = ["label": "l", "value": "a"]
        let property: PropertyListDictionary = ["key": "k", "type": "string", "editor": "choice", "default": "a"]
        var withChoices = property
        withChoices["choices"] = .array(Array(repeating: choice, count: 10_000))
        let documents: [PropertyListDictionary] = [
            ["v": 1, "properties": [.dictionary(withChoices)]],
            [
                "v": 1, "properties": [.dictionary(property)],
                "layout": ["pages": .array(Array(repeating: ["a": 1], count: 10_000))],
            ],
        ]
        for content in documents {
            var cache = SchemaCache()
            let document = try Self.document(content)
            #expect(document.bytes.count < 200_000)
            for number in 0..<8 { cache.insert(document, [UInt8(number)]) }
            #expect(cache.document([0]) == nil && cache.document([6]) != nil && cache.document([7]) != nil)
        }
    }

    @Test("LIM-110: the expressions of a schema have 2 MiB of code at most, and equal ones share theirs")
    func patternCode() throws {
        func declared(_ pattern: (Int) -> String) -> SettingsSchema {
            SettingsSchema(
                (0..<64).map { number in
                    SettingDeclaration(
                        name: "p\(number)", type: .string, editor: .edit, summary: "", pattern: pattern(number),
                        initialValue: .nothing)
                }, isForeign: true)
        }
        let large = "(?:abcdefghijklmnopqrstuvwxyz){280}"
        let shared = declared { $0.isMultiple(of: 2) ? large : large + "x" }
        #expect(shared.problems.isEmpty && shared.patternBytes < 200_000)
        #expect(declared { "\(large)\($0)" }.problems.contains { "\($0)".contains("2 MiB") })
        var cache = SchemaCache()
        let document = try SchemaDocument(writing: shared.declarations, isForeign: true)
        for number in 0..<64 { cache.insert(document, [UInt8(number)]) }
        #expect(cache.document([0]) == nil && cache.document([63]) != nil, "code counts in LIM-117")
    }

    @Test("SCH-3: the first search that is given up ends the judgement of a set")
    func costlySets() throws {
        let names = (0..<8).map { "p\($0)" }
        let schema = SettingsSchema(
            names.map {
                SettingDeclaration(
                    name: $0, type: .string, editor: .edit, summary: "", pattern: "^(a+)+$",
                    initialValue: .string("a"))
            })
        let text = String(repeating: "a", count: 40) + "b"
        let values = PropertyListDictionary(uniqueKeysWithValues: names.map { ($0, .string(text)) })
        let signed = #expect(throws: SettingsPayloadError.self) { try schema.payload(values) }
        var edits = SettingEdits()
        let edited = #expect(throws: SettingsPayloadError.self) { try edits.set(values, by: .user, in: schema) }
        #expect(signed?.errors.count == 1 && edited?.errors.count == 1)
    }

    @Test("SCH-4: the default of a secret stays in the app, and its values are judged without being shown")
    func secrets() throws {
        let secret = SettingDeclaration(
            name: "token", type: .string, editor: .edit, summary: "", pattern: "^[a-z]+$", isSecret: true,
            initialValue: .string("swordfish"))
        let document = try SchemaDocument(writing: [secret])
        #expect(try PropertyListReader.read(document.bytes).description.contains("swordfish") == false)
        let schema = try SchemaDocument(reading: document.bytes).schema
        var edits = SettingEdits()
        _ = try edits.set(["token": "abc"], by: .user, in: schema)
        let error = #expect(throws: SettingsPayloadError.self) {
            try edits.set(["token": "ABC"], by: .user, in: schema)
        }
        #expect(error?.description == "token: <redacted> does not match '^[a-z]+$'")
    }

    @Test("SCH-3: a schema that was read judges values with the app's own texts")
    func sameTexts() throws {
        var random = SeededGenerator(seed: 3)
        let samples: [PropertyListValue] = [true, 7, -1, 1_000_000, 0.5, 1e30, "x", "aa", ["a"], .data([1]), [:]]
        for _ in 0..<200 {
            let declaration = RandomSchema.declaration(0, &random)
            let own = SettingsSchema([declaration])
            let read = try SchemaDocument(reading: SchemaDocument(writing: [declaration]).bytes).schema
            for sample in samples {
                let texts = [own, read].map { schema -> String in
                    do throws(SettingsPayloadError) {
                        _ = try schema.payload(["a0": sample])
                        return "taken"
                    } catch { return error.description }
                }
                #expect(texts[0] == texts[1])
            }
        }
    }
}

/// Declarations of every type and editor, made by a seeded generator.
enum RandomSchema {
    static func declaration(_ number: Int, _ random: inout SeededGenerator) -> SettingDeclaration {
        let type = SettingType.allCases.randomElement(using: &random) ?? .string
        let editors: [SettingEditor] = [.toggle, .slider, .edit, .choice, .editableChoice, .preference]
        let values = (0..<3).map { _ in value(type, &random) }
        let isNumber = type == .integer || type == .float || type == .double
        return SettingDeclaration(
            name: "a\(number)", type: type, editor: editors.randomElement(using: &random) ?? .edit,
            summary: text(&random), bounds: isNumber && Bool.random(using: &random) ? bounds(type, &random) : nil,
            pattern: Bool.random(using: &random) ? "^[a-z0-9.]*$" : nil,
            choices: values.enumerated().map { SettingChoice(label: "label \($0)", value: $1) },
            icon: SliderIcon.allCases.randomElement(using: &random), needsRestart: .random(using: &random),
            allowsNothing: .random(using: &random),
            toggleValues: type == .boolean && .random(using: &random) ? ToggleValues(on: "1", off: "0") : nil,
            title: Bool.random(using: &random) ? text(&random) : nil,
            page: Bool.random(using: &random) ? text(&random) : nil,
            access: SettingAccess.allCases.randomElement(using: &random) ?? .user, initialValue: values[0])
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        String((0..<Int.random(in: 0...6, using: &random)).map { _ in "aä€ 7".randomElement(using: &random) ?? "a" })
    }

    private static func bounds(_ type: SettingType, _ random: inout SeededGenerator) -> SettingBounds {
        let least = Int.random(in: -100...0, using: &random)
        let most = Int.random(in: 0...100, using: &random)
        return switch type {
        case .float: .float(Float(least) / 3...Float(most) / 3)
        case .double: .double(Double(least) / 3...Double(most) / 3)
        default: .integer(least...most)
        }
    }

    private static func value(_ type: SettingType, _ random: inout SeededGenerator) -> SettingValue {
        let number = Int.random(in: -200...200, using: &random)
        return switch type {
        case .boolean: .boolean(number > 0)
        case .integer: .integer(number)
        case .float: .float(Float(number) / 7)
        case .double: .double(Double(number) / 7)
        case .string: .string(text(&random))
        case .strings: .strings([text(&random), text(&random)])
        case .data: .data([UInt8(truncatingIfNeeded: number)])
        case .date: .date(PropertyListDate(millisecondsSinceReferenceDate: Int64(number)))
        case .url: .url("localhost:8080")
        case .array: .array([.integer(Int64(number)), "a"])
        case .dictionary: .dictionary(["a": .integer(Int64(number))])
        case .set: .set(["b", "a", .string("\(number)")])
        case .coded: .coded(CodedSetting(tag: "Frame", version: 1, bytes: [UInt8(truncatingIfNeeded: number)]))
        }
    }

    static func isSame(_ left: SettingDeclaration, _ right: SettingDeclaration) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.type == right.type && left.editor == right.editor
            && left.summary == right.summary && left.bounds == right.bounds && left.pattern == right.pattern
            && left.choices == right.choices && left.icon == right.icon && left.needsRestart == right.needsRestart
            && left.allowsNothing == right.allowsNothing && left.toggleValues == right.toggleValues
            && left.title == right.title && left.page == right.page && left.access == right.access
            && left.initialValue == right.initialValue
    }
}
