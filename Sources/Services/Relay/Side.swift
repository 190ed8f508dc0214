// All that a device is in one role: its pairings of that kind and the host apps whose socket serves it. A daemon has one
// side for each role; the simulator, which is several devices at once, one for each of its devices.

import TandemBytes
package import TandemIdentity
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

/// An app that is installed on a device.
final class LocalApplication {
    let app: ApplicationIdentifier
    /// The app in the ledger; the same for all sides of a relay.
    let number: ApplicationNumber
    private let name: ByteSlice
    unowned let side: Side
    /// The custom identifier that the app declares.
    var identifier: CustomIdentifier?
    /// An anchor for the app is known here.
    var isAnchored = false
    /// The connection that takes the app's messages.
    var receiver: RelayPort?
    /// All connections of the app; each is told the situation.
    var ports: [RelayPort] = []
    /// The ways to its counterparts, one for each pairing.
    ///
    /// Unchecked, because no method of it calls out.
    @exclusivity(unchecked) var routes = Routes()
    /// What is to be told at the end of the turn, and whether that is noted already.
    var needsState = false
    var needsAnnouncement = false
    var isMarked = false
    /// A long `state` has just been told: the next one waits (SES-29).
    var isResting = false

    init(app: ApplicationIdentifier, number: ApplicationNumber, side: Side) {
        self.app = app
        self.number = number
        name = ByteSlice(copying: Array(app.description.utf8))
        self.side = side
    }

    /// Lends the bytes of the app's name.
    func withName<Result>(_ body: (RawSpan) -> Result) -> Result {
        name.withBytes(body)
    }

    /// Whether these are the bytes of the app's name.
    func isNamed(_ bytes: RawSpan) -> Bool { withName { $0.isEqual(to: bytes) } }

    var announcement: ApplicationAnnouncement {
        ApplicationAnnouncement(
            isInstalled: true, isConnected: receiver != nil, identifier: identifier, isAnchored: isAnchored)
    }
}
