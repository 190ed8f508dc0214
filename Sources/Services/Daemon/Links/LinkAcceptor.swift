// Where devices come in: any number of listening addresses, TCP and Unix alike. Peers that are not known yet share a
// small budget (LIM-4): beyond it the oldest of them gives way, so that a flood of strangers who connect and stay
// silent costs a paired device nothing but a place in a short queue that moves.

import TandemBase
import TandemCrypto
package import TandemReactor
package import TandemTransport
import TandemWire

/// Accepts device connections; confined to the loop's thread.
package final class LinkAcceptor {
    /// Connections of all kinds at once: bounded by descriptors, far above use.
    package static var connectionLimit: Int { 4096 }

    private let context: LinkContext
    private let budget = ConnectionBudget(limit: LinkAcceptor.connectionLimit)
    private var listeners: [StreamListener] = []
    private var lastWarning: MonotonicTime?
    /// Oldest first.
    private var unknown: [AcceptedConnection] = []
    /// Connections that gave way to newer ones.
    package private(set) var crowdedOutConnections: UInt64 = 0
    /// Connections whose peer is not known yet.
    package var unknownConnections: Int { unknown.count }

    package init(context: LinkContext) { self.context = context }

    /// Listens from now on; returns the address in effect (port 0 has become the system's choice).
    @discardableResult
    package func listen(at address: SocketAddress, on loop: EventLoop) throws(ListenError) -> SocketAddress {
        let listener = try StreamListener(at: address, loop: loop, budget: budget, log: context.log) {
            [weak self] stream in
            self?.take(stream)
        }
        listeners.append(listener)
        return listener.address
    }

    /// Takes a connected stream that has not started.
    package func take(_ stream: any ByteStream) {
        do throws(TLSError) {
            let connection = try AcceptedConnection(over: stream, context: context) { [weak self] connection in
                self?.unknown.removeAll { $0 === connection }
            }
            makeRoom()
            unknown.append(connection)
            connection.start()
        } catch {
            context.log(LogEvent(.error, "device connection not taken", .text("error", "\(error)")))
            stream.start()
            stream.close(.closedHere)
        }
    }

    /// Takes no more connections and drops those that are not links yet; links stay.
    package func close() {
        for listener in listeners { listener.close() }
        listeners = []
        for connection in unknown { connection.crowdOut() }
    }

    private func makeRoom() {
        guard unknown.count >= Limits.unpinnedConnections else { return }
        crowdedOutConnections += 1
        unknown.removeFirst().crowdOut()
        warn()
    }

    /// Tells of a flood at most once a minute: its lines would be part of the attack.
    private func warn() {
        let now = context.scheduler.now
        if let lastWarning, now.since(lastWarning) < .seconds(60) { return }
        lastWarning = now
        context.log(
            LogEvent(
                .warning, "unknown peers crowd each other out",
                .integer("limit", Limits.unpinnedConnections), .integer("so far", crowdedOutConnections)))
    }
}
