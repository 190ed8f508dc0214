// What one loop serves of the simulator: a relay of its own with all devices and pairings, and an endpoint for each
// device. With one loop that is the whole simulator; with several each has its own apps and shares nothing with the
// others.

import TandemBase
import TandemFiles
import TandemReactor

/// One loop's part of the simulator; confined to it.
final class SimulatorShard {
    let primary: LocalEndpoint
    let secondaries: [LocalEndpoint]
    private let relay: Relay
    /// In the order of the endpoints.
    private let items: [SimulatedItems]

    init(
        _ devices: SimulatedDevices, files directory: OwnedDirectory?, scheduler: any Scheduler, software: String,
        user: UInt32, counters: Counters, log: @escaping LogHandler
    ) {
        let first = PerRole(primary: devices.primary, secondary: devices.secondaries[0])
        let relay = Relay(scheduler: scheduler, devices: first, counters: counters, log: log)
        func endpoint(of side: Side) -> LocalEndpoint {
            var options = LocalEndpoint.Options(
                role: side.role, device: side.device, software: software, daemonUser: user)
            options.connectionLimit = devices.connections
            return LocalEndpoint(options: options, relay: relay, side: side, log: log)
        }
        let sides = devices.secondaries.enumerated().map { index, device in
            index == 0 ? relay.side(.secondary) : relay.makeSide(role: .secondary, device: device)
        }
        for (index, side) in sides.enumerated() {
            let name = SimulatedDevices.name(.secondary, index + 1)
            relay.setLoopback(
                devices.pairings[index], between: PerRole(primary: relay.side(.primary), secondary: side),
                names: PerRole(primary: "simulated primary", secondary: "simulated \(name)"))
        }
        primary = endpoint(of: relay.side(.primary))
        secondaries = sides.map(endpoint)
        self.relay = relay
        items = ([primary] + secondaries).enumerated().map { number, endpoint in
            let name = number == 0 ? "primary" : SimulatedDevices.name(.secondary, number)
            return SimulatedItems(
                endpoint: endpoint, directory: directory, name: name, scheduler: scheduler, log: log)
        }
        for (endpoint, items) in zip([primary] + secondaries, items) { endpoint.items = items.channels }
        for (index, pairing) in devices.pairings.enumerated() {
            SimulatedItems.join(pairing, items[0], items[index + 1])
        }
    }

    /// Binds the default sessions of the primary's apps to a pairing.
    func setActive(_ pairing: UniqueIdentifier) { relay.setActive(pairing, role: .primary) }

    /// Waits for the files' threads.
    func waitForDisk() { for items in items { items.waitForDisk() } }

    /// The endpoints of all devices, the primary's first.
    var endpoints: [LocalEndpoint] { [primary] + secondaries }

    /// Says `bye`, lets open requests be answered for 5 s, and closes; `completion` once (SES-18).
    func stop(completion: @escaping () -> Void) {
        let endpoints = endpoints
        for endpoint in endpoints { endpoint.stop() }
        relay.stop {
            var open = endpoints.count
            for endpoint in endpoints {
                endpoint.close {
                    open -= 1
                    guard open == 0 else { return }
                    // They hold each other over the loops.
                    for endpoint in endpoints { endpoint.spread = nil }
                    for items in self.items { items.close() }
                    completion()
                }
            }
        }
    }
}
