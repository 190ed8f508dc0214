// One device as its daemon composes it, with outlets that a test steers: a relay, a local endpoint, and a place for a
// link. Nothing is stored; what the daemon would store is remembered in the order it was asked.

package import TandemBase
package import TandemDaemon
import TandemReactor
package import TandemSession
package import TandemTestSupport
import TandemTransport
package import TandemWire
import Testing

package final class TestDevice {
    package let scheduler: ManualScheduler
    package let relay: Relay
    package let endpoint: LocalEndpoint
    /// Whether ownership is stored at once; otherwise when the test calls ``finishStoring(_:)``.
    package var storesAtOnce = true
    /// Whether a registration waits for what the device prepares, until the test calls ``finishPreparing()``.
    package var prepares = false
    /// The directory that apps get in `registered`; nil for one that is named after the app.
    package var directory: String?
    package private(set) var stored: [ApplicationIdentifier] = []
    package private(set) var connected: [ConnectedApplication] = []
    package private(set) var disconnected: [ConnectedApplication] = []
    private var storing: [CheckedContinuation<Bool, Never>] = []
    private var preparing: [CheckedContinuation<Void, Never>] = []

    package init(options: LocalEndpoint.Options, scheduler: ManualScheduler) {
        self.scheduler = scheduler
        relay = Relay(scheduler: scheduler, devices: PerRole(options.device))
        endpoint = LocalEndpoint(options: options, relay: relay)
        var outlets = LocalEndpoint.Outlets(
            store: { [unowned self] app, _ in await store(app) },
            directory: { [unowned self] in directory ?? "apps/\($0)" },
            connected: { [unowned self] in connected.append($0) },
            disconnected: { [unowned self] application, _ in disconnected.append(application) })
        outlets.needsPreparation = { [unowned self] _ in prepares }
        outlets.prepare = { [unowned self] _ in await withCheckedContinuation { self.preparing.append($0) } }
        endpoint.connect(outlets)
    }

    package convenience init(_ role: DeviceRole, scheduler: ManualScheduler = ManualScheduler()) {
        let options = LocalEndpoint.Options(
            role: role, device: .random(), software: "daemon of a test", daemonUser: Simulation.user)
        self.init(options: options, scheduler: scheduler)
    }

    package var role: DeviceRole { endpoint.options.role }

    package func connect(user: UInt32 = Simulation.user) -> Client { Client(to: endpoint, on: scheduler, user: user) }

    package func greet(_ capabilities: [Capability] = Capability.allCases, user: UInt32 = Simulation.user) throws
        -> Client
    {
        try endpoint.greet(capabilities, on: scheduler, user: user)
    }

    package func app(
        _ name: String = "com.example.app", _ registration: TandemSession.Registration = .init(),
        capabilities: [Capability] = Capability.allCases
    ) throws -> Client {
        try endpoint.app(name, registration, capabilities: capabilities, on: scheduler, user: Simulation.user)
    }

    /// Ends what is being stored.
    package func finishStoring(_ isStored: Bool) {
        let waiting = storing
        storing = []
        for continuation in waiting { continuation.resume(returning: isStored) }
        scheduler.run()
    }

    /// Ends what is being prepared.
    package func finishPreparing() {
        let waiting = preparing
        (preparing, prepares) = ([], false)
        for continuation in waiting { continuation.resume() }
        scheduler.run()
    }

    private func store(_ app: ApplicationIdentifier) async -> Bool {
        stored.append(app)
        return storesAtOnce ? true : await withCheckedContinuation { storing.append($0) }
    }
}
