// Simulator: a primary and its secondaries on one machine (SES-22), with a local endpoint for each device and one relay
// between them, without links and without files of a store. A frame goes from an app to its counterpart as the bytes it
// came in, under the same rules as in a daemon; so an app that works here works there.

package import TandemBase
package import TandemFiles
package import TandemReactor
package import TandemTransport
import TandemWire

/// The simulator; confined to its scheduler's thread.
package final class Simulator {
    /// The most secondaries: the primary's `state` lists all of them in one frame (LIM-20).
    package static let secondaryLimit = 2048

    /// The accepting endpoints, for the tests and the command.
    package let primary: LocalEndpoint
    package let secondaries: [LocalEndpoint]
    /// The pairing with each secondary, in the order of their numbers.
    package let pairings: [UniqueIdentifier]
    private let relay: Relay
    /// The primary, then the secondaries.
    private let devices: [SimulatedDevice]

    /// - Parameters:
    ///   - user: the user that this process runs as.
    ///   - count: the number of secondaries, 1 to ``secondaryLimit``.
    ///   - connections: of each device at once (LIM-5).
    ///   - directory: for files on their way and the apps' directories; nil takes neither files nor configuration.
    package init(
        scheduler: any Scheduler, software: String, user: UInt32, secondaries count: Int = 1,
        connections: Int = Limits.localConnections, files directory: OwnedDirectory? = nil,
        counters: Counters = Counters(), log: @escaping LogHandler = { _ in }
    ) {
        precondition((1...Self.secondaryLimit).contains(count), "the caller checks the number of secondaries")
        let vendors = PerRole(primary: UniqueIdentifier.random(), secondary: UniqueIdentifier.random())
        let relay = Relay(scheduler: scheduler, devices: vendors, counters: counters, log: log)
        let primarySide = relay.side(.primary)
        let sides = (1...count).map { number in
            number == 1 ? relay.side(.secondary) : RoleContext(role: .secondary, device: .random())
        }
        let pairings = sides.map { _ in UniqueIdentifier.random() }
        for (index, side) in sides.enumerated() {
            relay.setLoopback(
                pairings[index], between: PerRole(primary: primarySide, secondary: side),
                names: PerRole(primary: "simulated primary", secondary: "simulated \(Self.name(.secondary, index + 1))")
            )
        }
        // One process: its users have one account each, however many sockets they use.
        var first: LocalEndpoint?
        devices = ([primarySide] + sides).enumerated().map { number, side in
            let name = number == 0 ? Self.name(.primary, 1) : Self.name(.secondary, number)
            var options = LocalEndpoint.Options(
                role: side.role, device: side.device, software: software, daemonUser: user)
            options.connectionLimit = connections
            let endpoint = LocalEndpoint(options: options, relay: relay, side: side, sibling: first, log: log)
            first = first ?? endpoint
            return SimulatedDevice(name, endpoint: endpoint, directory: directory, log: log)
        }
        for (index, pairing) in pairings.enumerated() { SimulatedDevice.pair(pairing, devices[0], devices[index + 1]) }
        self.relay = relay
        self.pairings = pairings
        primary = devices[0].endpoint
        secondaries = devices[1...].map(\.endpoint)
        for device in devices { device.join(self) }
    }

    /// The name of a device and its socket; the first secondary has no number, so that a pair alone needs none.
    static func name(_ role: DeviceRole, _ number: Int) -> String {
        number == 1 ? role.rawValue : "\(role.rawValue)-\(number)"
    }

    /// Makes a secondary the primary's active one.
    /// - Parameter number: which secondary, from 1; nil: none, as while the operator has yet to choose one (PAR-15).
    package func activate(_ number: Int?) { relay.setActive(number.map { pairings[$0 - 1] }, role: .primary) }

    /// The primary's app has another custom identifier: configuration of all its apps has another target.
    func retarget(_ app: ApplicationIdentifier) { for device in devices { device.retarget(app) } }

    /// A secondary's app has registered: the primary may have a configuration for it.
    func announced(_ app: ApplicationIdentifier, by device: SimulatedDevice) {
        guard let index = devices.dropFirst().firstIndex(where: { $0 === device }) else { return }
        devices[0].announced(app, by: pairings[index - 1])
    }

    /// Waits for the file threads of all devices: for a clock that a test moves.
    package func waitForDisk() { for device in devices { device.waitForDisk() } }

    /// The socket of one device in the simulator's directory.
    /// - Parameter number: which secondary, from 1.
    package static func address(
        of role: DeviceRole, _ number: Int = 1, in directory: String
    ) throws(SocketAddressError) -> SocketAddress {
        try SocketAddress.unix(checking: "\(directory)/\(name(role, number)).sock")
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

    /// Sends `bye`, lets open requests be answered for 5 s, and closes; `completion` once, when all is closed (SES-18).
    package func stop(completion: @escaping () -> Void) {
        let endpoints = [primary] + secondaries
        for endpoint in endpoints { endpoint.stop() }
        relay.stop { [self] in
            endpoints.close { [self] in
                for device in devices { device.close() }
                completion()
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
