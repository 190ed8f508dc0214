// A primary and its secondaries on one machine (SES-22): a local endpoint for each device and one relay between them, no
// link and no store. A frame goes from an app to its counterpart as the bytes it came in, under the same rules as in a
// daemon; so an app that works here works there. The pairings and all devices are new at each start.

package import TandemIdentity
package import TandemLog
package import TandemReactor
import TandemRelay
package import TandemTransport

/// The simulator; confined to its scheduler's thread.
package final class Simulator {
    /// The most secondaries: the primary's `state` tells of all of them in one frame (LIM-20).
    package static let secondaryLimit = 2048

    /// The pairing with each secondary, in the order of their numbers.
    package let pairings: [UniqueIdentifier]
    package let primary: LocalEndpoint
    package let secondaries: [LocalEndpoint]
    private let relay: Relay

    /// - Parameters:
    ///   - user: the user that this process runs as.
    ///   - secondaries: 1 to ``secondaryLimit``.
    package init(
        scheduler: any Scheduler, software: String, user: UInt32, secondaries count: Int = 1,
        counters: Counters = Counters(), log: @escaping LogHandler = { _ in }
    ) {
        precondition((1...Self.secondaryLimit).contains(count), "the caller checks the number of secondaries")
        let devices = PerRole(primary: UniqueIdentifier.random(), secondary: UniqueIdentifier.random())
        let relay = Relay(scheduler: scheduler, devices: devices, counters: counters, log: log)
        func endpoint(of side: Side) -> LocalEndpoint {
            let options = LocalEndpoint.Options(
                role: side.role, device: side.device, software: software, daemonUser: user)
            return LocalEndpoint(options: options, relay: relay, side: side, log: log)
        }
        let sides = (1...count).map { number in
            number == 1 ? relay.side(.secondary) : relay.makeSide(role: .secondary, device: .random())
        }
        pairings = sides.enumerated().map { index, side in
            let pairing = UniqueIdentifier.random()
            relay.setLoopback(
                pairing, between: PerRole(primary: relay.side(.primary), secondary: side),
                names: PerRole(primary: "simulated primary", secondary: "simulated \(Self.name(.secondary, index + 1))")
            )
            return pairing
        }
        primary = endpoint(of: relay.side(.primary))
        secondaries = sides.map(endpoint)
        self.relay = relay
    }

    /// The socket of one device in the simulator's directory.
    /// - Parameter number: which secondary, from 1.
    package static func address(
        of role: DeviceRole, _ number: Int = 1, in directory: String
    ) throws(SocketAddressError) -> SocketAddress {
        try SocketAddress.unix(checking: "\(directory)/\(name(role, number)).sock")
    }

    /// The first secondary has no number, so that a pair alone needs none.
    private static func name(_ role: DeviceRole, _ number: Int) -> String {
        number == 1 ? role.rawValue : "\(role.rawValue)-\(number)"
    }

    /// Listens in a directory that exists on `primary.sock`, `secondary.sock`, `secondary-2.sock` and so on.
    package func listen(in directory: String, access: SocketAccess = .owner, loop: EventLoop) throws(SimulatorError) {
        try listen(primary, 1, in: directory, access, loop)
        for (index, endpoint) in secondaries.enumerated() {
            try listen(endpoint, index + 1, in: directory, access, loop)
        }
    }

    private func listen(
        _ endpoint: LocalEndpoint, _ number: Int, in directory: String, _ access: SocketAccess, _ loop: EventLoop
    ) throws(SimulatorError) {
        let address: SocketAddress
        do { address = try Self.address(of: endpoint.options.role, number, in: directory) } catch {
            throw .address(error)
        }
        do { try endpoint.listen(at: address, access: access, loop: loop) } catch { throw .listen(error) }
    }

    /// Says `bye`, lets open requests be answered for 5 s, and closes; `completion` once, when all is closed (SES-18).
    package func stop(completion: @escaping () -> Void) {
        let endpoints = [primary] + secondaries
        for endpoint in endpoints { endpoint.stop() }
        relay.stop {
            var open = endpoints.count
            for endpoint in endpoints {
                endpoint.close {
                    open -= 1
                    if open == 0 { completion() }
                }
            }
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
