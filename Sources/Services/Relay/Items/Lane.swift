// One delivery machine in front of the store. Events change it at once; what they changed in one turn of the loop, or
// while a commit was under way, goes into the next one, so that no commit ever rests on one that failed. What an event
// leads to happens only after its commit, in order. If a commit fails, memory is ahead of the disk: then the machine is
// read back from its rows before another event.

import TandemDelivery
import TandemIdentity
import TandemReactor
import TandemStore

/// A queue or ledger of one (pairing, app, channel) and direction; confined to its loop.
final class Lane<Machine, Effect> {
    typealias Answer = (changes: [DeliveryChange], effects: [Effect])
    typealias Completion = (Result<Void, StoreError>) -> Void

    /// What a lane needs from outside it.
    struct Surroundings {
        /// Carries out one effect, then calls back; later effects wait for that.
        let run: (Effect, @escaping () -> Void) -> Void
        /// Reads the machine back from its rows.
        let reload: (@escaping (Result<Machine, StoreError>) -> Void) -> Void
        let deadline: (Machine) -> MonotonicTime?
        let timeAdvanced: (inout Machine) -> Answer
    }

    /// What events since the last commit have led to.
    private struct Pending {
        var changes: [DeliveryChange] = []
        var effects: [Effect] = []
        var completions: [Completion] = []
    }

    private(set) var machine: Machine
    private let store: LoopStore
    private let scheduler: any Scheduler
    private let surroundings: Surroundings
    private var pending = Pending()
    private var isCommitting = false
    private var isDue = false
    /// What is to be done, and how much of it was: taking from the front would move all the rest each time.
    private var effects: [Effect] = []
    private var doneEffects = 0
    private var isRunning = false
    private var isReloading = false
    private var isEnded = false
    private var failures = 0
    private var delayed: [() -> Void] = []
    private var timer: (token: TimerToken, deadline: MonotonicTime)?

    init(_ machine: Machine, store: LoopStore, scheduler: any Scheduler, _ surroundings: Surroundings) {
        self.machine = machine
        self.store = store
        self.scheduler = scheduler
        self.surroundings = surroundings
        setTimer()
    }

    /// Ends the lane, because its rows go: nothing is written and nothing is done for it any more.
    func end() {
        isEnded = true
        if let timer { scheduler.cancel(timer.token) }
        dropEffects()
        refusePending(.closed(path: ""))
        // Each hears that it came too late.
        let events = delayed
        delayed = []
        for event in events { event() }
    }

    /// Whether everything that the machine knows is durable.
    var isIdle: Bool { !isCommitting && !isReloading && pending.changes.isEmpty }

    /// Gives the machine an event. `completion` is called when its changes are durable, or have failed.
    func perform(_ event: @escaping (inout Machine) -> Answer, then completion: Completion? = nil) {
        guard !isEnded else { return completion?(.failure(.closed(path: ""))) ?? () }
        guard !isReloading else { return delayed.append { [weak self] in self?.perform(event, then: completion) } }
        let answer = event(&machine)
        setTimer()
        if answer.changes.isEmpty, answer.effects.isEmpty, completion == nil { return }
        pending.changes += answer.changes
        pending.effects += answer.effects
        if let completion { pending.completions.append(completion) }
        commitAtEndOfTurn()
    }

    // MARK: committing

    /// Whoever was answered by the last commit may have more in this turn: one sync is to carry all of it.
    private func commitAtEndOfTurn() {
        guard !isCommitting, !isDue else { return }
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
        if group.changes.isEmpty, group.effects.isEmpty, group.completions.isEmpty { return }
        isCommitting = true
        store.commit(group.changes.lastOfEachRow.map(\.rowChange)) { [self] result in finish(group, result) }
    }

    private func finish(_ group: Pending, _ result: Result<Void, StoreError>) {
        isCommitting = false
        switch result {
        case .success:
            failures = 0
            // First: an item may end in the commit that accepts it, and its submitter hears of both in this order.
            for completion in group.completions { completion(result) }
            if !isEnded { append(group.effects) }
            commitAtEndOfTurn()
        case .failure(let error):
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

    // MARK: effects

    private func append(_ new: [Effect]) {
        effects += new
        if !isRunning { runAll() }
    }

    /// Runs effects one after another; one that finishes later goes on from there.
    private func runAll() {
        isRunning = true
        while doneEffects < effects.count {
            var isDone = false
            var isWaiting = false
            surroundings.run(nextEffect()) { [weak self] in
                isDone = true
                if isWaiting { self?.runAll() }
            }
            guard isDone else {
                isWaiting = true
                return
            }
        }
        dropEffects()
        isRunning = false
    }

    /// Those that are done are let go when they are the greater part.
    private func nextEffect() -> Effect {
        if doneEffects > 64, doneEffects > effects.count / 2 {
            effects.removeFirst(doneEffects)
            doneEffects = 0
        }
        defer { doneEffects += 1 }
        return effects[doneEffects]
    }

    private func dropEffects() {
        effects = []
        doneEffects = 0
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
        setTimer()
        let events = delayed
        delayed = []
        for event in events { event() }
    }

    // MARK: time

    /// A timer that runs too early only looks again: most events move the deadline on, and need not touch the timer.
    private func setTimer() {
        guard let deadline = surroundings.deadline(machine) else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            scheduler.cancel(timer.token)
        }
        let token = scheduler.schedule(after: deadline.since(scheduler.now)) { [weak self] in self?.timeAdvanced() }
        timer = (token, deadline)
    }

    private func timeAdvanced() {
        timer = nil
        guard let deadline = surroundings.deadline(machine), deadline <= scheduler.now else { return setTimer() }
        let event = surroundings.timeAdvanced
        perform { event(&$0) }
    }
}
