// Watch over the commits of one loop: notices that a disk answers none of them, and that it answers again. A disk that
// stalls, such as a frozen file system or a storage network that is cut off, reports no error: its commits do not end.

import TandemBase
import TandemReactor

/// The commits of one loop that are under way; confined to its scheduler's thread. Each commit costs two counts and two
/// readings of the clocks at most, and a timer runs only while some are under way.
final class CommitWatch {
    /// Looks without a commit's end until the disk counts as stalled. A machine that was suspended takes a single look
    /// on its return, however long it slept, and its disk has the time of the others to answer.
    private static var looks: Int { 5 }

    private let patience: Duration
    private let scheduler: any Scheduler
    private let report: (ClockReading?) -> Void
    private var underWay = 0
    private var ended = 0
    /// The value of `ended` at the last look that found another one.
    private var endedBefore = 0
    /// When the last commit ended, or the first of those under way began, if that was later.
    private var since: ClockReading
    private var looksSince = 0
    private var isScheduled = false
    private var isStalled = false

    /// No commit has ended for a whole look, though some are under way: it will be a stall, or not.
    var isUndecided: Bool { underWay > 0 && ended == endedBefore && looksSince > 0 && !isStalled }

    /// - Parameters:
    ///   - patience: how long no commit may end.
    ///   - report: called with the time since which none has ended, and with nil once one has ended.
    init(_ patience: Duration, on scheduler: any Scheduler, report: @escaping (ClockReading?) -> Void) {
        (self.patience, self.scheduler, self.report) = (patience, scheduler, report)
        since = scheduler.reading
    }

    /// A commit is under way.
    func began() {
        if underWay == 0 { since = scheduler.reading }
        underWay += 1
        if !isScheduled, !isStalled { start() }
    }

    /// One that was under way has ended.
    func ends() {
        underWay -= 1
        ended &+= 1
        since = scheduler.reading
        guard isStalled else { return }
        isStalled = false
        if underWay > 0 { start() }
        report(nil)
    }

    private func start() {
        (endedBefore, looksSince) = (ended, 0)
        schedule()
    }

    private func schedule() {
        isScheduled = true
        scheduler.schedule(after: patience / Self.looks) { [weak self] in self?.look() }
    }

    private func look() {
        isScheduled = false
        guard underWay > 0 else { return }
        guard ended == endedBefore else { return start() }
        looksSince += 1
        guard looksSince == Self.looks else { return schedule() }
        isStalled = true
        report(since)
    }
}
