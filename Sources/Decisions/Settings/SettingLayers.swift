// The state of a configuration: for each layer the values it has, and by that each property's effective value. Every
// event returns the changes of effective values it caused, as one batch. It refuses nothing that was not judged here.

/// The layered values of a configuration.
package struct SettingLayers: Sendable {
    package let schema: SettingsSchema
    /// One row for each layer in the order of SettingLayer, one column for each declaration.
    private var rows: [[SettingValue?]]

    package init(_ schema: SettingsSchema) {
        self.schema = schema
        let empty = [SettingValue?](repeating: nil, count: schema.declarations.count)
        rows = SettingLayer.allCases.map { _ in empty }
        rows[SettingLayer.declaredDefault.rawValue] = schema.declarations.map(\.initialValue)
    }

    /// The value of the first layer that has one.
    package func value(at place: Int) -> SettingValue {
        for row in rows {
            if let value = row[place] { return value }
        }
        return schema.declarations[place].initialValue
    }

    /// The layer that the effective value comes from.
    package func layer(at place: Int) -> SettingLayer {
        SettingLayer.allCases.first { rows[$0.rawValue][place] != nil } ?? .declaredDefault
    }

    /// The effective values of all properties.
    package var snapshot: SettingsSnapshot {
        SettingsSnapshot(values: schema.declarations.indices.map { (schema.declarations[$0].name, value(at: $0)) })
    }

    /// Sets a property in one layer.
    package mutating func set(
        _ value: SettingValue, at place: Int, in layer: SettingLayer, origin: SettingOrigin = .local
    ) throws(SettingError) -> SettingChanges {
        if let error = schema.problem(of: value, at: place) { throw error }
        return change(origin) { $0[layer.rawValue][place] = value }
    }

    /// Removes a property's value from a layer, so that the layers below show; never from the defaults.
    package mutating func remove(
        at place: Int, from layer: SettingLayer, origin: SettingOrigin = .local
    ) -> SettingChanges {
        precondition(layer != .declaredDefault, "a default is replaced, never removed")
        return change(origin) { $0[layer.rawValue][place] = nil }
    }

    /// Replaces everything a layer holds by a judged payload; nil empties the layer.
    package mutating func replace(
        _ layer: SettingLayer, with payload: SettingsPayload?, origin: SettingOrigin
    ) -> SettingChanges {
        precondition(layer != .declaredDefault, "defaults are declared, never applied")
        let empty = [SettingValue?](repeating: nil, count: schema.declarations.count)
        return change(origin) { $0[layer.rawValue] = payload?.values ?? empty }
    }

    /// Replaces all defaults and says which break their rules; those keep the declared value.
    package mutating func replaceDefaults(_ values: [SettingValue]) -> [DeclarationProblem] {
        let problems = schema.problems(ofDefaults: values)
        rows[SettingLayer.declaredDefault.rawValue] = values.indices.map { place in
            schema.problem(of: values[place], at: place) == nil
                ? values[place] : schema.declarations[place].initialValue
        }
        return problems
    }

    private mutating func change(
        _ origin: SettingOrigin, _ event: (inout [[SettingValue?]]) -> Void
    ) -> SettingChanges {
        let before = schema.declarations.indices.map { value(at: $0) }
        event(&rows)
        let changes = schema.declarations.indices.compactMap { place -> SettingChange? in
            let now = value(at: place)
            guard now != before[place] else { return nil }
            return SettingChange(name: schema.declarations[place].name, old: before[place], new: now)
        }
        return SettingChanges(origin: origin, changes: changes)
    }
}
