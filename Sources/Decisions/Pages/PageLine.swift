// One line of a terminal for the value of a row (Protocol/Pages.md PAG-35): how it is shown there, and the text of a
// field that a typed line means. A value with several lines in a browser is JSON here.

import TandemPropertyList
import TandemSettings

extension PageView.Row {
    /// The zone of the date or time that the row's control shows, for people; nil for every other row.
    package var zone: String? {
        switch kind {
        case .date: "UTC"
        case .titleValue, .custom: Self.zone(of: value, shownAs: shown, kind)
        default: nil
        }
    }

    /// The text of the value with the zone of a date, as the default has it (PAG-16).
    var zoned: String { Self.zone(of: value, shownAs: shown, kind).map { "\(shown) \($0)" } ?? shown }

    /// The zone of a text that shows a date (PAG-16); nil for any other value, and for the label that the page has for
    /// a date.
    static func zone(of value: PropertyListValue?, shownAs text: String, _ kind: PageView.Kind) -> String? {
        guard let value, value.dateValue != nil else { return nil }
        let traits: DateTraits = if case .date(let picker) = kind { picker } else { DateTraits() }
        return text == PageInput.shown(value, traits) ? "UTC" : nil
    }

    /// The value on one line; empty for none and for a secret.
    package var line: String {
        switch kind {
        case .text, .multilineText:
            // A text of a list may have line ends itself, as no field shows it.
            value.map { type == .strings ? PropertyListJSON.text($0) : line(ofField: shown) } ?? ""
        case .date: lineOfDate
        default: Self.onOneLine(zoned)
        }
    }

    /// The text of the field that the line shows: ``input``, with the seconds of a date that has any.
    package var lineInput: String {
        guard case .date(let traits) = kind, let date else { return input }
        return PageInput.shown(.date(date), traits)
    }

    /// The default on one line; empty where none is shown.
    var lineOfDefault: String {
        switch kind {
        case .text, .multilineText: shownDefault.isEmpty ? "" : line(ofField: shownDefault)
        default: Self.onOneLine(shownDefault)
        }
    }

    /// The value in full: the lines of a text, and the texts of a list; one line of any other value.
    package var lines: [String] {
        switch kind {
        case .text, .multilineText:
            let text = PageInput.lines(shown)
            if type == .strings { return PageInput.listed(text) }
            guard type == .string, !text.isEmpty else { break }
            return text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        default: break
        }
        return line.isEmpty ? [] : [line]
    }

    /// How a value is typed on a line, where that is not plain; nil for any other row.
    package var example: String? {
        switch (kind, type) {
        case (.date(let traits), _):
            switch traits.mode {
            case .date: "2026-11-23"
            case .time: "09:30"
            case .dateAndTime: "2026-11-23T09:30"
            }
        case (.multilineText, .strings?), (.multilineText, .set?): #"["first","second"]"#
        case (.multilineText, .string?): #""first line\nsecond line""#
        case (.multilineText, .array?): "[1,2]"
        case (.multilineText, .dictionary?): #"{"key":1}"#
        default: nil
        }
    }

    /// The text of a field for a typed line: a choice may be typed by its title, too.
    /// - Returns: nil for a line that is no list of texts, where the row takes one.
    package func input(ofLine line: String) -> String? {
        guard !line.isEmpty else { return line }
        switch kind {
        case .choice(let choices), .radio(let choices):
            if choices.options.contains(where: { $0.input == line }) { return line }
            return choices.options.first { $0.title == line }?.input ?? line
        case .date: return line.hasSuffix(" UTC") ? String(line.dropLast(4)) : line
        case .text, .multilineText:
            let json = try? JSONReader.read(line)
            return switch type {
            case .strings: json.flatMap(Self.input(ofTexts:))
            case .string: json?.stringValue ?? line
            default: line
            }
        default: return line
        }
    }

    private func line(ofField text: String) -> String {
        switch type {
        case .strings:
            return PropertyListJSON.text(.array(PageInput.listed(PageInput.lines(text)).map { .string($0) }))
        // By bytes: with a combining mark behind it the quotation mark is another character.
        case .string where text.isEmpty || text.utf8.first == UInt8(ascii: "\""):
            return PropertyListJSON.text(.string(text))
        default: return Self.onOneLine(text)
        }
    }

    /// The lines of a field with these texts; nil for what such lines cannot say.
    private static func input(ofTexts value: PropertyListValue) -> String? {
        guard let items = value.arrayValue else { return nil }
        let texts = items.compactMap(\.stringValue)
        let hasLineEnd = texts.contains { text in text.unicodeScalars.contains { $0 == "\n" || $0 == "\r" } }
        return texts.count == items.count && !hasLineEnd ? PageInput.lines(of: texts) : nil
    }

    /// A date with its zone; beside the running app's own text, if it has one.
    private var lineOfDate: String {
        guard !input.isEmpty else { return Self.onOneLine(shown) }
        let whole = lineInput
        if shown == whole || shown.isEmpty { return "\(whole) UTC" }
        return "\(Self.onOneLine(shown)) (\(whole) UTC)"
    }

    /// A text without line ends.
    private static func onOneLine(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        return isPlain ? text : PropertyListJSON.text(.string(text))
    }
}
