// One delivery machine in front of the store. Events change it at once; what they changed in one turn of the loop, or
// while a commit was under way, goes into the next one, so that no commit ever rests on one that failed. What an event
// leads to happens only after its commit, in order. If a commit fails, memory is ahead of the disk: then the machine is
// read back from its rows before another event.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemStore

/// What an event of a lane's machine leads to.
struct LaneAnswer<Effect> {
    var changes: [DeliveryChange] = []
    /// Wait for the commit of the changes, and of all before them.
    var effects: [Effect] = []
    /// Rest on nothing that is not durable, and wait for nothing.
    var atOnce: [Effect] = []
    /// The event promises nothing: whoever gave it hears so without waiting for the disk.
    var isRefusal = false
}

/// A queue or ledger of one (pairing, app, channel) and direction; confined to its loop.
final class Lane<Machine: DeliveryMachine, Effect> {
    typealias Answer = LaneAnswer<Effect>
    typealias Completion = (Result<Void, StoreError>) -> Void
    typealias Event = (inout Machine) -> Answer

    /// What a lane needs from outside it.
    struct Surroundings {
        /// Carries out one effect, then calls back; later effects wait for that.
        let run: (Effect, @escaping () -> Void) -> Void
        /// Reads the machine back from its rows.
        let reload: (@escaping (Result<Machine, StoreError>) -> Void) -> Void
        /// What a machine that was read back must hear before anything else: its rows may be of an epoch that is over.
        let renewed: (inout Machine) -> Answer
        let timeAdvanced: (inout Machine) -> Answer
        /// Told what the machine keeps, after each event.
        let usage: ItemUsage
    }

    /// What events since the last commit have led to.
    private struct Pending {
        /// Of each event: they are put together once, when they are committed.
        var changes: [[DeliveryChange]] = []
        var effects: [Effect] = []
        var completions: [Completion] = []
        var repeated: [Event] = []

        /// Whether there is nothing to commit, nothing to do and nobody to tell.
        var isEmpty: Bool { changes.isEmpty && effects.isEmpty && completions.isEmpty }
    }

    private(set) var machine: Machine
    private let store: LoopStore
    private let scheduler: any Scheduler
    private let surroundings: Surroundings
    private var pending = Pending()
    private var isCommitting = false
    private var isDue = false
    private let effects: EffectQueue<Effect>
    private var isReloading = false
    private var isEnded = false
    private var failures = 0
    private var lastFailure: StoreError?
    private var delayed: [() -> Void] = []
    private var delayedBytes = 0
    private var timer: (token: TimerToken, deadline: MonotonicTime)?

    init(_ machine: Machine, store: LoopStore, scheduler: any Scheduler, _ surroundings: Surroundings) {
        self.machine = machine
        self.store = store
        self.scheduler = scheduler
        self.surroundings = surroundings
        effects = EffectQueue(run: surroundings.run)
        weigh()
        setTimer()
    }

    /// Ends the lane, because its rows go: nothing is written and nothing is done for it any more.
    func end() {
        isEnded = true
        if let timer { scheduler.cancel(timer.token) }
        surroundings.usage.set(KeptAmount())
        effects.removeAll()
        refusePending(.withdrawn)
        // Each hears that it came too late.
        let events = delayed
        delayed = []
        delayedBytes = 0
        for event in events { event() }
    }

    /// Whether everything that the machine knows is durable.
    var isIdle: Bool { !isCommitting && !isReloading && pending.changes.isEmpty }

    /// Why a new item of this size has no room beside those of other queues; nil if it has.
    func refusal(of size: Int) -> DeliveryError? { surroundings.usage.refusal(of: size) }

    private func weigh() { surroundings.usage.set(Self.kept(&machine)) }

    // Lent, because reading a property of the machine here would copy the machine.
    private static func kept(_ machine: inout Machine) -> KeptAmount { machine.kept }
    private static func deadline(_ machine: inout Machine) -> MonotonicTime? { machine.nextDeadline }

    /// Calls back behind the effects of everything that is durable.
    func afterEffects(_ done: @escaping () -> Void) { effects.append(done) }

    /// Gives the machine an event. `completion` is called when its changes are durable or have failed, at the end of the
    /// turn if it was refused.
    /// - Parameters:
    ///   - size: bytes that the event holds; it is refused if too much waits for the machine to be read back.
    ///   - repeats: given again if its commit fails: a word that nobody says twice.
    func perform(
        _ event: @escaping Event, size: Int = 0, repeats: Bool = false, then completion: Completion? = nil
    ) {
        guard !isEnded else { return completion?(.failure(.withdrawn)) ?? () }
        guard !isReloading else { return delay(event, size, repeats, completion) }
        let answer = event(&machine)
        weigh()
        setTimer()
        if answer.isRefusal {
            scheduler.atEndOfTurn { completion?(.success(())) }
        } else if !answer.changes.isEmpty || !answer.effects.isEmpty || completion != nil {
            if !answer.changes.isEmpty { pending.changes.append(answer.changes) }
            pending.effects += answer.effects
            if let completion { pending.completions.append(completion) }
            if repeats { pending.repeated.append(event) }
            commitAtEndOfTurn()
        }
        // Last: what it leads to may come back here.
        for effect in answer.atOnce { surroundings.run(effect) {} }
    }

    /// A disk that stays full for long: whoever submits hears it, and what a peer sends comes again.
    private func delay(_ event: @escaping Event, _ size: Int, _ repeats: Bool, _ completion: Completion?) {
        guard size <= Self.mostDelayedBytes - delayedBytes, delayed.count < Self.mostDelayedEvents else {
            let failure = lastFailure ?? .withdrawn
            if let completion { _ = scheduler.schedule(after: .zero) { completion(.failure(failure)) } }
            return
        }
        delayedBytes += size
        delayed.append { [weak self] in self?.perform(event, size: size, repeats: repeats, then: completion) }
    }

    /// What may wait for the machine to be read back (LIM-42).
    private static var mostDelayedBytes: Int { 1 << 20 }
    private static var mostDelayedEvents: Int { 1 << 14 }

    // MARK: committing

    /// Whoever was answered by the last commit may have more in this turn: one sync is to carry all of it.
    private func commitAtEndOfTurn() {
        guard !isCommitting, !isDue, !pending.isEmpty else { return }
        isDue = true
        scheduler.atEndOfTurn { [self] in
            isDue = false
            commitPending()
        }
    }

    private func commitPending() {
        guard !isCommitting, !isEnded, !isReloading else { return }
        let group = pending
        pending = Pending()
        if group.isEmpty { return }
        isCommitting = true
        store.commit(group.changes.rowChanges) { [self] result in finish(group, result) }
    }

    private func finish(_ group: Pending, _ result: Result<Void, StoreError>) {
        isCommitting = false
        switch result {
        case .success:
            failures = 0
            // First: an item may end in the commit that accepts it, and its submitter hears of both in this order.
            for completion in group.completions { completion(result) }
            if !isEnded, !group.effects.isEmpty { effects.append(group.effects) }
            commitAtEndOfTurn()
        case .failure(let error):
            lastFailure = error
            // What was said once only is said again, before what came after it.
            for event in group.repeated + pending.repeated {
                delayed.append { [weak self] in self?.perform(event, repeats: true) }
            }
            // Before anybody is told: who submits again at once must find the machine shut, not ahead of its rows.
            if !isEnded { reload() }
            for completion in group.completions { completion(result) }
            // What followed rests on what failed.
            refusePending(error)
        }
    }

    private func refusePending(_ error: StoreError) {
        let completions = pending.completions
        pending = Pending()
        for completion in completions { completion(.failure(error)) }
    }

    // MARK: failure

    /// At once after the first failure, then once a second: a disk that stays full must not keep the loop busy.
    private func reload() {
        guard !isReloading else { return }
        isReloading = true
        failures += 1
        guard failures > 1 else { return surroundings.reload { [weak self] result in self?.reloaded(result) } }
        scheduler.schedule(after: .seconds(1)) { [weak self] in
            self?.surroundings.reload { [weak self] result in self?.reloaded(result) }
        }
    }

    private func reloaded(_ result: Result<Machine, StoreError>) {
        guard !isEnded else { return }
        guard case .success(let machine) = result else {
            isReloading = false
            return reload()
        }
        self.machine = machine
        isReloading = false
        weigh()
        setTimer()
        let renewed = surroundings.renewed
        perform { renewed(&$0) }
        let events = delayed
        delayed = []
        delayedBytes = 0
        for event in events { event() }
    }

    // MARK: time

    /// A timer that runs too early only looks again: most events move the deadline on, and need not touch the timer.
    private func setTimer() {
        guard let deadline = Self.deadline(&machine) else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            scheduler.cancel(timer.token)
        }
        let token = scheduler.schedule(after: deadline.since(scheduler.now)) { [weak self] in self?.timeAdvanced() }
        timer = (token, deadline)
    }

    private func timeAdvanced() {
        timer = nil
        guard let deadline = Self.deadline(&machine), deadline <= scheduler.now else { return setTimer() }
        let event = surroundings.timeAdvanced
        perform { event(&$0) }
    }
}
