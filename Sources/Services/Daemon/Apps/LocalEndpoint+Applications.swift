// What the rest of the daemon sees of host apps: which are connected, and the way to give one a configuration.

package import TandemBase
import TandemReactor
import TandemSession
import TandemWire

extension LocalEndpoint {
    func directory(of app: ApplicationIdentifier) -> String? { delegate?.localEndpoint(self, directoryOf: app) }

    /// A connection has been told `registered`.
    func entered(_ connection: HostAppConnection, _ application: ConnectedApplication) {
        log(
            LogEvent(
                .info, "app registered", .text("app", "\(application.app)"), .integer("uid", application.user),
                .boolean("receives", application.registration.receives)))
        if application.registration.receives { delegate?.localEndpoint(self, connected: application) }
    }

    /// A receiving connection is gone.
    func left(_ connection: HostAppConnection, _ application: ConnectedApplication) {
        release(application.app, from: connection)
        handOvers.closed(connection.number)
        delegate?.localEndpoint(self, disconnected: application)
    }

    /// The app whose receiving connection is registered; nil if there is none.
    package func connected(_ app: ApplicationIdentifier) -> ConnectedApplication? {
        guard case .receiving(let application) = receivers[app]?.phase else { return nil }
        return application
    }

    /// The apps whose receiving connections are registered, by identifier.
    package var connectedApplications: [ConnectedApplication] {
        receivers.keys.sorted().compactMap { connected($0) }
    }

    /// Gives a configuration to an app's receiving connection, as kind `configuration` with a reply wanted.
    /// - Parameters:
    ///   - deadline: held to ``Limits/deadline``.
    ///   - completion: exactly once, on the loop, never before this call returns.
    package func handOver(
        _ body: [UInt8], to app: ApplicationIdentifier, pairing: UniqueIdentifier,
        deadline: Duration = Limits.standardDeadline, completion: @escaping (HandOverOutcome) -> Void
    ) {
        let id = UniqueIdentifier.random()
        let deadline = min(max(deadline, Limits.deadline.lowerBound), Limits.deadline.upperBound)
        guard let connection = receivers[app], let application = connected(app) else {
            return scheduler.atEndOfTurn { completion(.notConnected) }
        }
        do throws(SessionError) {
            let frame = try frame(body, to: application, pairing: pairing, id: id, deadline: deadline)
            handOvers.open(id, to: connection.number, deadline: deadline, completion: completion)
            connection.send(frame)
        } catch {
            scheduler.atEndOfTurn { completion(.failed(error)) }
        }
    }

    private func frame(
        _ body: [UInt8], to application: ConnectedApplication, pairing: UniqueIdentifier, id: UniqueIdentifier,
        deadline: Duration
    ) throws(SessionError) -> Frame {
        guard application.takesConfiguration else {
            throw SessionError(.deliveryFailed, name: "unhandled", reason: "the app does not take configuration")
        }
        do {
            return try Envelope(
                .configuration, app: application.app, pairing: pairing, id: id, reply: true, deadline: deadline,
                body: body
            ).frame()
        } catch {
            throw SessionError(.payloadTooLarge, reason: error.description, actual: body.count, limit: Limits.frame)
        }
    }
}
