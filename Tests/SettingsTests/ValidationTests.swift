// One validator for every way in: bounds in the property's own type, choices, regular expressions, whole payloads.

import TandemPattern
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct ValidationTests {
    private static func schema(_ declaration: SettingDeclaration) -> SettingsSchema {
        var named = declaration
        named.name = "property"
        return SettingsSchema([named])
    }

    private static func broken(_ declaration: SettingDeclaration, by value: SettingValue) -> String? {
        schema(declaration).problem(of: value, at: 0)?.rule.name
    }

    @Test("SCH-8: what is none of the choices is told which they are, as many as fit in a line")
    func choicesAreNamed() {
        func text(_ choices: [SettingChoice], isSecret: Bool = false) -> String? {
            let declaration = SettingDeclaration(
                type: .integer, editor: .choice, summary: "", choices: choices, isSecret: isSecret,
                initialValue: .integer(1))
            return Self.schema(declaration).problem(of: .integer(0), at: 0)?.description
        }
        let few = [
            SettingChoice(label: "One", value: .integer(1)), SettingChoice(label: "2", value: .integer(2)),
        ]
        #expect(text(few) == "property: 0 is none of the choices: 'One' (1), '2'")
        let many = (100..<200).map { SettingChoice(label: "Label \($0)", value: .integer($0)) }
        let line = text(many) ?? ""
        #expect(line.contains("'Label 100' (100), 'Label 101' (101)") && line.hasSuffix(", ..."), "\(line)")
        #expect(line.count < 260, "\(line)")
        #expect(text([]) == "property: 0 is none of the choices")
        #expect(text(few, isSecret: true) == "property: <redacted> is none of the choices", "one is the value")
    }

    @Test("CTL-69: what a property allows is told in one line, and by the schema's keys")
    func rulesAreNamed() {
        func declaration(
            _ type: SettingType, _ editor: SettingEditor, bounds: SettingBounds? = nil, pattern: String? = nil,
            choices: [SettingChoice] = [], isSecret: Bool = false, allowsNothing: Bool = false
        ) -> SettingDeclaration {
            SettingDeclaration(
                type: type, editor: editor, summary: "", bounds: bounds, pattern: pattern, choices: choices,
                isSecret: isSecret, allowsNothing: allowsNothing, initialValue: .nothing)
        }
        let few = [SettingChoice(label: "One", value: .integer(1)), SettingChoice(label: "2", value: .integer(2))]
        let row: PropertyListValue = [["label": "One", "value": 1], ["label": "2", "value": 2]]
        let cases: [(SettingDeclaration, text: String, PropertyListDictionary)] = [
            (declaration(.boolean, .toggle), "", [:]),
            (
                declaration(.integer, .slider, bounds: .integer(0...100)), "0 to 100",
                ["minimum": 0, "maximum": 100]
            ),
            (
                declaration(.double, .edit, bounds: .double(-0.5...0.5), allowsNothing: true), "-0.5 to 0.5; nil",
                ["minimum": .real(-0.5), "maximum": .real(0.5), "nothing": true]
            ),
            (declaration(.string, .edit, pattern: "^#"), "matches '^#'", ["pattern": "^#"]),
            (declaration(.integer, .choice, choices: few), "one of 'One' (1), '2'", ["choices": row]),
            (declaration(.integer, .editableChoice, choices: few), "any, such as 'One' (1), '2'", ["choices": row]),
            (declaration(.integer, .choice, choices: few, isSecret: true), "", [:]),
        ]
        for (declaration, text, rules) in cases {
            #expect(declaration.rulesText == text)
            #expect(declaration.rules == rules, "\(text)")
        }
    }

    @Test("LIM-154: a choice whose value and label differ in their bytes has both in the rules")
    func labelsByBytes() {
        let choices = [
            SettingChoice(label: "\u{E9}", value: .string("e\u{301}")), SettingChoice(label: "a", value: .string("a")),
        ]
        let declaration = SettingDeclaration(
            type: .string, editor: .choice, summary: "", choices: choices, initialValue: .string("a"))
        #expect(declaration.rulesText.hasSuffix("), 'a'"))
    }

    @Test("PAG-3, LIM-153: words for yes and no are short and ASCII")
    func wordsForYesAndNo() {
        let values = ToggleValues()
        #expect(values.isOn("YES") == true && values.isOn("f") == false && values.isOn("maybe") == nil)
        for text in ["yes\u{301}", String(repeating: "\u{301}\u{323}", count: 500)] {
            #expect(values.isOn(.string(text)) == nil)
            #expect(ToggleValues(on: .string(text), off: "no").isOn(.string(text)) == true, "by its bytes")
        }
    }

    @Test func sliderBoundsAreInclusive() {
        let volume = SettingDeclaration(
            type: .integer, editor: .slider, summary: "Alarm volume", bounds: .integer(50...100), icon: .volume,
            initialValue: .integer(75))
        let expected: [(Int, String?)] = [(49, "minimum"), (50, nil), (100, nil), (101, "maximum")]
        for (value, rule) in expected { #expect(Self.broken(volume, by: .integer(value)) == rule, "\(value)") }
    }

    @Test func floatBoundsAreFloats() {
        let decibel = SettingDeclaration(
            type: .float, editor: .slider, summary: "Noise", bounds: .float(60.5...120.41), initialValue: .float(70))
        #expect(Double(Float(120.41)) > 120.41)
        #expect(Self.broken(decibel, by: .float(120.41)) == nil)
        #expect(SettingValue(.real(120.41), as: .float) == .float(120.41))
        let accuracy = SettingDeclaration(
            type: .float, editor: .edit, summary: "Accuracy", bounds: .float(-2.1...4.1), pattern: "",
            initialValue: .float(0))
        #expect(Self.broken(accuracy, by: .float(-2.1)) == nil)
        #expect(Self.broken(accuracy, by: .float(4.2)) == "maximum")
        #expect(Self.broken(accuracy, by: .float(.nan)) == "finite")
        #expect(Self.broken(accuracy, by: .float(.infinity)) == "finite")
    }

    @Test func anEditTakesItsOwnTypeOnly() {
        let levels = SettingDeclaration(
            type: .integer, editor: .edit, summary: "Levels", bounds: .integer(1...5), pattern: "",
            initialValue: .integer(1))
        #expect(Self.broken(levels, by: .integer(0)) == "minimum")
        #expect(Self.broken(levels, by: .integer(3)) == nil)
        #expect(Self.broken(levels, by: .integer(6)) == "maximum")
        #expect(SettingValue("3.5", as: .integer) == nil)
        #expect(SettingValue(3.0, as: .integer) == nil)
        #expect(SettingValue(true, as: .integer) == nil)
        #expect(SettingValue(1, as: .boolean) == nil)
        #expect(Self.broken(levels, by: .string("3")) == "type")
    }

    @Test func aChoiceTakesOnlyWhatIsListed() {
        let rating = SettingDeclaration(
            type: .integer, editor: .choice, summary: "Rating",
            choices: [
                SettingChoice(label: "Low", value: .integer(10)), SettingChoice(label: "Average", value: .integer(50)),
                SettingChoice(label: "Excellent", value: .integer(95)),
            ], initialValue: .integer(50))
        #expect(Self.broken(rating, by: .integer(50)) == nil)
        #expect(Self.broken(rating, by: .integer(51)) == "choice")
    }

    @Test func anEditableChoiceTakesOthersWithinItsRule() {
        let duration = SettingDeclaration(
            type: .integer, editor: .editableChoice, summary: "Duration", bounds: .integer(0...365),
            choices: [SettingChoice(label: "Week", value: .integer(7))], initialValue: .integer(0))
        #expect(Self.broken(duration, by: .integer(7)) == nil)
        #expect(Self.broken(duration, by: .integer(45)) == nil)
        #expect(Self.broken(duration, by: .integer(366)) == "maximum")
    }

    @Test func insideTheRangeIsNotEnoughIfTheExpressionFails() {
        let pattern = #"^(0?[0-9]?[0-9]|[1-2][0-9][0-9]|3[0-5][0-9]|36[0-5])?(?:\.\d+)?$"#
        let server = SettingDeclaration(
            type: .double, editor: .edit, summary: "Forward", bounds: .double(0...366), pattern: pattern,
            initialValue: .double(0))
        #expect(Self.broken(server, by: .double(365.99)) == nil)
        #expect(Self.broken(server, by: .double(366)) == "pattern")
    }

    @Test func aColourNeedsItsHashAndTheDeclarationCheckFindsTheOneWithout() {
        let colour = SettingDeclaration(
            type: .string, editor: .editableChoice, summary: "Colour", pattern: "^#([a-f0-9]{6})$",
            choices: [
                SettingChoice(label: "Rose", value: .string("#ffe4e1")),
                SettingChoice(label: "Blue", value: .string("add8e6")),
            ], allowsNothing: true, initialValue: .nothing)
        #expect(Self.broken(colour, by: .string("#ffe4e1")) == nil)
        #expect(Self.broken(colour, by: .string("add8e6")) == "pattern")
        #expect(Self.broken(colour, by: .string("#FFFFFF")) == "pattern")
        #expect(Self.broken(colour, by: .nothing) == nil)
        let problems = Self.schema(colour).problems
        #expect(problems.count == 1)
        #expect(problems.first?.description.contains("'Blue'") == true)
        #expect(problems.first?.description.contains("add8e6") == true)
    }

    @Test func aCostlyExpressionIsNeverAMatch() {
        let text = SettingDeclaration(
            type: .string, editor: .edit, summary: "Text", pattern: "^(a+)+$", initialValue: .string("a"))
        let hostile = SettingValue.string(String(repeating: "a", count: 64) + "!")
        #expect(Self.broken(text, by: hostile) == "pattern-too-costly")
    }

    @Test("SET-49: two names of one text in other bytes are a mistake, since nobody could tell them apart")
    func equivalentNames() {
        let names = ["caf\u{e9}", "cafe\u{301}"]
        let problems = SettingsSchema(
            names.map {
                SettingDeclaration(
                    name: $0, type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(false))
            }
        ).problems
        #expect(problems == [.duplicateName(names[1])])
    }

    @Test func declarationMistakesAreAllFound() {
        let bad = SettingDeclaration(
            name: "a", type: .integer, editor: .choice, summary: "", pattern: "(", initialValue: .integer(0))
        let twice = SettingDeclaration(
            name: "a", type: .integer, editor: .choice, summary: "",
            choices: [
                SettingChoice(label: "x", value: .integer(1)), SettingChoice(label: "x", value: .integer(2)),
            ], initialValue: .integer(1))
        let unnamed = SettingDeclaration(type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(false))
        let problems = SettingsSchema([bad, twice, unnamed]).problems
        #expect(problems.contains(.duplicateName("a")))
        #expect(problems.contains(.duplicateLabel(property: "a", label: "x")))
        #expect(problems.contains(.noChoices(property: "a")))
        #expect(problems.contains(.invalidName("")))
        #expect(problems.contains { if case .invalidPattern = $0 { true } else { false } })
        #expect(SettingsSchema([]).problems == [.noProperties])
    }

    @Test("SET-45, SET-51: an infinite bound and one value for on and off are mistakes; the booleans take its place")
    func formsOfValues() {
        let (level, gain) = (
            SettingDeclaration(
                name: "level", type: .float, editor: .edit, summary: "", bounds: .float(0...Float.infinity),
                initialValue: .float(0)),
            SettingDeclaration(
                name: "gain", type: .double, editor: .edit, summary: "", bounds: .double(-Double.infinity...0),
                initialValue: .double(0))
        )
        let toggle = SettingDeclaration(
            name: "same", type: .boolean, editor: .toggle, summary: "", toggleValues: ToggleValues(on: 1, off: 1),
            initialValue: .boolean(false))
        #expect(
            SettingsSchema([level, gain, toggle]).problems == [
                .infiniteBound(property: "level"), .infiniteBound(property: "gain"),
                .equalToggleValues(property: "same"),
            ])
        for isOn in [true, false] {
            let stored = toggle.stored(.boolean(isOn))
            #expect(stored.flatMap { toggle.value(stored: $0) } == .boolean(isOn))
        }
    }

    @Test func shortestDecimalTextHasNoExponentAndNoNeedlessFraction() {
        let texts: [(SettingValue, String)] = [
            (.double(56), "56"), (.double(0.5), "0.5"), (.double(1e21), "1" + String(repeating: "0", count: 21)),
            (.double(1.5e-7), "0.00000015"), (.double(-0.0), "0"), (.double(365.99), "365.99"),
            (.double(-1234.5), "-1234.5"), (.float(120.41), "120.41"), (.float(16_777_216), "16777216"),
            (.double(1e16), "10000000000000000"), (.integer(-7), "-7"), (.boolean(true), "true"),
            (.double(.greatestFiniteMagnitude), "17976931348623157" + String(repeating: "0", count: 292)),
        ]
        for (value, text) in texts { #expect(value.text == text) }
    }

    @Test func textOfOthersIsShownEscapedAndCut() {
        let value = SettingValue.string("a\n\u{1b}[31m" + String(repeating: "x", count: 500))
        #expect(value.description.utf8.count < 140)
        #expect(value.description.unicodeScalars.allSatisfy { $0.value >= 32 })
    }
}
