// Outbound queues of durable delivery: one journaled queue for each (pairing, app, channel), their links and epochs,
// their frames, and the barriers between them. The rules are in the Delivery room of Decisions; this type gives events
// to the queues and turns their effects into frames and reports.

import TandemBase
import TandemDelivery
import TandemStore
import TandemWire

/// The outbound queues of all pairings; confined to its loop.
final class OutboundQueues {
    typealias Queue = JournaledQueue<OutboundQueue, OutboundEffect>

    private let environment: DeliveryEnvironment
    /// The user of this device who owns an app; nil if unknown.
    private let userOf: (ApplicationIdentifier) -> UInt32?
    private var queues: [QueueKey: Queue] = [:]

    init(in environment: DeliveryEnvironment, userOf: @escaping (ApplicationIdentifier) -> UInt32?) {
        self.environment = environment
        self.userOf = userOf
    }

    private var reading: ClockReading { environment.reading }

    /// The queue of this key, if it was ever used.
    subscript(key: QueueKey) -> Queue? { queues[key] }

    /// The queue of this key, made at its first use; the pairing exists.
    func queue(_ key: QueueKey) -> Queue {
        if let queue = queues[key] { return queue }
        guard let epoch = environment.epoch(of: key.pairing) else {
            preconditionFailure("a queue of a pairing that does not exist")
        }
        let reading = reading
        let header = OutboundHeader(epoch: epoch, at: reading)
        let queue = add(OutboundQueue(key, header: header, at: reading, limits: environment.limits(key.channel)))
        if environment.isOpen(key) { queue.perform { $0.linkOpened(received: 0, at: reading).answer } }
        return queue
    }

    @discardableResult
    private func add(_ machine: consuming OutboundQueue) -> Queue {
        let key = machine.key
        let queue = Queue(
            machine, store: environment.store, scheduler: environment.scheduler,
            Queue.Surroundings(
                run: { [weak self] effect, done in self?.run(effect, of: key, done) },
                reload: { [weak self] done in self?.reload(key, done) },
                renewed: { [weak self] queue in self.map { $0.startEpoch(&queue) } ?? QueueAnswer() },
                timeAdvanced: { [weak self] queue in
                    self.map { queue.timeAdvanced(at: $0.reading).answer } ?? QueueAnswer()
                },
                usage: environment.budgets.add(key, .outbound, user: userOf(key.app))))
        queues[key] = queue
        environment.watchClock()
        return queue
    }

    /// Reads a queue back after a commit that failed.
    private func reload(_ key: QueueKey, _ done: @escaping (consuming Result<OutboundQueue, StoreError>) -> Void) {
        let reading = reading
        let tables: [DeliveryTable] = [.outboundHeader, .outboundRecord, .urgentBudget, .sentContext]
        environment.store.rows(of: key, in: tables[...]) { [weak self] result in
            guard let self else { return }
            let epoch = environment.epoch(of: key.pairing) ?? 1
            let limits = environment.limits(key.channel)
            done(
                result.map { rows in
                    let header = rows.outboundHeaders[key] ?? OutboundHeader(epoch: epoch, at: reading)
                    return rows.queue(key, header, at: reading, limits: limits)
                })
            guard case .success = result else { return }
            if environment.isOpen(key) {
                queues[key]?.perform { queue in
                    queue.linkOpened(received: queue.lastStored, at: reading).answer
                }
            }
            reconsiderBarriers(of: key.app, in: key.pairing)
        }
    }

    // MARK: life

    /// Makes the queues of the known pairings from their rows.
    func restore(_ rows: DeliveryRows) {
        let reading = reading
        for (key, header) in rows.outboundHeaders where environment.epoch(of: key.pairing) != nil {
            add(rows.queue(key, header, at: reading, limits: environment.limits(key.channel)))
        }
    }

    /// Reports ends that nobody has confirmed, repeats contexts, and reconsiders barriers; once, when all is set up.
    func resume() {
        for (key, queue) in queues {
            if key.channel == .configuration { reportUnheard(in: key) }
            if queue.machine.needsContextAgain { setContextAgain(key) }
            reconsiderBarriers(of: key.app, in: key.pairing)
        }
    }

    private func reportUnheard(in key: QueueKey) {
        for record in queues[key]?.machine.unacknowledged(limit: .max) ?? [] {
            guard case .finished(let outcome) = record.phase else { continue }
            finished(record.id, outcome, record.endingRefusal, in: key)
        }
    }

    /// Starts the pairing's epoch in its queues.
    func startEpoch(of pairing: UniqueIdentifier) { for queue in queues(of: pairing) { catchUp(queue) } }

    /// A daemon that ended between the commit of a new epoch and those of its queues starts the epoch in them now.
    func startEpochs() { for queue in queues.values { catchUp(queue) } }

    private func catchUp(_ queue: Queue) { queue.perform { [unowned self] in startEpoch(&$0) } }

    /// Starts the pairing's epoch in a queue of another one.
    private func startEpoch(_ queue: inout OutboundQueue) -> QueueAnswer<OutboundEffect> {
        guard let epoch = environment.epoch(of: queue.key.pairing) else { return QueueAnswer() }
        return queue.startEpoch(epoch, at: reading).answer
    }

    func removePairing(_ pairing: UniqueIdentifier) {
        for key in Array(queues.keys) where key.pairing == pairing { queues.removeValue(forKey: key)?.end() }
    }

    func noteClock(at reading: ClockReading) {
        for queue in queues.values { queue.perform { $0.noteClock(at: reading).answer } }
    }

    private func queues(of pairing: UniqueIdentifier) -> [Queue] {
        queues.filter { $0.key.pairing == pairing }.map(\.value)
    }

    /// The link of a pairing is ready.
    /// - Parameter positions: the highest sequences that the peer has stored.
    func linkOpened(_ pairing: UniqueIdentifier, positions: [QueueKey: UInt64]) {
        let reading = reading
        // A peer cannot create a queue. One that has stored what this device never sent knows an older store of it.
        if positions.contains(where: { queues[$0.key] == nil && $0.value > 0 }) {
            environment.report(.needsEpoch(pairing))
        }
        for (key, queue) in queues where key.pairing == pairing && environment.isOpen(key) {
            queue.perform { $0.linkOpened(received: positions[key] ?? 0, at: reading).answer }
        }
    }

    func linkClosed(_ pairing: UniqueIdentifier) {
        for queue in queues(of: pairing) {
            queue.perform { queue in
                queue.linkClosed()
                return QueueAnswer()
            }
        }
    }

    // MARK: frames

    /// The peer has stored the items up to this sequence.
    /// - Returns: false if there is no such queue.
    func stored(through sequence: UInt64, in key: QueueKey) -> Bool {
        guard let queue = queues[key] else { return false }
        let reading = reading
        queue.perform { $0.stored(through: sequence, at: reading).answer }
        return true
    }

    /// The peer reports how an item ended, once for each link.
    /// - Returns: false if there is no such queue.
    func ended(_ sequence: UInt64, _ outcome: Outcome, in key: QueueKey) -> Bool {
        guard let queue = queues[key] else { return false }
        let reading = reading
        queue.perform({ $0.ended(sequence, outcome, at: reading).answer }, repeats: true)
        return true
    }

    /// The peer cannot take an item now (DEL-12).
    /// - Parameter isBlockedOnSpace: the peer has no space now, and may have some later.
    func refused(_ id: UniqueIdentifier, _ refusal: ItemRefusal?, isBlockedOnSpace: Bool = false, in key: QueueKey) {
        let reading = reading
        queues[key]?.perform { queue in
            isBlockedOnSpace
                ? queue.blockedOnSpace(id, refusal, at: reading).answer : queue.refused(id, refusal, at: reading).answer
        }
    }

    /// Whether an item of this identifier was sent, is not stored by the peer, and is not being taken back.
    func isUnderWay(_ id: UniqueIdentifier, in key: QueueKey) -> Bool {
        guard let record = queues[key]?.machine.record(of: id), case .sent = record.phase else { return false }
        return record.withdrawal == nil
    }

    // MARK: effects

    private func run(_ effect: OutboundEffect, of key: QueueKey, _ done: @escaping () -> Void) {
        switch effect {
        case .send(let dispatch): return send(dispatch, of: key, done)
        case .sendGap(let sequence, let reason):
            environment.send(GapFrame(key, sequence: sequence, reason).envelope, over: key.pairing)
        case .sendOutcomeAck(let sequence):
            environment.send(OutcomeAckFrame(key, sequence: sequence).envelope, over: key.pairing)
        case .stored(let id): environment.report(.stored(id, key))
        case .finished(let id, let outcome, let refusal): finished(id, outcome, refusal, in: key)
        case .released(let id): environment.report(.fileReleased(id, key, .outbound))
        case .setContextAgain: setContextAgain(key)
        case .startEpoch: environment.report(.needsEpoch(key.pairing))
        case .violation: environment.report(.violation(key.pairing))
        }
        done()
    }

    /// An item has ended. A submitter in this process knows it with that; an application confirms it itself.
    private func finished(_ id: UniqueIdentifier, _ outcome: Outcome, _ refusal: ItemRefusal?, in key: QueueKey) {
        environment.report(.ended(id, key, outcome, refusal))
        if key.channel == .configuration {
            let reading = reading
            queues[key]?.perform { $0.forget(id, at: reading).answer }
        }
        release(id, of: key.app, in: key.pairing)
    }

    private func send(_ dispatch: OutboundDispatch, of key: QueueKey, _ done: @escaping () -> Void) {
        if let body = dispatch.payload {
            send(dispatch, body, of: key)
            return done()
        }
        environment.store.payload(dispatch.ordinal, of: key, in: .outboundPayload) { [weak self] body in
            // Without its row the item was withdrawn meanwhile: its gap follows.
            if let body { self?.send(dispatch, body, of: key) }
            done()
        }
    }

    private func send(_ dispatch: OutboundDispatch, _ body: [UInt8], of key: QueueKey) {
        let frame = ItemFrame(
            ItemKey(key, dispatch.id), sequence: dispatch.sequence, age: .milliseconds(dispatch.age),
            remaining: .milliseconds(dispatch.remaining), attempt: dispatch.attempt, topic: dispatch.topic,
            revision: dispatch.revision, body: body[...])
        environment.send(frame.envelope, over: key.pairing)
    }

    /// Submits the last context to its queue again: the peer may have lost it with its epoch.
    private func setContextAgain(_ key: QueueKey) {
        environment.store.context(at: DeliveryRowKey(.sentContext, key)) { [weak self] context in
            guard let self, let context, let queue = queues[key] else { return }
            let reading = reading
            queue.perform { queue in
                // A full queue of contexts contains newer ones.
                do throws(DeliveryError) {
                    return try queue.setContextAgain(.random(), body: context.body, at: reading).answer
                } catch {
                    return QueueAnswer()
                }
            }
        }
    }

    // MARK: barriers

    // An item may wait for the end of another one (DEL-22). Whether that one has ended is asked when the item is accepted, when
    // the other ends, and whenever queues were read back from their rows: an item that is unknown then releases its barrier.

    private func queues(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> [Queue] {
        Channel.allCases.compactMap { queues[QueueKey(pairing: pairing, app: app, channel: $0)] }
    }

    /// Whether the item is known in any queue of the application and has not durably ended.
    func isUnfinished(_ id: UniqueIdentifier, of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> Bool {
        for queue in queues(of: app, in: pairing) {
            guard let record = queue.machine.record(of: id) else { continue }
            if record.isUnfinished { return true }
            guard !queue.isIdle else { return false }
            // Its end may be lost with a commit that fails: asked again when that is known.
            queue.whenDurable { [weak self] result in
                guard case .success = result else { return }
                self?.endedDurably(id, of: app, in: pairing)
            }
            return true
        }
        return false
    }

    /// The item has ended: the items behind its barrier continue.
    private func release(_ id: UniqueIdentifier, of app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        let reading = reading
        for queue in queues(of: app, in: pairing) where queue.machine.isAwaiting(id) {
            queue.perform { $0.released(id, at: reading).answer }
        }
    }

    /// What was known of the item before the last commit is durable now.
    private func endedDurably(_ id: UniqueIdentifier, of app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        if queues(of: app, in: pairing).contains(where: { $0.machine.isUnfinished(id) }) { return }
        release(id, of: app, in: pairing)
    }

    /// Asks again for every barrier of an application's queues.
    private func reconsiderBarriers(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        for queue in queues(of: app, in: pairing) {
            for id in queue.machine.awaited where !isUnfinished(id, of: app, in: pairing) {
                release(id, of: app, in: pairing)
            }
        }
    }

    // MARK: status

    /// The revision of the last context of each queue that has one.
    var contextRevisions: [QueueKey: UInt64] { queues.compactMapValues { $0.machine.context?.revision } }

    /// What waits in each queue.
    var waiting: [DurableDelivery.WaitingItems] {
        let reading = reading
        return queues.map { key, queue in
            (
                key, queue.machine.count, queue.machine.bytes, queue.machine.oldestAge(at: reading),
                queue.machine.headRefusal
            )
        }
        .sorted { ($0.0.pairing, $0.0.app, $0.0.channel.rawValue) < ($1.0.pairing, $1.0.app, $1.0.channel.rawValue) }
    }

    /// The queues of an application with ended items that it has not confirmed.
    func withEnds(of app: ApplicationIdentifier) -> [QueueKey] {
        queues.filter { $0.key.app == app && $0.key.channel != .configuration && $0.value.machine.hasUnacknowledged }
            .keys
            .sorted { ($0.pairing, $0.channel.rawValue) < ($1.pairing, $1.channel.rawValue) }
    }

    /// The highest sequences sent to the peer (SES-2).
    func sent(to pairing: UniqueIdentifier) -> [(key: QueueKey, sequence: UInt64)] {
        queues.filter { $0.key.pairing == pairing && $0.value.machine.lastSent > 0 }
            .map { ($0.key, $0.value.machine.lastSent) }
            .sorted { $0.0.app < $1.0.app }
    }

    /// The items of the channel `file` whose bytes must stay when the daemon starts.
    var itemsWithFiles: [FileKey] {
        queues.filter { $0.key.channel == .file }.flatMap { key, queue in
            (queue.machine.outstanding() + queue.machine.deadLetters).map { FileKey(key, $0.id) }
        }
    }

    // MARK: dead letters

    var deadLetters: [DeadLetter] {
        queues.flatMap { key, queue in
            queue.machine.deadLetters.map { record in
                DeadLetter(
                    queue: key, direction: .outbound, ordinal: record.ordinal, id: record.id, topic: record.topic,
                    attempts: record.attempts, size: record.size, refusal: record.refusal)
            }
        }
    }

    func retryDeadLetter(_ ordinal: UInt64, in key: QueueKey, then completion: @escaping (Bool) -> Void) {
        let reading = reading
        guard let queue = queues[key] else { return completion(false) }
        queue.attempt({ $0.retryDeadLetter(ordinal, at: reading).answer }, then: completion)
    }

    func dropDeadLetter(_ ordinal: UInt64, in key: QueueKey, then completion: @escaping (Bool) -> Void) {
        let reading = reading
        guard let queue = queues[key] else { return completion(false) }
        queue.attempt({ $0.dropDeadLetter(ordinal, at: reading).answer }, then: completion)
    }
}
