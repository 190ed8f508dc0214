// The endpoint's part in moving connections between loops: the accepting endpoint counts what it gave away until it is
// gone, so that the limit of connections holds for all loops together.

import TandemReactor
import TandemTransport

extension LocalEndpoint {
    /// The connection has left for the loop of its app.
    func moved(_ connection: HostAppConnection, _ moving: MovingConnection, to place: Int) {
        forget(connection)
        movedCount += 1
        spread?.submit(to: place) { $0.arrived(moving) }
    }

    /// A connection that was accepted and greeted elsewhere.
    private func arrived(_ moving: MovingConnection) {
        guard let spread, let stream = moving.stream.take(on: spread.loops[spread.own], charge: lingering.take()) else {
            return tellGone()
        }
        let channel = FrameChannel(stream: stream, options: Self.greetedOptions)
        let connection = HostAppConnection(
            relay.nextNumber(), channel: channel, credentials: moving.credentials, endpoint: self)
        remember(connection)
        connection.arrive(moving)
    }

    /// Tells the accepting endpoint that a connection that it gave away is gone.
    func tellGone() { spread?.submit(to: 0) { $0.movedCount -= 1 } }
}
