// Answer of an app's own check of a value that a person has typed (InAppSettingsKit's `IASKValidationResult`), beside
// the declared rule, which counts in any case.

package import TandemPropertyList

/// The answer of an app about a typed value.
package enum PageValidation: Sendable, Equatable {
    /// The value is stored.
    case ok
    /// This value is stored in its place.
    case replaced(PropertyListValue)
    /// Nothing is stored, and this value, if there is one, stands in the field.
    /// - shakes: the field draws attention to itself.
    case failed(String, replacement: PropertyListValue?, shakes: Bool = false)
}
