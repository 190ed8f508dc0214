// What happens to mistakes in a declaration. They are the programmer's own, so a debug build stops at them; an app in
// the field goes on with the sound part and tells.

/// What to do with mistakes in a configuration's declaration.
public enum ProblemPolicy: Sendable {
    /// A debug build stops and names all of them. A release build stops only for a property that could not be bound,
    /// since it would never get a value; defaults that break their own rule keep their declared value.
    case stop
    /// They are only kept in ``Configuration/declarationProblems``: for an app's own tests.
    case collect

    func judge(_ problems: [DeclarationProblem]) {
        guard self == .stop, !problems.isEmpty else { return }
        let text = problems.map(\.description).joined(separator: "; ")
        assertionFailure("mistakes in the configuration's declaration: \(text)")
        precondition(!problems.contains(where: \.isStructural), "a configuration cannot be bound: \(text)")
    }
}

extension DeclarationProblem {
    /// Whether a property has no name or no place to live.
    fileprivate var isStructural: Bool {
        switch self {
        case .noProperties, .notASetting, .duplicateName, .invalidName: true
        case .invalidPattern, .noChoices, .duplicateLabel, .choice, .defaultValue: false
        }
    }
}
