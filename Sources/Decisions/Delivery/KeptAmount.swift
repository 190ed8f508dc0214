// How much a queue or ledger keeps, whatever it is kept for: what waits, how items ended, dead letters. Each of these has a
// limit of its own for one queue; this is what budgets of many queues are counted in. It decides nothing.

/// Rows and bytes that are kept.
package struct KeptAmount: Sendable, Equatable {
    /// Items, ends, outcomes, gaps and dead letters.
    package var records = 0
    /// Bytes of the bodies of items and dead letters.
    package var bytes = 0

    package init(records: Int = 0, bytes: Int = 0) {
        self.records = records
        self.bytes = bytes
    }
}
