// Both sides of one pairing on one machine (SES-22): two local endpoints and one relay between them, no link and no store.
// A frame goes from one side's app to its counterpart as the bytes it came in, under the same rules as in a daemon; so an
// app that works here works there. The pairing and both devices are new at each start.

package import TandemIdentity
package import TandemLog
package import TandemReactor
package import TandemRelay
package import TandemTransport

/// The simulator; confined to its scheduler's thread.
package final class Simulator {
    /// The pairing of the two sides.
    package let pairing = UniqueIdentifier.random()
    /// The two sides' endpoints, for what the tests or a command ask of them.
    package let endpoints: PerRole<LocalEndpoint>
    private let relay: Relay

    /// - Parameter user: the user that this process runs as.
    package init(
        scheduler: any Scheduler, software: String, user: UInt32, counters: Counters = Counters(),
        log: @escaping LogHandler = { _ in }
    ) {
        let devices = PerRole(primary: UniqueIdentifier.random(), secondary: UniqueIdentifier.random())
        let relay = Relay(scheduler: scheduler, devices: devices, counters: counters, log: log)
        func endpoint(_ role: DeviceRole) -> LocalEndpoint {
            let options = LocalEndpoint.Options(
                role: role, device: devices[role], software: software, daemonUser: user)
            return LocalEndpoint(options: options, relay: relay, log: log)
        }
        endpoints = PerRole(primary: endpoint(.primary), secondary: endpoint(.secondary))
        self.relay = relay
        relay.setLoopback(
            pairing: pairing, names: PerRole(primary: "simulated primary", secondary: "simulated secondary"))
    }

    /// The socket of one side in the simulator's directory.
    package static func address(of role: DeviceRole, in directory: String) throws(SocketAddressError) -> SocketAddress {
        try SocketAddress.unix(checking: "\(directory)/\(role.rawValue).sock")
    }

    /// Listens on `primary.sock` and `secondary.sock` in a directory that exists.
    package func listen(in directory: String, access: SocketAccess = .owner, loop: EventLoop) throws(SimulatorError) {
        for role in DeviceRole.allCases {
            let address: SocketAddress
            do { address = try Self.address(of: role, in: directory) } catch { throw .address(error) }
            do { try endpoints[role].listen(at: address, access: access, loop: loop) } catch { throw .listen(error) }
        }
    }

    /// Says `bye`, lets open requests be answered for 5 s, and closes; `completion` once, when all is closed (SES-18).
    package func stop(completion: @escaping () -> Void) {
        for role in DeviceRole.allCases { endpoints[role].stop() }
        relay.stop { [endpoints] in
            endpoints.primary.close { endpoints.secondary.close(completion: completion) }
        }
    }
}

/// Why the simulator cannot start.
package enum SimulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    case address(SocketAddressError)
    case listen(ListenError)

    package var description: String {
        switch self {
        case .address(let error): error.description
        case .listen(let error): error.description
        }
    }
}
