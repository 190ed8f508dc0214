// Layered values of a configuration, and the change notification. The first layer with a value decides the effective
// value; the order of the cases of ``SettingLayer`` is the order of precedence. Every event returns one batch of
// changes of effective values: a write that an override hides, or that changes nothing, is no change.

package struct SettingLayers: Sendable {
    package let schema: SettingsSchema
    /// One row for each layer in the order of SettingLayer, one column for each declaration.
    private var rows: [[SettingValue?]]
    /// The value of the first layer that has one, for each declaration: an app reads far more often than it changes.
    private var effective: [SettingValue]

    package init(_ schema: SettingsSchema) {
        self.schema = schema
        let empty = [SettingValue?](repeating: nil, count: schema.declarations.count)
        rows = SettingLayer.allCases.map { _ in empty }
        effective = schema.declarations.map(\.initialValue)
        rows[SettingLayer.declaredDefault.rawValue] = effective
    }

    /// The value of the first layer that has one.
    package func value(at index: Int) -> SettingValue { effective[index] }

    private func first(at index: Int) -> SettingValue {
        for row in rows {
            if let value = row[index] { return value }
        }
        return schema.declarations[index].initialValue
    }

    /// The layer that the effective value comes from.
    package func layer(at index: Int) -> SettingLayer {
        SettingLayer.allCases.first { rows[$0.rawValue][index] != nil } ?? .declaredDefault
    }

    /// The effective values of all properties.
    package var snapshot: SettingsSnapshot {
        SettingsSnapshot(
            schema.declarations.indices.map { index in
                let (value, normal) = (value(at: index), rows[SettingLayer.declaredDefault.rawValue][index])
                return (schema.declarations[index], value, value != normal || layer(at: index) == .signedOverride)
            })
    }

    /// The declarations with the present defaults in place of the declared ones.
    package var declarationsWithDefaults: [SettingDeclaration] {
        schema.declarations.enumerated().map { index, declaration in
            var declaration = declaration
            declaration.initialValue = rows[SettingLayer.declaredDefault.rawValue][index] ?? declaration.initialValue
            return declaration
        }
    }

    /// Sets a value of one layer that has been judged: a caller with a lock judges before it takes that.
    package mutating func put(_ value: SettingValue, at index: Int, in layer: SettingLayer) -> SettingChanges {
        change(.local) { $0[layer.rawValue][index] = value }
    }

    /// Sets or removes values of one layer that have been judged, as one batch.
    package mutating func put(
        _ values: [(index: Int, value: SettingValue?)], in layer: SettingLayer, origin: SettingOrigin
    ) -> SettingChanges {
        change(origin) { rows in
            for (index, value) in values { rows[layer.rawValue][index] = value }
        }
    }

    /// The values of one layer, one or nil for each declaration.
    package func values(in layer: SettingLayer) -> [SettingValue?] { rows[layer.rawValue] }

    /// Removes a stored preference, so that the layers below show.
    package mutating func removePreference(at index: Int) -> SettingChanges {
        change(.local) { $0[SettingLayer.storedPreference.rawValue][index] = nil }
    }

    /// Replaces all values of a layer by a judged payload; nil empties the layer.
    package mutating func replace(
        _ layer: SettingLayer, with payload: SettingsPayload?, origin: SettingOrigin
    ) -> SettingChanges {
        precondition(layer != .declaredDefault, "defaults are declared, never applied")
        let empty = [SettingValue?](repeating: nil, count: schema.declarations.count)
        return change(origin) { $0[layer.rawValue] = payload?.values ?? empty }
    }

    package mutating func take(_ outcome: PreferenceOutcome) -> SettingChanges {
        change(.user) { $0[SettingLayer.storedPreference.rawValue] = outcome.values }
    }

    /// Replaces all defaults and says which break their rules; those keep the declared value.
    package mutating func replaceDefaults(_ values: [SettingValue]) -> [DeclarationProblem] {
        let problems = schema.problems(ofDefaults: values)
        rows[SettingLayer.declaredDefault.rawValue] = values.indices.map { index in
            problems[index] == nil ? values[index] : schema.declarations[index].initialValue
        }
        effective = effective.indices.map { first(at: $0) }
        return problems.compactMap(\.self)
    }

    private mutating func change(
        _ origin: SettingOrigin, _ event: (inout [[SettingValue?]]) -> Void
    ) -> SettingChanges {
        event(&rows)
        var changes: [SettingChange] = []
        for index in effective.indices {
            let (old, new) = (effective[index], first(at: index))
            // Equal numbers may be of other bits.
            effective[index] = new
            guard new != old else { continue }
            let declaration = schema.declarations[index]
            changes.append(
                SettingChange(
                    name: declaration.name, old: old, new: new, needsRestart: declaration.needsRestart,
                    isSecret: declaration.isSecret))
        }
        return SettingChanges(origin: origin, changes: changes)
    }
}

/// The layers of a property's value; the first one that has a value wins.
public enum SettingLayer: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Signed configuration.
    case signedOverride
    /// A person's edit on a settings page.
    case userEdit
    /// Set in code.
    case storedPreference
    /// The process's command line.
    case commandLine
    /// The process's environment.
    case environment
    /// A file beside the app.
    case file
    /// The declaration, as `reset()` left it.
    case declaredDefault

    public static func < (left: SettingLayer, right: SettingLayer) -> Bool { left.rawValue < right.rawValue }
}

/// The cause of a change.
public enum SettingOrigin: String, Sendable, Hashable {
    /// The application's own code.
    case local
    /// A person on this device: a settings page or the shell.
    case user
    /// A person or the app on the paired device.
    case counterpart
    /// Signed configuration.
    case signed
    /// The process's command line.
    case commandLine
    /// The process's environment.
    case environment
    /// A configuration file.
    case file
}

/// A change of one property's effective value.
public struct SettingChange: Sendable, Equatable {
    /// The property's name.
    public let name: String
    /// The effective value before.
    public let old: SettingValue
    /// The effective value now.
    public let new: SettingValue
    /// The change takes effect at the next start of the application only.
    public let needsRestart: Bool
    /// The values are shown nowhere.
    public let isSecret: Bool

    /// A change, as an app's own tests may make it.
    public init(
        name: String, old: SettingValue, new: SettingValue, needsRestart: Bool = false, isSecret: Bool = false
    ) {
        self.name = name
        self.old = old
        self.new = new
        self.needsRestart = needsRestart
        self.isSecret = isSecret
    }
}

extension SettingChange: CustomStringConvertible, CustomReflectable {
    /// `volume: 75 -> 80`, and whether the app must start again; a secret value is redacted.
    public var description: String {
        let values = isSecret ? SettingError.redacted : "\(old) -> \(new)"
        return "\(name): \(values)\(needsRestart ? " (at the next start)" : "")"
    }

    /// Only the description, so that a dump shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The changes that happened as one.
public struct SettingChanges: Sendable, Equatable {
    /// The cause of the changes.
    public let origin: SettingOrigin
    /// In the order of declaration; never empty when an observer receives it.
    public let changes: [SettingChange]

    /// The change of a property; nil if it did not change.
    public subscript(name: String) -> SettingChange? { changes.first { $0.name == name } }
}

/// The effective values of all properties at one moment.
public struct SettingsSnapshot: Sendable, Equatable {
    /// In the order of declaration; secret values, too.
    public let values: [(name: String, value: SettingValue)]
    /// The properties whose changes take effect at the next start of the application only.
    public let restartNames: Set<String>
    /// The properties whose values are shown nowhere.
    public let secretNames: Set<String>
    /// The properties whose values are signed, or are not the defaults.
    public let modifiedNames: Set<String>

    init(_ values: [(declaration: SettingDeclaration, value: SettingValue, isModified: Bool)]) {
        self.values = values.map { ($0.declaration.name, $0.value) }
        modifiedNames = Set(values.lazy.filter(\.isModified).map(\.declaration.name))
        restartNames = Set(values.lazy.filter(\.declaration.needsRestart).map(\.declaration.name))
        secretNames = Set(values.lazy.filter(\.declaration.isSecret).map(\.declaration.name))
    }

    /// The value of a property; nil if there is none of that name.
    public subscript(name: String) -> SettingValue? { values.first { $0.name == name }?.value }

    public static func == (left: SettingsSnapshot, right: SettingsSnapshot) -> Bool {
        left.values.elementsEqual(right.values) { $0.name == $1.name && $0.value == $1.value }
    }
}

extension SettingsSnapshot: CustomStringConvertible, CustomReflectable {
    /// `volume=75, colour=nil`; secret values are redacted.
    public var description: String {
        values.map { "\($0.name)=\(secretNames.contains($0.name) ? SettingError.redacted : $0.value.description)" }
            .joined(separator: ", ")
    }

    /// All values by short names, for a line of a log or of a screen: `debugLog` is `DL=5`, a text is without its
    /// name. A short name that two properties have is the whole name. Appfigurate's `description`.
    public var shortDescription: String { short { _ in true } }

    /// The same of ``modifiedNames`` only; empty if there are none. Appfigurate's `modifications`.
    public var modifications: String { short { modifiedNames.contains($0) } }

    private func short(_ isShown: (String) -> Bool) -> String {
        var owners: [String: Int] = [:]
        for (name, _) in values { owners[SettingSpelling.initials(of: name), default: 0] += 1 }
        return values.filter { isShown($0.name) }.map { name, value in
            let isSecret = secretNames.contains(name)
            let text = isSecret ? SettingError.redacted : value.description
            if case .string(let string) = value, !string.isEmpty, !isSecret { return text }
            let initials = SettingSpelling.initials(of: name)
            return "\(owners[initials] == 1 ? initials : name)=\(text)"
        }.joined(separator: ", ")
    }

    /// Only the description, so that a dump shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
