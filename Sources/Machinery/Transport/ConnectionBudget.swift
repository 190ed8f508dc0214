// How many connections of a kind may exist at once, so that strangers cannot take all descriptors. A charge is taken
// before anything is spent on a connection and comes back when the connection lets go of it, on whatever path.

/// A number of connections that may be open at once; confined to a loop's thread.
package final class ConnectionBudget {
    package let limit: Int
    package private(set) var inUse = 0

    package init(limit: Int) { self.limit = limit }

    /// A charge for one connection; nil if the budget is used up.
    package func take() -> ConnectionCharge? {
        guard inUse < limit else { return nil }
        inUse += 1
        return ConnectionCharge(budget: self)
    }

    fileprivate func giveBack() { inUse -= 1 }
}

/// One connection's share of a budget; given back when it goes away.
package struct ConnectionCharge: ~Copyable {
    private let budget: ConnectionBudget

    fileprivate init(budget: ConnectionBudget) { self.budget = budget }

    deinit { budget.giveBack() }
}
