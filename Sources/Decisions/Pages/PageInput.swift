// Text that people type or choose, and the stored forms that it means: one way for a browser's form, a terminal and a
// paired primary. Dates are in UTC, as in their stored form.

import TandemBase
import TandemPattern
package import TandemPropertyList
package import TandemSettings

package struct PageInput: Sendable, Equatable {
    /// The stored forms to be set, without those that are as before.
    package private(set) var values: PropertyListDictionary = [:]
    /// Keys that are set to nothing.
    package private(set) var empty: [String] = []
    /// Why a field is refused, by key. With one refused field none may be set.
    package private(set) var errors: [String: String] = [:]
    /// The texts that a person has changed, by the indices of their rows, for the page that shows a refused form again;
    /// none of a secret.
    package private(set) var typed: [Int: String] = [:]
    /// The keys of refused fields that draw attention to themselves.
    package private(set) var shaking: Set<String> = []
    /// The keys of secrets that were typed.
    private var secrets: Set<String> = []

    /// The texts beside the fields of a form that is shown again, by key: the mistakes, and that a typed secret is not
    /// stored. Its field comes back empty, as if nobody had typed it.
    package var texts: [String: String] {
        var texts = errors
        for key in secrets where texts[key] == nil { texts[key] = "Type it again: it was not stored." }
        return texts
    }

    /// The field of a further row of a key (CON-12).
    package struct Further: Sendable {
        let index: Int
        let key: String
        let text: String
        let shown: String?

        /// - Parameters:
        ///   - index: that of the row.
        ///   - shown: the text that the person saw.
        package init(index: Int, key: String, text: String, shown: String?) {
            (self.index, self.key, self.text, self.shown) = (index, key, text, shown)
        }
    }

    /// Reads and judges the fields of a page as a whole.
    /// - Parameters:
    ///   - fields: by key: `on`, `yes`, `off` and their like for a toggle, an option's `input` for a choice, lines for
    ///     a list of texts, JSON for other containers, else the text of the value, as a row's `input` has it.
    ///   - shown: the texts that the person saw; for a key without one the row's `input`. A field is an edit only if
    ///     its text is another one.
    ///   - view: the page as it is; fields of other keys, and edits of rows that its reader cannot edit, are refused.
    ///   - schema: the app's, which judges.
    ///   - access: the access that a property must at least have for the person who types.
    ///   - line: the index of the row on whose line the field was typed (PAG-35): that row alone is read, and a date
    ///     has its seconds. nil: of rows of one key the first that is editable.
    ///   - further: the fields of further rows of keys. They are read in the order of the rows, after those by key.
    package init(
        _ fields: [String: String], shown: [String: String] = [:], of view: PageView, _ schema: SettingsSchema,
        by access: SettingAccess = .user, line: Int? = nil, further: [Further] = []
    ) {
        let meant = view.rows.filter { line == nil || $0.index == line }
        let rows = Dictionary(meant.compactMap { row in row.key.map { ($0, row) } }) { first, second in
            first.isEditable ? first : second
        }
        for (key, text) in fields.sorted(by: { $0.key < $1.key }) {
            let row = rows[key]
            take(text, shown[key], of: key, row, line == nil ? row?.input : row?.lineInput, schema)
        }
        for field in further.sorted(by: { ($0.index, $0.key) < ($1.index, $1.key) }) {
            let row = view.rows.first { $0.index == field.index && $0.key == field.key }
            take(field.text, field.shown, of: field.key, row, row?.input, schema)
        }
        // The app makes values of these, which are judged then.
        let picked = schema.pickedDates(in: values)
        let judged = values.compactMapValues { key, value in picked[key] == nil ? value : nil }
        var steps = PatternSteps.ofSet
        do throws(SettingsPayloadError) {
            _ = try schema.judge(judged, empty: empty, by: access, within: &steps)
        } catch {
            for error in error.errors {
                // The page may hide what its property does not.
                let isSecret = rows[error.property]?.isSecret == true
                let shown = isSecret ? SettingError.redacted : error.value
                let refusal = SettingError(property: error.property, value: shown, rule: error.rule)
                errors[error.property] = Self.reason(of: refusal, rows[error.property]?.kind)
            }
        }
    }

    /// Adds mistakes that the input as a whole makes; what a field says itself stays.
    package mutating func add(_ more: [SettingError]) {
        for error in more where errors[error.property] == nil { errors[error.property] = Self.reason(of: error) }
    }

    /// Adds what the app's own checks do not take (PAG-26). A replacement that no field can show is named, since it
    /// cannot come back with the form.
    /// - Parameter view: the page with the replacements as its values: what stands in the fields.
    package mutating func refuse(_ refusals: [PageRefusal], in view: PageView) {
        for refusal in refusals {
            errors[refusal.key] = refusal.text
            if refusal.shakes { shaking.insert(refusal.key) }
            guard refusal.replacement != nil else { continue }
            let rows = view.rows.filter { $0.key == refusal.key && $0.isEditable && !$0.isSecret }
            for row in rows { typed[row.index] = row.input }
            if rows.isEmpty {
                let key = OutsideText.quoted(refusal.key)
                let offer = "The app wants another value of \(key), which cannot be set here: change it in the app."
                errors[refusal.key] = "\(refusal.text) \(offer)"
            }
        }
    }

    /// - Parameters:
    ///   - row: that of the field; nil if the page has none.
    ///   - present: the row's text of now.
    private mutating func take(
        _ text: String, _ shown: String?, of key: String, _ row: PageView.Row?, _ present: String?,
        _ schema: SettingsSchema
    ) {
        guard let row, let present, let declaration = schema[key] else {
            // The row may have gone since the page was made, and nobody has touched its field.
            if let shown, Self.lines(text).utf8.elementsEqual(Self.lines(shown).utf8) { return }
            errors[key] = "The page has no field \(OutsideText.quoted(key))."
            return
        }
        let text = Self.lines(text)
        let field = Field(row: row, declaration: declaration, date: values[key]?.dateValue ?? row.date)
        if field.isSame(text, shown ?? present) { return }
        if row.isSecret { secrets.insert(key) } else { typed[row.index] = text }
        if let lock = row.lock {
            errors[key] = lock.text.isEmpty ? "It cannot be edited on this page." : lock.text
        } else if !field.isSame(text, present) {
            read(text, field)
        }
    }

    private mutating func read(_ text: String, _ field: Field) {
        let (row, declaration) = (field.row, field.declaration)
        let key = declaration.name
        // Of several fields of a key the last counts.
        empty.removeAll { $0.utf8.elementsEqual(key.utf8) }
        // An empty field says nothing about a secret, and nothing where there is no value yet.
        if text.isEmpty, row.isSecret || row.value == nil { return }
        if text.isEmpty, declaration.allowsNothing, !field.takesEmptyText || row.kind.offersNothing {
            empty.append(key)
            values[key] = nil
            return
        }
        guard let value = field.value(of: text) else {
            let shown = row.isSecret ? SettingError.redacted : OutsideText.quoted(text)
            let type = field.isDate ? .date : declaration.type
            if type == .integer, Self.isWholeNumber(text) {
                errors[key] = "\(shown) is not between \(Int.min) and \(Int.max)"
            } else {
                errors[key] = Self.reason(of: SettingError(property: key, value: shown, rule: .type(type)), row.kind)
            }
            return
        }
        let present = field.isDate ? row.date.map { .date($0) } : row.value
        if row.isSecret || value != present { values[key] = value }
    }

    /// The text with LF at the ends of lines, which browsers send as CR LF. A `Character` may be both, so that scalars
    /// decide.
    package static func lines(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "\r")) else { return text }
        var lines = String.UnicodeScalarView()
        var previous: UnicodeScalar?
        for scalar in text.unicodeScalars {
            if scalar == "\r" { lines.append("\n") } else if scalar != "\n" || previous != "\r" { lines.append(scalar) }
            previous = scalar
        }
        return String(lines)
    }

    /// Why a value is refused, beside its field: the row names the property, and people type no names of types.
    static func reason(of error: SettingError, _ kind: PageView.Kind? = nil) -> String {
        guard case .type(let type) = error.rule, let words = wanted(type, kind) else { return error.reason }
        return "\(error.value) is \(words)"
    }

    /// The words for a text that is none of a type, with an example; nil for a type that no text shows.
    private static func wanted(_ type: SettingType, _ kind: PageView.Kind?) -> String? {
        if case .date(let traits)? = kind {
            return switch traits.mode {
            case .date: "no date such as 2026-11-23"
            case .time: "no time such as 09:30"
            case .dateAndTime: "no date and time such as 2026-11-23T09:30"
            }
        }
        return switch type {
        case .boolean: "neither on nor off"
        case .integer: "no whole number such as 15"
        case .float, .double: "no number such as 1.5"
        case .date: "no date and time such as 2026-11-23T09:30"
        case .url: "no address such as https://example.org/"
        case .array: "no list in JSON such as [1, \"a\"] without null"
        case .set: "no list of texts in JSON such as [\"first\", \"second\"]"
        case .dictionary: "no object in JSON such as {\"a\": 1} without null and without a key twice"
        case .string, .strings, .data, .coded: nil
        }
    }

    /// Whether a text is a whole number, however large.
    private static func isWholeNumber(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst(text.hasPrefix("-") || text.hasPrefix("+") ? 1 : 0)
        return !digits.isEmpty && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private struct Field {
        let row: PageView.Row
        let declaration: SettingDeclaration
        /// The date of the row, or what an earlier field of its key has made of it.
        let date: PropertyListDate?

        /// Whether two texts are the same for a form. Renderers write numbers and dates in their own way; of other
        /// texts each byte counts.
        func isSame(_ one: String, _ other: String) -> Bool {
            if one.utf8.elementsEqual(PageInput.lines(other).utf8) { return true }
            switch declaration.type {
            case .boolean, .integer, .float, .double, .date:
                return value(of: one).map { $0 == value(of: other) } ?? false
            case .string, .strings, .data, .url, .array, .dictionary, .set, .coded: return false
            }
        }

        var isDate: Bool { if case .date = row.kind { true } else { false } }

        /// Whether the empty text is a value, and not none.
        var takesEmptyText: Bool {
            guard declaration.type == .string, !isDate else { return false }
            if case .success = SettingsSchema([declaration]).judge(stored: "", at: 0) { return true }
            return false
        }

        /// The stored form that a text means; nil if it means none.
        func value(of text: String) -> PropertyListValue? {
            switch row.kind {
            case .toggle:
                return isOn(text).flatMap { declaration.stored(.boolean($0)) }
            case .choice(let choices), .radio(let choices):
                let option = choices.options.first { $0.input.utf8.elementsEqual(text.utf8) }
                return option?.value ?? PageInput.value(of: text, declaration)
            case .date(let traits): return PageInput.date(text, traits, date).map { .date($0) }
            case .text, .secureText, .multilineText, .slider: return PageInput.value(of: text, declaration)
            case .titleValue, .button, .link, .mail, .page, .list, .custom, .unsupported: return nil
            }
        }

        /// The state of a toggle: by a form's own words, by the texts of its two stored values, or by a word for yes or
        /// no.
        private func isOn(_ text: String) -> Bool? {
            if text.mayBeWord, let isOn = ["on": true, "off": false][text.lowercased()] { return isOn }
            let stored = [true, false].first { isOn in
                let value = declaration.stored(.boolean(isOn))
                return value.map { ($0.stringValue ?? $0.description).utf8.elementsEqual(text.utf8) } ?? false
            }
            return stored ?? ToggleValues().isOn(.string(text))
        }
    }

    /// The stored form that a text means for a property; nil if it means none.
    private static func value(of text: String, _ declaration: SettingDeclaration) -> PropertyListValue? {
        let typed: SettingValue? =
            switch declaration.type {
            case .strings: .strings(listed(text))
            case .array, .dictionary, .set:
                (try? JSONReader.read(text)).flatMap { SettingValue($0, as: declaration.type) }
            case .boolean, .integer, .float, .double, .string, .date, .url:
                SettingConversion(dates: .standard).value(.string(text), as: declaration.type)
            case .data, .coded: nil
            }
        return typed.flatMap { declaration.stored($0) }
    }

    /// The texts of lines. A last line feed ends the last text, and begins none.
    static func listed(_ lines: String) -> [String] {
        var texts: [String] =
            lines.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if texts.last == "" { texts.removeLast() }
        return texts
    }

    /// The lines of texts, which ``listed(_:)`` reads back.
    static func lines(of texts: [String]) -> String { texts.joined(separator: "\n") + (texts.last == "" ? "\n" : "") }

    /// Whether ``text(_:_:)`` of a value is read back as the value. One that its type cannot hold may be replaced.
    static func hasText(_ value: PropertyListValue, _ declaration: SettingDeclaration) -> Bool {
        guard declaration.type != .string, let typed = declaration.value(stored: value) else { return true }
        let read = Self.value(of: lines(text(value, declaration)), declaration)
        return read.flatMap { declaration.value(stored: $0) } == typed
    }

    // MARK: texts of values

    /// The text of a value: what ``init(_:shown:of:_:by:)`` reads back for a field of text.
    static func text(_ value: PropertyListValue, _ declaration: SettingDeclaration?) -> String {
        guard let typed = declaration?.value(stored: value) else { return value.stringValue ?? value.description }
        switch typed {
        case .strings(let texts): return lines(of: texts)
        case .date: return text(value, DateTraits())
        case .array, .dictionary: return PropertyListJSON.text(value)
        case .data, .coded: return typed.description
        case .boolean, .integer, .float, .double, .string, .url, .nothing: return typed.text
        }
    }

    /// The text of a choice, which no other choice has: dates and bytes have texts for people that are not whole, and
    /// no form carries control characters. Then it is JSON, as which no other text may pass.
    static func text(ofChoice value: PropertyListValue, _ declaration: SettingDeclaration) -> String {
        switch declaration.type {
        case .date, .data, .coded: PropertyListJSON.text(value)
        case .boolean, .integer, .float, .double, .string, .strings, .url, .array, .dictionary, .set:
            plain(text(value, declaration))
        }
    }

    private static func plain(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            scalar == "\n" || scalar == "\t" || scalar.properties.generalCategory != .control
        }
        return isPlain && text.utf8.first != UInt8(ascii: "\"") ? text : PropertyListJSON.text(.string(text))
    }

    /// `2026-11-23`, `09:30` or `2026-11-23T09:30`.
    static func text(_ value: PropertyListValue, _ traits: DateTraits) -> String {
        guard let date = value.dateValue else { return value.stringValue ?? "" }
        let minutes = date.millisecondsSince1970.floored(by: 60_000)
        let days = minutes.floored(by: 1440)
        let day = CivilDate(daysSince1970: days)
        let dayText = "\(day.year.padded(to: 4))-\(day.month.padded(to: 2))-\(day.day.padded(to: 2))"
        let minute = minutes - days * 1440
        let timeText = "\((minute / 60).padded(to: 2)):\((minute % 60).padded(to: 2))"
        return switch traits.mode {
        case .date: dayText
        case .time: timeText
        case .dateAndTime: "\(dayText)T\(timeText)"
        }
    }

    /// The text of a value for people, who type none of it: with the seconds of a date that has any.
    static func shown(_ value: PropertyListValue, _ declaration: SettingDeclaration?) -> String {
        guard case .date? = declaration?.value(stored: value) else { return text(value, declaration) }
        return shown(value, DateTraits())
    }

    /// As ``text(_:_:)``, with the seconds of a time that has any.
    static func shown(_ value: PropertyListValue, _ traits: DateTraits) -> String {
        let text = text(value, traits)
        guard let date = value.dateValue, traits.mode != .date else { return text }
        let seconds = date.millisecondsSince1970.floored(by: 1000)
        let second = seconds - seconds.floored(by: 60) * 60
        return second == 0 ? text : "\(text):\(second.padded(to: 2))"
    }

    /// The date of a text; a day alone keeps the time of day, and a time alone the day.
    private static func date(_ text: String, _ traits: DateTraits, _ present: PropertyListDate?) -> PropertyListDate? {
        let parts = text.split(separator: "T", omittingEmptySubsequences: false).map(String.init)
        let now = present?.millisecondsSince1970 ?? 0
        let today = now.floored(by: dayLength) * dayLength
        let milliseconds: Int64? =
            switch (traits.mode, parts.count) {
            case (.date, 1): day(parts[0]).map { $0 + now - today }
            case (.time, 1): time(parts[0]).map { today + $0 }
            case (.dateAndTime, 2): day(parts[0]).flatMap { day in time(parts[1]).map { day + $0 } }
            default: nil
            }
        return milliseconds.flatMap { PropertyListDate(millisecondsSince1970: $0) }
    }

    /// Milliseconds of a day.
    private static let dayLength: Int64 = 86_400_000

    /// The milliseconds from 1970 to a day.
    private static func day(_ text: String) -> Int64? {
        let parts = numbers(text, "-", [4, 2, 2])
        return parts.flatMap { CivilDate(year: $0[0], month: $0[1], day: $0[2])?.daysSince1970 }.map { $0 * dayLength }
    }

    /// The milliseconds from midnight to a time.
    private static func time(_ text: String) -> Int64? {
        let parts = numbers(text, ":", [2, 2]).map { $0 + [0] } ?? numbers(text, ":", [2, 2, 2])
        guard let parts, parts[0] < 24, parts[1] < 60, parts[2] < 60 else { return nil }
        return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000
    }

    private static func numbers(_ text: String, _ separator: Character, _ lengths: [Int]) -> [Int64]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == lengths,
            parts.allSatisfy({ $0.utf8.allSatisfy(\.isASCIIDigit) })
        else { return nil }
        return parts.compactMap { Int64($0) }
    }
}

extension PageView.Kind {
    fileprivate var offersNothing: Bool {
        switch self {
        case .choice(let choices), .radio(let choices): choices.options.contains { $0.value == nil }
        default: false
        }
    }
}
