// Outbound queues of durable delivery: one journaled queue for each (pairing, app, channel), their links and epochs,
// their frames, and the barriers between them. The rules are in the Delivery room of Decisions; this type gives events
// to the queues and turns their effects into frames and reports.

import TandemBase
import TandemDelivery
import TandemStore
import TandemWire

/// The outbound queues of all pairings; confined to its loop.
final class OutboundQueues {
    typealias Queue = JournaledQueue<OutboundQueue>

    let table: QueueTable<OutboundQueue>
    private let environment: DeliveryEnvironment
    /// Set by its initialiser; weak, because it holds this object.
    weak var contexts: ContextDelivery?

    init(in environment: DeliveryEnvironment) {
        self.environment = environment
        table = QueueTable(in: environment)
        table.owner = QueueTable<OutboundQueue>.Owner(
            run: { [weak self] effect, key, done in self?.run(effect, of: key, done) },
            send: { [weak self] effect, key, link, done in self?.send(effect, of: key, over: link, done) },
            wasReadBack: { [weak self] key in self?.wasReadBack(key) }, leftEpoch: { _ in })
    }

    private var queues: [QueueKey: Queue] { table.queues }

    private var reading: ClockReading { environment.reading }

    /// The queue of this key, if it was ever used.
    subscript(key: QueueKey) -> Queue? { table[key] }

    /// The queue of this key, made at its first use; the pairing exists.
    func queue(_ key: QueueKey) -> Queue {
        if let queue = table[key] { return queue }
        guard let epoch = environment.epoch(of: key.pairing) else {
            preconditionFailure("a queue of a pairing that does not exist")
        }
        let queue = table.make(key, epoch: epoch)
        if environment.isOpen(key) { queue.perform { [reading] in $0.linkOpened(received: 0, at: reading) } }
        return queue
    }

    private func wasReadBack(_ key: QueueKey) {
        if environment.isOpen(key) {
            table[key]?.perform { [reading] in $0.linkOpened(received: $0.lastStored, at: reading) }
        }
        reconsider(key)
    }

    /// Makes up for what a queue that was read from its rows still owes: its context in a new epoch, ended barriers.
    private func reconsider(_ key: QueueKey) {
        if table[key]?.machine.needsContextAgain == true { contexts?.setAgain(key) }
        reconsiderBarriers(of: key.app, in: key.pairing)
    }

    // MARK: life

    /// Reports ends that no app has acknowledged, repeats contexts, and reconsiders barriers; once, when all is set up.
    func resume() {
        for key in queues.keys {
            if !key.channel.isForApps { reportUnacknowledged(in: key) }
            reconsider(key)
        }
    }

    private func reportUnacknowledged(in key: QueueKey) {
        for record in table[key]?.machine.unacknowledged(limit: .max) ?? [] {
            guard case .finished(let outcome) = record.phase else { continue }
            finished(record.id, outcome, record.endingRefusal, in: key)
        }
    }

    /// The link of a pairing is ready.
    /// - Parameters:
    ///   - positions: the highest sequences that the peer has stored.
    ///   - isSameRun: whether the same run of the peer's daemon had the last link.
    func linkOpened(_ pairing: UniqueIdentifier, positions: [QueueKey: UInt64], isSameRun: Bool) {
        let reading = reading
        if hasUnknownQueue(positions) { environment.report(.needsEpoch(pairing)) }
        for (key, queue) in table.entries(of: pairing) where environment.isOpen(key) {
            queue.perform { $0.linkOpened(received: positions[key] ?? 0, isSameRun: isSameRun, at: reading) }
        }
    }

    /// A peer cannot create a queue. One that has stored what this device never sent knows an older store of it.
    private func hasUnknownQueue(_ positions: [QueueKey: UInt64]) -> Bool {
        positions.contains { queues[$0.key] == nil && $0.value > 0 }
    }

    /// Whether the queues of these channels contradict what the peer says it has stored in their epoch.
    func contradicts(
        _ pairing: UniqueIdentifier, positions: [QueueKey: UInt64], channels: Set<Channel>, isSameRun: Bool
    ) -> Bool {
        if hasUnknownQueue(positions) { return true }
        let epoch = environment.epoch(of: pairing)
        return table.entries(of: pairing).contains { key, queue in
            channels.contains(key.channel) && queue.machine.epoch == epoch
                && !queue.machine.mayHaveStored(positions[key] ?? 0, isSameRun: isSameRun)
        }
    }

    func linkClosed(_ pairing: UniqueIdentifier) {
        for (_, queue) in table.entries(of: pairing) {
            queue.perform { queue in
                queue.linkClosed()
                return OutboundTransition()
            }
        }
    }

    /// The items of each queue that a new epoch of the pairing loses (DEL-10).
    func lostByEpoch(of pairing: UniqueIdentifier) -> [(key: QueueKey, count: Int)] {
        table.entries(of: pairing).map { ($0.key, $0.value.machine.outstanding().count(where: \.isLostByEpoch)) }
            .filter { $0.1 > 0 }
            .sorted { ($0.0.app, $0.0.channel.rawValue) < ($1.0.app, $1.0.channel.rawValue) }
    }

    // MARK: frames

    /// The peer has stored the items up to this sequence. Nothing was ever sent from a queue that there is not
    /// (DEL-13).
    func stored(through sequence: UInt64, in key: QueueKey) {
        guard let queue = table[key] else { return environment.report(.violation(key.pairing)) }
        queue.performFrame { [reading] in $0.stored(through: sequence, at: reading) }
    }

    /// The peer reports how an item ended, once for each link.
    func ended(_ sequence: UInt64, _ outcome: Outcome, in key: QueueKey) {
        guard let queue = table[key] else { return environment.report(.violation(key.pairing)) }
        queue.performFrame({ [reading] in $0.ended(sequence, outcome, at: reading) }, repeats: true)
    }

    /// This device cannot send the item now, for a reason of this name.
    /// - Parameter isFinal: nor at any later time.
    func failed(_ id: UniqueIdentifier, _ name: ErrorName, isFinal: Bool = false, in key: QueueKey) {
        let refusal = ItemRefusal(code: Int64(SessionError.Code.deliveryFailed.rawValue), name: name.rawValue)
        table[key]?.perform { [reading] in $0.refused(id, refusal, isFinal: isFinal, at: reading) }
    }

    /// Whether an item of this identifier was sent, is not stored by the peer, and is not being taken back.
    func isUnderWay(_ id: UniqueIdentifier, in key: QueueKey) -> Bool {
        table[key]?.machine.record(of: id)?.isUnderWay ?? false
    }

    // MARK: effects

    private func run(_ effect: OutboundEffect, of key: QueueKey, _ done: @escaping () -> Void) {
        switch effect {
        case .send, .sendGap, .sendOutcomeAck: break
        case .stored(let id): environment.report(.stored(id, key))
        case .finished(let id, let outcome, let refusal): finished(id, outcome, refusal, in: key)
        case .finishedSilently(let id): release(id, of: key.app, in: key.pairing)
        case .deadLetter(let id, let refusal): environment.log(.deadLetter(id, in: key, .outbound, refusal))
        case .letterDropped(let id): environment.log(.letterDropped(id, in: key, .outbound))
        case .released(let id): environment.report(.fileReleased(id, key, .outbound))
        case .setContextAgain: contexts?.setAgain(key)
        case .startEpoch: environment.report(.needsEpoch(key.pairing))
        case .violation: environment.report(.violation(key.pairing))
        }
        done()
    }

    /// An item has ended. A submitter in this process knows it with that; an application acknowledges it itself.
    private func finished(_ id: UniqueIdentifier, _ outcome: Outcome, _ refusal: ItemRefusal?, in key: QueueKey) {
        environment.report(.ended(id, key, outcome, refusal))
        if !key.channel.isForApps {
            table[key]?.perform { [reading] in $0.forget(id, at: reading) }
        }
        release(id, of: key.app, in: key.pairing)
    }

    private func send(
        _ effect: OutboundEffect, of key: QueueKey, over link: DeliveryLink, _ done: @escaping () -> Void
    ) {
        switch effect {
        case .send(let dispatch): send(dispatch, of: key, over: link, done)
        case .sendGap(let sequence, let reason):
            link.send(GapFrame(key, sequence: sequence, reason).envelope, then: done)
        case .sendOutcomeAck(let sequence):
            link.send(PositionFrame.outcomeAck(key, of: sequence).envelope, then: done)
        case .stored, .finished, .finishedSilently, .deadLetter, .letterDropped, .released, .setContextAgain,
            .startEpoch, .violation:
            done()
        }
    }

    private func send(
        _ dispatch: OutboundDispatch, of key: QueueKey, over link: DeliveryLink, _ done: @escaping () -> Void
    ) {
        let size = dispatch.size + DeliveryLink.frameSize
        link.whenRoom(for: size) { [weak self] in
            guard link.isOpen else { return done() }
            guard let queue = self?.table[key] else {
                link.giveBack(size)
                return done()
            }
            if let body = dispatch.payload {
                link.send(Self.frame(dispatch, body, of: key).envelope, reserved: size)
                return done()
            }
            queue.body(of: dispatch.ordinal, in: dispatch.bodyTable) { [weak self] body in
                switch body {
                case .success(let body?):
                    link.send(Self.frame(dispatch, body, of: key).envelope, reserved: size)
                case .success(nil):
                    link.giveBack(size)
                    guard let self else { return done() }
                    return sendGap(inPlaceOf: dispatch, of: key, over: link, done)
                case .failure(let error):
                    link.giveBack(size)
                    self?.bodyIsUnreadable(dispatch.id, error, in: key)
                }
                done()
            }
        }
    }

    /// Without its body the item was withdrawn meanwhile, or the peer has stored it. The gap of a withdrawn one leaves
    /// in its place: the peer drops what comes ahead of it, and the gap of the withdrawal itself is behind the items
    /// that were sent since (DEL-6).
    private func sendGap(
        inPlaceOf dispatch: OutboundDispatch, of key: QueueKey, over link: DeliveryLink, _ done: @escaping () -> Void
    ) {
        guard let queue = table[key], let record = queue.machine.record(of: dispatch.id),
            record.phase == .sent(sequence: dispatch.sequence), let reason = record.withdrawal
        else { return done() }
        // The item that superseded it may be in the commit that takes it back.
        queue.whenDurable { result in
            guard case .success = result else { return done() }
            link.send(GapFrame(key, sequence: dispatch.sequence, reason).envelope, then: done)
        }
    }

    /// A damaged body is not sent. The item is tried again like one that the peer cannot take, and becomes a dead
    /// letter.
    private func bodyIsUnreadable(_ id: UniqueIdentifier, _ error: StoreError, in key: QueueKey) {
        environment.bodyIsUnreadable(error, in: key)
        failed(id, .store, in: key)
    }

    private static func frame(_ dispatch: OutboundDispatch, _ body: [UInt8], of key: QueueKey) -> ItemFrame {
        ItemFrame(
            ItemKey(key, dispatch.id), sequence: dispatch.sequence, age: .milliseconds(dispatch.age),
            remaining: dispatch.remaining, attempt: dispatch.attempt, topic: dispatch.topic,
            revision: dispatch.revision, body: body[...])
    }

    // MARK: barriers

    // An item may wait for the end of another one (DEL-22). Whether that one has ended is asked when the item is
    // accepted, when the other ends, and whenever queues were read back from their rows: an item that is unknown then
    // releases its barrier.

    private func queues(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> [Queue] {
        Channel.allCases.compactMap { table[QueueKey(pairing: pairing, app: app, channel: $0)] }
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
            queue.perform { $0.released(id, at: reading) }
        }
    }

    /// The end that the machine knew before the last commit is durable now.
    private func endedDurably(_ id: UniqueIdentifier, of app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        if queues(of: app, in: pairing).contains(where: { $0.machine.record(of: id)?.isUnfinished == true }) { return }
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

    /// The contents of each queue.
    var waiting: [DurableDelivery.WaitingItems] {
        let reading = reading
        return queues.map { key, queue in
            (
                key, queue.machine.count, Self.bytes(of: key, queue), queue.machine.oldestAge(at: reading),
                queue.machine.headRefusal
            )
        }
        .sorted { ($0.0.pairing, $0.0.app, $0.0.channel.rawValue) < ($1.0.pairing, $1.0.app, $1.0.channel.rawValue) }
    }

    /// The bytes of a queue's items (SES-87): of files, which are not in the queue, the files' own.
    private static func bytes(of key: QueueKey, _ queue: Queue) -> Int {
        guard key.channel.properties.hasFile else { return queue.machine.bytes }
        return queue.machine.outstanding().reduce(0) { $0.addingWithSaturation($1.contentSize) }
    }

    /// Unfinished items and dead letters of each queue.
    var counts: [(key: QueueKey, items: Int, letters: Int)] {
        queues.map { ($0, $1.machine.ownCount, $1.machine.deadLetterCount) }
    }

    /// The applications with unfinished items.
    var applications: Set<ApplicationIdentifier> {
        Set(queues.filter { $0.key.channel.isForApps && $0.value.machine.ownCount > 0 }.map(\.key.app))
    }

    /// The highest sequences sent to the peer (SES-2).
    func sent(to pairing: UniqueIdentifier) -> [(key: QueueKey, sequence: UInt64)] {
        table.entries(of: pairing).filter { $0.value.machine.lastSent > 0 }
            .map { ($0.key, $0.value.machine.lastSent) }
            .sorted { $0.0.app < $1.0.app }
    }

    /// The items of the channel `file` whose bytes must stay when the daemon starts; none that the peer has stored: a
    /// daemon that was killed may have committed that and not removed the bytes.
    var itemsWithFiles: [FileKey] {
        queues.filter { $0.key.channel.properties.hasFile }.flatMap { key, queue in
            (queue.machine.outstanding() + queue.machine.deadLetters).filter(\.hasBody).map { FileKey(key, $0.id) }
        }
    }

    // MARK: dead letters

    /// The dead letters of one queue in order.
    func deadLetters(in key: QueueKey) -> [DeadLetter] {
        (queues[key]?.machine.deadLetters ?? []).map { record in
            DeadLetter(
                queue: key, direction: .outbound, ordinal: record.ordinal, id: record.id, topic: record.topic,
                attempts: record.attempts, size: record.contentSize, refusal: record.refusal)
        }
    }
}
