// Options of a daemon, its network, and the errors of its start. The command parses and checks the options; nothing
// here reads the environment, so that two nodes with different options can live in one test process.

package import TandemBase
package import TandemCrypto
package import TandemFiles
package import TandemReactor
package import TandemStore
package import TandemTransport

/// The options of one daemon.
package struct NodeOptions: Sendable {
    /// The side that the local socket serves.
    package let role: DeviceRole
    /// The device's name for people, 1-64 bytes.
    package let name: String
    /// The state directory: deleting it is the uninstall.
    package let state: String
    /// The path of the host apps' Unix socket, at most 107 bytes.
    package var local: String
    /// The path of the socket for the host apps of the device's other side; nil for none.
    package var localOther: String?
    /// A group that may use the local sockets too; nil keeps them to the daemon's own user.
    package var localGroup: String?
    /// Where to accept device links.
    package var listen: [SocketAddress] = []
    /// The address that join links name; needed when listening on a wildcard.
    package var advertise: SocketAddress?
    /// How to start host apps for which items wait; none by default.
    package var wake = WakeCommands()
    /// The daemon's half of the waiver for invalidly signed configuration (CFG: both halves are needed).
    package var allowsInvalidSignatures = false

    package init(role: DeviceRole, name: String, state: String, local: String) {
        self.role = role
        self.name = name
        self.state = state
        self.local = local
    }

    /// The local sockets by the sides that they serve.
    package var sockets: PerRole<String?> {
        var sockets = PerRole<String?>(localOther)
        sockets[role] = local
        return sockets
    }

    /// Refuses options that exclude each other.
    package func check() throws(NodeError) {
        if localOther == local { throw .oneSocketForTwo(path: local) }
        if advertise == nil, let wildcard = listen.first(where: \.isWildcard) { throw .needsAdvertise(wildcard) }
    }
}

/// The connections of a daemon: sockets of its loop. The networks of tests have in-process streams, with the faults of
/// a real one and without its timing, so that whole daemons run on a clock that a test moves. Confined to its
/// scheduler.
package protocol NodeNetwork: AnyObject {
    /// How the devices that it joined are dialled.
    var dialling: StreamSource { get }

    /// Takes device connections there from now on, until the acceptor closes; returns the address in effect.
    func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress

    /// Puts something between frames and their TLS; the identity but for tests that lose whole frames.
    var wrapping: (any StreamFilter) -> any StreamFilter { get }

    /// Takes host apps there from now on, until the endpoint stops.
    func listen(at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint) throws(ListenError)
}

extension NodeNetwork {
    package var wrapping: (any StreamFilter) -> any StreamFilter { { $0 } }
}

/// The sockets of an event loop.
package final class SocketNetwork: NodeNetwork {
    private let loop: EventLoop

    package init(on loop: EventLoop) { self.loop = loop }

    package var dialling: StreamSource { .sockets(on: loop) }

    package func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress {
        try links.listen(at: address, on: loop)
    }

    package func listen(
        at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint
    ) throws(ListenError) { try apps.listen(at: address, access: access, loop: loop) }
}

/// A daemon could not be started: the fault, its place and the remedy. The command prints it and exits with 1.
package enum NodeError: Error {
    case file(FileError)
    /// Several files, with a line for each.
    case files([FileError])
    case store(StoreError)
    case key(path: String, KeyError)
    /// The store knows pairings, but the key that they pin is gone.
    case keyMissing(path: String)
    case row(path: String, reason: String)
    case listen(ListenError)
    /// Listening on every address says nothing about which one a peer should dial.
    case needsAdvertise(SocketAddress)
    /// Both sides have the same socket.
    case oneSocketForTwo(path: String)
    /// A line of the file with wake-up commands.
    case wake(path: String, line: Int, reason: String)
}

extension NodeError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let error): error.description
        case .files(let errors): errors.map(\.description).joined(separator: "\n")
        case .store(let error): error.description
        case .key(let path, let error):
            "key file \(path): \(error); restore it from a backup, or start with a new state directory and pair again"
        case .keyMissing(let path):
            "key file \(path) is missing, but the store beside it knows devices that pinned that key; "
                + "restore it from a backup, or start with a new state directory and pair again"
        case .row(let path, let reason):
            "store \(path) holds a row that this version cannot read (\(reason)); restore it from a backup"
        case .listen(let error): error.description
        case .wake(let path, let line, let reason):
            "\(path), line \(line): \(reason); each line is an application identifier and a command with its arguments"
        case .oneSocketForTwo(let path):
            "--local and --local-other are both \(path); each side of a device needs a socket of its own"
        case .needsAdvertise(let address):
            "listening on \(address) needs --advertise HOST:PORT, the address that other devices dial"
        }
    }
}
