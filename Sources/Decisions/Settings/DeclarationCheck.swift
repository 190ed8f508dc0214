// The checks of declarations that need no value: names, labels, patterns. Done once, when the schema is made.

import TandemPattern

struct DeclarationCheck {
    private(set) var patterns: [Pattern?] = []
    private(set) var problems: [DeclarationProblem] = []
    private var names: Set<[UInt8]> = []

    init(_ declarations: [SettingDeclaration]) {
        if declarations.isEmpty { problems.append(.noProperties) }
        for declaration in declarations {
            checkName(declaration.name)
            checkChoices(declaration)
            patterns.append(compiled(declaration))
        }
    }

    private mutating func checkName(_ name: String) {
        if !(1...256).contains(name.utf8.count) { problems.append(.invalidName(name)) }
        if !names.insert(Array(name.utf8)).inserted { problems.append(.duplicateName(name)) }
    }

    private mutating func checkChoices(_ declaration: SettingDeclaration) {
        let needsChoices = declaration.editor == .choice || declaration.editor == .editableChoice
        if needsChoices, declaration.choices.isEmpty { problems.append(.noChoices(property: declaration.name)) }
        var labels: Set<String> = []
        for choice in declaration.choices where !labels.insert(choice.label).inserted {
            problems.append(.duplicateLabel(property: declaration.name, label: choice.label))
        }
    }

    private mutating func compiled(_ declaration: SettingDeclaration) -> Pattern? {
        guard let source = declaration.pattern else { return nil }
        do {
            return try Pattern(source)
        } catch {
            problems.append(.invalidPattern(property: declaration.name, reason: error.description))
            return nil
        }
    }
}
