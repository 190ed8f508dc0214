// Errors of settings: a refused value (property, value, rule), and a mistake in a declaration. One error type for every
// source of values, so that the same mistake reads the same everywhere. Mistakes in declarations are the author's; they
// are found at start and reported together.

public import TandemBase

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
        /// The search was abandoned at a limit; never taken for a match.
        case patternTooCostly(String)
        /// None of the choices: their labels, as text; empty without any.
        case choice(String)
        /// No property list can hold the value, or the store of preferences has no room for it, for this reason.
        case notStorable(String)
        /// The property's Swift type cannot read the value: damaged bytes, or no case of an enumeration.
        case unreadable
        /// Signed configuration sets no property of this type.
        case localOnly(SettingType)
        /// No edit sets the property: a signed configuration alone does.
        case signedOnly
        /// The app does not let the paired device edit the property.
        case notForCounterpart
        /// A list does not take what a person adds to it, for this reason.
        case editableList(String)
    }

    /// The property's name.
    public let property: String
    /// The value as ``SettingValue/description`` shows it; ``redacted`` for a secret property's.
    public let value: String
    /// The rule that the value breaks.
    public let rule: Rule

    /// A refusal.
    public init(property: String, value: String, rule: Rule) {
        self.property = property
        self.value = value
        self.rule = rule
    }

    /// The text that stands for the value of a secret property.
    public static let redacted = "<redacted>"
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
        case .notStorable: "not-storable"
        case .unreadable: "unreadable"
        case .localOnly: "local-only"
        case .signedOnly: "signed-only"
        case .notForCounterpart: "not-for-counterpart"
        case .editableList: "editable-list"
        }
    }
}

extension SettingError: CustomStringConvertible {
    public var description: String { rule == .unknownProperty ? reason : "\(property): \(reason)" }
}

extension SettingError {
    /// The text for a place that names the property.
    package var reason: String {
        switch rule {
        case .unknownProperty: "there is no property \(OutsideText.quoted(property))"
        case .type(let type): "\(value) is not of type \(type.rawValue)"
        case .finite: "\(value) is not a finite number"
        case .minimum(let bound): "\(value) is under the minimum \(bound)"
        case .maximum(let bound): "\(value) is over the maximum \(bound)"
        case .pattern(let pattern): "\(value) does not match \(OutsideText.quoted(pattern))"
        case .patternTooCostly(let pattern): "searching \(value) for \(OutsideText.quoted(pattern)) costs too much"
        case .choice(let labels): "\(value) is none of the choices" + (labels.isEmpty ? "" : ": \(labels)")
        case .notStorable(let reason): "\(value) cannot be stored: \(reason)"
        case .unreadable: "\(value) cannot be read"
        case .localOnly(let type): "a value of type \(type.rawValue) cannot be signed"
        case .signedOnly: "only a signed configuration sets it"
        case .notForCounterpart: "the app does not let the paired device edit it"
        case .editableList(let reason): reason
        }
    }

    /// A search was given up. The judgement of a set ends there: the next one may cost as much.
    var isCostly: Bool { if case .patternTooCostly = rule { true } else { false } }
}

/// A mistake in the declaration of a configuration.
public enum DeclarationProblem: Error, Sendable, Equatable {
    /// Nothing was found to declare: no property, or a build without reflection metadata.
    case noProperties
    /// A stored property that is not declared with one of the wrappers.
    case notASetting(label: String)
    /// Two properties of one name.
    case duplicateName(String)
    /// A name of 1 to 256 bytes is needed: it is a key in a property list, in which stores keep one of their own.
    case invalidName(String)
    /// A regular expression that cannot be compiled.
    case invalidPattern(property: String, reason: String)
    /// A choice without a value to choose.
    case noChoices(property: String)
    /// An infinite bound, which no property list can hold.
    case infiniteBound(property: String)
    /// One stored value for on and off; the booleans take its place.
    case equalToggleValues(property: String)
    /// Two choices of one label.
    case duplicateLabel(property: String, label: String)
    /// A choice breaks the property's own rule.
    case choice(SettingError, label: String)
    /// The format or the zone of dates that are text means nothing.
    case invalidDateFormat(reason: String)
    /// A key of the app manifest, or the app manifest itself.
    case manifest(key: String, reason: String)
    /// A property that cannot be synced.
    case invalidSync(property: String, String)
    /// A key for signed configuration that can verify nothing; nil: of both roles.
    case unusableKey(role: DeviceRole?, reason: String)
    /// The default (declared, or assigned in `reset()`) breaks the property's own rule.
    case defaultValue(SettingError)
    /// The declarations cannot be told to the daemon, so that no page, shell or signer knows them.
    case notAnnounced(reason: String)
}

extension DeclarationProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noProperties:
            "the configuration has no properties; was it built with reflection metadata switched off?"
        case .notASetting(let label):
            "the stored property '\(label)' is not a setting; declare it with @Toggle, @Slider, @Edit, @Choice, "
                + "@EditableChoice or @Preference, or compute it"
        case .duplicateName(let name): "the property '\(name)' is declared twice"
        case .invalidName(let name):
            "'\(name)' is no name for a property: 1 to 256 bytes, and not '\(PreferenceEntries.shadowKey)'"
        case .invalidPattern(let property, let reason): "\(property): \(reason)"
        case .noChoices(let property): "\(property): a choice needs at least one value"
        case .infiniteBound(let property): "\(property): a bound is infinite; state a finite one"
        case .equalToggleValues(let property):
            "\(property): on and off are stored as the same value; state two different ones"
        case .duplicateLabel(let property, let label): "\(property): the label '\(label)' is used twice"
        case .choice(let error, let label): "choice '\(label)' of \(error)"
        case .invalidDateFormat(let reason): reason
        case .manifest(let key, let reason): "\(key) in the manifest: \(reason)"
        case .invalidSync(let property, let reason): "the synced setting '\(property)': \(reason)"
        case .unusableKey(let role, let reason):
            "\(role.map { "publicKey(for: .\($0))" } ?? "publicKey"): \(reason)"
        case .defaultValue(let error): "default of \(error)"
        case .notAnnounced(let reason): "the schema cannot be told to the daemon: \(reason)"
        }
    }
}
