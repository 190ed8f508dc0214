// The local socket of one side of a device: it takes connections, knows whose each app is and which connection takes
// its messages, and gives configurations to apps. It listens, but stores nothing and decides nothing about pairings.

package import TandemBase
package import TandemOperations
package import TandemReactor
import TandemSession
package import TandemTransport
import TandemWire

/// A side's local endpoint; confined to its loop.
package final class LocalEndpoint {
    /// What the endpoint is told of the daemon around it.
    package struct Options: Sendable {
        /// The side that the socket serves.
        package var role: DeviceRole
        /// This device's vendor identifier.
        package var device: UniqueIdentifier
        /// Name and version for people.
        package var software: String
        /// The user that the daemon runs as.
        package var daemonUser: UInt32
        /// Connections at once (LIM-5).
        package var connectionLimit = Limits.localConnections

        package init(role: DeviceRole, device: UniqueIdentifier, software: String, daemonUser: UInt32) {
            self.role = role
            self.device = device
            self.software = software
            self.daemonUser = daemonUser
        }
    }

    private static let channelOptions = FrameChannelOptions(firstFrameTime: Limits.firstFrameTime)

    /// What the limit of connections may be set to (LIM-5): descriptors are raised for as many at the start.
    package static var mostConnections: Int { 16_000 }

    /// Connections over the limit that are told so; beyond them the listener closes without a word.
    private static var refusalReserve: Int { 16 }

    package let options: Options
    package weak var delegate: (any LocalEndpointDelegate)?
    package weak var controlResponder: (any ControlResponder)?
    /// The durable channels of its apps; nil if this side has none.
    package var items: DurableChannels?
    let relay: Relay
    let side: Side
    let scheduler: any Scheduler
    let log: LogHandler
    let handOvers: HandOvers
    var owners: ApplicationOwners
    /// Apps whose new owner is being stored, and who waits for it.
    var storing: [ApplicationIdentifier: [(Bool) -> Void]] = [:]
    /// The connection that takes, or is about to take, an app's messages.
    var receivers: [ApplicationIdentifier: HostAppConnection] = [:]
    private var connections = ConnectionTable<HostAppConnection>()
    private var listener: StreamListener?
    private var whenClosed: (() -> Void)?
    private(set) var isStopping = false

    /// - Parameters:
    ///   - side: the relay's side that the socket serves; by default that of the role.
    ///   - owners: the users of the apps that were registered before.
    package init(
        options: Options, relay: Relay, side: Side? = nil, owners: consuming ApplicationOwners = ApplicationOwners(),
        log: @escaping LogHandler = { _ in }
    ) {
        self.options = options
        self.relay = relay
        self.side = side ?? relay.side(options.role)
        self.owners = owners
        self.log = log
        scheduler = relay.scheduler
        handOvers = HandOvers(scheduler: relay.scheduler)
    }

    /// The connections that are open.
    package var connectionCount: Int { connections.count }

    /// Listens on a socket file from now on.
    package func listen(
        at address: SocketAddress, access: SocketAccess = .owner, loop: EventLoop
    ) throws(ListenError) {
        let budget = ConnectionBudget(limit: options.connectionLimit + Self.refusalReserve)
        listener = try StreamListener(at: address, loop: loop, access: access, budget: budget, log: log) {
            [weak self] stream in self?.accept(stream)
        }
    }

    /// Takes a stream that has not been started.
    /// - Parameter credentials: who is at its other end; by default who the kernel says it is. Without any, the stream
    ///   is closed: a local peer is known by its user or not at all.
    package func accept(_ stream: any ByteStream, credentials: PeerCredentials? = nil) {
        guard let credentials = credentials ?? stream.peer.credentials else { return stream.close(.closedHere) }
        let channel = FrameChannel(stream: stream, options: Self.channelOptions)
        let connection = HostAppConnection(
            relay.nextNumber(), channel: channel, credentials: credentials, endpoint: self)
        connections.insert(connection)
        connection.start()
        if isStopping {
            connection.refuse(.stopping, "this daemon is stopping")
        } else if connectionCount > options.connectionLimit {
            connection.refuse(.tooManyConnections, "\(options.connectionLimit) connections are open")
        }
    }

    /// The open connection with this number.
    func connection(_ number: ConnectionNumber) -> HostAppConnection? { connections[number] }

    /// The registered connections of an app.
    func connections(of app: ApplicationIdentifier) -> [HostAppConnection] {
        connections.all.filter { $0.port?.app == app }
    }

    func closed(_ connection: HostAppConnection, _ reason: CloseReason) {
        connections.remove(connection.number)
        let isOrderly = reason == .closedHere || reason == .closedByPeer
        log(
            LogEvent(
                isOrderly ? .debug : .warning, "local connection closed", .text("reason", "\(reason)"),
                .integer("uid", connection.credentials.user), .integer("pid", connection.credentials.process)))
        tellClosed()
    }

    // MARK: stopping

    /// Takes no more connections and says `bye` to those that are open (SES-18). They stay, so that open requests can
    /// be answered; ``close(completion:)`` ends them.
    package func stop() {
        isStopping = true
        listener?.close()
        listener = nil
        for connection in connections.all { connection.send(Envelope(.bye, name: RefusalName.stopping.rawValue)) }
    }

    /// Ends all connections when what is queued for them has been written; `completion` once, when they are gone.
    package func close(completion: @escaping () -> Void) {
        whenClosed = completion
        for connection in connections.all { connection.finish() }
        tellClosed()
    }

    private func tellClosed() {
        guard connections.isEmpty, let whenClosed else { return }
        self.whenClosed = nil
        whenClosed()
    }
}
