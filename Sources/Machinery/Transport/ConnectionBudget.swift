// How many connections of a kind may exist at once, so that strangers cannot take all descriptors. A charge is taken
// before anything is spent on a connection and comes back when the connection lets go of it, on whatever path. Ended
// connections that only wait for their peers to read are few: a peer that never reads must not keep places that way.

/// A number of connections that may be open at once; confined to a loop's thread.
package final class ConnectionBudget {
    package let limit: Int
    package private(set) var inUse = 0
    /// Ended connections that may wait for their peers at once; the one that waited longest gives way.
    package static var lingeringLimit: Int { 64 }
    private var lingering: [SocketStream] = []

    package init(limit: Int) { self.limit = limit }

    /// A charge for one connection; nil if the budget is used up.
    package func take() -> ConnectionCharge? {
        guard inUse < limit else { return nil }
        inUse += 1
        return ConnectionCharge(budget: self)
    }

    fileprivate func giveBack() { inUse -= 1 }

    fileprivate func linger(_ stream: SocketStream) {
        lingering.append(stream)
        guard lingering.count > Self.lingeringLimit else { return }
        lingering.removeFirst().close(.closedHere)
    }

    fileprivate func endLingering(_ stream: SocketStream) { lingering.removeAll { $0 === stream } }
}

/// One connection's share of a budget; given back when it goes away.
package struct ConnectionCharge: ~Copyable {
    private let budget: ConnectionBudget

    fileprivate init(budget: ConnectionBudget) { self.budget = budget }

    deinit { budget.giveBack() }

    /// The connection has ended and waits for its peer.
    borrowing func linger(_ stream: SocketStream) { budget.linger(stream) }

    /// It waits no more.
    borrowing func endLingering(_ stream: SocketStream) { budget.endLingering(stream) }
}
