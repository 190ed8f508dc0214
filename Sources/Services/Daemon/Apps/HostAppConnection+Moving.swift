// A connection that registers an app of another loop goes there: on its first loop it said hello and its claim to the
// app was judged, which is global; on the app's loop it gets its place in that relay. What the client sent ahead goes
// along.

import TandemBase
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire

/// A greeted connection on its way to the loop of its app.
struct MovingConnection: Sendable {
    let stream: ReleasedStream
    let credentials: PeerCredentials
    let capabilities: [Capability]
    let application: ConnectedApplication
}

extension HostAppConnection {
    // MARK: where it was accepted

    /// Leaves for the loop at a place as soon as the app is this user's and the answer to hello has been written.
    func move(_ application: ConnectedApplication, _ capabilities: [Capability], to place: Int) {
        phase = .registering
        channel.pauseReading()
        endpoint.claim(application.app, by: credentials.user) { [self] refusal in
            guard case .registering = phase else { return }
            if let refusal { return refuse(refusal) }
            // The answer to hello leaves at the end of this turn at the latest, and before this.
            endpoint.scheduler.atEndOfTurn { [self] in depart(application, capabilities, to: place) }
        }
    }

    private func depart(_ application: ConnectedApplication, _ capabilities: [Capability], to place: Int) {
        guard case .registering = phase else { return }
        guard !endpoint.isStopping else { return refuse(.stopping, "this daemon is stopping") }
        // A client that has not read the answer to hello is not worth waiting for.
        guard let stream = channel.release() else { return channel.close(.slowConsumer) }
        phase = .closing
        endpoint.moved(
            self,
            MovingConnection(
                stream: stream, credentials: credentials, capabilities: capabilities, application: application),
            to: place)
    }

    // MARK: where its app is

    /// Registers a connection that was greeted on another loop.
    func arrive(_ moving: MovingConnection) {
        hasMoved = true
        start()
        let application = moving.application
        if application.registration.receives {
            guard endpoint.receivers[application.app] == nil else { return refuse(alreadyReceiving(application.app)) }
            endpoint.receivers[application.app] = self
        }
        enter(application, moving.capabilities)
        channel.goOn(with: moving.stream.unread)
    }
}
