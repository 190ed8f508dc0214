// All that a device is in one role: its pairings of that kind and the host apps whose socket serves it. A daemon has
// one side for each role; the simulator, which is several devices at once, one for each of its devices.

package import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// One role's pairings and host apps on one device; confined to its relay's loop.
package final class Side {
    package let role: DeviceRole
    /// The device's vendor identifier.
    package let device: UniqueIdentifier
    var pairings: [UniqueIdentifier: PairingEnd] = [:]
    private(set) var applications: [ApplicationIdentifier: LocalApplication] = [:]
    private(set) var names = ApplicationNames()
    /// The pairing that the default session is bound to.
    var active: UniqueIdentifier?

    init(role: DeviceRole, device: UniqueIdentifier) {
        self.role = role
        self.device = device
    }

    /// Adds an app that is not there yet.
    func add(_ application: LocalApplication) {
        applications[application.app] = application
        names.add(application)
    }
}
