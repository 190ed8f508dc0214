// The counts, shared between the store's thread and whoever asks.

import Synchronization

/// Counts that the store's thread changes and any thread reads.
final class StatisticsBox: Sendable {
    private let counts = Mutex(StoreStatistics())

    var current: StoreStatistics { counts.withLock { $0 } }

    func count(_ change: (inout StoreStatistics) -> Void) { counts.withLock { change(&$0) } }
}
