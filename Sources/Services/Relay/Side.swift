// All that this device is in one role: its pairings of that kind and the host apps whose socket serves it.

import TandemIdentity
import TandemSession

/// One role's pairings and host apps.
final class Side {
    let role: DeviceRole
    /// This device's vendor identifier.
    let device: UniqueIdentifier
    var pairings: [UniqueIdentifier: PairingEnd] = [:]
    var applications: [ApplicationIdentifier: LocalApplication] = [:]
    /// The pairing that the default session is bound to.
    var active: UniqueIdentifier?

    init(role: DeviceRole, device: UniqueIdentifier) {
        self.role = role
        self.device = device
    }
}

/// An app that is installed on this device.
final class LocalApplication {
    let app: ApplicationIdentifier
    /// The custom identifier that the app declares.
    var identifier: CustomIdentifier?
    /// An anchor for the app is known here.
    var isAnchored = false
    /// The connection that takes the app's messages.
    var receiver: RelayPort?
    /// All connections of the app; each is told the situation.
    var ports: [RelayPort] = []
    /// The ways to its counterparts, one for each pairing. An array: a device has few pairings, and looking through it
    /// costs less than hashing.
    private(set) var routes: [Route] = []
    var needsState = false
    var needsAnnouncement = false

    init(app: ApplicationIdentifier) { self.app = app }

    var announcement: ApplicationAnnouncement {
        ApplicationAnnouncement(
            isInstalled: true, isConnected: receiver != nil, identifier: identifier, isAnchored: isAnchored)
    }

    func route(to pairing: UniqueIdentifier) -> Route? { routes.first { $0.pairing.known.pairing == pairing } }

    func addRoute(to pairing: PairingEnd, now: MonotonicTime) {
        routes.append(Route(app: app, pairing: pairing, now: now))
    }

    func removeRoute(to pairing: UniqueIdentifier) {
        routes.removeAll { $0.pairing.known.pairing == pairing }
    }
}
