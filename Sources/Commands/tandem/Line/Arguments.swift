// Parsed arguments: option values by name, operands in order. Reading a value checks its form, so that all commands
// word the same mistake alike.

import TandemControl

/// A subcommand's parsed arguments.
struct Arguments: Equatable {
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    mutating func add(operand: String) { operands.append(operand) }

    /// Adds an operand that an option has named. Operands that are missing before it are reported by the check.
    mutating func insert(operand: String, at index: Int) { operands.insert(operand, at: min(index, operands.count)) }

    mutating func add(_ value: String, to name: String) { values[name, default: []].append(value) }

    func has(_ name: String) -> Bool { values[name] != nil }

    /// The option's value, if it was given.
    func value(_ name: String) -> String? { values[name]?.first }

    /// Every value of an option that may be repeated.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The value of an option that the subcommand requires.
    func required(_ name: String) throws(CommandFailure) -> String {
        guard let value = value(name) else { throw .usage("--\(name) is missing") }
        return value
    }

    func integer<Number: FixedWidthInteger & Sendable>(_ name: String, in range: ClosedRange<Number>)
        throws(CommandFailure) -> Number?
    {
        guard let text = value(name) else { return nil }
        guard let number = Number(text), range.contains(number) else {
            throw .usage(
                "--\(name) '\(text)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A time such as `500ms`, `30s`, `15m`, `24h` or `7d`; a bare number is seconds.
    func duration(_ name: String) throws(CommandFailure) -> Duration? {
        guard let text = value(name) else { return nil }
        guard let duration = DurationText.read(text) else {
            throw .usage("--\(name) '\(text)' is not a time such as 500ms, 30s, 15m, 24h or 7d")
        }
        return duration
    }
}

/// The text form of times on the command line.
enum DurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("", 1000),
    ]

    /// nil for another form, a negative time, or more milliseconds than an integer holds.
    static func read(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text[digits.endIndex...]
        guard let number = Int64(digits), let unit = units.first(where: { $0.suffix == suffix }) else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }
}
