// A whole set of values from outside (a signed configuration, a file), judged as one: either every value may be held,
// or none is applied and every mistake is listed.

package import TandemPropertyList

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
}

extension SettingsPayloadError: CustomStringConvertible {
    package var description: String { errors.prefix(8).map(\.description).joined(separator: "; ") }
}

extension SettingsSchema {
    /// Judges a whole set of overrides. An unknown key is a mistake unless `optional` names it.
    package func payload(
        _ values: PropertyListDictionary, optional: Set<String> = []
    ) throws(SettingsPayloadError) -> SettingsPayload {
        var taken = [SettingValue?](repeating: nil, count: declarations.count)
        var ignored: [String] = []
        var errors: [SettingError] = []
        for (key, value) in values {
            switch judge(key, value) {
            case .success(let found): taken[found.place] = found.value
            case .failure(let error) where error.rule == .unknownProperty && optional.contains(key):
                ignored.append(key)
            case .failure(let error): errors.append(error)
            }
        }
        guard errors.isEmpty else { throw SettingsPayloadError(errors: errors) }
        return SettingsPayload(values: taken, ignored: ignored)
    }

    private func judge(
        _ key: String, _ value: PropertyListValue
    ) -> Result<(place: Int, value: SettingValue), SettingError> {
        guard let place = place(of: key) else {
            return .failure(SettingError(property: key, value: value.shown, rule: .unknownProperty))
        }
        let type = declarations[place].type
        guard let typed = SettingValue(value, as: type) else {
            return .failure(SettingError(property: key, value: value.shown, rule: .type(type)))
        }
        if let error = problem(of: typed, at: place) { return .failure(error) }
        return .success((place, typed))
    }
}

extension PropertyListValue {
    /// The value for an error message: scalars as they are, anything else by its kind.
    fileprivate var shown: String {
        switch self {
        case .boolean(let value): SettingValue.boolean(value).description
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .real(let value): SettingValue.double(value).description
        case .string(let value): SettingValue.string(value).description
        case .date: "a date"
        case .data(let bytes): "data of \(bytes.count) bytes"
        case .array(let values): "an array of \(values.count)"
        case .dictionary(let pairs): "a dictionary of \(pairs.count)"
        }
    }
}
