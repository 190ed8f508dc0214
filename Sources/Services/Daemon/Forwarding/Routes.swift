// The ways of one app to its counterparts, in the order of their pairings. The keys lie side by side, so that finding
// one of a thousand touches a few cache lines, and finding the only one costs a comparison.

import TandemBase

/// The routes of one app, each found by its pairing.
struct Routes {
    private struct Entry {
        let pairing: UniqueIdentifier
        let route: Route
    }

    private var entries: [Entry] = []

    var count: Int { entries.count }

    /// How many of them lead nowhere now.
    var unreachableCount: Int { entries.count { $0.route.port == nil } }

    /// All routes, in the order of their pairings.
    var all: some Collection<Route> { entries.lazy.map(\.route) }

    /// The route through a pairing.
    subscript(pairing: UniqueIdentifier) -> Route? {
        let place = place(of: pairing)
        guard place < entries.count, entries[place].pairing == pairing else { return nil }
        return entries[place].route
    }

    /// Where the frames of a pairing go; nil if it has no route, or frames cannot go there now.
    func port(_ pairing: UniqueIdentifier) -> RelayPort? {
        let place = place(of: pairing)
        guard place < entries.count, entries[place].pairing == pairing else { return nil }
        return entries[place].route.port
    }

    /// Adds the route through a pairing that has none yet.
    mutating func add(_ route: Route) {
        let pairing = route.pairing.known.pairing
        entries.insert(Entry(pairing: pairing, route: route), at: place(of: pairing))
    }

    mutating func remove(_ pairing: UniqueIdentifier) { entries.removeAll { $0.pairing == pairing } }

    /// Where the pairing is, or would be.
    private func place(of pairing: UniqueIdentifier) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].pairing < pairing { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
