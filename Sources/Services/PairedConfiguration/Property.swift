// The property behind a wrapper's `$name`: to be passed around, observed by layer, set with an error instead of a trap.
// Until the configuration's initialiser has found its name it holds the declared default; from then on the one truth is
// the configuration's store.

import PairedSession
import Synchronization
public import TandemSettings

/// A declared property; any thread.
public final class Property<Value: Sendable>: Sendable {
    private let state: Mutex<PropertyState>
    private let form: SettingForm<Value>
    /// The value in the declaration, for the case that the default itself could not be encoded.
    private let declared: Value
    /// The key, if it is another than the property's name in the code.
    private let key: String?

    /// - Parameters:
    ///   - choices: label and value; of an enumeration its own.
    ///   - key: nil for the property's name in the code.
    init(
        _ form: SettingForm<Value>, _ editor: SettingEditor, _ value: Value, _ summary: String,
        bounds: SettingBounds? = nil, icon: SliderIcon? = nil, pattern: String? = nil,
        choices: [SettingChoice] = [], toggleValues: ToggleValues? = nil, key: String? = nil, restart: Bool,
        secret: Bool, access: SettingAccess, title: String?, page: String?
    ) {
        self.form = form
        declared = value
        self.key = key
        var declaration = SettingDeclaration(
            type: form.type, editor: editor, summary: summary, bounds: bounds, pattern: pattern, choices: choices,
            icon: icon, needsRestart: restart, isSecret: secret, allowsNothing: form.allowsNothing,
            toggleValues: toggleValues, title: title, page: page, access: access,
            initialValue: Self.initial(value, form))
        if !form.readsAll {
            let read = form.read
            declaration.isReadable = { read($0) != nil }
        }
        state = Mutex(PropertyState(declaration: declaration))
    }

    /// The default in a setting. One that cannot be encoded is bytes that nobody can read, which the check of the
    /// declaration reports.
    private static func initial(_ value: Value, _ form: SettingForm<Value>) -> SettingValue {
        do {
            return try form.write(value)
        } catch {
            return .coded(CodedSetting(unreadable: Value.self))
        }
    }

    /// The declaration.
    public var declaration: SettingDeclaration { state.withLock { $0.declaration } }

    /// The effective value.
    public var value: Value {
        let current = state.withLock { $0.home.map { $0.store.value(at: $0.index) } ?? $0.declaration.initialValue }
        // The store holds readable values only, except a default that could not be encoded.
        return form.value(current, declared)
    }

    /// Where the effective value comes from.
    public var layer: SettingLayer { home.map { $0.store.layer(at: $0.index) } ?? .declaredDefault }

    /// The labelled values that a person is offered: those of the declaration, and of an ``EditableChoice`` those that
    /// a person has added, as they are now.
    public var choices: [SettingChoice] { declaration.choices + (home.map { $0.store.added(at: $0.index) } ?? []) }

    /// Sets the stored preference; a signed override continues to hide it.
    /// - Throws: the rule that the value breaks; nothing is changed then. It is
    ///   ``SettingError/Rule-swift.enum/notStorable(_:)`` also for a value for which the store has no room, alone or
    ///   beside the others: ``FilePreferences`` and ``ProtectedPreferences`` hold 512 KiB, the SQLite store 4 MiB. A
    ///   plain assignment of such a value, and any of one that a store of the app's own refuses when it is written, is
    ///   in force and not stored, which is an event; the other values are stored without it.
    public func set(_ value: Value) throws(SettingError) { try set(value, needsRoom: true) }

    private func set(_ value: Value, needsRoom: Bool) throws(SettingError) {
        let setting = try setting(value)
        if let home {
            try home.store.set(setting, at: home.index, needsRoom: needsRoom)
        } else {
            state.withLock { $0.declaration.initialValue = setting }
        }
    }

    private func setting(_ value: Value) throws(SettingError) -> SettingValue {
        do {
            return try form.write(value)
        } catch {
            throw SettingError(
                property: declaration.name, value: "a value of type \(Value.self)", rule: .notStorable(error.reason))
        }
    }

    /// Removes the stored preference, so that the layers below it show. An entry of the store that the property does
    /// not take goes, too.
    public func remove() {
        if let home { home.store.remove(at: home.index) }
    }

    /// The effect of `name = value`: the same as ``set(_:)``, but an invalid value is the programmer's mistake: it
    /// traps in a debug build, and is ignored and reported as an event in a release build. A value from a file that is
    /// being read is no mistake of the programmer's: it is skipped, and the load reports it. Nor is a value for which
    /// the store has no room now, since others fill it too: it is in force, and stored when there is room (SET-22).
    func assign(_ value: Value) {
        do {
            try set(value, needsRoom: false)
        } catch {
            if home?.store.ignored(error) == true { return }
            assertionFailure("invalid assignment: \(error)")
        }
    }

    private var home: (store: SettingsStore, index: Int)? { state.withLock { $0.home } }
}

/// No part of the generic class: of a type that depends on `Value`, each reading would look up the layout at run time.
private struct PropertyState {
    var declaration: SettingDeclaration
    var home: (store: SettingsStore, index: Int)?
}

extension Property: AnyProperty {
    func name(_ name: String) -> SettingDeclaration {
        state.withLock {
            $0.declaration.name = key ?? name
            return $0.declaration
        }
    }

    func bind(to store: SettingsStore, at index: Int) {
        state.withLock { $0.home = (store, index) }
    }
}

/// A declared property of any type.
public protocol DeclaredProperty: Sendable {
    /// The declaration.
    var declaration: SettingDeclaration { get }
}

extension Property: DeclaredProperty {}

/// A property of any type, as the configuration's initialiser binds it.
protocol AnyProperty: Sendable {
    /// Names the property as the code does, unless it has a key of its own.
    func name(_ name: String) -> SettingDeclaration
    func bind(to store: SettingsStore, at index: Int)
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
    /// All of them are logged as errors. A debug build stops and names them. A release build stops only for a property
    /// that could not be bound, since it would never get a value; defaults that break their own rule keep their
    /// declared value.
    case stop
    /// They are only kept in ``Configuration/declarationProblems``: for an app's own tests.
    case collect

    func judge(_ problems: [DeclarationProblem]) {
        guard self == .stop, !problems.isEmpty else { return }
        for problem in problems { PairedLog.write(ConfigurationEvent.declarationProblem(problem).log) }
        let text = problems.map(\.description).joined(separator: "; ")
        precondition(!stops(problems, debug: Build.isDebug), "mistakes in the configuration's declaration: \(text)")
    }

    /// Whether a process with these problems ends.
    package func stops(_ problems: [DeclarationProblem], debug: Bool) -> Bool {
        self == .stop && (debug ? !problems.isEmpty : problems.contains(where: \.isStructural))
    }
}

extension DeclarationProblem {
    /// Whether a property has no name or no place to live.
    fileprivate var isStructural: Bool {
        switch self {
        case .noProperties, .notASetting, .duplicateName, .invalidName: true
        case .invalidPattern, .invalidDateFormat, .manifest, .noChoices, .infiniteBound, .equalToggleValues,
            .duplicateLabel, .choice, .invalidSync, .unusableKey, .defaultValue, .notAnnounced:
            false
        }
    }
}
