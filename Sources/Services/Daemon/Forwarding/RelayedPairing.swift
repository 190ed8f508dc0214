// What the relay is told of a pairing: enough to route and to describe it to host apps. Keys, pins and epochs are not
// its business.

package import TandemBase

/// A pairing as the relay knows it.
package struct RelayedPairing: Sendable, Equatable {
    package let pairing: UniqueIdentifier
    /// This device's part.
    package let role: DeviceRole
    /// The other device's vendor identifier.
    package let peer: UniqueIdentifier
    /// The other device's name, for people.
    package var name: String
    /// Never greeted under its pin yet: carries nothing (PAR-10).
    package var isPending: Bool

    package init(
        pairing: UniqueIdentifier, role: DeviceRole, peer: UniqueIdentifier, name: String, isPending: Bool = false
    ) {
        self.pairing = pairing
        self.role = role
        self.peer = peer
        self.name = name
        self.isPending = isPending
    }
}
