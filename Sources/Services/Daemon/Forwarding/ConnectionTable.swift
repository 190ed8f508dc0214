// Connections by their number, in one array. Numbers only rise, so that almost each new one goes to the end, and a
// pointer is all that one takes: a hash table would take four times as much for each of thousands that are idle.

import TandemBase
package import TandemSession

/// An entry of a connection table.
package protocol NumberedConnection: AnyObject {
    /// Never used twice within one relay.
    var number: ConnectionNumber { get }
}

/// Connections in the order of their numbers.
package struct ConnectionTable<Connection: NumberedConnection> {
    private var connections: [Connection] = []

    package init() {}

    package var count: Int { connections.count }

    package var isEmpty: Bool { connections.isEmpty }

    package var all: [Connection] { connections }

    /// The connection of a number; nil for one that has left.
    package subscript(number: ConnectionNumber) -> Connection? {
        let index = index(of: number)
        return isThere(number, at: index) ? connections[index] : nil
    }

    /// Adds a connection, whose number is new.
    package mutating func insert(_ connection: Connection) {
        connections.insert(connection, at: index(of: connection.number))
    }

    /// Removes the connection of a number; nothing if there is none.
    package mutating func remove(_ number: ConnectionNumber) {
        let index = index(of: number)
        if isThere(number, at: index) { connections.remove(at: index) }
    }

    private func isThere(_ number: ConnectionNumber, at index: Int) -> Bool {
        index < connections.count && connections[index].number == number
    }

    /// Where the number is, or would be.
    private func index(of number: ConnectionNumber) -> Int {
        guard let last = connections.last, last.number >= number else { return connections.count }
        return connections.partitioningIndex { $0.number >= number }
    }
}
