// The shortest decimal text that reads back as the same number in its own type, written without an exponent: regular
// expressions of settings are written for digits (56.0 is "56", 1e21 is a one and twenty-one zeros).

enum DecimalText {
    static func shortest<Number: BinaryFloatingPoint & CustomStringConvertible>(_ number: Number) -> String {
        guard number.isFinite, number != 0 else { return number == 0 ? "0" : number.description }
        let parts = number.magnitude.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        let fraction = mantissa.count > 1 && mantissa[1] != "0" ? String(mantissa[1]) : ""
        let digits = String(mantissa[0]) + fraction
        let point = mantissa[0].count + exponent
        return (number < 0 ? "-" : "") + placed(digits, point: point)
    }

    /// The digits with the decimal point after the first `point` of them, filled up with zeros where it lies outside.
    private static func placed(_ digits: String, point: Int) -> String {
        if point <= 0 { return "0." + String(repeating: "0", count: -point) + digits }
        if point >= digits.count { return digits + String(repeating: "0", count: point - digits.count) }
        return digits.prefix(point) + "." + digits.dropFirst(point)
    }
}
