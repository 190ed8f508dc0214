// One thread that waits for descriptors, timers and other threads' jobs, and runs what they call for: the only place
// where the program sleeps. Everything but `submit`, `stop`, `join` and the executor's doors belongs to its thread
// (until it runs: to the thread that made it), which is checked. It is a Swift executor too, so that actors can live on
// it and be entered by an event without a hop.
//
// One turn: wait, events, due timers, jobs, ends of turn; more ends if very much is read. Jobs added during a turn run
// in the next turn, so that no job can keep the loop from its events.

internal import CTandemLinux
internal import Glibc
internal import Synchronization
package import TandemBase

/// An epoll thread.
///
/// `@unchecked`: `mailbox` has its own lock, `owner` and `isStopping` are atomic. `thread` belongs to the thread that
/// starts and joins the loop. All other state belongs to the loop's thread: calls from outside check it.
package final class EventLoop: Scheduler, @unchecked Sendable {
    private let mailbox: Mailbox
    private let owner = Atomic<UInt64>(0)
    private let isStopping = Atomic<Bool>(false)
    private var thread: LoopThread?
    // Unchecked, because nothing that these call calls back: a turn touches each of them several times.
    @exclusivity(unchecked) private var selector: Selector
    @exclusivity(unchecked) private var timers = TimerQueue()
    @exclusivity(unchecked) private var endings: [TurnEnding] = []
    /// Empty, and kept so that collecting endings allocates nothing.
    @exclusivity(unchecked) private var spareEndings: [TurnEnding] = []
    /// Read once in a turn, and forgotten when the next one has waited.
    private var cachedNow: MonotonicTime?
    private var isInTurn = false
    private var burstRest: BurstRest?
    private let blocks = ReadBlocks()
    private let lists = SliceLists()
    private let stallWatch = StallWatch()

    package init() throws(SystemError) {
        mailbox = try Mailbox()
        selector = try Selector()
        owner.store(Linux.currentThread, ordering: .relaxed)
        _ = try selector.add(mailbox.descriptor, interest: .readable, target: WakeUpTarget(mailbox: mailbox))
    }

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
    package var staleEvents: UInt64 {
        checkThread()
        return selector.staleEvents
    }

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

    /// Calls the action once after each burst of turns, when the loop has been quiet (LIM-66): to give memory back. A
    /// loop that is never busy sets no timer for it.
    package func afterBursts(of turns: Int = 64, rest: Duration = .seconds(1), _ action: @escaping () -> Void) {
        checkThread()
        burstRest = BurstRest(turns: turns, rest: rest, action)
    }

    /// The memory that all reads of this loop share.
    package var readBlocks: ReadBlocks {
        checkThread()
        return blocks
    }

    /// The full sockets of this loop.
    package var stalls: StallWatch {
        checkThread()
        return stallWatch
    }

    /// The spare arrays of this loop's queues.
    package var sliceLists: SliceLists {
        checkThread()
        return lists
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

    /// Runs an actor's or a task's job in a later turn. The actor keeps the loop alive (executors are unowned) and does
    /// not outlive its running: a job after the stop has nowhere to run, which is a bug of ours.
    package func enqueue(_ job: consuming ExecutorJob) {
        let isTaken = mailbox.post(.executor(UnownedJob(job)))
        precondition(isTaken, "an actor has outlived its event loop")
    }

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
        cachedNow = nil
        isInTurn = true
        for index in 0..<events {
            guard let (target, readiness) = selector.target(ofEvent: index) else { continue }
            target.isReady(readiness)
            // Send before reading more: one block then serves a busy loop, and stays in the cache.
            if blocks.isFull { endTurn() }
        }
        // Those that these make are due in the next turn: no timer keeps the others from their events.
        let last = timers.last
        while let action = timers.popDue(at: now, madeUntil: last) { action() }
        for job in mailbox.takeAll() { job.run(on: self) }
        endTurn()
        isInTurn = false
        burstRest?.turnEnded(on: self)
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

    /// Rounded up, so that the loop does not wake before the timer is due. The last turn's time is good enough: it
    /// makes a timer late by what that turn took, and saves asking the clock in each.
    private func millisecondsToNextTimer() -> CInt {
        guard let deadline = timers.nextDeadline()?.nanoseconds else { return -1 }
        let now = (cachedNow ?? Linux.bootTime).nanoseconds
        guard deadline > now else { return 0 }
        let wait = deadline - now
        return CInt(clamping: wait / 1_000_000 + (wait % 1_000_000 == 0 ? 0 : 1))
    }

    /// Actions added while the turn ends still belong to it; those that the second round adds wait for the next turn.
    private func endTurn() {
        for _ in 0..<2 where !endings.isEmpty {
            swap(&endings, &spareEndings)
            var due: [TurnEnding] = []
            swap(&due, &spareEndings)
            for ending in due { ending.run() }
            due.removeAll(keepingCapacity: true)
            swap(&due, &spareEndings)
        }
    }
}

/// Empties the eventfd; the jobs are taken in every turn anyway.
private final class WakeUpTarget: ReadinessTarget {
    private let mailbox: Mailbox

    init(mailbox: Mailbox) { self.mailbox = mailbox }

    func isReady(_ readiness: Readiness) { mailbox.clearWakeUp() }
}

// MARK: - starting and stopping

extension EventLoop {
    /// Runs turns on the calling thread until `stop`; then drops all timers and registrations. The last turn finishes
    /// and the jobs that were accepted run, so that none is lost. Owners of listeners and streams drain them before
    /// `stop`.
    package func run() {
        owner.store(Linux.currentThread, ordering: .relaxed)
        while !isStopping.load(ordering: .acquiring) { turn(mayWait: true) }
        repeat { turn(mayWait: false) } while !mailbox.closeIfEmpty()
        abandon()
    }

    /// Runs what is ready now, in one turn that does not wait; for tests and tools that own the thread.
    package func runOnce() {
        owner.store(Linux.currentThread, ordering: .relaxed)
        turn(mayWait: false)
    }

    /// Runs turns on the calling thread, waiting as needed, until the condition holds.
    package func run(until condition: () -> Bool) {
        owner.store(Linux.currentThread, ordering: .relaxed)
        while !condition() { turn(mayWait: true) }
    }

    /// Runs the loop on a thread of its own.
    package func startThread() throws(SystemError) {
        checkThread()
        // From here on the caller is a stranger, even before the new thread is up.
        owner.store(0, ordering: .relaxed)
        do {
            thread = try LoopThread(named: "tandem-loop") { self.run() }
        } catch {
            owner.store(Linux.currentThread, ordering: .relaxed)
            throw error
        }
    }

    /// Asks the loop to end; from any thread, as often as one likes.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        mailbox.wake()
    }

    /// Waits until the loop's own thread has ended; from the thread that started it.
    package func join() {
        thread?.join()
        thread = nil
    }
}

/// Work for the end of a turn. A participant is stored as itself and not inside a closure, so that a stream that writes
/// in every turn allocates nothing for it.
enum TurnEnding {
    case participant(any TurnParticipant)
    case action(() -> Void)

    func run() {
        switch self {
        case .participant(let participant): participant.turnDidEnd()
        case .action(let action): action()
        }
    }
}

// MARK: - threads

/// A started thread: for a loop, and for the few calls that can only block (the resolver's). Joined or detached exactly
/// once.
package struct LoopThread: Sendable {
    private let identifier: pthread_t

    /// Starts a thread; its name is what `top -H` shows (15 bytes).
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var identifier: pthread_t = 0
        let context = Unmanaged.passRetained(Body(run: body))
        let outcome = tandem_thread_start(threadMain, context.toOpaque(), name, &identifier)
        if outcome < 0 { context.release() }
        try SystemCall.check(outcome, "pthread_create")
        self.identifier = identifier
    }

    package var isCurrent: Bool { pthread_equal(identifier, pthread_self()) != 0 }

    /// Waits for the end of the thread.
    package func join() { pthread_join(identifier, nil) }

    /// Lets the thread end by itself.
    package func detach() { pthread_detach(identifier) }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) { self.run = run }
}

/// The start of every thread: takes over the reference that `LoopThread.init` made.
private func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}

/// Finds the rest after a burst of turns; confined to its loop's thread.
private final class BurstRest {
    private let turns: Int
    private let rest: Duration
    private let action: () -> Void
    /// Turns since the last rest, and at the last look.
    private var count = 0
    private var countBefore = 0
    private var isScheduled = false

    init(turns: Int, rest: Duration, _ action: @escaping () -> Void) {
        self.turns = turns
        self.rest = rest
        self.action = action
    }

    func turnEnded(on loop: EventLoop) {
        count += 1
        if !isScheduled, count >= turns { lookLater(on: loop) }
    }

    private func lookLater(on loop: EventLoop) {
        isScheduled = true
        countBefore = count
        loop.schedule(after: rest) { [unowned loop] in self.look(on: loop) }
    }

    private func look(on loop: EventLoop) {
        guard count - countBefore < turns else { return lookLater(on: loop) }
        (count, isScheduled) = (0, false)
        action()
    }
}
