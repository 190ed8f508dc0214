// All properties of a configuration with their patterns compiled: the one validator of every way in. A schema with
// problems still works for the properties that are sound, so that a report can be complete.

import TandemPattern

/// The declared properties of a configuration.
package struct SettingsSchema: Sendable {
    /// In the order of declaration.
    package let declarations: [SettingDeclaration]
    private let patterns: [Pattern?]
    private let places: [String: Int]

    /// What is wrong with the declarations, each default and choice included.
    package let problems: [DeclarationProblem]

    package init(_ declarations: [SettingDeclaration]) {
        let check = DeclarationCheck(declarations)
        self.declarations = declarations
        patterns = check.patterns
        places = Dictionary(declarations.enumerated().map { ($1.name, $0) }) { first, _ in first }
        let sound = SettingsSchema(declarations, patterns, places)
        problems = check.problems + sound.choiceProblems + sound.problems(ofDefaults: declarations.map(\.initialValue))
    }

    private init(_ declarations: [SettingDeclaration], _ patterns: [Pattern?], _ places: [String: Int]) {
        self.declarations = declarations
        self.patterns = patterns
        self.places = places
        problems = []
    }

    /// The place of a property in ``declarations``; nil if there is none of that name.
    package func place(of name: String) -> Int? {
        guard let place = places[name], declarations[place].name.utf8.elementsEqual(name.utf8) else { return nil }
        return place
    }

    /// The first rule that the value breaks for the property at the place; nil if it may be held.
    package func problem(of value: SettingValue, at place: Int) -> SettingError? {
        let declaration = declarations[place]
        guard let rule = declaration.brokenRule(by: value, pattern: patterns[place]) else { return nil }
        return SettingError(property: declaration.name, value: value.description, rule: rule)
    }

    /// The problems of a set of defaults, judged together; one for each declaration, in its order.
    package func problems(ofDefaults values: [SettingValue]) -> [DeclarationProblem] {
        precondition(values.count == declarations.count, "one default for each declaration")
        return values.indices.compactMap { place in
            problem(of: values[place], at: place).map { .defaultValue($0) }
        }
    }

    private var choiceProblems: [DeclarationProblem] {
        declarations.indices.flatMap { place in
            declarations[place].choices.compactMap { choice in
                problem(of: choice.value, at: place).map { .choice($0, label: choice.label) }
            }
        }
    }
}
