// Why a value was refused: which property, which value, which rule. One error for every way in (code, page, file,
// signed configuration), so that the same mistake reads the same everywhere.

import TandemBase

/// A value that a property does not take.
public struct SettingError: Error, Sendable, Equatable {
    /// The rule that the value breaks.
    public enum Rule: Sendable, Equatable {
        /// There is no such property.
        case unknownProperty
        /// A value of another type than the property's.
        case type(SettingType)
        /// A number that is infinite or none.
        case finite
        /// The smallest value, as text.
        case minimum(String)
        /// The largest value, as text.
        case maximum(String)
        /// The regular expression is not found in the value's text.
        case pattern(String)
        /// The search was given up at a limit; never taken for a match.
        case patternTooCostly(String)
        /// None of the choices.
        case choice
    }

    /// The property's name.
    public let property: String
    /// The value as ``SettingValue/description`` shows it.
    public let value: String
    /// The rule that the value breaks.
    public let rule: Rule

    /// A refusal.
    public init(property: String, value: String, rule: Rule) {
        self.property = property
        self.value = value
        self.rule = rule
    }
}

extension SettingError.Rule {
    /// The stable name of the rule.
    public var name: String {
        switch self {
        case .unknownProperty: "unknown-property"
        case .type: "type"
        case .finite: "finite"
        case .minimum: "minimum"
        case .maximum: "maximum"
        case .pattern: "pattern"
        case .patternTooCostly: "pattern-too-costly"
        case .choice: "choice"
        }
    }
}

extension SettingError: CustomStringConvertible {
    public var description: String {
        switch rule {
        case .unknownProperty: "there is no property \(OutsideText.quoted(property))"
        case .type(let type): "\(property): \(value) is not of type \(type.rawValue)"
        case .finite: "\(property): \(value) is not a finite number"
        case .minimum(let bound): "\(property): \(value) is under the minimum \(bound)"
        case .maximum(let bound): "\(property): \(value) is over the maximum \(bound)"
        case .pattern(let pattern): "\(property): \(value) does not match \(OutsideText.quoted(pattern))"
        case .patternTooCostly(let pattern):
            "\(property): searching \(value) for \(OutsideText.quoted(pattern)) costs too much"
        case .choice: "\(property): \(value) is none of the choices"
        }
    }
}
