// Values of rows on one line, and typed lines as the texts of fields.

import TandemPages
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct PageLineTests {
    private static let specifiers = [
        Specifier(.textField, ["Key": "name", "DefaultValue": ""]), Specifier(.textView, ["Key": "note"]),
        Specifier(.textView, ["Key": "hosts"]),
        Specifier(.datePicker, ["Key": "day", "DatePickerMode": "Date"]),
        Specifier(.datePicker, ["Key": "time", "DatePickerMode": "Time"]),
        Specifier(.titleValue, ["Key": "since"]), Specifier(.titleValue, ["Key": "last"]),
        Specifier(.multiValue, ["Key": "mode", "Values": ["a", "b"], "Titles": ["One", "Two"]]),
    ]
    private static let declarations = [
        SettingDeclaration("name", .string, initial: .string("")),
        SettingDeclaration("note", .string, initial: .string("a\nb")),
        SettingDeclaration("hosts", .strings, initial: .strings(["a", "b"])),
        SettingDeclaration("day", .date, allowsNothing: true, initial: .nothing),
        SettingDeclaration("time", .date, allowsNothing: true, initial: .nothing),
        SettingDeclaration("since", .date, allowsNothing: true, initial: .nothing),
        SettingDeclaration("last", .string, initial: .string("x\ty")),
        SettingDeclaration("mode", .string, initial: .string("a")),
    ]
    private static let schema = SettingsSchema(declarations)

    private func view(_ values: [String: PropertyListValue] = [:]) throws -> PageView {
        let known = values.mapValues { PageValue(value: $0, layer: "user") }
        let tree = pageTree(["Root": Self.specifiers])
        return try #require(PageView.make(tree, Self.schema, PageRequest(values: known)))
    }

    private func row(_ key: String, _ value: PropertyListValue? = nil) throws -> PageView.Row {
        let values: [String: PropertyListValue] = if let value { [key: value] } else { [:] }
        return try #require(try view(values).rows.first { $0.key == key })
    }

    @Test("PAG-35: a text with control characters, an empty one and a list of texts are JSON; any other is itself")
    func shown() throws {
        let cases: [(key: String, value: PropertyListValue, line: String)] = [
            ("name", "me", "me"), ("name", "", "\"\""), ("name", #""a"#, #""\"a""#), ("name", "[1]", "[1]"),
            ("note", "a\nb", #""a\nb""#), ("hosts", ["a", "b c"], #"["a","b c"]"#), ("hosts", [], "[]"),
            ("hosts", ["a\nb"], #"["a\nb"]"#),
            ("name", "\"\u{301}\"", "\"\\\"\u{301}\\\"\""),
            ("last", "x\ty", #""x\ty""#), ("last", "", ""), ("mode", "b", "Two"),
        ]
        for (key, value, line) in cases {
            let row = try row(key, value)
            #expect(row.line == line, "\(key)")
            // The shown line can be typed.
            if row.isEditable { #expect(row.input(ofLine: line) == row.input, "\(line)") }
        }
        #expect(try row("note").lines == ["a", "b"] && row("hosts").lines == ["a", "b"])
        #expect(try row("name").lines == ["\"\""] && row("day").lines.isEmpty && row("mode").lines == ["One"])
    }

    @Test("PAG-16, PAG-35: a line of JSON means its text or its list; a list takes no other line")
    func typed() throws {
        let view = try view()
        func input(_ key: String, _ line: String) -> PageInput? {
            let row = view.rows.first { $0.key == key }
            return row?.input(ofLine: line).map { PageInput([key: $0], of: view, Self.schema) }
        }
        for (key, line, value) in [
            ("name", "you", "you"), ("name", #""q""#, "q"), ("name", #""q"#, #""q"#), ("name", "12", "12"),
            ("note", #""c\nd""#, "c\nd"), ("note", #"c\nd"#, #"c\nd"#), ("mode", "Two", "b"), ("mode", "b", "b"),
        ] as [(String, String, PropertyListValue)] {
            #expect(input(key, line)?.values == [key: value], "\(line)")
        }
        #expect(input("hosts", #"["c","","d"]"#)?.values == ["hosts": ["c", "", "d"]])
        #expect(input("hosts", "[]")?.values == ["hosts": []] && input("hosts", "")?.values == ["hosts": []])
        #expect(input("hosts", #"["c",""]"#)?.values == ["hosts": ["c", ""]])
        #expect(input("hosts", #"[""]"#)?.values == ["hosts": [""]])
        for line in ["c", "c d", "[1]", #"["a\nb"]"#, #""c""#, "[", #"{"a":"b"}"#] {
            #expect(input("hosts", line) == nil, "\(line)")
        }
        for row in view.rows {
            guard let example = row.example else { continue }
            let read = row.key.flatMap { input($0, example) }
            #expect(read?.values.count == 1 && read?.errors.isEmpty == true, "\(example)")
        }
    }

    @Test("PAG-16, PAG-35: a date says that it is in UTC, and is typed with or without that")
    func dates() throws {
        let date = try #require(PropertyListDate(millisecondsSince1970: 1_795_392_000_000 + 9 * 3_600_000 + 5_000))
        #expect(try row("day", .date(date)).line == "2026-11-23 UTC" && row("day").zone == "UTC")
        let time = try row("time", .date(date))
        #expect(time.line == "09:00:05 UTC" && time.input(ofLine: "10:30 UTC") == "10:30")
        #expect(time.input(ofLine: "10:30") == "10:30")
        let since = try row("since", .date(date))
        #expect(since.zone == "UTC" && since.line == "2026-11-23T09:00:05 UTC")
        #expect(try row("since").zone == nil && row("name").zone == nil && row("day").line == "")
    }

    @Test("PAG-16, LIM-154: a value that differs from the default in its bytes has a note of the default")
    func defaultsByBytes() throws {
        let schema = SettingsSchema([SettingDeclaration("text", .string, initial: .string("\u{E9}"))])
        let tree = pageTree(["Root": [Specifier(.textField, ["Key": "text"])]])
        for (value, isNoted) in [("e\u{301}", true), ("\u{E9}", false)] {
            let values = ["text": PageValue(value: .string(value), layer: "user")]
            let row = try #require(PageView.make(tree, schema, PageRequest(values: values))?.rows.first)
            #expect((row.defaultNote() != nil) == isNoted)
        }
    }

    @Test("PAG-16: the default of a date, and an edit of one that a signed value hides, say that they are in UTC")
    func datesOfNotes() throws {
        let second = try #require(PropertyListDate(millisecondsSince1970: 1_795_392_000_000))
        let first = try #require(PropertyListDate(millisecondsSince1970: 1_795_305_600_000))
        let keys = ["day", "since", "text", "custom", "choice", "radio"]
        let schema = SettingsSchema(keys.map { SettingDeclaration($0, .date, initial: .date(first)) })
        let specifiers =
            Self.specifiers.filter { $0.key == "day" || $0.key == "since" } + [
                Specifier(.textField, ["Key": "text"]), Specifier(.custom, ["Key": "custom"]),
                Specifier(.multiValue, ["Key": "choice", "Values": ["x"], "Titles": ["X"]]),
                Specifier(.radioGroup, ["Key": "radio", "Values": ["x"], "Titles": ["X"]]),
            ]
        let tree = pageTree(["Root": specifiers])
        func rows(_ known: PageValue?) throws -> [PageView.Row] {
            let values = known.map { known in Dictionary(uniqueKeysWithValues: keys.map { ($0, known) }) } ?? [:]
            return try #require(PageView.make(tree, schema, PageRequest(values: values))).rows
        }
        let texts = ["2026-11-22 UTC"] + [String](repeating: "2026-11-22T00:00 UTC", count: 5)
        let others = try rows(PageValue(value: .date(second), layer: "user"))
        #expect(others.compactMap { $0.defaultNote() } == texts.map { "Default: \($0)" })
        #expect(others.compactMap { $0.defaultNote(onOneLine: true) } == texts.map { "Default: \($0)" })
        for known in [nil, PageValue(value: .date(first), layer: "user")] {
            #expect(try rows(known).allSatisfy { $0.defaultNote() == nil })
            #expect(try rows(known).map(\.line) == texts)
        }
        let hidden = PageValue(value: .date(second), layer: "signed", isEdited: true, edit: .date(first))
        for (row, text) in try zip(rows(hidden), texts) { #expect(row.edit?.hasPrefix("Edited: \(text). ") == true) }
    }
}
