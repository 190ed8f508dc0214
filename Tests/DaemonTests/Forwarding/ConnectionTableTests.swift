// The table of connections: found by number whatever the order they came in, and gone when removed.

import TandemDaemonTestSupport
import TandemSession
import Testing

@testable import TandemDaemon

@Suite struct ConnectionTableTests {
    private final class Numbered: NumberedConnection {
        let number: ConnectionNumber

        init(_ number: UInt64) { self.number = ConnectionNumber(number) }
    }

    private func table(_ numbers: [UInt64]) -> ConnectionTable<Numbered> {
        var table = ConnectionTable<Numbered>()
        for number in numbers { table.insert(Numbered(number)) }
        return table
    }

    @Test(arguments: [[], [1], [1, 2, 3], [3, 1, 2], [9, 7, 5, 8, 1]] as [[UInt64]])
    func connectionsAreFoundByNumberAndListedInItsOrder(numbers: [UInt64]) {
        let table = table(numbers)
        #expect(table.all.map(\.number.value) == numbers.sorted())
        for number in 0..<UInt64(12) {
            #expect(table[ConnectionNumber(number)]?.number.value == (numbers.contains(number) ? number : nil))
        }
    }

    @Test func whatIsRemovedIsNotFoundAndRemovingItAgainChangesNothing() {
        var table = table([1, 3, 5])
        for _ in 0..<2 { table.remove(ConnectionNumber(3)) }
        table.remove(ConnectionNumber(4))
        table.remove(ConnectionNumber(9))
        #expect(table.all.map(\.number.value) == [1, 5])
        #expect(table[ConnectionNumber(3)] == nil)
        #expect(table.count == 2 && !table.isEmpty)
    }
}
