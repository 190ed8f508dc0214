// Conversion of what a file, the environment or the command line holds to the type of a property: fifteen pairs and no
// other. It is exact: text that is no number gives no 0, a boolean is never a text, and a number that its type cannot
// hold is none. Signed configuration is not converted at all; it names each type.

package import TandemPropertyList

/// The conversions of values to the types of properties.
package struct SettingConversion: Sendable {
    private let dates: SettingDateFormat

    /// - Parameter dates: the form of dates that are text.
    package init(dates: SettingDateFormat) { self.dates = dates }

    /// The value as a property of the type holds it; nil for a pair that is none of the fifteen, and for a value that
    /// the type cannot hold.
    package func value(_ value: PropertyListValue, as type: SettingType) -> SettingValue? {
        switch (value, type) {
        case (.array(let elements), .array): .array(elements)
        case (.array, .strings), (.array, .set): SettingValue(value, as: type)
        case (.dictionary(let pairs), .dictionary): .dictionary(pairs)
        case (.boolean(let isOn), .boolean): .boolean(isOn)
        case (.data(let bytes), .data): .data(bytes)
        case (.data(let bytes), .string): String(validating: bytes, as: UTF8.self).map { .string($0) }
        case (.date(let date), .date): .date(date)
        case (.date(let date), .string): .string(dates.text(date))
        case (.integer(let number), _): Self.number(number, as: type)
        case (.unsigned(let number), _): Self.number(number, as: type)
        case (.real(let number), _): Self.number(number, as: type)
        case (.string(let text), _): self.value(of: text, as: type)
        case (.array, _), (.dictionary, _), (.boolean, _), (.data, _), (.date, _): nil
        }
    }

    private static func number(_ number: some BinaryInteger, as type: SettingType) -> SettingValue? {
        switch type {
        case .integer: Int(exactly: number).map { .integer($0) }
        case .float: Float(exactly: number).map { .float($0) }
        case .double: Double(exactly: number).map { .double($0) }
        case .string: .string(String(number))
        case .boolean, .strings, .data, .date, .url, .array, .dictionary, .set, .coded: nil
        }
    }

    private static func number(_ number: Double, as type: SettingType) -> SettingValue? {
        guard number.isFinite else { return nil }
        return switch type {
        case .integer: Int(exactly: number).map { .integer($0) }
        case .float: Float(number).isFinite ? .float(Float(number)) : nil
        case .double: .double(number)
        case .string: .string(SettingValue.double(number).text)
        case .boolean, .strings, .data, .date, .url, .array, .dictionary, .set, .coded: nil
        }
    }

    private func value(of text: String, as type: SettingType) -> SettingValue? {
        switch type {
        case .string: .string(text)
        case .url: SettingURL(text).map { .url($0) }
        case .date: dates.date(text).map { .date($0) }
        case .data: .data(Array(text.utf8))
        case .integer: Self.integer(text).map { .integer($0) }
        case .float: Self.isDecimal(text) ? Float(text).flatMap { $0.isFinite ? .float($0) : nil } : nil
        case .double: Self.real(text).map { .double($0) }
        case .boolean, .strings, .array, .dictionary, .set, .coded: nil
        }
    }

    /// The finite number of a decimal text, which Swift reads more loosely: `nan` and `0x10` are none.
    private static func real(_ text: String) -> Double? {
        guard isDecimal(text), let number = Double(text), number.isFinite else { return nil }
        return number
    }

    /// The integer that a decimal text is exactly, such as `56.0` and `1.5e3`. A real in between would round it.
    private static func integer(_ text: String) -> Int? {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
        guard real(text) != nil, let shift = parts.count > 1 ? Int32(parts[1]) : 0 else { return nil }
        let number = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        var digits = number.joined().drop { $0 == "+" || $0 == "-" || $0 == "0" }
        var power = Int(shift) - (number.count > 1 ? number[1].count : 0)
        while digits.last == "0" {
            digits.removeLast()
            power += 1
        }
        guard !digits.isEmpty else { return 0 }
        guard (0..<19).contains(power) else { return nil }
        return Int((text.hasPrefix("-") ? "-" : "") + digits + String(repeating: "0", count: power))
    }

    private static func isDecimal(_ text: String) -> Bool {
        text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
    }
}
