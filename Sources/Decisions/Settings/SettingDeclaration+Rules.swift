// The rules of one property, in the order in which they are told: type, finite, bounds, choices, regular expression.
// Both the bounds and the expression must hold; a value inside its range may still fail its expression.

import TandemPattern

extension SettingDeclaration {
    func brokenRule(by value: SettingValue, pattern: Pattern?) -> SettingError.Rule? {
        guard value.isOf(type, allowsNothing: allowsNothing) else { return .type(type) }
        if value == .nothing { return nil }
        return brokenBound(by: value) ?? brokenChoice(by: value) ?? Self.brokenPattern(by: value, pattern: pattern)
    }

    private func brokenBound(by value: SettingValue) -> SettingError.Rule? {
        switch (value, bounds) {
        case (.float(let value), _) where !value.isFinite: .finite
        case (.double(let value), _) where !value.isFinite: .finite
        case (.integer(let value), .integer(let range)): Self.brokenBound(by: value, in: range) { .integer($0) }
        case (.float(let value), .float(let range)): Self.brokenBound(by: value, in: range) { .float($0) }
        case (.double(let value), .double(let range)): Self.brokenBound(by: value, in: range) { .double($0) }
        default: nil
        }
    }

    private static func brokenBound<Number: Comparable>(
        by value: Number, in range: ClosedRange<Number>, _ wrapped: (Number) -> SettingValue
    ) -> SettingError.Rule? {
        if value < range.lowerBound { return .minimum(wrapped(range.lowerBound).text) }
        if value > range.upperBound { return .maximum(wrapped(range.upperBound).text) }
        return nil
    }

    private func brokenChoice(by value: SettingValue) -> SettingError.Rule? {
        guard editor == .choice, !choices.contains(where: { $0.value == value }) else { return nil }
        return .choice
    }

    private static func brokenPattern(by value: SettingValue, pattern: Pattern?) -> SettingError.Rule? {
        guard let pattern else { return nil }
        do {
            return try pattern.isFound(in: value.text) ? nil : .pattern(pattern.source)
        } catch {
            return .patternTooCostly(pattern.source)
        }
    }
}
