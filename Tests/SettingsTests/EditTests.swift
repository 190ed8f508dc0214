// A user's edits: judged as a whole by the schema, never of keys that a signed configuration alone sets, with other
// spellings of a value at an import only; and the authors of edits.

import TandemBase
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct EditTests {
    private static let schema = SettingsSchema([
        SettingDeclaration(
            name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
            initialValue: .integer(7)),
        SettingDeclaration(
            name: "logging", type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(false)),
        SettingDeclaration(
            name: "server", type: .string, editor: .edit, summary: "", access: .signed, initialValue: .string("a")),
        SettingDeclaration(
            name: "name", type: .string, editor: .edit, summary: "", access: .counterpart, initialValue: .string("a")),
        SettingDeclaration(
            name: "night", type: .boolean, editor: .toggle, summary: "",
            toggleValues: ToggleValues(on: "dark", off: "light"), initialValue: .boolean(false)),
        SettingDeclaration(
            name: "colour", type: .string, editor: .edit, summary: "", allowsNothing: true, access: .counterpart,
            initialValue: .string("red")),
    ])

    private let primary = UniqueIdentifier.random()
    private var counterpart: SettingAuthor { .primary(primary) }

    private func refusal(
        _ changes: PropertyListDictionary, choices: PropertyListDictionary = [:], by editor: SettingAuthor = .user,
        in schema: SettingsSchema = EditTests.schema
    ) -> String? {
        var edits = SettingEdits()
        do throws(SettingsPayloadError) {
            _ = try edits.set(changes, choices: choices, by: editor, in: schema)
            return nil
        } catch {
            #expect(edits == SettingEdits(), "nothing is taken in part")
            return error.description
        }
    }

    @Test("SCH-8: edits are taken as a whole, and refused with the texts of every other source")
    func judged() throws {
        #expect(refusal(["volume": 80, "logging": true]) == nil)
        #expect(refusal(["volume": 101, "logging": true]) == "volume: 101 is over the maximum 100")
        #expect(refusal(["volume": "80"]) == "volume: '80' is not of type integer")
        #expect(refusal(["volume": 5.0]) == "volume: 5.0 is not of type integer", "not as the integer that it is not")
        #expect(refusal(["speed": 1]) == "there is no property 'speed'")
        let signed = #expect(throws: SettingsPayloadError.self) { try Self.schema.payload(["volume": 101]) }
        #expect(signed?.description == refusal(["volume": 101]))
    }

    private static let lists = SettingsSchema([
        SettingDeclaration(
            name: "duration", type: .integer, editor: .editableChoice, summary: "", bounds: .integer(0...365),
            choices: [SettingChoice(label: "Week", value: .integer(7))], access: .counterpart,
            initialValue: .integer(7)),
        SettingDeclaration(
            name: "font", type: .string, editor: .choice, summary: "",
            choices: [SettingChoice(label: "Serif", value: .string("serif"))], initialValue: .string("serif")),
    ])

    private func list(_ pairs: (String, PropertyListValue)...) -> PropertyListValue {
        .array(pairs.map { ["label": .string($0.0), "value": $0.1] })
    }

    @Test("SET-56: values added to an editable list are kept with the edits, in their order, and can be taken back")
    func addedChoices() throws {
        var edits = SettingEdits()
        let added = list(("Month", 30), ("Quarter", 91))
        _ = try edits.set([:], choices: ["duration": added], by: .user, in: Self.lists)
        let read = try #require(SettingEdits(edits.dictionary))
        #expect(read == edits)
        let month = SettingChoice(label: "Month", value: .integer(30))
        #expect(
            read.choices.choices(at: 0, in: Self.lists) == [
                month, SettingChoice(label: "Quarter", value: .integer(91)),
            ])
        // A value that the schema no longer takes is not offered.
        let stale = AddedChoices(["duration": list(("Old", 400), ("Month", 30)), "font": list(("A", "a"))])
        #expect(stale.choices(at: 0, in: Self.lists) == [month] && stale.choices(at: 1, in: Self.lists).isEmpty)
        edits = try #require(SettingEdits(["v": 1, "values": [:], "choices": ["duration": added, "gone": added]]))
        _ = try edits.set([:], choices: ["duration": [], "gone": []], by: .user, in: Self.lists)
        #expect(edits == SettingEdits() && edits.dictionary == SettingEdits().dictionary)
    }

    @Test("SET-56: an added value keeps the rules of its property, and a list its labels; LIM-115 of them are kept")
    func refusedChoices() throws {
        func refusal(_ changes: PropertyListDictionary) -> String? {
            self.refusal(["duration": 8], choices: changes, in: Self.lists)
        }
        #expect(refusal(["duration": list(("Long", 366))]) == "duration: 366 is over the maximum 365")
        #expect(refusal(["duration": list(("Text", "7"))]) == "duration: '7' is not of type integer")
        let label = "duration: a label has 1 to 128 bytes and stands once"
        #expect(refusal(["duration": list(("Week", 8))]) == label)
        #expect(
            refusal(["duration": list(("A", 8), ("A", 9))]) == label && refusal(["duration": list(("", 1))]) == label)
        #expect(refusal(["duration": [1]]) == "duration: an added value is a dictionary of 'label' and 'value'")
        #expect(refusal(["font": list(("Sans", "sans"))]) == "font: its list cannot be edited")
        #expect(refusal(["gone": list(("A", 1))]) == "there is no property 'gone'")
        let many = (0...64).map { PropertyListValue.dictionary(["label": .string("\($0)"), "value": 1]) }
        #expect(refusal(["duration": .array(Array(many.dropLast()))]) == nil)
        #expect(refusal(["duration": .array(many)]) == "duration: a list has at most 64 added values")
    }

    @Test("SCH-9: no edit sets a key for signed configuration, and the paired device only those that are open to it")
    func access() throws {
        #expect(refusal(["server": "b"]) == "server: only a signed configuration sets it")
        #expect(refusal(["server": "b"], by: counterpart) == "server: only a signed configuration sets it")
        #expect(refusal(["name": "b"], by: counterpart) == nil)
        #expect(
            refusal(["volume": 1], by: counterpart) == "volume: the app does not let the paired device edit it")
        var edits = SettingEdits()
        _ = try edits.set(["volume": 1, "name": "b"], by: .user, in: Self.schema)
        #expect(throws: SettingsPayloadError.self) {
            try edits.reset(["volume"], by: counterpart, in: Self.schema)
        }
        #expect(try edits.reset(nil, by: counterpart, in: Self.schema) == ["name"])
        #expect(edits.values == ["volume": 1])
    }

    @Test("SCH-8: a reset takes back edits of keys that the schema no longer has: a person's all, a primary's its own")
    func formerKeys() throws {
        let former = SettingsSchema(
            ["old", "older", "oldest"].map {
                SettingDeclaration(
                    name: $0, type: .integer, editor: .edit, summary: "", access: .counterpart,
                    initialValue: .integer(0))
            })
        var edits = SettingEdits()
        _ = try edits.set(["old": 1], by: .user, in: former)
        _ = try edits.set(["older": 2], by: counterpart, in: former)
        _ = try edits.set(["oldest": 3], by: .primary(.random()), in: former)
        var others = edits
        let unknown = #expect(throws: SettingsPayloadError.self) {
            try others.reset(["old"], by: counterpart, in: Self.schema)
        }
        #expect(unknown?.description == "there is no property 'old'")
        #expect(try others.reset(["older"], by: counterpart, in: Self.schema) == ["older"])
        var own = edits
        #expect(try own.reset(nil, by: counterpart, in: Self.schema) == ["older"])
        #expect(try edits.reset(nil, by: .user, in: Self.schema) == ["old", "older", "oldest"] && edits.keys.isEmpty)
    }

    @Test("SCH-8, SCH-9: a reset takes back edits of properties that were closed: a person's all, a primary's its own")
    func closedProperties() throws {
        func schema(_ access: SettingAccess) -> SettingsSchema {
            SettingsSchema(
                ["mine", "theirs"].map {
                    SettingDeclaration(
                        name: $0, type: .integer, editor: .edit, summary: "", access: access,
                        initialValue: .integer(0))
                })
        }
        var edits = SettingEdits()
        _ = try edits.set(["mine": 1], by: .user, in: schema(.counterpart))
        _ = try edits.set(["theirs": 2], by: counterpart, in: schema(.counterpart))
        for access in [SettingAccess.signed, .user] {
            let closed = schema(access)
            var (named, all, ofPrimary) = (edits, edits, edits)
            #expect(try named.reset(["mine", "theirs"], by: .user, in: closed) == ["mine", "theirs"])
            #expect(try all.reset(nil, by: .user, in: closed) == ["mine", "theirs"] && all.keys.isEmpty)
            #expect(throws: SettingsPayloadError.self) { try ofPrimary.reset(["mine"], by: counterpart, in: closed) }
            #expect(try ofPrimary.reset(nil, by: counterpart, in: closed) == ["theirs"] && ofPrimary.keys == ["mine"])
            #expect(throws: SettingsPayloadError.self) { try ofPrimary.reset(["theirs"], by: counterpart, in: closed) }
        }
        var none = SettingEdits()
        let refusal = #expect(throws: SettingsPayloadError.self) {
            try none.reset(["mine"], by: .user, in: schema(.signed))
        }
        #expect(refusal?.description == "mine: only a signed configuration sets it", "there is no edit of it")
    }

    private static let costly = SettingsSchema(
        (0..<16).map {
            SettingDeclaration(
                name: "p\($0)", type: .string, editor: .edit, summary: "", pattern: "[ab]*[cd]|x",
                access: .counterpart, initialValue: .string("x"))
        })

    /// A value whose search takes some 800,000 steps, for so many properties.
    private func costlyValues(_ count: Int) -> PropertyListDictionary {
        let text = String(repeating: "a", count: 900) + "x"
        return PropertyListDictionary(uniqueKeysWithValues: (0..<count).map { ("p\($0)", .string(text)) })
    }

    @Test("LIM-128, SCH-3: the searches of a set share their steps: of an edit, of a signed configuration")
    func sharedSteps() throws {
        var edits = SettingEdits()
        _ = try edits.set(costlyValues(8), by: .user, in: Self.costly)
        let edited = #expect(throws: SettingsPayloadError.self) {
            try edits.set(costlyValues(16), by: .user, in: Self.costly)
        }
        let signed = #expect(throws: SettingsPayloadError.self) { try Self.costly.payload(costlyValues(16)) }
        #expect(edited?.errors.map(\.rule) == [.patternTooCostly("[ab]*[cd]|x")] && edited == signed)
        #expect(try Self.costly.payload(costlyValues(8)).values.count { $0 != nil } == 8)
    }

    @Test("LIM-128: the searches of a configuration's defaults share their steps, and so do those of its choices")
    func sharedStepsOfDeclarations() throws {
        func problems(_ count: Int, _ costly: SettingValue, choices: Int) -> [DeclarationProblem] {
            let declarations = (0..<count).map { number in
                SettingDeclaration(
                    name: "p\(number)", type: .string, editor: choices > 0 ? .editableChoice : .edit, summary: "",
                    pattern: "[ab]*[cd]|x", choices: (0..<choices).map { SettingChoice(label: "\($0)", value: costly) },
                    initialValue: costly)
            }
            return SettingsSchema(declarations).problems
        }
        let costly = SettingValue.string(String(repeating: "a", count: 900) + "x")
        #expect(problems(8, costly, choices: 1).isEmpty && problems(100, .string("x"), choices: 1).isEmpty)
        let many = problems(16, costly, choices: 0)
        #expect((6...8).contains(many.count), "\(many.count) of 16")
        let choices = problems(2, costly, choices: 8)
        #expect((6...8).contains(choices.count), "\(choices.count) of 16")
        var layers = SettingLayers(SettingsSchema(Self.costly.declarations))
        let bad = layers.replaceDefaults([SettingValue](repeating: costly, count: 16))
        let kept = (0..<16).filter { layers.value(at: $0) == .string("x") }
        #expect((6...8).contains(bad.count) && kept == Array((16 - bad.count)..<16), "\(kept)")
    }

    @Test("LIM-128: when edits are read, costly ones of a primary leave the user's and another primary's their steps")
    func stepsOfAuthors() throws {
        var edits = SettingEdits()
        for number in 0..<15 {
            let value = costlyValues(16).filter { $0.key == "p\(number)" }
            _ = try edits.set(
                PropertyListDictionary(uniqueKeysWithValues: value.map { ($0.key, $0.value) }), by: counterpart,
                in: Self.costly)
        }
        _ = try edits.set(["p15": "x", "p9": "xx"], by: .user, in: Self.costly)
        _ = try edits.set(["p8": "xxx"], by: .primary(.random()), in: Self.costly)
        let taken = Self.costly.taken(edits)
        #expect(!taken.errors.isEmpty && taken.counterparts.count >= 8)
        #expect(taken.values[15] == .string("x") && taken.values[9] == .string("xx"))
        #expect(taken.values[8] == .string("xxx"))
    }

    @Test("SCH-11: other spellings are converted at an import only, and named")
    func loose() throws {
        let values: PropertyListDictionary = ["logging": "YES", "volume": "80", "name": 7]
        #expect(refusal(values) != nil)
        var edits = SettingEdits()
        let converted = try edits.set(values, by: .user, isLoose: true, in: Self.schema)
        #expect(converted == ["logging", "name", "volume"])
        #expect(edits.values == ["logging": true, "volume": 80, "name": "7"])
        #expect(throws: SettingsPayloadError.self) {
            try edits.set(["logging": "perhaps"], by: .user, isLoose: true, in: Self.schema)
        }
        #expect(try edits.set(["volume": 3], by: .user, isLoose: true, in: Self.schema).isEmpty)
    }

    @Test("SCH-8: a toggle's edit is kept in its own values, and read from them")
    func toggles() throws {
        var edits = SettingEdits()
        _ = try edits.set(["night": true], by: .user, in: Self.schema)
        #expect(edits.values == ["night": "dark"])
        _ = try edits.set(["night": "light"], by: .user, in: Self.schema)
        #expect(Self.schema.taken(edits).values[4] == .boolean(false))
        #expect(refusal(["night": "yes"]) != nil)
    }

    @Test("SCH-10: what the app's schema does not take is passed over, and the rest applies")
    func taken() throws {
        let file: PropertyListDictionary = [
            "v": 1, "values": ["volume": 80, "logging": 7, "server": "b", "gone": true],
        ]
        let edits = try #require(SettingEdits(file))
        let taken = Self.schema.taken(edits)
        #expect(taken.values == [.integer(80), nil, nil, nil, nil, nil] && taken.counterparts.isEmpty)
        #expect(taken.errors.map(\.rule.name) == ["unknown-property", "type", "signed-only"])
        #expect(edits.dictionary == file)
        for other: PropertyListDictionary in [[:], ["v": 2, "values": [:]], ["v": 1], ["v": 1, "values": []]] {
            #expect(SettingEdits(other) == nil && SettingEdits.isLater(other) == (other["v"] == 2))
        }
    }

    @Test("SCH-8: a reset takes an edit back, also of a key that the schema no longer has")
    func reset() throws {
        var edits = try #require(SettingEdits(["v": 1, "values": ["volume": 80, "gone": 1]]))
        #expect(throws: SettingsPayloadError.self) { try edits.reset(["speed"], by: .user, in: Self.schema) }
        #expect(try edits.reset(["gone", "logging"], by: .user, in: Self.schema) == ["gone"])
        #expect(try edits.reset(nil, by: .user, in: Self.schema) == ["volume"])
        #expect(edits == SettingEdits())
    }

    // MARK: authors

    @Test(
        "SCH-20, LIM-103, THR-135: the room of a primary depends on no edit of others, and on no guess that is right"
    )
    func rooms() throws {
        let secret = String(repeating: "swordfish", count: 10_000)
        let others: [String] = ["", secret, String(repeating: "x", count: 130_000)]
        for guess in [secret, String(repeating: "guesswork", count: 10_000)] {
            for other in others {
                var before = SettingEdits()
                _ = try before.set(["colour": .string(other)], by: .user, in: Self.schema)
                var after = before
                _ = try after.set(["name": .string(guess)], by: counterpart, in: Self.schema)
                #expect(after.fit(counterpart, since: before) && after.fit(.user, since: before))
                _ = try after.set(["name": .string(guess + secret)], by: counterpart, in: Self.schema)
                #expect(!after.fit(counterpart, since: before) && after.fit(.user, since: before))
                let bytes = try PropertyListWriter.write(before.dictionary, limits: SettingEdits.fileLimits)
                #expect(bytes.count <= SettingEdits.byteLimit)
            }
        }
        // The same value is the primary's, too: else the next edit would say so.
        var edits = SettingEdits()
        _ = try edits.set(["colour": .string(secret)], by: .user, in: Self.schema)
        _ = try edits.set(["colour": .string(secret)], by: counterpart, in: Self.schema)
        let before = edits
        _ = try edits.set(["name": "0123456789"], by: counterpart, in: Self.schema)
        #expect(edits.fit(counterpart, since: before) && edits["colour"]?.author == counterpart)
    }

    @Test("SCH-20, LIM-103: three primaries have edits at a time, and one that has too many bytes may only shrink")
    func primaries() throws {
        var edits = SettingEdits(["v": 1, "values": ["a": 1, "b": 2, "c": 3], "by": [:]]) ?? SettingEdits()
        let names = ["name", "colour", "volume", "logging"]
        var schema: [SettingDeclaration] = names.map { name in
            SettingDeclaration(
                name: name, type: .string, editor: .edit, summary: "", access: .counterpart, initialValue: .string(""))
        }
        schema.append(
            SettingDeclaration(name: "own", type: .string, editor: .edit, summary: "", initialValue: .string("")))
        for (index, name) in names.enumerated() {
            let (before, author) = (edits, SettingAuthor.primary(.random()))
            _ = try edits.set([name: "x"], by: author, in: SettingsSchema(schema))
            #expect(edits.fit(author, since: before) == (index < 3))
            if index == 3 { edits = before }
        }
        let long = PropertyListValue.string(String(repeating: "x", count: 140_000))
        let legacy = try #require(SettingEdits(["v": 1, "values": ["own": long, "volume": "y"]]))
        var fewer = legacy
        _ = try fewer.reset(["volume"], by: .user, in: SettingsSchema(schema))
        #expect(fewer.fit(.user, since: legacy) && !fewer.fit(.user, since: SettingEdits()))
    }

    @Test("SCH-13, SCH-14: an edit names the primary that made it last, also one of the same value")
    func authors() throws {
        var edits = SettingEdits()
        _ = try edits.set(["name": "hall", "colour": "blue"], by: counterpart, in: Self.schema)
        _ = try edits.set(["volume": 80, "colour": "green"], by: .user, in: Self.schema)
        _ = try edits.set(["colour": "green"], by: counterpart, in: Self.schema)
        #expect(["name", "colour", "volume"].map { edits[$0]?.author } == [counterpart, counterpart, .user])
        #expect(
            edits.dictionary == [
                "v": 1, "values": ["name": "hall", "colour": "green", "volume": 80],
                "by": ["name": .data(primary.bytes), "colour": .data(primary.bytes)],
            ])
        #expect(SettingEdits(edits.dictionary) == edits)
        #expect(Self.schema.taken(edits).counterparts == [3, 5])
        _ = try edits.set(["name": "hall"], by: .user, in: Self.schema)
        #expect(edits["name"]?.author == .user)
        let odd: PropertyListDictionary = ["v": 1, "values": ["name": "a"], "by": ["name": 7, "gone": .data([1])]]
        #expect(SettingEdits(odd)?["name"]?.author == .user)
    }

    @Test("SCH-14: the edit of a primary is judged as a primary's, also by a schema that came later")
    func closedAgain() throws {
        let author: PropertyListDictionary = ["volume": .data(primary.bytes)]
        let edits = try #require(SettingEdits(["v": 1, "values": ["volume": 80], "by": .dictionary(author)]))
        let taken = Self.schema.taken(edits)
        #expect(taken.values[0] == nil && taken.errors.map(\.rule) == [.notForCounterpart])
    }

    @Test("SCH-15: the edits of one primary can be taken back, and nobody else's")
    func unpaired() throws {
        let other = UniqueIdentifier.random()
        var edits = SettingEdits()
        _ = try edits.set(["name": "hall"], by: counterpart, in: Self.schema)
        _ = try edits.set(["volume": 80], by: .user, in: Self.schema)
        _ = try edits.set([:], empty: ["colour"], by: .primary(other), in: Self.schema)
        #expect(edits.keys { $0 == primary } == ["name"])
        #expect(edits.remove { $0 == primary } == ["name"] && edits.remove { $0 == primary } == [])
        #expect(edits.values == ["volume": 80] && edits["colour"]?.author == .primary(other))
        #expect(edits.remove { $0 != primary } == ["colour"])
    }

    @Test("CTL-44, SCH-13: a property is edited to nothing where it may be, and taken back as any other edit")
    func nothing() throws {
        var edits = SettingEdits()
        _ = try edits.set(["volume": 1], empty: ["colour"], by: .user, in: Self.schema)
        #expect(edits.dictionary == ["v": 1, "values": ["volume": 1], "nothing": ["colour"]])
        #expect(SettingEdits(edits.dictionary) == edits && edits.keys == ["volume", "colour"])
        #expect(Self.schema.taken(edits).values[5] == .nothing)
        for (key, text) in [
            ("volume", "volume: nil is not of type integer"), ("server", "server: only a signed configuration sets it"),
            ("speed", "there is no property 'speed'"),
        ] {
            let error = #expect(throws: SettingsPayloadError.self) {
                try edits.set([:], empty: [key], by: .user, in: Self.schema)
            }
            #expect(error?.description == text)
        }
        _ = try edits.set(["colour": "blue"], by: .user, in: Self.schema)
        #expect(edits.dictionary == ["v": 1, "values": ["volume": 1, "colour": "blue"]])
        _ = try edits.set([:], empty: ["colour"], by: .user, in: Self.schema)
        #expect(try edits.reset(["colour"], by: .user, in: Self.schema) == ["colour"])
        #expect(edits.dictionary == ["v": 1, "values": ["volume": 1]])
    }

    @Test("LIM-116: sixteen edits of a primary are taken at once, and then one in a second")
    func pace() {
        var pace = EditPace()
        let start = MonotonicTime(nanoseconds: 5_000_000_000)
        for _ in 0..<16 { #expect(pace.wait(at: start) == .zero) }
        #expect(pace.wait(at: start) == .seconds(1) && pace.wait(at: start) == .seconds(2))
        let later = start + .seconds(3)
        #expect(pace.wait(at: later) == .zero && pace.wait(at: later) == .seconds(1))
        #expect(pace.wait(at: start + .seconds(100)) == .zero)
        for _ in 0..<23 { #expect(pace.wait(at: start + .seconds(100)) != nil) }
        #expect(pace.wait(at: start + .seconds(100)) == nil, "a turn so far ahead is not taken")
        #expect(pace.wait(at: start + .seconds(101)) == EditPace.patience)
    }
}
