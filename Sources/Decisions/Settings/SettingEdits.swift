// A user's edits of an app's properties, as the daemon keeps them: one stored form for each edited key. The daemon
// judges each change by the app's schema, and the app judges what it reads again, because its schema may be newer.

import TandemBase
package import TandemPropertyList

/// The edited values of one app.
package struct SettingEdits: Sendable, Equatable {
    /// Bytes of the file (LIM-103): with the keys and texts of an answer they fit a frame.
    package static let byteLimit = 131_072
    /// The file in the app's directory.
    package static let fileName = "edits.plist"

    /// The stored forms by key.
    package private(set) var values: PropertyListDictionary

    /// No edits.
    package init() { values = [:] }

    /// The form of the file; nil for any other dictionary.
    package init?(_ dictionary: PropertyListDictionary) {
        guard dictionary["v"]?.integerValue == 1, let values = dictionary["values"]?.dictionaryValue else { return nil }
        self.values = values
    }

    /// The form of the file.
    package var dictionary: PropertyListDictionary { ["v": 1, "values": .dictionary(values)] }

    /// Takes values as a whole: either all of them, or none and each mistake is listed.
    /// - Parameter isLoose: whether other spellings of a value are converted, as of an imported file.
    /// - Returns: the keys whose values were converted.
    package mutating func set(
        _ changes: PropertyListDictionary, by editor: SettingAccess, isLoose: Bool = false, in schema: SettingsSchema
    ) throws(SettingsPayloadError) -> [String] {
        var (next, converted, errors) = (values, [String](), [SettingError]())
        for (key, value) in changes {
            switch schema.edit(key, value, by: editor, isLoose: isLoose) {
            case .success(let edit):
                next[key] = schema.declarations[edit.place].stored(edit.value)
                if edit.isConverted { converted.append(key) }
            case .failure(let error): errors.append(error)
            }
        }
        guard errors.isEmpty else { throw SettingsPayloadError(errors: errors) }
        values = next
        return converted
    }

    /// Takes edits back, all of them for nil; those of keys that the schema no longer has, too.
    /// - Returns: the keys that had one.
    package mutating func reset(
        _ keys: [String]?, by editor: SettingAccess, in schema: SettingsSchema
    ) throws(SettingsPayloadError) -> [String] {
        let errors = (keys ?? []).compactMap { key -> SettingError? in
            guard let place = schema.place(of: key) else {
                let unknown = SettingError(property: key, value: "", rule: .unknownProperty)
                return values[key] == nil ? unknown : nil
            }
            return schema.declarations[place].refusal(of: editor, value: "")
        }
        guard errors.isEmpty else { throw SettingsPayloadError(errors: errors) }
        let removed = (keys ?? values.keys).filter { key in
            values[key] != nil
                && (schema.place(of: key).map { schema.declarations[$0].access >= editor } ?? (editor == .user))
        }
        for key in removed { values[key] = nil }
        return removed
    }
}

extension SettingsSchema {
    /// The edits that the schema takes, and the errors of the others.
    package func taken(_ edits: SettingEdits) -> (payload: SettingsPayload, errors: [SettingError]) {
        var values = [SettingValue?](repeating: nil, count: declarations.count)
        var errors: [SettingError] = []
        for (key, value) in edits.values {
            switch edit(key, value, by: .user, isLoose: false) {
            case .success(let edit): values[edit.place] = edit.value
            case .failure(let error): errors.append(error)
            }
        }
        return (SettingsPayload(values: values, ignored: []), errors)
    }

    fileprivate func edit(
        _ key: String, _ value: PropertyListValue, by editor: SettingAccess, isLoose: Bool
    ) -> Result<(place: Int, value: SettingValue, isConverted: Bool), SettingError> {
        guard let place = place(of: key) else {
            return .failure(SettingError(property: key, value: value.kind, rule: .unknownProperty))
        }
        let declaration = declarations[place]
        let mistype = mistype(value, at: place)
        if let error = declaration.refusal(of: editor, value: mistype.value) { return .failure(error) }
        let exact = declaration.value(exact: value)
        guard let typed = exact ?? (isLoose ? declaration.value(loose: value) : nil) else { return .failure(mistype) }
        if let error = problem(of: typed, at: place) { return .failure(error) }
        return .success((place, typed, exact == nil))
    }
}

extension SettingDeclaration {
    /// The error of an editor who may not edit the property.
    fileprivate func refusal(of editor: SettingAccess, value: String) -> SettingError? {
        guard access < editor else { return nil }
        return SettingError(property: name, value: value, rule: access == .signed ? .signedOnly : .notForCounterpart)
    }

    /// The value of a form of the property itself.
    fileprivate func value(exact form: PropertyListValue) -> SettingValue? {
        if let toggleValues, form == toggleValues.on || form == toggleValues.off {
            return .boolean(form == toggleValues.on)
        }
        return SettingValue(form, as: type)
    }

    /// The value that another spelling means, as files of settings have them.
    fileprivate func value(loose: PropertyListValue) -> SettingValue? {
        value(stored: loose) ?? SettingConversion(dates: .standard).value(loose, as: type)
    }
}
