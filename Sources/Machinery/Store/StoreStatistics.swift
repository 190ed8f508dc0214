// Counts that say what the store has done, for status and for tests that gate on numbers of transactions.

/// What a store has done since it was opened.
package struct StoreStatistics: Sendable, Equatable {
    /// Commits whose changes are durable.
    package var commits = 0
    /// Transactions, and so fsyncs, that carried them.
    package var transactions = 0
    /// Commits that failed.
    package var failures = 0
    /// Whether it ended with a commit that a crash had cut off, which was dropped; nobody had been told that it was durable.
    package var beganCutOff = false

    package init(commits: Int = 0, transactions: Int = 0, failures: Int = 0, beganCutOff: Bool = false) {
        self.commits = commits
        self.transactions = transactions
        self.failures = failures
        self.beganCutOff = beganCutOff
    }
}
