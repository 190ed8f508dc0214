// What happens beside the path and would otherwise be lost without a trace: answers that came too late, failures that
// nobody asked to be told. Counted, so that a developer sees that a deadline is too short before users do.

import Synchronization

/// Counts of one session since it was opened.
public struct SessionStatistics: Sendable, Equatable {
    /// Replies and failures that came for a request that had ended: by its deadline, by a switch, or given up.
    public let lateReplies: UInt64
    /// Failures of messages without reply whose sender gave no handler for them.
    public let unheardFailures: UInt64
}

extension PairedSession {
    /// The counts at this moment; the same for all sessions that share a connection.
    public var statistics: SessionStatistics { handle.counts.statistics }
}

/// The counters behind ``SessionStatistics``; usable from any thread.
final class SessionCounts: Sendable {
    private let lateReplies = Atomic<UInt64>(0)
    private let unheardFailures = Atomic<UInt64>(0)

    func countLateReply() { lateReplies.wrappingAdd(1, ordering: .relaxed) }

    func countUnheardFailure() { unheardFailures.wrappingAdd(1, ordering: .relaxed) }

    var statistics: SessionStatistics {
        SessionStatistics(
            lateReplies: lateReplies.load(ordering: .relaxed), unheardFailures: unheardFailures.load(ordering: .relaxed)
        )
    }
}
