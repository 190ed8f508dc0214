// Something that both parts of a pairing have, each its own. A daemon may hold pairings of both kinds, and a simulator
// is all its devices at once, so everything the relay knows of "this device" exists twice and is looked up by role.

package import TandemBase

/// A value for each of the two roles.
package struct PerRole<Value> {
    package var primary: Value
    package var secondary: Value

    package init(primary: Value, secondary: Value) {
        self.primary = primary
        self.secondary = secondary
    }

    /// The same value for both roles.
    package init(_ both: Value) { self.init(primary: both, secondary: both) }

    package subscript(role: DeviceRole) -> Value {
        get { role == .primary ? primary : secondary }
        set { if role == .primary { primary = newValue } else { secondary = newValue } }
    }
}

extension PerRole: Sendable where Value: Sendable {}
