// One thread that waits for descriptors, timers and other threads' jobs, and runs what they call for: the only place
// where the program sleeps. Everything but `submit`, `stop`, `join` and the executor's doors belongs to its thread (until
// it runs: to the thread that made it), which is checked. It is a Swift executor too, so that actors can live on it and
// be entered by an event without a hop.
//
// One turn: wait, events, due timers, jobs, ends of turn. What a turn adds to the jobs runs in the next turn, so that no
// job can keep the others from their events.

internal import Synchronization
package import TandemIdentity

/// An epoll thread.
///
/// `@unchecked`: `mailbox`, `owner` and `isStopping` are made for many threads; all else belongs to the loop's thread,
/// and every access checks it.
package final class EventLoop: Scheduler, @unchecked Sendable {
    /// The size of the buffer that all connections of a loop read into: a socket's usual receive buffer holds less than
    /// four of these, and one fits into the second-level cache.
    package static var readBufferSize: Int { 64 * 1024 }

    let mailbox: Mailbox
    let owner = Atomic<UInt64>(0)
    let isStopping = Atomic<Bool>(false)
    var thread: LoopThread?
    private var selector: Selector
    private var timers = TimerQueue()
    private var endings: [TurnEnding] = []
    private var cachedNow: MonotonicTime?
    private var isInTurn = false
    private let readBuffer: UnsafeMutableRawBufferPointer

    package init() throws(SystemError) {
        mailbox = try Mailbox()
        selector = try Selector()
        readBuffer = .allocate(byteCount: Self.readBufferSize, alignment: 16)
        owner.store(Linux.currentThread, ordering: .relaxed)
        _ = try selector.add(mailbox.descriptor, interest: .readable, target: WakeUpTarget(mailbox: mailbox))
    }

    deinit { readBuffer.deallocate() }

    package var isCurrent: Bool { owner.load(ordering: .relaxed) == Linux.currentThread }

    package var now: MonotonicTime {
        // Between turns, as before the first, an old reading would make timers early.
        guard isCurrent, isInTurn else { return Linux.bootTime }
        if let cachedNow { return cachedNow }
        let now = Linux.bootTime
        cachedNow = now
        return now
    }

    package var wallNow: WallTime { Linux.wallTime }

    /// The number of events that came too late, for a registration that was gone.
    package var staleEvents: UInt64 { selector.staleEvents }

    /// Watches a descriptor until it is deregistered; it must be, before it is closed. Keeps the target alive.
    package func register(
        _ descriptor: CInt, for interest: Readiness, target: any ReadinessTarget
    ) throws(SystemError) -> Registration {
        checkThread()
        return try selector.add(descriptor, interest: interest, target: target)
    }

    /// Changes what is waited for; nothing for a stale registration.
    package func update(_ registration: Registration, interest: Readiness) throws(SystemError) {
        checkThread()
        try selector.modify(registration, interest: interest)
    }

    /// Ends the watch; nothing for a stale registration.
    package func deregister(_ registration: Registration) {
        checkThread()
        _ = selector.remove(registration)
    }

    /// Lends the buffer that all reads of this loop share; the bytes live until `body` returns. Not to be nested.
    package func withReadBuffer<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        checkThread()
        return try body(readBuffer)
    }

    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerToken {
        checkThread()
        return timers.add(deadline: now + max(delay, .zero), action)
    }

    package func cancel(_ token: TimerToken) {
        checkThread()
        _ = timers.cancel(token)
    }

    package func submit(_ action: @escaping @Sendable () -> Void) { _ = mailbox.post(.action(action)) }

    package func atEndOfTurn(_ participant: any TurnParticipant) {
        checkThread()
        endings.append(.participant(participant))
    }

    package func atEndOfTurn(_ action: @escaping () -> Void) {
        checkThread()
        endings.append(.action(action))
    }

    func checkThread() { precondition(isCurrent, "called from another thread than the event loop's") }

    // MARK: turns

    /// One turn; waits for something to do if asked to. A failing epoll_wait is a bug of ours and ends the process.
    func turn(mayWait: Bool) {
        let events = waitForEvents(mayWait: mayWait)
        isInTurn = true
        for index in 0..<events {
            guard let (target, readiness) = selector.target(ofEvent: index) else { continue }
            target.isReady(readiness)
        }
        while let action = timers.popDue(at: now) { action() }
        for job in mailbox.takeAll() { run(job) }
        endTurn()
        isInTurn = false
        cachedNow = nil
    }

    /// Drops all timers and registrations, and with them what they keep alive.
    func abandon() {
        let actions = timers.takeAll()
        let dropped = endings
        endings = []
        let targets = selector.takeAll()
        withExtendedLifetime((actions, dropped, targets)) {}
    }

    private func waitForEvents(mayWait: Bool) -> Int {
        let mustPoll = !mayWait || !endings.isEmpty || !mailbox.prepareToSleep()
        do {
            return try selector.wait(milliseconds: mustPoll ? 0 : millisecondsToNextTimer())
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Rounded up, so that the loop does not wake before the timer is due.
    private func millisecondsToNextTimer() -> CInt {
        guard let deadline = timers.nextDeadline() else { return -1 }
        let nanoseconds = deadline.since(Linux.bootTime).saturatingNanoseconds
        return CInt(clamping: nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1))
    }

    private func run(_ job: Mailbox.Job) {
        switch job {
        case .action(let action): action()
        case .executor(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }

    /// What is added while the turn ends still belongs to it; a second round that adds more waits for the next turn.
    private func endTurn() {
        for _ in 0..<2 where !endings.isEmpty {
            let due = endings
            endings.removeAll(keepingCapacity: true)
            for ending in due { ending.run() }
        }
    }
}

/// Empties the eventfd; the jobs are taken in every turn anyway.
private final class WakeUpTarget: ReadinessTarget {
    private let mailbox: Mailbox

    init(mailbox: Mailbox) { self.mailbox = mailbox }

    func isReady(_ readiness: Readiness) { mailbox.clearWakeUp() }
}
