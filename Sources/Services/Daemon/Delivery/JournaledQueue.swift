// Journaled queues: each is one delivery machine in front of the store. Events change the machine at once. The changes
// of one turn of the loop, or those that arrive while a commit is under way, form the next commit, so that no commit
// rests on one that failed. Changes that no caller awaits are held for a few milliseconds and committed with others.
// The effects of an event run only after its commit, in order. Frames among them wait for room on their link, and
// nothing else waits for those. If a commit fails, memory is ahead of the disk: the machine is then read back from its
// rows before it takes another event.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemStore
import TandemWire

/// A queue or ledger of one (pairing, app, channel) and direction; confined to its loop.
final class JournaledQueue<Machine: StoredMachine & ~Copyable> {
    typealias Effect = Machine.Effect
    typealias Transition = DeliveryTransition<Effect>
    typealias Completion = (Result<Void, DeliveryFailure>) -> Void
    typealias Event = (inout Machine) -> Transition

    private enum State {
        case open
        case reloading(after: StoreError)
        case ended
    }

    /// Changes and effects of the events since the last commit.
    private struct Pending {
        /// One entry for each event; they are merged once, when they are committed.
        var changes: [[DeliveryChange]] = []
        var effects: [Effect] = []
        var frames: [OutgoingFrame<Effect>] = []
        /// The index of a frame that a later one may cover.
        var covered: Int?
        var completions: [Completion] = []
        var repeated: [Event] = []
        var room = CommitRoom.reserve
        /// A caller awaits an event among them, or there are many.
        var isDue = false

        var isEmpty: Bool { changes.isEmpty && effects.isEmpty && completions.isEmpty }
    }

    private(set) var machine: Machine
    private var packs: ItemPacks
    private let key: QueueKey
    /// The prefix of the keys of this queue's rows (``QueueKey/bytes``).
    private let rowPrefix: [UInt8]
    private let environment: DeliveryEnvironment
    private weak var table: QueueTable<Machine>?
    /// Counts what the machine keeps, after each event.
    private let usage: ItemUsage
    // Those that are unchecked: nothing is called while they are touched, and each event uses them.
    @exclusivity(unchecked) private var state = State.open
    @exclusivity(unchecked) private var pending = Pending()
    @exclusivity(unchecked) private var isCommitting = false
    @exclusivity(unchecked) private var isAtEndOfTurn = false
    private var isPatient = false
    private let effects: SerialQueue<Effect>
    private let frames: SerialQueue<OutgoingFrame<Effect>>
    private var failures = 0
    private var delayed: [() -> Void] = []
    private var delayedBytes = 0
    /// An event was not kept until the machine is read back.
    private var hasLostEvents = false
    @exclusivity(unchecked) private var timer: (token: TimerToken, deadline: MonotonicTime)?

    init(
        _ key: QueueKey, from rows: DeliveryRows, epoch: UInt64, counting usage: ItemUsage,
        of table: QueueTable<Machine>, in environment: DeliveryEnvironment
    ) {
        self.key = key
        rowPrefix = key.bytes
        machine = Machine(
            key, from: rows, epoch: epoch, at: environment.reading, limits: environment.limits(key.channel))
        packs = rows.packs(key, items: Machine.items)
        self.usage = usage
        self.table = table
        self.environment = environment
        effects = SerialQueue { [weak table] effect, done in table?.owner?.run(effect, key, done) }
        frames = SerialQueue { [weak table] frame, done in
            // The next link repeats what is still due.
            if frame.link.isOpen { table?.owner?.send(frame.effect, key, frame.link, done) } else { done() }
        }
        weigh()
        setTimer()
    }

    /// Ends the queue, because its rows are deleted: it no longer writes or runs effects.
    func end() {
        state = .ended
        if let timer { scheduler.cancel(timer.token) }
        usage.set(KeptAmount(), .unused)
        effects.removeAll()
        frames.removeAll()
        refusePending(.unpaired)
        // Each delayed event completes with the same failure.
        resumeDelayed()
    }

    /// Whether everything that the machine knows is durable.
    var isIdle: Bool {
        if case .reloading = state { return false }
        return !isCommitting && pending.changes.isEmpty
    }

    /// Whether it is a ledger of which nothing is left, and nothing of it is under way.
    var isUnused: Bool { isIdle && pending.isEmpty && effects.count == 0 && machine.occupancy == .unused }

    private var scheduler: any Scheduler { environment.scheduler }

    private var isOpen: Bool { if case .open = state { true } else { false } }
    private var isEnded: Bool { if case .ended = state { true } else { false } }

    /// Why the budgets have no room for a new item of this size; nil if they have.
    func refusal(of size: Int) -> QueueFull? { usage.refusal(of: size) }

    /// Whether there is no room for any item because other ledgers of the pairing keep something (DEL-46).
    var isCrowdedOut: Bool { usage.isCrowdedOut }

    /// The disk is full and takes no new item (DEL-31); nil if it has room.
    var fullDisk: StoreError? { environment.store.fullDisk }

    /// Whether there is room for a new item of this size, in the budgets and on the disk.
    func hasRoom(for size: Int) -> Bool { refusal(of: size) == nil && fullDisk == nil }

    private func weigh() { usage.set(machine.kept, machine.occupancy) }

    /// The machine's contents count in these budgets from now on.
    func use(_ budgets: [ItemBudget]) { usage.move(to: budgets) }

    /// Reads the body of an item that is durable; nil if there is none, or the item has ended, durably or not yet.
    /// - Parameter table: the one that its record names.
    func body(
        of ordinal: UInt64, in table: DeliveryTable, then done: @escaping (Result<[UInt8]?, StoreError>) -> Void
    ) {
        if table == Machine.items, let pack = packs.pack(of: ordinal) {
            environment.store.payload(ordinal, packedIn: pack, then: done)
        } else {
            environment.store.payload(ordinal, of: key, in: table, then: done)
        }
    }

    /// Changes only the machine's cache, which is in no row.
    func shares(
        without item: OutboundItem, sourceOf: (UniqueIdentifier) -> UniqueIdentifier?
    ) -> [UniqueIdentifier?: KeptAmount] where Machine == OutboundQueue {
        machine.shares(without: item, sourceOf: sourceOf)
    }

    /// Whether the handler gets an item whose attempt is durable. Not while the machine is read back: the handler that
    /// the machine knows may have left, in an event that waits. The item is then delivered again, at the same attempt.
    func handOver(_ item: ReceivedItem) -> Bool where Machine == InboundLedger {
        isOpen && machine.handOver(item, at: environment.reading)
    }

    /// Calls back when everything that the machine knows is durable, or with the failure.
    func whenDurable(_ done: @escaping Completion) { perform({ _ in Transition() }, then: done) }

    /// Applies an event to the machine. `completion` runs when its changes are durable or have failed.
    /// - Parameters:
    ///   - size: bytes that the event keeps in memory; the event fails if too many wait for the machine to be read
    ///     back.
    ///   - repeats: the event is applied again if its commit fails, because its sender does not repeat it. It may
    ///     become durable after `completion` got a failure.
    ///   - room: what its commit may use of a full disk.
    func perform(
        _ event: @escaping Event, size: Int = 0, repeats: Bool = false, room: CommitRoom = .reserve,
        then completion: Completion? = nil
    ) {
        switch state {
        case .ended: completion?(.failure(.unpaired))
        case .reloading(let error):
            let isDelayed = delay(size) {
                $0.perform(event, size: size, repeats: repeats, room: room, then: completion)
            }
            if !isDelayed, let completion { refuse(.store(error), completion) }
        case .open: stage(event(&machine), event: repeats ? event : nil, room: room, completion)
        }
    }

    /// Applies the event of a frame, whose number is of the epoch in which the frame came. An event that waits until
    /// the machine is read back may find it in a newer epoch, where the number names another item (DEL-10): then it
    /// does nothing.
    func performFrame(
        _ event: @escaping Event, size: Int = 0, repeats: Bool = false, room: CommitRoom = .reserve
    ) {
        // Runs in this call, so that the epoch cannot change before; each item comes here.
        if isOpen, !repeats { return perform(event, size: size, room: room) }
        let epoch = environment.epoch(of: key.pairing)
        perform(
            { $0.epoch == epoch ? event(&$0) : Transition() }, size: size, repeats: repeats, room: room)
    }

    /// Applies an event that has an answer. `completion` gets the answer once the event's changes, and all changes
    /// before it, are durable, or the failure.
    func perform<Answer>(
        _ event: @escaping (inout Machine) -> (Answer, Transition),
        then completion: @escaping (Result<Answer, DeliveryFailure>) -> Void
    ) {
        accept(size: 0, room: .reserve, { machine, _ in event(&machine) }, then: completion)
    }

    /// Applies an event that may add an item. On a full disk with ordinary `room` the event is not run. If it throws,
    /// nothing changes. In both cases `completion` gets the failure at the end of the turn, without a commit.
    /// - Parameters:
    ///   - size: bytes that the item adds to the budgets.
    ///   - event: its second argument is the budgets' refusal of that size, nil if there is room.
    func accept<Answer>(
        size: Int, room: CommitRoom = .ordinary,
        _ event: @escaping (inout Machine, QueueFull?) throws(QueueFull) -> (Answer, Transition),
        then completion: @escaping (Result<Answer, DeliveryFailure>) -> Void
    ) {
        switch state {
        case .ended: completion(.failure(.unpaired))
        case .reloading(let error):
            let isDelayed = delay(size) { $0.accept(size: size, room: room, event, then: completion) }
            if !isDelayed { refuse(.store(error), completion) }
        case .open:
            if room == .ordinary, let error = fullDisk { return refuse(.store(error), completion) }
            do throws(QueueFull) {
                let (answer, transition) = try event(&machine, refusal(of: size))
                stage(transition, room: room) { completion($0.map { answer }) }
            } catch {
                refuse(.full(error), completion)
            }
        }
    }

    private func refuse<Answer>(
        _ failure: DeliveryFailure, _ completion: @escaping (Result<Answer, DeliveryFailure>) -> Void
    ) {
        scheduler.atEndOfTurn { completion(.failure(failure)) }
    }

    /// Adds an event's transition to the next commit.
    /// - Parameter event: kept, and applied again, if the commit fails.
    private func stage(_ transition: Transition, event: Event? = nil, room: CommitRoom, _ completion: Completion?) {
        weigh()
        setTimer()
        if !transition.changes.isEmpty || !transition.effects.isEmpty || completion != nil {
            if !transition.changes.isEmpty { pending.changes.append(transition.changes) }
            add(transition.effects)
            if let completion { pending.completions.append(completion) }
            if let event { pending.repeated.append(event) }
            if room == .ordinary { pending.room = .ordinary }
            if !transition.mayWait || completion != nil || pending.changes.count >= Self.mostPatientEvents {
                pending.isDue = true
            }
            commitInTime()
        }
        // Last: an effect may come back here.
        for effect in transition.atOnce { table?.owner?.run(effect, key) {} }
    }

    private func add(_ effects: [Effect]) {
        for effect in effects {
            if let last = pending.effects.last, effect.covers(last) { pending.effects.removeLast() }
            pending.effects.append(effect)
            if effect.isFrame { add(frame: effect) }
        }
    }

    /// A frame is for the link of its event. There may be another when the commit is done.
    private func add(frame effect: Effect) {
        guard let link = environment.link(key.pairing) else { return }
        let frame = OutgoingFrame(effect: effect, link: link)
        if let index = pending.covered, pending.frames[index].link === link,
            effect.covers(pending.frames[index].effect)
        {
            // Both rest on the same commit, so the later one may take the earlier place.
            pending.frames[index] = frame
        } else {
            if effect.covers(effect) { pending.covered = pending.frames.count }
            pending.frames.append(frame)
        }
    }

    /// Keeps an event until the machine is read back. The disk may stay full for long, and events beyond the bound
    /// fail: a submitter gets the failure, a peer sends again.
    /// - Returns: whether the event is kept.
    private func delay(_ size: Int, _ event: @escaping (JournaledQueue) -> Void) -> Bool {
        guard size <= Self.mostDelayedBytes - delayedBytes, delayed.count < Self.mostDelayedEvents else {
            hasLostEvents = true
            return false
        }
        delayedBytes += size
        delayed.append { [weak self] in if let self { event(self) } }
        return true
    }

    private func resumeDelayed() {
        let events = delayed
        delayed = []
        delayedBytes = 0
        for event in events { event() }
    }

    /// Limits of the events that wait for the machine to be read back (LIM-42).
    private static var mostDelayedBytes: Int { 1 << 20 }
    private static var mostDelayedEvents: Int { 1 << 14 }

    /// Frames that may wait for room on a link (LIM-42); all are repeated on the next one.
    private static var mostWaitingFrames: Int { 1 << 15 }

    /// Events that may wait for one commit (LIM-75): a quarter of the attempts that are counted ahead, so that the
    /// handler has the rest meanwhile.
    private static var mostPatientEvents: Int { 16 }

    // MARK: committing

    private func commitInTime() {
        guard !isCommitting, !pending.isEmpty else { return }
        if pending.isDue { commitAtEndOfTurn() } else { commitPatiently() }
    }

    /// More events of this turn may follow, and one sync carries them, also if the turn lasts longer than the sync: a
    /// commit that begins earlier costs more processor time than the disk would otherwise be idle.
    private func commitAtEndOfTurn() {
        guard !isAtEndOfTurn else { return }
        isAtEndOfTurn = true
        scheduler.atEndOfTurn { [self] in
            isAtEndOfTurn = false
            commitPending()
        }
    }

    private func commitPatiently() {
        guard !isPatient else { return }
        isPatient = true
        environment.patience.add { [weak self] in
            guard let self else { return }
            isPatient = false
            // While a commit is under way they follow it.
            if !pending.isEmpty { pending.isDue = true }
            commitPending()
        }
    }

    private func commitPending() {
        guard !isCommitting, isOpen else { return }
        let group = pending
        pending = Pending()
        if group.isEmpty { return }
        isCommitting = true
        let changes = group.changes.rowChanges(&packs, prefix: rowPrefix)
        environment.store.commit(changes, room: group.room) { [self] result in finish(group, result) }
    }

    private func finish(_ group: Pending, _ result: Result<Void, StoreError>) {
        isCommitting = false
        switch result {
        case .success:
            failures = 0
            // Before the completions: the disk works on what waited while they run.
            if pending.isDue { commitPending() }
            // Before the effects: an item may end in the commit that accepts it, and its submitter learns of both in
            // this order.
            for completion in group.completions { completion(.success(())) }
            if !isEnded, !group.effects.isEmpty {
                effects.append(group.effects)
                // An effect may have ended the queue.
                if !isEnded { frames.append(group.frames) }
                if frames.count > Self.mostWaitingFrames { environment.report(.stalled(key.pairing)) }
            }
            commitInTime()
        case .failure(let error):
            // Events that are sent only once are applied again, before those that came after them.
            for event in group.repeated + pending.repeated {
                delayed.append { [weak self] in self?.perform(event, repeats: true) }
            }
            // Reload before the completions run: a caller that resubmits from its completion must find the queue
            // closed, not ahead of the store.
            if !isEnded { reload(after: error) }
            for completion in group.completions { completion(.failure(.store(error))) }
            // The events since then depend on what failed.
            refusePending(.store(error))
        }
    }

    private func refusePending(_ failure: DeliveryFailure) {
        let completions = pending.completions
        pending = Pending()
        for completion in completions { completion(.failure(failure)) }
    }

    // MARK: failure

    /// At once after the first failure, then once a second: a disk that stays full must not keep the loop busy.
    private func reload(after error: StoreError) {
        state = .reloading(after: error)
        failures += 1
        guard failures > 1 else { return readBack(after: error) }
        scheduler.schedule(after: .seconds(1)) { [weak self] in self?.readBack(after: error) }
    }

    private func readBack(after error: StoreError) {
        let reading = environment.reading
        environment.store.rows(of: key, in: Machine.tables[...]) { [weak self] result in
            guard let self, let table, !isEnded else { return }
            guard case .success(let rows) = result else { return reload(after: error) }
            var next = Machine(
                key, from: rows, epoch: environment.epoch(of: key.pairing) ?? 1, at: reading,
                limits: environment.limits(key.channel))
            next.goOn(after: machine, isComplete: !hasLostEvents)
            machine = next
            hasLostEvents = false
            packs = rows.packs(key, items: Machine.items)
            state = .open
            weigh()
            setTimer()
            // First: the rows may belong to a former epoch.
            table.catchUp(self)
            resumeDelayed()
            table.owner?.wasReadBack(key)
        }
    }

    // MARK: time

    /// A timer that fires too early only looks again: most events move the deadline on, and need not touch the timer.
    private func setTimer() {
        guard let deadline = machine.nextDeadline else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            scheduler.cancel(timer.token)
        }
        let token = scheduler.schedule(after: deadline.since(scheduler.now)) { [weak self] in self?.timeAdvanced() }
        timer = (token, deadline)
    }

    private func timeAdvanced() {
        timer = nil
        guard let deadline = machine.nextDeadline, deadline <= scheduler.now else { return setTimer() }
        perform { [reading = scheduler.reading] in $0.timeAdvanced(at: reading) }
    }
}

/// A frame for one link, and so for one epoch: in another its sequence would mean another item.
private struct OutgoingFrame<Effect> {
    let effect: Effect
    let link: DeliveryLink
}
