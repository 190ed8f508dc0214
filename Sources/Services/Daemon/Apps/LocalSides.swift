// Local sides of a daemon: one endpoint for the host apps of each role, and the registrations that both share. An app
// is on one side; the daemon's parts ask here which, and reach the app there.

import TandemBase
import TandemOperations
import TandemReactor
import TandemWire

/// The endpoints of one device; confined to its loop. Both exist, also where only one has a socket.
struct LocalSides {
    /// The side that the daemon was started for.
    private let role: DeviceRole
    /// The owners of the apps of both sides, and the changes that are under way.
    let registrations: ApplicationRegistrations
    private let endpoints: PerRole<LocalEndpoint>
    /// The side of an installed app.
    private let installedSide: (ApplicationIdentifier) -> DeviceRole?

    /// - Parameter installed: the side that an installed app is on.
    init(
        _ options: LocalEndpoint.Options, relay: Relay, owners: [ApplicationIdentifier: ApplicationOwnership],
        installed: @escaping (ApplicationIdentifier) -> DeviceRole?, log: @escaping LogHandler
    ) {
        role = options.role
        installedSide = installed
        registrations = ApplicationRegistrations(owners, operators: options.operators)
        let main = LocalEndpoint(options: options, relay: relay, registrations: registrations, log: log)
        var endpoints = PerRole(main)
        endpoints[role.counterpart] = LocalEndpoint(otherSideOf: main)
        self.endpoints = endpoints
    }

    subscript(role: DeviceRole) -> LocalEndpoint { endpoints[role] }

    var relay: Relay { endpoints[role].relay }
    var scheduler: any Scheduler { endpoints[role].scheduler }
    /// The accounts of the users of both sides.
    var accounts: LocalAccounts { endpoints[role].accounts }
    var software: String { endpoints[role].options.software }

    /// The side that an app is on; of one that is not installed the side that the daemon was started for.
    func side(of app: ApplicationIdentifier) -> DeviceRole { installedSide(app) ?? role }

    func endpoint(of app: ApplicationIdentifier) -> LocalEndpoint { endpoints[side(of: app)] }

    /// The app whose receiving connection is registered; nil if there is none.
    func connected(_ app: ApplicationIdentifier) -> ConnectedApplication? { endpoint(of: app).connected(app) }

    /// Whether items of a queue are for its app: they are those of its side's pairings.
    func isServed(_ queue: QueueKey) -> Bool { endpoint(of: queue.app).serves(queue.pairing) }

    /// Whether items of a queue are a reason to start its app. While the operator changes the app, it has no user to
    /// run as, or its registration would wait.
    func mayStartApp(for queue: QueueKey) -> Bool { isServed(queue) && !registrations.isChanging(queue.app) }

    // MARK: the operator's changes

    /// The operator has assigned an app (SES-74).
    func assign(_ app: ApplicationIdentifier, to ownership: ApplicationOwnership) {
        endpoints[role].assign(app, to: ownership)
    }

    /// The operator has removed an app (SES-73).
    func remove(_ app: ApplicationIdentifier) { endpoints[role].remove(app) }

    // MARK: stopping

    /// Takes no more connections (SES-18).
    func stop() { for role in DeviceRole.allCases { endpoints[role].stop() } }

    /// Ends all connections; `completion` once, when they are gone.
    func close(completion: @escaping () -> Void) {
        DeviceRole.allCases.map { endpoints[$0] }.close(completion: completion)
    }
}
