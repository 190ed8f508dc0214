// Counts the Linux calls of the calling thread, so that a test can demand "one write for this turn" instead of timing
// it. The test executable's own doors stand before the C library's; the product does not know of them.

internal import CTandemTestSupport

/// The calls that a thread made while they were counted.
package struct SystemCallCounts: Equatable, Sendable {
    package var reads: UInt64 = 0
    package var writes: UInt64 = 0
    package var waits: UInt64 = 0
    package var accepts: UInt64 = 0
    package var interestChanges: UInt64 = 0
    package var wakeUps: UInt64 = 0

    package init(reads: UInt64 = 0, writes: UInt64 = 0, waits: UInt64 = 0) {
        self.reads = reads
        self.writes = writes
        self.waits = waits
    }
}

package enum SystemCallCounter {
    /// Runs the body and counts this thread's calls meanwhile; an outer count does not see them.
    package static func counting(_ body: () throws -> Void) rethrows -> SystemCallCounts {
        let kinds = Int(TANDEM_CALL_KINDS.rawValue)
        let counts = UnsafeMutablePointer<UInt64>.allocate(capacity: kinds)
        counts.initialize(repeating: 0, count: kinds)
        tandem_count_calls(counts)
        defer {
            tandem_count_calls(nil)
            counts.deallocate()
        }
        try body()
        let count = { (call: tandem_call) in counts[Int(call.rawValue)] }
        var result = SystemCallCounts(
            reads: count(TANDEM_CALL_READ), writes: count(TANDEM_CALL_WRITE), waits: count(TANDEM_CALL_WAIT))
        result.accepts = count(TANDEM_CALL_ACCEPT)
        result.interestChanges = count(TANDEM_CALL_INTEREST)
        result.wakeUps = count(TANDEM_CALL_WAKE)
        return result
    }
}
