// Text that people type or choose, and the stored forms that it means: one way for a browser's form, a terminal and a
// paired primary. Dates are in UTC, as in their stored form.

import TandemBase
package import TandemPropertyList
package import TandemSettings

/// The input of a page.
package struct PageInput: Sendable, Equatable {
    /// The stored forms to be set, without those that are as before.
    package private(set) var values: PropertyListDictionary = [:]
    /// Keys that are set to nothing.
    package private(set) var empty: [String] = []
    /// Why a field is refused, by key. With one refused field none may be set.
    package private(set) var errors: [String: String] = [:]

    /// Reads and judges the fields of a page as a whole.
    /// - Parameters:
    ///   - fields: by key: `on`, `yes`, `off` and their like for a toggle, an option's `input` for a choice, lines for
    ///     a list of texts, else the text of the value, as a row's `input` has it.
    ///   - view: the page as it was shown; fields of other keys, and of rows that its reader cannot edit, are refused.
    ///   - schema: the app's, which judges.
    package init(_ fields: [String: String], of view: PageView, _ schema: SettingsSchema) {
        let rows = Dictionary(view.rows.compactMap { row in row.key.map { ($0, row) } }) { first, second in
            first.isEditable ? first : second
        }
        for (key, text) in fields.sorted(by: { $0.key < $1.key }) {
            guard let row = rows[key], let place = schema.place(of: key), row.isEditable else {
                errors[key] = rows[key]?.lock.map(\.text) ?? "The page has no such field."
                continue
            }
            read(text, row, at: place, schema)
        }
        var edits = SettingEdits()
        do throws(SettingsPayloadError) {
            _ = try edits.set(values, empty: empty, by: .user, in: schema)
        } catch {
            for error in error.errors { errors[error.property] = error.description }
        }
    }

    private mutating func read(_ text: String, _ row: PageView.Row, at place: Int, _ schema: SettingsSchema) {
        let declaration = schema.declarations[place]
        let key = declaration.name
        // An empty field says nothing about a secret, and nothing where there is no value yet.
        if text.isEmpty, row.isSecret || row.value == nil { return }
        if text.isEmpty, declaration.allowsNothing, declaration.type != .string {
            empty.append(key)
            return
        }
        guard let value = Self.value(of: text, row, declaration) else {
            let shown = declaration.isSecret ? SettingError.redacted : OutsideText.quoted(text)
            errors[key] = SettingError(property: key, value: shown, rule: .type(declaration.type)).description
            return
        }
        if row.isSecret || value != row.value { values[key] = value }
    }

    /// The stored form that a text means in a row; nil if it means none.
    private static func value(
        of text: String, _ row: PageView.Row, _ declaration: SettingDeclaration
    ) -> PropertyListValue? {
        switch row.kind {
        case .toggle:
            let word = ["on": true, "off": false][text.lowercased()] ?? ToggleValues().isOn(.string(text))
            return word.flatMap { declaration.stored(.boolean($0)) }
        case .choice(let choices), .radio(let choices):
            if choices.allowsOthers { return typed(text, declaration) }
            return choices.options.first { $0.input == text }?.value
        case .date(let traits): return date(text, traits, row.value?.dateValue).map { .date($0) }
        case .multilineText where declaration.type == .strings:
            return .array(text.split(whereSeparator: \.isNewline).map { .string(String($0)) })
        case .text, .secureText, .multilineText, .slider: return typed(text, declaration)
        case .titleValue, .button, .link, .mail, .page, .list, .custom, .unsupported: return nil
        }
    }

    private static func typed(_ text: String, _ declaration: SettingDeclaration) -> PropertyListValue? {
        SettingConversion(dates: .standard).value(.string(text), as: declaration.type).flatMap {
            declaration.stored($0)
        }
    }

    // MARK: texts of values

    /// The text of a value: what ``init(_:of:_:)`` reads back for a field of text.
    static func text(_ value: PropertyListValue, _ declaration: SettingDeclaration?) -> String {
        guard let typed = declaration?.value(stored: value) else { return value.stringValue ?? value.description }
        switch typed {
        case .strings(let texts): return texts.joined(separator: "\n")
        case .date: return text(value, DateTraits())
        case .data, .array, .dictionary, .coded: return typed.description
        default: return typed.text
        }
    }

    /// `2026-11-23`, `09:30` or `2026-11-23T09:30`.
    static func text(_ value: PropertyListValue, _ traits: DateTraits) -> String {
        guard let date = value.dateValue else { return value.stringValue ?? "" }
        let minutes = floored(date.millisecondsSince1970, 60_000)
        let days = floored(minutes, 1440)
        let day = CivilDate(daysSince1970: days)
        let dayText = "\(digits(day.year, 4))-\(digits(day.month, 2))-\(digits(day.day, 2))"
        let minute = minutes - days * 1440
        let timeText = "\(digits(minute / 60, 2)):\(digits(minute % 60, 2))"
        return switch traits.mode {
        case .date: dayText
        case .time: timeText
        case .dateAndTime: "\(dayText)T\(timeText)"
        }
    }

    private static func floored(_ number: Int64, _ unit: Int64) -> Int64 {
        number >= 0 ? number / unit : -((unit - 1 - number) / unit)
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }

    /// The date of a text; a time alone stays on its day.
    private static func date(_ text: String, _ traits: DateTraits, _ present: PropertyListDate?) -> PropertyListDate? {
        let parts = text.split(separator: "T", omittingEmptySubsequences: false).map(String.init)
        let today = present.map { floored(floored($0.millisecondsSince1970, 60_000), 1440) } ?? 0
        let minutes: Int64? =
            switch (traits.mode, parts.count) {
            case (.date, 1): day(parts[0]).map { $0 * 1440 }
            case (.time, 1): minute(parts[0]).map { today * 1440 + $0 }
            case (.dateAndTime, 2): day(parts[0]).flatMap { day in minute(parts[1]).map { day * 1440 + $0 } }
            default: nil
            }
        return minutes.flatMap { PropertyListDate(millisecondsSince1970: $0 * 60_000) }
    }

    private static func day(_ text: String) -> Int64? {
        let parts = numbers(text, "-", [4, 2, 2])
        return parts.flatMap { CivilDate(year: $0[0], month: $0[1], day: $0[2])?.daysSince1970 }
    }

    private static func minute(_ text: String) -> Int64? {
        // A browser may send seconds.
        let parts = numbers(text, ":", [2, 2]) ?? numbers(text, ":", [2, 2, 2])
        guard let parts, parts[0] < 24, parts[1] < 60 else { return nil }
        return parts[0] * 60 + parts[1]
    }

    private static func numbers(_ text: String, _ separator: Character, _ lengths: [Int]) -> [Int64]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == lengths,
            parts.allSatisfy({ $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } })
        else { return nil }
        return parts.compactMap { Int64($0) }
    }
}
