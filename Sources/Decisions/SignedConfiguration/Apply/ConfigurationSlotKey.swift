// Whose state: one application, one side, one target. Switching primaries moves between slots; it never mixes them.

package import TandemBase

/// The key of a configuration's state: (app, role, target).
package struct ConfigurationSlotKey: Sendable, Hashable {
    package let application: ApplicationIdentifier
    package let role: DeviceRole
    package let target: PairedIdentifier

    package init(application: ApplicationIdentifier, role: DeviceRole, target: PairedIdentifier) {
        self.application = application
        self.role = role
        self.target = target
    }
}

/// How a configuration came: through which pairing, under which nonce of its forwarding frame.
package struct ConfigurationDelivery: Sendable, Hashable {
    package let pairing: UniqueIdentifier
    package let nonce: UniqueIdentifier

    package init(pairing: UniqueIdentifier, nonce: UniqueIdentifier) {
        self.pairing = pairing
        self.nonce = nonce
    }
}
