// Answer of an app's own check of a value that a person has typed (InAppSettingsKit's `IASKValidationResult`), beside
// the declared rule, which counts in any case.

package import TandemPropertyList
package import TandemSettings

/// The answer of an app about a typed value.
package enum PageValidation: Sendable, Equatable {
    /// The value is stored.
    case ok
    /// This value is stored in its place.
    case replaced(PropertyListValue)
    /// Nothing is stored, and this value, if there is one, stands in the field.
    case failed(String, replacement: PropertyListValue?)
    /// As ``failed(_:replacement:)``; the field draws attention to itself.
    case failedWithShake(String, replacement: PropertyListValue?)
}

/// The outcome of a typed value: declared rule and app's check together.
package struct ValidationOutcome: Sendable, Equatable {
    /// The stored form to be set; nil: nothing is stored.
    package let stored: PropertyListValue?
    /// The value that stands in the field.
    package let field: PropertyListValue
    /// Why nothing is stored.
    package let error: String?
    /// Whether the field shakes.
    package let shakes: Bool

    /// Judges by the declared rule, asks the app, and judges what the app puts in its place; a replacement of a failed
    /// value is stored if the app then takes it.
    package init(
        _ value: PropertyListValue, of key: String, in schema: SettingsSchema,
        check: (PropertyListValue) -> PageValidation
    ) {
        self.init(value, of: key, in: schema, isReplacement: false, check)
    }

    private init(
        _ value: PropertyListValue, of key: String, in schema: SettingsSchema, isReplacement: Bool,
        _ check: (PropertyListValue) -> PageValidation
    ) {
        if let error = Self.fault(value, key, schema) {
            self.init(stored: nil, field: value, error: error, shakes: false)
            return
        }
        switch check(value) {
        case .ok: self.init(stored: value, field: value, error: nil, shakes: false)
        case .replaced(let other):
            let fault = Self.fault(other, key, schema)
            self.init(stored: fault == nil ? other : nil, field: other, error: fault, shakes: false)
        case .failed(let text, let other):
            self.init(failed: text, value, other, key, schema, isReplacement, shakes: false, check)
        case .failedWithShake(let text, let other):
            self.init(failed: text, value, other, key, schema, isReplacement, shakes: true, check)
        }
    }

    private init(
        failed text: String, _ value: PropertyListValue, _ other: PropertyListValue?, _ key: String,
        _ schema: SettingsSchema, _ isReplacement: Bool, shakes: Bool, _ check: (PropertyListValue) -> PageValidation
    ) {
        // A replacement is asked about once; its own replacement would never end.
        let next = isReplacement ? nil : other.map { Self($0, of: key, in: schema, isReplacement: true, check) }
        self.init(stored: next?.stored, field: next?.field ?? other ?? value, error: text, shakes: shakes)
    }

    private init(stored: PropertyListValue?, field: PropertyListValue, error: String?, shakes: Bool) {
        (self.stored, self.field, self.error, self.shakes) = (stored, field, error, shakes)
    }

    private static func fault(_ value: PropertyListValue, _ key: String, _ schema: SettingsSchema) -> String? {
        guard let index = schema.index(of: key) else {
            return SettingError(property: key, value: value.kind, rule: .unknownProperty).description
        }
        guard case .failure(let error) = schema.judge(stored: value, at: index) else { return nil }
        return error.description
    }
}
