// Labelled values that a person on this device adds to editable lists, beside those that the app declares. They are
// kept with the edits and offered again; a value that is in force needs none of them. Each keeps the rules of its
// property.

import TandemBase
package import TandemPattern
package import TandemPropertyList

/// The values that were added to the editable lists of one app.
package struct AddedChoices: Sendable, Equatable {
    /// Values of one list, and of all lists of an app (LIM-115).
    package static let countLimit = (ofList: 64, ofAll: 256)
    private static let labelLimit = 128

    /// By key: arrays of dictionaries of `label` and `value`.
    package private(set) var lists: PropertyListDictionary

    /// The lists as they are stored; nothing is judged here.
    package init(_ lists: PropertyListDictionary = [:]) { self.lists = lists }

    /// Replaces the lists of these keys as a whole: all of them, or none and each mistake is listed. An empty list
    /// ends one, also of a key that the schema no longer has.
    mutating func replace(
        _ changes: PropertyListDictionary, in schema: SettingsSchema, within steps: inout PatternSteps
    ) throws(SettingsPayloadError) {
        let next = lists.merging(changes).compactMapValues { $1.arrayValue?.isEmpty == true ? nil : $1 }
        var errors: [SettingError] = []
        let count = next.reduce(0) { $0 + ($1.value.arrayValue?.count ?? 0) }
        for (key, list) in changes {
            do throws(SettingError) {
                guard count <= Self.countLimit.ofAll else {
                    throw Self.fault(key, "an app has at most \(Self.countLimit.ofAll) added values")
                }
                try Self.check(list, of: key, in: schema, within: &steps)
            } catch {
                errors.append(error)
                if error.isCostly { break }
            }
        }
        guard errors.isEmpty else { throw SettingsPayloadError(errors: errors) }
        lists = next
    }

    /// The added values of a property that keep its rules, in their order.
    package func choices(at index: Int, in schema: SettingsSchema) -> [SettingChoice] {
        var steps = PatternSteps.ofSet
        return choices(at: index, in: schema, within: &steps)
    }

    /// As ``choices(at:in:)``, but none behind one whose judgement takes more than the steps.
    package func choices(at index: Int, in schema: SettingsSchema, within steps: inout PatternSteps) -> [SettingChoice]
    {
        let name = schema.declarations[index].name
        guard schema.declarations[index].editor.takesAddedChoices else { return [] }
        var choices: [SettingChoice] = []
        for row in (lists[name]?.arrayValue ?? []).prefix(Self.countLimit.ofList) {
            guard let row = row.dictionaryValue, let label = row["label"]?.stringValue, let form = row["value"] else {
                continue
            }
            switch schema.edit(name, form, by: .user, isLoose: false, within: &steps) {
            case .success(let edit): choices.append(SettingChoice(label: label, value: edit.value))
            case .failure(let error): if error.isCostly { return choices }
            }
        }
        return choices
    }

    private static func check(
        _ list: PropertyListValue, of key: String, in schema: SettingsSchema, within steps: inout PatternSteps
    ) throws(SettingError) {
        guard let rows = list.arrayValue else { throw fault(key, "added values are an array") }
        guard let index = schema.index(of: key) else {
            guard !rows.isEmpty else { return }
            throw SettingError(property: key, value: list.kind, rule: .unknownProperty)
        }
        let declaration = schema.declarations[index]
        if let refusal = declaration.refusal(of: .user, value: "") { throw refusal }
        guard declaration.editor.takesAddedChoices else { throw fault(key, "its list cannot be edited") }
        guard rows.count <= countLimit.ofList else {
            throw fault(key, "a list has at most \(countLimit.ofList) added values")
        }
        var labels = Set(declaration.choices.map { ComparedText($0.label) })
        for row in rows {
            guard let row = row.dictionaryValue, let label = row["label"]?.stringValue, let form = row["value"] else {
                throw fault(key, "an added value is a dictionary of 'label' and 'value'")
            }
            guard (1...labelLimit).contains(label.utf8.count), labels.insert(ComparedText(label)).inserted else {
                throw fault(key, "a label has 1 to \(labelLimit) bytes and stands once")
            }
            _ = try schema.edit(key, form, by: .user, isLoose: false, within: &steps).get()
        }
    }

    private static func fault(_ key: String, _ reason: String) -> SettingError {
        SettingError(property: key, value: "", rule: .editableList(reason))
    }
}
