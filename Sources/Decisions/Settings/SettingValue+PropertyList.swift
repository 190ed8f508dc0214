// From a property list to a property's own type and back. Exact or refused: a boolean is never a number, a real never
// an integer; an integer stands for a real only if it is that number exactly. Floats are rounded from the Double they
// travel as, which is how their bounds were made too.

package import TandemPropertyList

extension SettingValue {
    /// The value as a property of this type holds it; nil if that type does not take it.
    package init?(_ value: PropertyListValue, as type: SettingType) {
        switch (value, type) {
        case (.boolean(let value), .boolean): self = .boolean(value)
        case (.integer(let value), .integer): self.init(integer: value)
        case (.string(let value), .string): self = .string(value)
        case (.real(let value), .double): self = .double(value)
        case (.real(let value), .float): self = .float(Float(value))
        case (.integer(let value), .double): self.init(exactly: value)
        case (.integer(let value), .float): self.init(exactlyFloat: value)
        default: return nil
        }
    }

    private init?(integer value: Int64) {
        guard let value = Int(exactly: value) else { return nil }
        self = .integer(value)
    }

    private init?(exactly value: Int64) {
        guard let value = Double(exactly: value) else { return nil }
        self = .double(value)
    }

    private init?(exactlyFloat value: Int64) {
        guard let value = Float(exactly: value) else { return nil }
        self = .float(value)
    }
}
