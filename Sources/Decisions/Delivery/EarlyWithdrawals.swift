// Items that their apps have taken back before they were submitted (SES-54). The app may have lost a connection that
// its daemon still reads. A submission in it would be accepted after the daemon has answered `unknown` to the
// withdrawal.

package import TandemBase
package import TandemWire

/// The last items of each connected app that were taken back before they came.
package struct EarlyWithdrawals: Sendable {
    /// For each app, as the ends that a queue keeps (LIM-59).
    package static var limit: Int { 256 }

    /// The oldest first. None are kept without a connection: what lies in one ends with it.
    private var items: [ApplicationIdentifier: [ItemKey]] = [:]

    package init() {}

    /// Nothing is known of the item, and its app has taken it back.
    package mutating func add(_ item: ItemKey) {
        var own = items[item.queue.app] ?? []
        own.removeAll { $0 == item }
        own.append(item)
        items[item.queue.app] = own.suffix(Self.limit)
    }

    package func contains(_ item: ItemKey) -> Bool {
        // Almost always there are none, and each submission asks. Names cost more to compare than identifiers.
        !items.isEmpty && items[item.queue.app]?.contains { $0.id == item.id && $0 == item } == true
    }

    package func keepsAny(of app: ApplicationIdentifier) -> Bool { !items.isEmpty && items[app] != nil }

    /// The app has no connection any more.
    package mutating func forget(_ app: ApplicationIdentifier) { items[app] = nil }
}
