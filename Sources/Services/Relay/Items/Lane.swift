// One delivery machine in front of the store. Events change it at once, so that commits can follow each other closely; what
// an event leads to happens only after the commit that it rests on, in order. If a commit fails, memory is ahead of the disk:
// then the machine is read back from its rows before it takes another event.

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

    private(set) var machine: Machine
    private let store: LoopStore
    private let scheduler: any Scheduler
    private let surroundings: Surroundings
    private var effects: [Effect] = []
    private var isRunning = false
    private var isReloading = false
    private var delayed: [() -> Void] = []
    private var timer: TimerToken?

    init(_ machine: Machine, store: LoopStore, scheduler: any Scheduler, _ surroundings: Surroundings) {
        self.machine = machine
        self.store = store
        self.scheduler = scheduler
        self.surroundings = surroundings
        setTimer()
    }

    /// Ends the lane: no timer fires for it any more.
    func end() { timer.map(scheduler.cancel) }

    /// Gives the machine an event. `completion` is called when its changes are durable, or have failed.
    func perform(_ event: @escaping (inout Machine) -> Answer, then completion: Completion? = nil) {
        guard !isReloading else { return delayed.append { [weak self] in self?.perform(event, then: completion) } }
        let answer = event(&machine)
        setTimer()
        if answer.changes.isEmpty, answer.effects.isEmpty, completion == nil { return }
        store.commit(answer.changes.map(\.rowChange)) { [self] result in
            switch result {
            case .success: append(answer.effects)
            case .failure: reload()
            }
            completion?(result)
        }
    }

    // MARK: effects

    private func append(_ new: [Effect]) {
        effects += new
        if !isRunning { runNext() }
    }

    private func runNext() {
        guard !effects.isEmpty else {
            isRunning = false
            return
        }
        isRunning = true
        surroundings.run(effects.removeFirst()) { [weak self] in self?.runNext() }
    }

    // MARK: failure

    private func reload() {
        guard !isReloading else { return }
        isReloading = true
        surroundings.reload { [weak self] result in self?.reloaded(result) }
    }

    private func reloaded(_ result: Result<Machine, StoreError>) {
        // A store that cannot even be read has been reported as broken by the commit that failed: the lane stays shut.
        guard case .success(let machine) = result else { return }
        self.machine = machine
        isReloading = false
        setTimer()
        let events = delayed
        delayed = []
        for event in events { event() }
    }

    // MARK: time

    private func setTimer() {
        timer.map(scheduler.cancel)
        timer = surroundings.deadline(machine).map { deadline in
            scheduler.schedule(after: deadline.since(scheduler.now)) { [weak self] in self?.timeAdvanced() }
        }
    }

    private func timeAdvanced() {
        timer = nil
        let event = surroundings.timeAdvanced
        perform { event(&$0) }
    }
}
