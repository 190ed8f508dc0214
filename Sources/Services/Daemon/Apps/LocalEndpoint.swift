// Local endpoint: the local socket of one side of a device. It takes connections, admits them to their apps, knows the
// connection that takes an app's messages, and offers configurations to apps. It listens, but stores nothing and
// decides nothing about pairings.

package import TandemBase
import TandemOperations
package import TandemReactor
package import TandemSession
package import TandemSignedConfiguration
package import TandemTransport
import TandemWire

/// A host app whose receiving connection is registered.
package struct ConnectedApplication: Sendable, Equatable {
    package let app: ApplicationIdentifier
    /// The side that its socket serves.
    package let role: DeviceRole
    /// The user that owns the app.
    package let user: UInt32
    /// The app's declarations: anchor, custom identifier, whether its code allows invalid signatures.
    package let registration: TandemSession.Registration
    /// The app's library takes kind `configuration` (SES-3).
    package let takesConfiguration: Bool
    /// Nil without an anchor, and where the side reads none.
    package var anchor: RegisteredAnchor?
}

/// The anchor of a registration, as it was found in the turn of that (SES-93).
package struct RegisteredAnchor: Sendable, Equatable {
    /// Nil for a text that needed no reading.
    package let anchor: ConfigurationAnchor?
    /// How often the operator had decided on the trust in the app's keys.
    package let decisions: Int
}

/// A side's local endpoint; confined to its loop.
package final class LocalEndpoint {
    /// The facts of the device that the socket serves.
    package struct Options: Sendable {
        /// The side that the socket serves.
        package fileprivate(set) var role: DeviceRole
        /// This device's vendor identifier.
        package let device: UniqueIdentifier
        /// Name and version for people.
        package let software: String
        /// The user that the daemon runs as.
        package let daemonUser: UInt32
        /// Connections of all users at once (LIM-5).
        package var connectionLimit = Limits.localConnections

        package init(role: DeviceRole, device: UniqueIdentifier, software: String, daemonUser: UInt32) {
            self.role = role
            self.device = device
            self.software = software
            self.daemonUser = daemonUser
        }

        /// The daemon's user and root: they may use all control commands (CTL-2), and their apps may take all that
        /// other users leave.
        var operators: Set<UInt32> { [0, daemonUser] }
    }

    /// The device around the endpoint.
    package struct Outlets {
        /// Stores that the app is installed and belongs to the user; false if it could not be stored.
        package let store: (ApplicationIdentifier, _ user: UInt32) async -> Bool
        /// The app's own directory; nil if the side has none.
        package let directory: (ApplicationIdentifier) -> String?
        /// Whether the device has work to do before an app gets `registered`, such as making many directories (SES-32).
        package var needsPreparation: (ApplicationIdentifier) -> Bool = { _ in false }
        /// Does that work.
        package var prepare: (ApplicationIdentifier) async -> Void = { _ in }
        /// Reads the anchor of a registration, in its turn.
        package var readAnchor: (ApplicationIdentifier, _ pem: String) -> RegisteredAnchor? = { _, _ in nil }
        /// An app's receiving connection has got `registered`.
        package let connected: (ConnectedApplication) -> Void
        /// An app's receiving connection is gone; in order if the app ended its session.
        package let disconnected: (ConnectedApplication, _ inOrder: Bool) -> Void
        /// Judges a configuration that an app hands over (CFG-60); nil if the side takes none.
        var apply: ((ApplicationIdentifier, _ envelope: [UInt8]) async -> ApplyAnswer)?
        /// Whether the side keeps schemas, and not the app's one of this digest (SES-71).
        var lacksSchema: (ApplicationIdentifier, _ digest: [UInt8]) -> Bool = { _, _ in false }
        /// Stores the schema of a user's app, which has named this digest; the reason if that is refused. Nil if the
        /// side keeps none.
        var takeSchema:
            ((ApplicationIdentifier, _ document: [UInt8], _ digest: [UInt8], _ user: UInt32) async -> String?)?

        package init(
            store: @escaping (ApplicationIdentifier, _ user: UInt32) async -> Bool,
            directory: @escaping (ApplicationIdentifier) -> String?,
            connected: @escaping (ConnectedApplication) -> Void,
            disconnected: @escaping (ConnectedApplication, _ inOrder: Bool) -> Void
        ) {
            self.store = store
            self.directory = directory
            self.connected = connected
            self.disconnected = disconnected
        }
    }

    private static let channelOptions = FrameChannelOptions(firstFrameTime: Limits.firstFrameTime)

    /// The highest limit of connections (LIM-5): descriptors are raised for as many at the start.
    package static var mostConnections: Int { 16_000 }

    /// Connections without a seat that get a refusal; beyond them the listener closes without a word. As many as a
    /// turn accepts, and as many as may wait for their peers to read the refusal.
    private static var refusalReserve: Int { 2 * ConnectionBudget.lingeringLimit }

    package let options: Options
    package weak var controlResponder: (any ControlResponder)?
    /// The durable channels of its apps; nil if this side has none.
    package var items: AppDelivery?
    let relay: Relay
    let side: RoleContext
    let scheduler: any Scheduler
    let log: LogHandler
    let pendingOffers: PendingOffers
    private lazy var reloads = AppReloads(of: self)
    let accounts: LocalAccounts
    let seats: LocalSeats
    package let registrations: ApplicationRegistrations
    /// The socket of the device's other side; it shares owners and seats with this one.
    private weak var partner: LocalEndpoint?
    private(set) var outlets: Outlets?
    /// The connection that takes, or is about to take, an app's messages.
    private(set) var receivers: [ApplicationIdentifier: HostAppConnection] = [:]
    // Unchecked, because nothing is called while it is touched; each item uses it.
    @exclusivity(unchecked) private var connections = ConnectionTable<HostAppConnection>()
    private var listener: StreamListener?
    private var whenClosed: (() -> Void)?
    private(set) var isStopping = false

    /// - Parameters:
    ///   - side: the relay's side that the socket serves; by default that of the role.
    ///   - registrations: those of the device; by default there are none yet.
    ///   - sibling: an endpoint of the same process, which has the users' accounts already.
    package init(
        options: Options, relay: Relay, side: RoleContext? = nil,
        registrations: ApplicationRegistrations? = nil, sibling: LocalEndpoint? = nil,
        log: @escaping LogHandler = { _ in }
    ) {
        self.options = options
        self.relay = relay
        self.side = side ?? relay.side(options.role)
        self.log = log
        scheduler = relay.scheduler
        pendingOffers = PendingOffers(scheduler: relay.scheduler)
        let operators = options.operators
        accounts = sibling?.accounts ?? LocalAccounts(scheduler: relay.scheduler, operators: operators, log: log)
        self.registrations = registrations ?? ApplicationRegistrations(operators: operators)
        seats = LocalSeats(connections: options.connectionLimit, privileged: operators)
    }

    /// The endpoint of the other side of a device (SES-83): an app is on one of the two, and a user's share is that of
    /// the device.
    package init(otherSideOf partner: LocalEndpoint) {
        var options = partner.options
        options.role = options.role.counterpart
        self.options = options
        relay = partner.relay
        side = partner.relay.side(options.role)
        log = partner.log
        scheduler = partner.scheduler
        pendingOffers = PendingOffers(scheduler: partner.scheduler)
        accounts = partner.accounts
        registrations = partner.registrations
        seats = partner.seats
        self.partner = partner
        partner.partner = self
    }

    /// Whether a pairing is one of this side's; the only socket of a device serves them all.
    func serves(_ pairing: UniqueIdentifier) -> Bool { partner == nil || side.pairings[pairing] != nil }

    /// Connects the device around the endpoint. Without it ownership lasts as long as the endpoint.
    package func connect(_ outlets: Outlets) { self.outlets = outlets }

    // MARK: connections

    /// The connections that are open.
    package var connectionCount: Int { connections.count }

    /// The bytes that wait because apps do not read, over all endpoints of the process.
    package var waitingBytes: Int { accounts.waitingBytes }

    /// Listens on a socket file from now on.
    package func listen(
        at address: SocketAddress, access: SocketAccess = .owner, loop: EventLoop
    ) throws(ListenError) {
        let budget = ConnectionBudget(
            limit: options.connectionLimit + LocalSeats.reserve + Self.refusalReserve)
        listener = try StreamListener(at: address, loop: loop, access: access, budget: budget, log: log) {
            [weak self] stream in self?.accept(stream)
        }
    }

    /// Takes a stream that has not been started.
    /// - Parameter credentials: the user at its other end; by default the kernel's answer. Without any, the stream is
    ///   closed: a local peer is known by its user or not at all.
    package func accept(_ stream: any ByteStream, credentials: PeerCredentials? = nil) {
        guard let credentials = credentials ?? stream.peer.credentials else { return stream.close(.closedHere) }
        stream.account = accounts.opened(of: credentials.user)
        let channel = FrameChannel(stream: stream, options: Self.channelOptions)
        let seat = seats.take(for: credentials.user, cedes: makeRoomInReserve)
        let connection = HostAppConnection(
            relay.nextNumber(), channel: channel, credentials: credentials, seat: seat, endpoint: self)
        connections.insert(connection)
        connection.start()
        if isStopping {
            connection.refuse(.daemonStops)
        } else if seat == .none {
            connection.refuse(seats.refusal(of: credentials.user))
        }
    }

    /// The oldest connection in the reserve (LIM-5) without an open request gives up its seat.
    private func makeRoomInReserve() -> Bool {
        let oldest = bothSides.compactMap(\.oldestInReserve).min { $0.number < $1.number }
        oldest?.cedeSeat()
        return oldest != nil
    }

    private var oldestInReserve: HostAppConnection? {
        connections.all.first { $0.seat == .reserved && !$0.hasOpenRequest }
    }

    /// The open connection with this number.
    func connection(_ number: ConnectionNumber) -> HostAppConnection? { connections[number] }

    /// The registered connections of an app.
    func connections(of app: ApplicationIdentifier) -> [HostAppConnection] {
        connections.all.filter { $0.port?.app == app }
    }

    func closed(_ connection: HostAppConnection, _ reason: CloseReason) {
        let user = connection.credentials.user
        connections.remove(connection.number)
        seats.release(connection.seat, of: user)
        accounts.closed(of: user)
        let isOrderly = reason == .closedHere || reason == .closedByPeer
        accounts.log(
            LogEvent(
                isOrderly ? .debug : .warning, "local connection closed", .text("reason", "\(reason)"),
                .integer("uid", user), .integer("pid", connection.credentials.process)), of: user)
        reportClosed()
    }

    // MARK: registration

    /// Whether an app is installed on the other side of the device (SES-83).
    func isElsewhere(_ app: ApplicationIdentifier) -> Bool {
        registrations[app]?.role.map { $0 != options.role } ?? false
    }

    // MARK: the operator's changes

    private var bothSides: [LocalEndpoint] { [self, partner].compactMap(\.self) }

    /// The operator has assigned an app (SES-74): the connections of other users, and of its other side, end.
    func assign(_ app: ApplicationIdentifier, to ownership: ApplicationOwnership) {
        registrations.assign(app, to: ownership)
        endOtherConnections(of: app)
    }

    /// The operator has removed an app (SES-73): it has no owner, and its connections end.
    package func remove(_ app: ApplicationIdentifier) {
        registrations.withdraw(app)
        for endpoint in bothSides {
            for connection in endpoint.connections(of: app) {
                connection.refuse(.appRemoved, "the operator has removed \(app) from this device")
            }
            relay.uninstall(app, on: endpoint.side)
        }
    }

    /// Ends the connections that the app's owner and side do not admit.
    private func endOtherConnections(of app: ApplicationIdentifier) {
        for endpoint in bothSides {
            for connection in endpoint.connections(of: app) {
                let user = connection.credentials.user
                if let refusal = registrations.refusal(of: app, to: user, on: endpoint.options.role) {
                    connection.refuse(refusal)
                }
            }
        }
    }

    // MARK: admission

    /// Admits a connection to an app, and makes it the app's receiver if it is to be one. The owner is judged first: no
    /// other user learns whether the app is connected (SES-6).
    func admit(
        _ connection: HostAppConnection, to app: ApplicationIdentifier, receives: Bool
    ) -> ApplicationRegistrations.Admission {
        let admission = registrations.admit(
            connection.credentials.user, to: app, on: options.role, receives: receives)
        if case .refused = admission { return admission }
        guard receives else { return admission }
        guard receivers[app] == nil else {
            let text =
                "another connection receives the messages of \(app); end that process, or connect with receivesMessages "
                + "false"
            return .refused(Refusal(.alreadyReceiving, text))
        }
        receivers[app] = connection
        return admission
    }

    /// Whether an admitted connection waits for its claim, or for what the device prepares.
    func mustWait(_ admission: ApplicationRegistrations.Admission, for app: ApplicationIdentifier) -> Bool {
        switch admission {
        case .owned, .new: outlets?.needsPreparation(app) ?? false
        case .unclaimed: true
        case .borrowed, .refused: false
        }
    }

    /// Claims an app for a connection's user, and prepares the device for it.
    func claim(
        _ app: ApplicationIdentifier, for connection: HostAppConnection, receives: Bool
    ) async -> ApplicationRegistrations.Admission {
        let admission = await claim(app, by: connection.credentials.user, receives)
        guard mustWait(admission, for: app) else { return admission }
        await outlets?.prepare(app)
        // Again, because the operator may have removed or assigned it meanwhile.
        return await claim(app, by: connection.credentials.user, receives)
    }

    private func claim(
        _ app: ApplicationIdentifier, by user: UInt32, _ receives: Bool
    ) async -> ApplicationRegistrations.Admission {
        let admission = await registrations.claim(
            app, by: user, on: options.role, receives: receives, storing: outlets?.store)
        if case .new = admission { endOtherConnections(of: app) }
        return admission
    }

    /// The connection no longer takes the app's messages.
    func release(_ app: ApplicationIdentifier, from connection: HostAppConnection) {
        if receivers[app] === connection { receivers[app] = nil }
    }

    /// Whether the app is to bring its schema (SES-71); a connection that only sends does not speak for its app.
    func lacksSchema(of application: ConnectedApplication) -> Bool {
        guard let outlets, application.registration.receives, let digest = application.registration.schema else {
            return false
        }
        return outlets.lacksSchema(application.app, digest)
    }

    /// The app's own directory; one that nobody owns has none.
    func directory(of app: ApplicationIdentifier) -> String? {
        registrations[app] == nil ? nil : outlets?.directory(app)
    }

    /// A connection has got `registered`. One that only sends, such as a shell command, comes and goes at any rate,
    /// so its line is at debug.
    func entered(_ application: ConnectedApplication) {
        accounts.log(
            LogEvent(
                application.registration.receives ? .info : .debug, "app registered",
                .text("app", "\(application.app)"), .integer("uid", application.user),
                .boolean("receives", application.registration.receives)), of: application.user)
        if application.registration.receives { outlets?.connected(application) }
    }

    /// A receiving connection is gone.
    func left(_ connection: HostAppConnection, _ application: ConnectedApplication, inOrder: Bool) {
        release(application.app, from: connection)
        pendingOffers.closed(connection.number)
        reloads.closed(connection.number)
        outlets?.disconnected(application, inOrder)
    }

    /// The receiving connection of an app, once the relay has a port for it.
    func receiver(of app: ApplicationIdentifier) -> HostAppConnection? {
        guard let receiver = receivers[app], receiver.port != nil else { return nil }
        return receiver
    }

    /// The app whose receiving connection is registered; nil if there is none.
    package func connected(_ app: ApplicationIdentifier) -> ConnectedApplication? { receivers[app]?.receiving }

    // MARK: configuration

    /// Offers a configuration to an app's receiving connection, as kind `configuration` with a reply wanted.
    /// - Parameters:
    ///   - deadline: held to ``Limits/deadline``.
    ///   - completion: exactly once, on the loop, never before this call returns.
    package func offer(
        _ body: [UInt8], to app: ApplicationIdentifier, pairing: UniqueIdentifier,
        deadline: Duration = Limits.standardDeadline, completion: @escaping (OfferOutcome) -> Void
    ) {
        let id = UniqueIdentifier.random()
        let deadline = min(max(deadline, Limits.deadline.lowerBound), Limits.deadline.upperBound)
        guard let connection = receivers[app], let application = connected(app) else {
            return scheduler.atEndOfTurn { completion(.notConnected) }
        }
        do throws(SessionError) {
            let frame = try frame(body, to: application, pairing: pairing, id: id, deadline: deadline)
            pendingOffers.open(id, to: connection.number, deadline: deadline, completion: completion)
            connection.send(frame)
        } catch {
            scheduler.atEndOfTurn { completion(.failed(error)) }
        }
    }

    /// Has an app read its files again (CFG-42), once it has room for the message.
    /// - Parameters:
    ///   - body: the message.
    ///   - awaitsRoom: whether the completion waits until the app has room; else it is called when the first message
    ///     is answered, and the message is sent again all the same.
    ///   - completion: as for an offer; never called for one that awaits room if a later one takes its place meanwhile.
    package func reload(
        _ body: [UInt8], to app: ApplicationIdentifier, awaitsRoom: Bool = true,
        completion: @escaping (OfferOutcome) -> Void
    ) {
        guard let connection = receivers[app] else {
            return scheduler.atEndOfTurn { completion(.notConnected) }
        }
        reloads.send(body, to: app, over: connection.number, awaitsRoom: awaitsRoom, completion: completion)
    }

    private func frame(
        _ body: [UInt8], to application: ConnectedApplication, pairing: UniqueIdentifier, id: UniqueIdentifier,
        deadline: Duration
    ) throws(SessionError) -> Frame {
        guard application.takesConfiguration else {
            throw SessionError(.deliveryFailed, .unhandled, reason: "the app does not take configuration")
        }
        do {
            return try MessageFrame(
                .configuration, app: application.app, pairing: pairing, id: id, reply: true, deadline: deadline,
                body: body[...]
            ).frame()
        } catch {
            throw SessionError(.payloadTooLarge, reason: error.description, actual: body.count, limit: Limits.frame)
        }
    }

    // MARK: stopping

    /// Takes no more connections and sends `bye` to those that are open (SES-18). They stay, so that open requests can
    /// be answered; ``close(completion:)`` ends them.
    package func stop() {
        isStopping = true
        stopListening()
        for connection in connections.all { connection.send(ByeFrame(.stopping)) }
    }

    /// Ends all connections when what is queued for them has been written; `completion` once, when they are gone.
    fileprivate func close(completion: @escaping () -> Void) {
        whenClosed = completion
        for connection in connections.all { connection.finish() }
        reportClosed()
    }

    /// Listens no longer, because the daemon does not start.
    func stopListening() {
        listener?.close()
        listener = nil
    }

    private func reportClosed() {
        guard connections.isEmpty, let whenClosed else { return }
        self.whenClosed = nil
        whenClosed()
    }
}

extension Collection<LocalEndpoint> {
    /// Ends the connections of all these endpoints, which are one or more; `completion` once, when they are gone.
    func close(completion: @escaping () -> Void) {
        var open = count
        for endpoint in self {
            endpoint.close {
                open -= 1
                if open == 0 { completion() }
            }
        }
    }
}

extension Refusal {
    static var daemonStops: Refusal { Refusal(.stopping, "this daemon is stopping") }
}
