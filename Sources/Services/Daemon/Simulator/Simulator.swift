// A primary and its secondaries on one machine (SES-22): a local endpoint for each device and a relay between them, no
// link and no store. A frame goes from an app to its counterpart as the bytes it came in, under the same rules as in a
// daemon; so an app that works here works there. The work may be spread over several loops by app.

package import TandemBase
package import TandemFiles
package import TandemReactor
package import TandemTransport
import TandemWire

/// The simulator; confined to the thread of its first scheduler.
package final class Simulator {
    /// The most secondaries: the primary's `state` tells of all of them in one frame (LIM-20).
    package static let secondaryLimit = 2048
    /// The most loops: more than that many cores are another program (LIM-22).
    package static let loopLimit = 64

    private let devices: SimulatedDevices
    private let first: SimulatorShard
    /// Which secondary is the primary's active one.
    private(set) var activeNumber = 1
    private var others: [(loop: EventLoop, shard: LoopBound<SimulatorShard>)] = []

    /// A simulator on one scheduler.
    /// - Parameters:
    ///   - user: the user that this process runs as.
    ///   - secondaries: 1 to ``secondaryLimit``.
    ///   - connections: of each device at once (LIM-5).
    ///   - files: where files are kept on their way; nil takes none.
    package init(
        scheduler: any Scheduler, software: String, user: UInt32, secondaries: Int = 1,
        connections: Int = Limits.localConnections, files: OwnedDirectory? = nil, counters: Counters = Counters(),
        log: @escaping LogHandler = { _ in }
    ) {
        precondition((1...Self.secondaryLimit).contains(secondaries), "the caller checks the number of secondaries")
        devices = SimulatedDevices(secondaries: secondaries, connections: connections)
        first = SimulatorShard(
            devices, files: files, scheduler: scheduler, software: software, user: user, counters: counters, log: log)
        first.primary.controlResponder = self
    }

    /// A simulator that spreads its apps over several loops: this one, which accepts, and new ones with a thread each.
    /// - Parameters:
    ///   - loops: 1 to ``loopLimit``.
    ///   - log: called on every loop's thread.
    package convenience init(
        loop: EventLoop, loops: Int, software: String, user: UInt32, secondaries: Int = 1,
        connections: Int = Limits.localConnections, files: OwnedDirectory? = nil,
        log: @escaping LogHandler = { _ in }
    ) throws(SystemError) {
        precondition((1...Self.loopLimit).contains(loops), "the caller checks the number of loops")
        self.init(
            scheduler: loop, software: software, user: user, secondaries: secondaries, connections: connections,
            files: files, log: log)
        var shards = [first]
        for _ in 1..<loops {
            let other = try EventLoop()
            // Counters of its own: a shared one would be written by all loops for every frame.
            let shard = SimulatorShard(
                devices, files: files, scheduler: other, software: software, user: user, counters: Counters(), log: log)
            others.append((other, LoopBound(shard, to: other)))
            shards.append(shard)
        }
        if loops > 1 { introduce(shards, [loop] + others.map(\.loop)) }
    }

    /// Tells the endpoints of each device of each other.
    private func introduce(_ shards: [SimulatorShard], _ loops: [EventLoop]) {
        for device in first.endpoints.indices {
            let endpoints = zip(shards, loops).map { LoopBound($0.endpoints[device], to: $1) }
            for place in loops.indices {
                shards[place].endpoints[device].spread = EndpointSpread(loops: loops, endpoints: endpoints, own: place)
            }
        }
    }

    /// The pairing with each secondary, in the order of their numbers.
    package var pairings: [UniqueIdentifier] { devices.pairings }

    /// Makes a secondary the primary's active one, on every loop.
    /// - Parameter number: which secondary, from 1.
    package func activate(_ number: Int) {
        activeNumber = number
        let pairing = devices.pairings[number - 1]
        first.setActive(pairing)
        for other in others {
            let shard = other.shard
            other.loop.submit { shard.value.setActive(pairing) }
        }
    }

    /// Waits for the files of the first loop's devices: for a clock that a test moves.
    package func waitForDisk() { first.waitForDisk() }

    /// The accepting endpoints, for what the tests or a command ask of them.
    package var primary: LocalEndpoint { first.primary }
    package var secondaries: [LocalEndpoint] { first.secondaries }

    /// The socket of one device in the simulator's directory.
    /// - Parameter number: which secondary, from 1.
    package static func address(
        of role: DeviceRole, _ number: Int = 1, in directory: String
    ) throws(SocketAddressError) -> SocketAddress {
        try SocketAddress.unix(checking: "\(directory)/\(SimulatedDevices.name(role, number)).sock")
    }

    /// Listens in a directory that exists on `primary.sock`, `secondary.sock`, `secondary-2.sock` and so on.
    /// - Parameter loop: the first one.
    package func listen(in directory: String, access: SocketAccess = .owner, loop: EventLoop) throws(SimulatorError) {
        try listen(primary, 1, in: directory, access, loop)
        for (index, endpoint) in secondaries.enumerated() {
            try listen(endpoint, index + 1, in: directory, access, loop)
        }
        do throws(SystemError) {
            for other in others { try other.loop.startThread() }
        } catch {
            throw .thread(error)
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

    /// Says `bye`, lets open requests be answered for 5 s, and closes; `completion` once, when all is closed on every
    /// loop and the other loops' threads have ended (SES-18). After ``listen(in:access:loop:)``.
    package func stop(completion: @escaping () -> Void) {
        var open = 1 + others.count
        let stopped = { [others] in
            open -= 1
            guard open == 0 else { return }
            for other in others {
                other.loop.stop()
                other.loop.join()
            }
            completion()
        }
        let home = primary.spread?.loops.first
        // First the accepting one: what it still gives to others has been submitted before their stop.
        first.stop(completion: stopped)
        guard let home else { return }
        let told = LoopBound(stopped, to: home)
        for other in others {
            let shard = other.shard
            other.loop.submit { shard.value.stop { home.submit { told.value() } } }
        }
    }
}

/// Why the simulator cannot start.
package enum SimulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    case address(SocketAddressError)
    case listen(ListenError)
    /// A loop's thread could not be started.
    case thread(SystemError)

    package var description: String {
        switch self {
        case .address(let error): error.description
        case .listen(let error): error.description
        case .thread(let error): error.description
        }
    }
}
