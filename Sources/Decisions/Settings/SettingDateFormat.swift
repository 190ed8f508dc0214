// Dates as text in files of configuration, by a pattern of letters as Foundation's date formats have them, and nothing
// that depends on a locale. Only letters that have one meaning everywhere are read; any other is a mistake of the
// declaration, found at start. Text is read as strictly as it is written.

import TandemBase
package import TandemPropertyList

/// A pattern for dates, and the zone of texts that name none.
package struct SettingDateFormat: Sendable {
    /// The pattern of configuration files if the app names no other: `2017-05-24 15:31:29 GMT`.
    package static let standardPattern = "yyyy-MM-dd HH:mm:ss zzz"

    private enum Part: Equatable {
        case literal([UInt8])
        case field(Field, count: Int)

        var isNumber: Bool { if case .field(let field, _) = self { field.isNumber } else { false } }

        func isField(_ wanted: Field) -> Bool { if case .field(let field, _) = self { field == wanted } else { false } }
    }

    private enum Field: Unicode.Scalar {
        case year = "y"
        case month = "M"
        case day = "d"
        case hour = "H"
        case minute = "m"
        case second = "s"
        case fraction = "S"
        case zoneName = "z"
        case zoneOffset = "Z"
        case zoneISO = "X"

        /// The numbers of letters that mean something.
        var counts: Set<Int> {
            switch self {
            // Two letters would be a year of an unknown century; three or more of the month would be its name.
            case .year: [1, 4]
            case .month, .day, .hour, .minute, .second: [1, 2]
            case .fraction, .zoneISO: [1, 2, 3]
            case .zoneName: [1, 2, 3, 4]
            case .zoneOffset: [1, 2, 3, 4, 5]
            }
        }

        var isNumber: Bool {
            switch self {
            case .year, .month, .day, .hour, .minute, .second, .fraction: true
            case .zoneName, .zoneOffset, .zoneISO: false
            }
        }
    }

    private let parts: [Part]
    private let zone: SettingTimeZone

    /// - Parameter zone: of the texts that are written, and of those read that name no zone.
    /// - Throws: the first letter or quote that means nothing, or a date's part that the pattern lacks.
    package init(
        _ pattern: String = SettingDateFormat.standardPattern, zone: SettingTimeZone = .gmt
    ) throws(SettingDateFormatError) {
        parts = try Self.parts(of: pattern)
        self.zone = zone
        for field in [Field.year, .month, .day] where !parts.contains(where: { $0.isField(field) }) {
            throw .missing(String(Character(field.rawValue)))
        }
    }

    /// The standard pattern, in GMT.
    package static var standard: SettingDateFormat {
        do throws(SettingDateFormatError) { return try SettingDateFormat() } catch {
            preconditionFailure("the standard pattern is one: \(error)")
        }
    }

    // MARK: the pattern

    private static func parts(of pattern: String) throws(SettingDateFormatError) -> [Part] {
        var parts: [Part] = []
        var rest = Array(pattern.unicodeScalars)[...]
        while let first = rest.first {
            if first == "'" {
                add(try takeQuoted(&rest), to: &parts)
            } else if first.isASCII, first.properties.isAlphabetic {
                let run = rest.prefix { $0 == first }.count
                rest = rest.dropFirst(run)
                guard let field = Field(rawValue: first), field.counts.contains(run) else {
                    throw .letters(String(repeating: Character(first), count: run))
                }
                parts.append(.field(field, count: run))
            } else {
                rest = rest.dropFirst()
                add(String(first), to: &parts)
            }
        }
        return parts
    }

    private static func add(_ text: String, to parts: inout [Part]) {
        if case .literal(let bytes) = parts.last {
            parts[parts.count - 1] = .literal(bytes + Array(text.utf8))
        } else {
            parts.append(.literal(Array(text.utf8)))
        }
    }

    /// The text between two quotes; two quotes side by side are one, in and outside of quoted text.
    private static func takeQuoted(_ rest: inout ArraySlice<Unicode.Scalar>) throws(SettingDateFormatError) -> String {
        rest = rest.dropFirst()
        if rest.first == "'" {
            rest = rest.dropFirst()
            return "'"
        }
        var text = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            guard scalar == "'" else {
                text.append(scalar)
                continue
            }
            guard rest.first == "'" else { return String(text) }
            rest = rest.dropFirst()
            text.append("'")
        }
        throw .openQuote
    }

    // MARK: writing

    package func text(_ date: PropertyListDate) -> String {
        let milliseconds = date.millisecondsSince1970
        let offset = zone.offset(at: milliseconds.floored(by: 1000))
        let local = milliseconds + Int64(offset) * 1000
        let days = local.floored(by: 86_400_000)
        let day = CivilDate(daysSince1970: days)
        let time = local - days * 86_400_000
        var text = ""
        for part in parts {
            switch part {
            case .literal(let bytes): text += String(decoding: bytes, as: UTF8.self)
            case .field(let field, let count):
                switch field {
                case .year: text += day.year.padded(to: count)
                case .month: text += day.month.padded(to: count)
                case .day: text += day.day.padded(to: count)
                case .hour: text += (time / 3_600_000).padded(to: count)
                case .minute: text += (time / 60_000 % 60).padded(to: count)
                case .second: text += (time / 1000 % 60).padded(to: count)
                case .fraction: text += String((time % 1000).padded(to: 3).prefix(count))
                case .zoneName, .zoneOffset, .zoneISO: text += Self.zoneText(offset, field, count)
                }
            }
        }
        return text
    }

    private static func zoneText(_ offset: Int, _ field: Field, _ count: Int) -> String {
        let form = SettingTimeZone.OffsetText(offset)
        switch (field, count) {
        case (.zoneName, 4), (.zoneOffset, 4): return form.named(isLong: true)
        case (.zoneName, _): return form.named(isLong: false)
        case (.zoneISO, _) where offset == 0, (.zoneOffset, 5) where offset == 0: return "Z"
        case (.zoneISO, 1): return form.hours + (form.minutes == "00" ? "" : form.minutes)
        case (.zoneISO, 3), (.zoneOffset, 5): return form.hours + ":" + form.minutes
        default: return form.hours + form.minutes
        }
    }

    // MARK: reading

    /// The date of a text that has the pattern's form from beginning to end; nil for any other.
    package func date(_ text: String) -> PropertyListDate? {
        var rest = Array(text.utf8)[...]
        var numbers: [Field: Int64] = [:]
        var offset: Int?
        for (index, part) in parts.enumerated() {
            switch part {
            case .literal(let bytes):
                guard rest.starts(with: bytes) else { return nil }
                rest = rest.dropFirst(bytes.count)
            case .field(let field, let count) where field.isNumber:
                let isFollowed = index + 1 < parts.count && parts[index + 1].isNumber
                guard let number = Self.takeNumber(&rest, field, count, isFollowed: isFollowed) else { return nil }
                numbers[field] = number
            case .field:
                guard let found = SettingTimeZone.takeOffset(&rest) else { return nil }
                offset = found
            }
        }
        guard rest.isEmpty else { return nil }
        return date(numbers, offset: offset)
    }

    /// Several letters are as many digits; a single one is as many as there are, unless another number follows.
    private static func takeNumber(
        _ rest: inout ArraySlice<UInt8>, _ field: Field, _ count: Int, isFollowed: Bool
    ) -> Int64? {
        let most = count > 1 || isFollowed || field == .fraction ? count : field == .year ? 4 : 2
        let digits = rest.prefix(most).prefix(while: \.isASCIIDigit)
        guard digits.count >= count else { return nil }
        rest = rest.dropFirst(digits.count)
        let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        // Tenths and hundredths become thousandths.
        return field == .fraction ? number * [100, 10, 1][count - 1] : number
    }

    private func date(_ numbers: [Field: Int64], offset: Int?) -> PropertyListDate? {
        let (hour, minute, second) = (numbers[.hour] ?? 0, numbers[.minute] ?? 0, numbers[.second] ?? 0)
        guard let year = numbers[.year], let month = numbers[.month], let day = numbers[.day],
            let date = CivilDate(year: year, month: month, day: day), hour < 24, minute < 60, second < 60
        else { return nil }
        let local = ((date.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second
        let seconds = local - Int64(offset ?? zone.offset(atLocal: local))
        return PropertyListDate(millisecondsSince1970: seconds * 1000 + (numbers[.fraction] ?? 0))
    }
}

/// A mistake in a pattern for dates.
package enum SettingDateFormatError: Error, Sendable, Equatable {
    /// Letters that mean nothing, or not as many of them.
    case letters(String)
    /// A quote without its end.
    case openQuote
    /// A pattern that makes no date, because this letter is missing.
    case missing(String)
}

extension SettingDateFormatError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .letters(let letters):
            "'\(letters)' means nothing in a date format; use y or yyyy, M, d, H, m, s (one or two each), S, z, Z, X, "
                + "and quote text as 'text'"
        case .openQuote: "a quote in the date format has no end"
        case .missing(let letter): "the date format has no '\(letter)': year, month and day are needed"
        }
    }
}

// MARK: - zones

/// A zone of time: an offset from GMT, or rules that are looked up by name.
package struct SettingTimeZone: Sendable {
    /// The offset of GMT (seconds to the east) at a point in time (seconds since 1970).
    package typealias Rules = @Sendable (_ seconds: Int64) -> Int

    /// Greenwich mean time, which is UTC.
    package static let gmt = SettingTimeZone { _ in 0 }

    private let rules: Rules

    private init(_ rules: @escaping Rules) { self.rules = rules }

    /// `GMT`, `UTC`, `Z`, an offset such as `+01:00`, `-0330`, `GMT+1`, or a name that `lookup` knows.
    package init?(_ name: String, lookup: (String) -> Rules? = { _ in nil }) {
        var rest = Array(name.utf8)[...]
        if let offset = Self.takeOffset(&rest), rest.isEmpty {
            self.init { _ in offset }
        } else if let rules = lookup(name) {
            self.init(rules)
        } else {
            return nil
        }
    }

    func offset(at seconds: Int64) -> Int { rules(seconds) }

    /// The offset where clocks in the zone show that time. In the hour that clocks skip or repeat: that before.
    func offset(atLocal local: Int64) -> Int {
        let before = rules(local - 86_400)
        let guess = rules(local - Int64(before))
        return rules(local - Int64(guess)) == guess && rules(local - Int64(before)) != before ? guess : before
    }

    struct OffsetText {
        /// With a sign: `+01`.
        let hours: String
        let minutes: String
        private let offset: Int

        init(_ offset: Int) {
            self.offset = offset
            let minutes = Int64(offset.magnitude / 60)
            hours = (offset < 0 ? "-" : "+") + (minutes / 60).padded(to: 2)
            self.minutes = (minutes % 60).padded(to: 2)
        }

        /// `GMT`, `GMT+1`, `GMT+5:30`; the long form is `GMT+01:00`.
        func named(isLong: Bool) -> String {
            if offset == 0 { return "GMT" }
            if isLong { return "GMT\(hours):\(minutes)" }
            return "GMT\(offset < 0 ? "-" : "+")\(offset.magnitude / 3600)" + (minutes == "00" ? "" : ":\(minutes)")
        }
    }

    /// Takes `GMT`, `UTC`, `Z` or an offset, in any of the forms that patterns write, up to 23:59.
    static func takeOffset(_ rest: inout ArraySlice<UInt8>) -> Int? {
        var isNamed = true
        if rest.starts(with: "GMT".utf8) || rest.starts(with: "UTC".utf8) {
            rest = rest.dropFirst(3)
        } else if rest.first == UInt8(ascii: "Z") {
            rest = rest.dropFirst()
            return 0
        } else {
            isNamed = false
        }
        guard let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else {
            return isNamed ? 0 : nil
        }
        rest = rest.dropFirst()
        guard let amount = takeAmount(&rest, isNamed: isNamed) else { return nil }
        return sign == UInt8(ascii: "-") ? -amount : amount
    }

    /// `hh`, `hhmm` or `hh:mm`, in seconds; behind a name also with one digit for the hours.
    private static func takeAmount(_ rest: inout ArraySlice<UInt8>, isNamed: Bool) -> Int? {
        let digits = rest.prefix(4).prefix(while: \.isASCIIDigit)
        guard digits.count == 2 || digits.count == 4 || (digits.count == 1 && isNamed) else { return nil }
        rest = rest.dropFirst(digits.count)
        func number(_ digits: ArraySlice<UInt8>) -> Int { digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } }
        let hours = number(digits.prefix(2))
        var minutes = number(digits.dropFirst(2))
        if digits.count < 4, rest.first == UInt8(ascii: ":") {
            let after = rest.dropFirst().prefix(2).prefix(while: \.isASCIIDigit)
            guard after.count == 2 else { return nil }
            minutes = number(after)
            rest = rest.dropFirst(3)
        }
        return hours < 24 && minutes < 60 ? (hours * 60 + minutes) * 60 : nil
    }
}
