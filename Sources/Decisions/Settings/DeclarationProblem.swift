// What can be wrong with a declaration itself. These are mistakes of the application's author, found at start and all
// reported together: a default that breaks its own rule is better met on the first run than by the first customer.

/// A mistake in the declaration of a configuration.
public enum DeclarationProblem: Error, Sendable, Equatable {
    /// Nothing was found to declare: no property, or a build without reflection metadata.
    case noProperties
    /// A stored property that is not declared with one of the wrappers.
    case notASetting(label: String)
    /// Two properties of one name.
    case duplicateName(String)
    /// A name of 1 to 256 bytes is needed: it is a key in a property list.
    case invalidName(String)
    /// A regular expression that cannot be compiled.
    case invalidPattern(property: String, reason: String)
    /// A choice without a value to choose.
    case noChoices(property: String)
    /// Two choices of one label.
    case duplicateLabel(property: String, label: String)
    /// A choice breaks the property's own rule.
    case choice(SettingError, label: String)
    /// The default (declared, or assigned in `reset()`) breaks the property's own rule.
    case defaultValue(SettingError)
}

extension DeclarationProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noProperties:
            "the configuration has no properties; was it built with reflection metadata switched off?"
        case .notASetting(let label):
            "the stored property '\(label)' is not a setting; declare it with @Toggle, @Slider, @Edit, @Choice or "
                + "@EditableChoice, or compute it"
        case .duplicateName(let name): "the property '\(name)' is declared twice"
        case .invalidName(let name): "'\(name)' is no name for a property: 1 to 256 bytes"
        case .invalidPattern(let property, let reason): "\(property): \(reason)"
        case .noChoices(let property): "\(property): a choice needs at least one value"
        case .duplicateLabel(let property, let label): "\(property): the label '\(label)' is used twice"
        case .choice(let error, let label): "choice '\(label)' of \(error)"
        case .defaultValue(let error): "default of \(error)"
        }
    }
}
