// The property behind a wrapper's `$name`: to be passed around, observed by layer, set with an error instead of a trap.
// Until the configuration's initialiser has found its name it holds the declared default; from then on the one truth is
// the configuration's store.

import Synchronization
public import TandemSettings

/// A declared property; any thread.
public final class Property<Value: SettingRepresentable>: Sendable {
    private struct State {
        var declaration: SettingDeclaration
        var home: (store: SettingsStore, place: Int)?
    }

    private let state: Mutex<State>

    init(
        _ editor: SettingEditor, _ value: Value, _ summary: String, bounds: SettingBounds? = nil,
        icon: SliderIcon? = nil, pattern: String? = nil, choices: KeyValuePairs<String, Value> = [:], restart: Bool
    ) {
        let choices = choices.map { SettingChoice(label: $0.key, value: $0.value.settingValue) }
        state = Mutex(
            State(
                declaration: SettingDeclaration(
                    type: Value.settingType, editor: editor, summary: summary, bounds: bounds, pattern: pattern,
                    choices: choices, icon: icon, needsRestart: restart, allowsNothing: Value.allowsNothing,
                    initialValue: value.settingValue)))
    }

    /// The declaration.
    public var declaration: SettingDeclaration { state.withLock { $0.declaration } }

    /// The effective value.
    public var value: Value {
        let (declaration, home) = state.withLock { ($0.declaration, $0.home) }
        let current = home.map { $0.store.value(at: $0.place) } ?? declaration.initialValue
        guard let value = Value(current) else {
            preconditionFailure("the store holds values of the declared type only")
        }
        return value
    }

    /// Where the effective value comes from.
    public var layer: SettingLayer { home.map { $0.store.layer(at: $0.place) } ?? .declaredDefault }

    /// Sets the stored preference; a signed override continues to hide it.
    /// - Throws: the rule that the value breaks; nothing is changed then.
    public func set(_ value: Value) throws(SettingError) {
        if let home {
            try home.store.set(value.settingValue, at: home.place)
        } else {
            state.withLock { $0.declaration.initialValue = value.settingValue }
        }
    }

    /// Removes the stored preference, so that the layers below it show.
    public func remove() {
        if let home { home.store.remove(at: home.place) }
    }

    /// The effect of `name = value`: the same as ``set(_:)``, but an invalid value is the programmer's mistake: it
    /// traps in a debug build, and is ignored and reported as an event in a release build.
    func assign(_ value: Value) {
        do {
            try set(value)
        } catch {
            home?.store.ignored(error)
            assertionFailure("invalid assignment: \(error)")
        }
    }

    private var home: (store: SettingsStore, place: Int)? { state.withLock { $0.home } }
}

extension Property: AnyProperty {
    func name(_ name: String) -> SettingDeclaration {
        state.withLock {
            $0.declaration.name = name
            return $0.declaration
        }
    }

    func bind(to store: SettingsStore, at place: Int) {
        state.withLock { $0.home = (store, place) }
    }
}

/// A property of any type, as the configuration's initialiser binds it.
protocol AnyProperty: Sendable {
    /// Gives the property its name.
    func name(_ name: String) -> SettingDeclaration
    func bind(to store: SettingsStore, at place: Int)
}

/// A wrapper that declares a property.
protocol SettingWrapper {
    associatedtype Declared: AnyProperty
    var projectedValue: Declared { get }
}

/// The properties of a configuration class and their names, found once, in its initialiser: inherited ones first. A
/// stored property that no wrapper declares is a mistake reported by name.
struct PropertyDiscovery {
    private(set) var declarations: [SettingDeclaration] = []
    private(set) var properties: [any AnyProperty] = []
    private(set) var problems: [DeclarationProblem] = []

    init(_ configuration: Configuration) {
        var levels: [Mirror] = []
        var level: Mirror? = Mirror(reflecting: configuration)
        while let mirror = level, mirror.subjectType != Configuration.self {
            levels.append(mirror)
            level = mirror.superclassMirror
        }
        for mirror in levels.reversed() {
            for child in mirror.children { add(child) }
        }
    }

    private mutating func add(_ child: Mirror.Child) {
        let label = child.label ?? ""
        guard let wrapper = child.value as? any SettingWrapper, label.hasPrefix("_") else {
            problems.append(.notASetting(label: label))
            return
        }
        let property: any AnyProperty = wrapper.projectedValue
        declarations.append(property.name(String(label.dropFirst())))
        properties.append(property)
    }
}

/// Policy for mistakes in a configuration's declaration.
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
