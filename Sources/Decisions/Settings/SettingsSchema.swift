// Schema of a configuration: all declared properties with their patterns compiled, the one validator for code, page,
// file and signed configuration. It judges a payload from outside as a whole: either all values are valid, or none is
// applied and every mistake is listed. A schema with problems still works for its sound properties, so that a report
// can be complete.

import TandemBase
import TandemPattern
package import TandemPropertyList

/// The declared properties of a configuration.
package struct SettingsSchema: Sendable {
    /// In the order of declaration.
    package let declarations: [SettingDeclaration]
    private let patterns: [Pattern?]
    private let indices: [String: Int]

    /// The most bytes of compiled expressions (LIM-110): some hundred bytes a property is usual.
    package static let patternByteLimit = 2 << 20

    /// The mistakes in the declarations, defaults and choices included.
    package private(set) var problems: [DeclarationProblem]
    /// Bytes of the compiled expressions.
    package let patternBytes: Int

    /// - Parameter isForeign: the declarations are of another program. Their defaults and choices are not judged: that
    ///   is the program's own matter, and each costs a search.
    package init(_ declarations: [SettingDeclaration], isForeign: Bool = false) {
        let check = DeclarationCheck(declarations)
        self.declarations = declarations
        patterns = check.patterns
        patternBytes = check.patternBytes
        let named = declarations.enumerated().filter { Self.isName($1.name) }
        indices = Dictionary(named.map { ($1.name, $0) }) { first, _ in first }
        problems = check.problems
        if isForeign { return }
        let ofDefaults = problems(ofDefaults: declarations.map(\.initialValue))
        problems += choiceProblems + ofDefaults.compactMap(\.self)
    }

    /// Whether a text is as long as a name may be: a key in a property list (LIM-12). Looked at before it is compared.
    fileprivate static func isName(_ text: String) -> Bool { (1...256).contains(text.utf8.count) }

    /// The index of a property in ``declarations``; nil if there is none of that name.
    package func index(of name: String) -> Int? {
        guard Self.isName(name), let index = indices[name], declarations[index].name.utf8.elementsEqual(name.utf8)
        else { return nil }
        return index
    }

    /// The declaration of a property; nil if there is none of that name.
    package subscript(name: String) -> SettingDeclaration? { index(of: name).map { declarations[$0] } }

    /// The first rule that the value breaks for the property at the index; nil for a valid value.
    package func problem(of value: SettingValue, at index: Int) -> SettingError? {
        var steps = PatternSteps.ofSet
        return problem(of: value, at: index, within: &steps)
    }

    /// As ``problem(of:at:)``, of one of the values that are judged as a set.
    func problem(of value: SettingValue, at index: Int, within steps: inout PatternSteps) -> SettingError? {
        declarations[index].brokenRule(by: value, pattern: patterns[index], within: &steps)
            .map { error(of: value, at: index, rule: $0) }
    }

    package func error(of value: SettingValue, at index: Int, rule: SettingError.Rule) -> SettingError {
        SettingError(property: declarations[index].name, value: declarations[index].shown(value), rule: rule)
    }

    /// The problem of each of a set of defaults, judged together: one or nil for each declaration, in its order.
    func problems(ofDefaults values: [SettingValue]) -> [DeclarationProblem?] {
        precondition(values.count == declarations.count, "one default for each declaration")
        var steps = PatternSteps.ofSet
        return values.indices.map { index in
            problem(of: values[index], at: index, within: &steps).map { .defaultValue($0) }
        }
    }

    private var choiceProblems: [DeclarationProblem] {
        var steps = PatternSteps.ofSet
        return declarations.indices.flatMap { index in
            declarations[index].choices.compactMap { choice in
                problem(of: choice.value, at: index, within: &steps).map { .choice($0, label: choice.label) }
            }
        }
    }
}

/// Values that a schema takes as a whole.
package struct SettingsPayload: Sendable, Equatable {
    /// One value or nil for each declaration, in its order.
    package let values: [SettingValue?]
    /// Keys that no property has and that were marked as optional.
    package let ignored: [String]
}

/// Why a payload was refused: all mistakes, never empty.
package struct SettingsPayloadError: Error, Sendable, Equatable {
    package let errors: [SettingError]

    /// The mistakes of a payload, at least one.
    package init(errors: [SettingError]) { self.errors = errors }
}

extension SettingsPayloadError: CustomStringConvertible {
    package var description: String { errors.prefix(8).map(\.description).joined(separator: "; ") }
}

extension SettingsSchema {
    /// Judges a whole set of overrides. An unknown key is a mistake unless `optional` names it.
    package func payload(
        _ values: PropertyListDictionary, optional: [String] = []
    ) throws(SettingsPayloadError) -> SettingsPayload {
        var taken = [SettingValue?](repeating: nil, count: declarations.count)
        var ignored: [String] = []
        var errors: [SettingError] = []
        var steps = PatternSteps.ofSet
        judging: for (key, value) in values {
            switch judge(key, value, within: &steps) {
            case .success(let found): taken[found.index] = found.value
            case .failure(let error)
            where error.rule == .unknownProperty && optional.contains { $0.utf8.elementsEqual(key.utf8) }:
                ignored.append(key)
            case .failure(let error):
                errors.append(error)
                if error.isCostly { break judging }
            }
        }
        guard errors.isEmpty else { throw SettingsPayloadError(errors: errors) }
        return SettingsPayload(values: taken, ignored: ignored)
    }

    private func judge(
        _ key: String, _ value: PropertyListValue, within steps: inout PatternSteps
    ) -> Result<(index: Int, value: SettingValue), SettingError> {
        guard let index = index(of: key) else {
            // An app of another version may have a secret of this name.
            return .failure(SettingError(property: key, value: value.kind, rule: .unknownProperty))
        }
        let declaration = declarations[index]
        guard declaration.type.isSignable else {
            return .failure(SettingError(property: key, value: value.kind, rule: .localOnly(declaration.type)))
        }
        guard let typed = SettingValue(value, as: declaration.type) else {
            return .failure(mistype(value, at: index))
        }
        if let error = problem(of: typed, at: index, within: &steps) { return .failure(error) }
        return .success((index, typed))
    }

    /// The error of a value that is none of the property's type.
    package func mistype(_ value: PropertyListValue, at index: Int) -> SettingError {
        let declaration = declarations[index]
        return SettingError(
            property: declaration.name, value: declaration.isSecret ? SettingError.redacted : value.shown,
            rule: value.rule(notOf: declaration.type))
    }
}

extension PropertyListValue {
    /// The value for an error message: scalars as they are, anything else by its kind.
    fileprivate var shown: String {
        switch self {
        case .boolean(let value): SettingValue.boolean(value).description
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        // A whole number, too, shows that it is a real: its type is the mistake.
        case .real(let value): Int64(exactly: value).map { "\($0).0" } ?? SettingValue.double(value).description
        case .string(let value): SettingValue.string(value).description
        case .date, .data, .array, .dictionary: kind
        }
    }

    /// The kind of value, for an error message that must not show the value itself.
    package var kind: String {
        switch self {
        case .boolean: "a boolean"
        case .integer, .unsigned: "an integer"
        case .real: "a real"
        case .string: "a string"
        case .date: "a date"
        case .data(let bytes): "data of \(bytes.count) bytes"
        case .array(let values): "an array of \(values.count)"
        case .dictionary(let pairs): "a dictionary of \(pairs.count)"
        }
    }
}

/// The checks of declarations that need no value: names, labels, patterns.
private struct DeclarationCheck {
    private(set) var patterns: [Pattern?] = []
    private(set) var problems: [DeclarationProblem] = []
    /// Bytes of the compiled expressions.
    private(set) var patternBytes = 0
    private var compiled: [[UInt8]: Pattern] = [:]
    /// Equal are names that Unicode holds for one text, too: nobody could tell them apart.
    private var names: Set<String> = []

    init(_ declarations: [SettingDeclaration]) {
        if declarations.isEmpty { problems.append(.noProperties) }
        for declaration in declarations {
            checkName(declaration.name)
            checkChoices(declaration)
            checkForms(declaration)
            patterns.append(compiled(declaration))
        }
    }

    private mutating func checkName(_ name: String) {
        guard SettingsSchema.isName(name) else { return problems.append(.invalidName(name)) }
        if name == PreferenceEntries.shadowKey { problems.append(.invalidName(name)) }
        if !names.insert(name).inserted { problems.append(.duplicateName(name)) }
    }

    private mutating func checkChoices(_ declaration: SettingDeclaration) {
        if declaration.editor.needsChoices, declaration.choices.isEmpty {
            problems.append(.noChoices(property: declaration.name))
        }
        var labels: Set<ComparedText> = []
        for choice in declaration.choices where !labels.insert(ComparedText(choice.label)).inserted {
            problems.append(.duplicateLabel(property: declaration.name, label: choice.label))
        }
    }

    private mutating func checkForms(_ declaration: SettingDeclaration) {
        if declaration.bounds?.isFinite == false { problems.append(.infiniteBound(property: declaration.name)) }
        if let values = declaration.toggleValues, values.on == values.off {
            problems.append(.equalToggleValues(property: declaration.name))
        }
    }

    /// Equal expressions share their code.
    private mutating func compiled(_ declaration: SettingDeclaration) -> Pattern? {
        guard let source = declaration.pattern, patternBytes <= SettingsSchema.patternByteLimit else { return nil }
        if let known = compiled[Array(source.utf8)] { return known }
        do {
            let pattern = try Pattern(source)
            patternBytes += pattern.codeSize
            guard patternBytes <= SettingsSchema.patternByteLimit else {
                let reason = "the expressions of all properties have over 2 MiB when they are compiled"
                problems.append(.invalidPattern(property: declaration.name, reason: reason))
                return nil
            }
            compiled[Array(source.utf8)] = pattern
            return pattern
        } catch {
            problems.append(.invalidPattern(property: declaration.name, reason: error.description))
            return nil
        }
    }
}
