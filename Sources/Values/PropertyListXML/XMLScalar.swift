// Texts of the scalars of an XML property list, both ways. White space around a number or a date, and within base64,
// means nothing, as in the files that Apple's tools write. A date is read with milliseconds, too; it is
// never written with them, because other readers refuse the whole file.

import TandemBase
import TandemPropertyList

enum XMLScalar {
    typealias Reason = PropertyListXMLError.Reason

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n")
            || byte == UInt8(ascii: "\r")
    }

    private static func trimmed(_ text: [UInt8]) -> ArraySlice<UInt8> {
        let start = text.firstIndex { !isSpace($0) } ?? text.endIndex
        let end = text.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start
        return text[start..<end]
    }

    // MARK: numbers

    /// Decimal digits, or `0x` and hexadecimal ones, after a sign or none.
    static func integer(_ text: [UInt8]) throws(Reason) -> PropertyListValue {
        var digits = trimmed(text)
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative || digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
        let isHexadecimal = digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8)
        if isHexadecimal { digits = digits.dropFirst(2) }
        // The initialiser would take a second sign.
        guard digits.first.map({ $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "+") }) == true,
            let magnitude = UInt64(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10)
        else { throw .integer }
        guard isNegative else { return PropertyListValue(magnitude) }
        guard magnitude <= Int64.min.magnitude else { throw .integer }
        return .integer(magnitude == Int64.min.magnitude ? .min : -Int64(magnitude))
    }

    /// Digits with a point, with an exponent, or without.
    static func real(_ text: [UInt8]) throws(Reason) -> Double {
        var rest = trimmed(text)
        let number = rest
        if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        let words = ["nan", "inf", "infinity"]
        if words.contains(String(decoding: rest, as: UTF8.self).lowercased()) { throw .notFinite }
        let whole = takeDigits(&rest)
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            fraction = takeDigits(&rest)
        }
        guard whole + fraction > 0 else { throw .real }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
            guard takeDigits(&rest) > 0 else { throw .real }
        }
        guard rest.isEmpty, let value = Double(String(decoding: number, as: UTF8.self)) else { throw .real }
        guard value.isFinite else { throw .notFinite }
        return value
    }

    private static func takeDigits(_ rest: inout ArraySlice<UInt8>) -> Int {
        let count = rest.prefix(while: \.isASCIIDigit).count
        rest = rest.dropFirst(count)
        return count
    }

    // MARK: dates

    /// `2026-11-23T09:30:00Z`, with a point and three digits after the seconds or without.
    static func date(_ text: [UInt8]) throws(Reason) -> PropertyListDate {
        let text = Array(trimmed(text))
        guard
            let form = [dateForm, dateForm.dropLast() + Array(".000Z".utf8)].first(where: { $0.count == text.count }),
            zip(text, form).allSatisfy({ $1.isASCIIDigit ? $0.isASCIIDigit : $0 == $1 })
        else { throw .date }
        func number(_ range: Range<Int>) -> Int64 {
            text[range].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }
        let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
        guard let day = CivilDate(year: number(0..<4), month: number(5..<7), day: number(8..<10)),
            hour < 24, minute < 60, second < 60
        else { throw .date }
        let seconds = ((day.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second
        let milliseconds = seconds * 1000 + (text.count > dateForm.count ? number(20..<23) : 0)
        guard let date = PropertyListDate(millisecondsSince1970: milliseconds) else { throw .date }
        return date
    }

    private static var dateForm: [UInt8] { Array("0000-00-00T00:00:00Z".utf8) }

    static func text(_ date: PropertyListDate) throws(Reason) -> String {
        guard PropertyListDate.representable.contains(date.millisecondsSinceReferenceDate) else { throw .date }
        let milliseconds = date.millisecondsSince1970
        let days = milliseconds.floored(by: 86_400_000)
        let time = milliseconds - days * 86_400_000
        guard time % 1000 == 0 else { throw .fraction }
        let day = CivilDate(daysSince1970: days)
        let clock = [time / 3_600_000, time / 60_000 % 60, time / 1000 % 60].map { $0.padded(to: 2) }
        return "\(day.year.padded(to: 4))-\(day.month.padded(to: 2))-\(day.day.padded(to: 2))T"
            + clock.joined(separator: ":") + "Z"
    }

    // MARK: data

    /// The bytes of padded base64.
    static func data(_ text: [UInt8]) throws(Reason) -> [UInt8] {
        guard let bytes = Base64.decode(text.filter { !isSpace($0) }) else { throw .data }
        return bytes
    }
}
