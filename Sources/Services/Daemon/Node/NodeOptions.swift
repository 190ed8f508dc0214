// What an operator chooses when starting a daemon. Parsed by the command, checked there; nothing here reads the
// environment, so that two nodes with different options can live in one test process.

package import TandemBase
package import TandemTransport

/// The options of one daemon.
package struct NodeOptions: Sendable {
    /// The side that the local socket serves, and the part this device plays when it pairs.
    package var role: DeviceRole
    /// The device's name for people, 1-64 bytes.
    package var name: String
    /// The state directory: deleting it is the uninstall.
    package var state: String
    /// The path of the host apps' Unix socket, at most 107 bytes.
    package var local: String
    /// A group that may use the local socket too; nil keeps it to the daemon's own user.
    package var localGroup: String?
    /// Where to accept device links.
    package var listen: [SocketAddress]
    /// The address that join links name; needed when listening on a wildcard.
    package var advertise: SocketAddress?
    /// How to start host apps for which items wait; nil to start none.
    package var wake: WakeCommands?
    /// The daemon's half of the waiver for invalidly signed configuration (CFG: both halves are needed).
    package var allowsInvalidSignatures: Bool

    package init(role: DeviceRole, name: String, state: String, local: String) {
        self.role = role
        self.name = name
        self.state = state
        self.local = local
        localGroup = nil
        listen = []
        advertise = nil
        allowsInvalidSignatures = false
    }
}
