// Inbound half of durable delivery: stores the items that arrive, acknowledges them, and passes them to their handlers
// one at a time. The rules are in the inbound ledgers of the room Delivery of Decisions; this type gives events to them
// and turns their effects into frames and reports.

package import TandemBase
import TandemDelivery
import TandemStore
package import TandemWire

/// The inbound ledgers of all pairings, and the applications that take their items; confined to its loop.
package final class Arrivals {
    typealias Ledger = JournaledQueue<InboundLedger>
    typealias ItemInHandler = (key: QueueKey, id: UniqueIdentifier, since: MonotonicTime)

    /// The items that an application takes.
    private struct Consumer {
        let channels: Set<Channel>
        /// The pairings of its side.
        let serves: (UniqueIdentifier) -> Bool

        func takes(_ key: QueueKey) -> Bool { channels.contains(key.channel) && serves(key.pairing) }
    }

    let table: QueueTable<InboundLedger>
    private let environment: DeliveryEnvironment
    /// The highest sequence of each ledger whose commit is done: hello may announce no other.
    private var committed: [QueueKey: UInt64] = [:]
    /// The applications that take items now.
    private var consumers: [ApplicationIdentifier: Consumer] = [:]
    /// The ledgers that had no room for the item that came last, and when it came.
    private var full: [QueueKey: MonotonicTime] = [:]
    /// Of each pairing the ledger for which there was no room last, and when its item came.
    private var unmade: [UniqueIdentifier: (key: QueueKey, at: MonotonicTime)] = [:]
    /// Contexts that came and were not newer than the one before (DEL-20).
    private let staleContexts: Counter
    /// Set by its initialiser; weak, because it holds this object.
    weak var contexts: ContextDelivery?

    init(in environment: DeliveryEnvironment, counters: Counters) {
        self.environment = environment
        staleContexts = counters.counter("contexts.stale")
        table = QueueTable(in: environment)
        table.owner = QueueTable<InboundLedger>.Owner(
            run: { [weak self] effect, key, done in self?.run(effect, of: key, done) },
            send: { [weak self] effect, key, link, done in self?.send(effect, of: key, over: link, done) },
            wasReadBack: { [weak self] key in self?.wasReadBack(key) },
            leftEpoch: { [weak self] key in self?.committed[key] = 0 })
    }

    private var ledgers: [QueueKey: Ledger] { table.queues }

    private var reading: ClockReading { environment.reading }

    // MARK: consumers

    /// An application takes items of these channels from now on.
    /// - Parameter serves: whether a pairing is one of the application's side.
    package func consumerArrived(
        _ app: ApplicationIdentifier, channels: Set<Channel>,
        of serves: @escaping (UniqueIdentifier) -> Bool = { _ in true }
    ) {
        replaceConsumer(of: app, with: Consumer(channels: channels, serves: serves))
    }

    /// The application is gone; the items that it had not handled come again.
    package func consumerLeft(_ app: ApplicationIdentifier) { replaceConsumer(of: app, with: nil) }

    private func replaceConsumer(of app: ApplicationIdentifier, with consumer: Consumer?) {
        let before = consumers[app]
        consumers[app] = consumer
        let reading = reading
        for (key, ledger) in table.appEntries(of: app) {
            if consumer?.takes(key) == true {
                ledger.perform { $0.consumerArrived(at: reading) }
            } else if before?.takes(key) == true {
                ledger.perform { $0.consumerLeft(at: reading) }
            }
        }
    }

    /// The pairing has become the active one. Connected apps get what they put off; for the others this only ends the
    /// reason not to start them (SES-88).
    func chosen(_ pairing: UniqueIdentifier) {
        let reading = reading
        for (key, ledger) in table.entries(of: pairing) where key.channel.isForApps {
            let isThere = hasConsumer(key)
            ledger.perform { isThere ? $0.consumerArrived(at: reading) : $0.putOffEnded() }
        }
    }

    /// Whether items of this queue have a handler. The daemon itself always takes configurations.
    private func hasConsumer(_ key: QueueKey) -> Bool {
        !key.channel.isForApps || consumers[key.app]?.takes(key) ?? false
    }

    /// The queues in which received items wait for their apps, here or with their handlers.
    var queuesWithItems: some Sequence<QueueKey> {
        ledgers.lazy.filter { $0.key.channel.isForApps && $0.value.machine.count > 0 }.map(\.key)
    }

    /// Whether items wait for an app. A queue of which it has put off an item does not count: it would do so again.
    func hasDueItems(for app: ApplicationIdentifier, where isCounted: (QueueKey) -> Bool) -> Bool {
        table.appEntries(of: app).contains { key, ledger in
            ledger.machine.count > 0 && !ledger.machine.isPutOff && isCounted(key)
        }
    }

    // MARK: verdicts

    /// The handler has taken a received item.
    package func handled(_ ordinal: UInt64, in key: QueueKey) {
        table[key]?.perform { [reading] in $0.handled(ordinal, at: reading) }
    }

    /// The handler has rejected a received item for good.
    package func rejected(_ ordinal: UInt64, code: Int64, in key: QueueKey) {
        table[key]?.perform { [reading] in $0.rejected(ordinal, code: code, at: reading) }
    }

    /// The handler could not take a received item: it comes again after a pause.
    package func failed(_ ordinal: UInt64, in key: QueueKey) {
        table[key]?.perform { [reading] in $0.failed(ordinal, at: reading) }
    }

    /// The handler cannot take the item now: no attempt, and the item comes again after the pauses of DEL-12.
    func pauseWithoutAttempt(_ ordinal: UInt64, in key: QueueKey) {
        table[key]?.perform { [reading] in $0.pauseWithoutAttempt(ordinal, at: reading) }
    }

    /// The handler has not begun with a received item, which waits until its application takes the queue's items again.
    func putOff(_ ordinal: UInt64, in key: QueueKey) {
        table[key]?.perform { [reading] in $0.putOff(ordinal, at: reading) }
    }

    // MARK: frames

    /// An item has come over the link.
    func arrived(_ item: ReceivedItem, as sequence: UInt64) {
        let reading = reading
        guard let ledger = ledger(item.queue, for: sequence) else { return }
        let arrive = { [unowned ledger] (machine: inout InboundLedger) in
            machine.arrived(
                item, as: sequence, at: reading, isFull: !ledger.hasRoom(for: item.payload.count))
        }
        ledger.performFrame(arrive, size: item.payload.count, room: .ordinary)
    }

    /// The item of this sequence will not come, or should no longer be handled.
    func gapArrived(_ sequence: UInt64, _ reason: GapReason, in key: QueueKey) {
        let reading = reading
        guard let ledger = ledger(key, for: sequence) else { return }
        ledger.performFrame { [unowned ledger] in
            $0.gapArrived(sequence, reason, at: reading, isFull: ledger.refusal(of: 0) != nil)
        }
    }

    /// The sender has made an outcome durable.
    func outcomeAcknowledged(_ sequence: UInt64, in key: QueueKey) {
        table[key]?.performFrame({ [reading] in $0.outcomeAcknowledged(sequence, at: reading) }, repeats: true)
    }

    /// Whether an item of this sequence and size would be stored now (DEL-3).
    func wouldStore(_ sequence: UInt64, size: Int, in key: QueueKey) -> Bool {
        guard let ledger = ledger(key, for: sequence) else { return false }
        return ledger.machine.wouldStore(sequence, size: size, isFull: !ledger.hasRoom(for: size))
    }

    /// Whether the number is that of the next item to come.
    func isNext(_ sequence: UInt64, in key: QueueKey) -> Bool {
        ledger(key, for: sequence)?.machine.isNext(sequence) ?? false
    }

    // MARK: files

    /// The received items whose files must stay, once everything that has happened so far is durable; nil if it could
    /// not be made so.
    func keptFiles(of key: QueueKey, then done: @escaping (Set<UniqueIdentifier>?) -> Void) {
        guard let ledger = table[key] else { return done([]) }
        ledger.perform({ ledger in (ledger.itemsWithFiles, InboundTransition()) }, then: { done(try? $0.get()) })
    }

    /// The items of the channel `file` whose bytes must stay when the daemon starts.
    var itemsWithFiles: [StoredFile] {
        ledgers.filter { $0.key.channel.properties.hasFile }.flatMap { key, ledger in
            ledger.machine.recordsWithFiles.compactMap { record in
                record.id.map { (file: FileKey(key, $0), size: Int64(record.contentSize)) }
            }
        }
    }

    // MARK: effects

    private func run(_ effect: InboundEffect, of key: QueueKey, _ done: @escaping () -> Void) {
        switch effect {
        case .acknowledge(let sequence):
            // Not above the ledger's own: an acknowledgement from before a new epoch may still be under way.
            committed[key] = min(max(committed[key] ?? 0, sequence), table[key]?.machine.received ?? 0)
            full[key] = nil
        case .report, .reportAgain: break
        case .deliver(let item): if handOver(item) { environment.report(.received(item)) }
        case .deliverStored(let item, let table): return deliverStored(item, from: table, done)
        case .counted(let ordinals):
            table[key]?.perform { ledger in
                ledger.attemptsAreDurable(ordinals)
                return InboundTransition()
            }
        case .droppedAhead: log(.debug, "item dropped, it comes again", key)
        case .droppedFull:
            // Once until there is room again: it comes again and again meanwhile.
            let isNews = full.updateValue(reading.monotonic, forKey: key) == nil
            log(isNews ? .warning : .debug, "no room for an item, it comes again", key)
        case .deadLetter(let id): environment.log(.deadLetter(id, in: key, .inbound, nil))
        case .letterDropped(let id): environment.log(.letterDropped(id, in: key, .inbound))
        case .released(let id): environment.report(.fileReleased(id, key, .inbound))
        case .contextReceived(let version, let body):
            contexts?.arrived(key)
            guard key.isContext else { break }
            environment.report(.contextChanged(LatestContext(key, received: version, body)))
        case .staleContext(let revision):
            staleContexts.add()
            environment.log(
                LogEvent(
                    .info, "context older than the one received before, ignored", .text("pairing", "\(key.pairing)"),
                    .text("app", "\(key.app)"), .integer("revision", revision)))
        }
        done()
    }

    private func send(
        _ effect: InboundEffect, of key: QueueKey, over link: DeliveryLink, _ done: @escaping () -> Void
    ) {
        switch effect {
        case .acknowledge(let sequence) where sequence > 0:
            link.send(PositionFrame.stored(key, through: sequence).envelope, then: done)
        case .report(let sequence, let outcome):
            link.send(OutcomeFrame(key, sequence: sequence, outcome).envelope, then: done)
        case .reportAgain(let sequences):
            var rest = sequences[...]
            let next = { [weak self] () -> Envelope? in
                while let sequence = rest.popFirst() {
                    // The end was durable when the link began; its record goes with the sender's acknowledgement.
                    guard let outcome = self?.table[key]?.machine.outcome(of: sequence) else { continue }
                    return OutcomeFrame(key, sequence: sequence, outcome).envelope
                }
                return nil
            }
            link.send(each: next, then: done)
        default: done()
        }
    }

    private func log(_ level: LogLevel, _ message: StaticString, _ key: QueueKey) {
        environment.log(LogEvent(level, message, fields: key.fields))
    }

    /// Whether the handler gets an item now: it may have left, and another may be there, since its attempt was written.
    private func handOver(_ item: ReceivedItem) -> Bool { table[item.queue]?.handOver(item) ?? false }

    private func deliverStored(_ item: ReceivedItem, from table: DeliveryTable, _ done: @escaping () -> Void) {
        guard let ledger = self.table[item.queue] else { return done() }
        ledger.body(of: item.ordinal, in: table) { [weak self] payload in
            defer { done() }
            // A delivery that was called off fails nothing, either.
            guard let self, handOver(item) else { return }
            switch payload {
            case .success(let payload?):
                var item = item
                item.payload = payload
                environment.report(.received(item))
            case .success(nil): failed(item.ordinal, in: item.queue)
            case .failure(let error):
                environment.bodyIsUnreadable(error, in: item.queue)
                failed(item.ordinal, in: item.queue)
            }
        }
    }

    // MARK: ledgers

    /// The ledger of this key, made for its first item; nil if there is no room for it, or the pairing is gone.
    private func ledger(_ key: QueueKey, for sequence: UInt64) -> Ledger? {
        if let ledger = table[key] { return ledger }
        guard sequence == 1, let epoch = environment.epoch(of: key.pairing) else { return nil }
        if environment.budgets.needsUnused(forNew: key) {
            for unused in table.removeUnused(of: key.pairing) { (committed[unused], full[unused]) = (nil, nil) }
        }
        // A peer may name any application.
        guard environment.budgets.hasRoom(forNew: key) else {
            // Once until there is room again: it comes again and again meanwhile, and other names may come, too.
            let before = unmade.updateValue((key: key, at: reading.monotonic), forKey: key.pairing)
            if before.map({ !mayComeAgain($0.key, after: $0.at) }) ?? true {
                log(.warning, "no room for a further app's items, they come again", key)
            }
            return nil
        }
        if unmade[key.pairing]?.key == key { unmade[key.pairing] = nil }
        let ledger = table.make(key, epoch: epoch)
        startHandler(of: key)
        return ledger
    }

    /// The pairings of which an app's items have no room, because too many apps were named before (CTL-12).
    package var crowded: Set<UniqueIdentifier> {
        let refused = full.filter { table[$0.key]?.isCrowdedOut == true && mayComeAgain($0.key, after: $0.value) }
        let others = unmade.values.filter {
            !environment.budgets.hasRoom(forNew: $0.key) && mayComeAgain($0.key, after: $0.at)
        }
        return Set(refused.keys.map(\.pairing) + others.map(\.key.pairing))
    }

    /// Whether an item that was dropped at this time may still wait at the peer, which sends it again after LIM-16.
    private func mayComeAgain(_ key: QueueKey, after dropped: MonotonicTime) -> Bool {
        reading.monotonic.since(dropped) <= environment.limits(key.channel).resendAfter * 2
    }

    private func startHandler(of key: QueueKey) {
        if hasConsumer(key) { table[key]?.perform { [reading] in $0.consumerArrived(at: reading) } }
    }

    private func wasReadBack(_ key: QueueKey) {
        guard hasConsumer(key) else { return environment.report(.itemsMayWait(key.app)) }
        table[key]?.perform { [reading] in $0.consumerStayed(at: reading) }
    }

    // MARK: life

    /// Makes the ledgers of the known pairings from their rows.
    func restore(_ rows: DeliveryRows) {
        table.restore(rows)
        committed = ledgers.mapValues { $0.machine.received }
    }

    /// Passes waiting items to their handlers; once, when all is set up.
    func resume() { for key in ledgers.keys { startHandler(of: key) } }

    func removePairing(_ pairing: UniqueIdentifier) {
        table.removePairing(pairing)
        committed = committed.filter { $0.key.pairing != pairing }
        full = full.filter { $0.key.pairing != pairing }
        unmade[pairing] = nil
    }

    /// The link of a pairing is ready.
    func linkOpened(_ pairing: UniqueIdentifier) {
        for (key, ledger) in table.entries(of: pairing) where environment.isOpen(key) {
            ledger.perform { $0.linkOpened() }
        }
    }

    /// Returns the attempts that were counted ahead and not made; no further item is delivered.
    func stop() {
        let reading = reading
        for ledger in ledgers.values { ledger.perform { $0.stopping(at: reading) } }
    }

    // MARK: status

    /// Unfinished items and dead letters of each queue.
    var counts: [(key: QueueKey, items: Int, letters: Int)] {
        ledgers.map { ($0, $1.machine.count, $1.machine.deadLetterCount) }
    }

    /// The items that apps have had without a verdict for the time of LIM-145, the oldest first.
    var inHandler: [ItemInHandler] {
        let now = reading.monotonic
        return ledgers.values.compactMap { ledger -> ItemInHandler? in
            guard let item = ledger.machine.inHandler(at: now), ledger.machine.key.channel.isForApps else { return nil }
            return (key: ledger.machine.key, id: item.id, since: item.since)
        }
        .sorted { ($0.since, $0.id) < ($1.since, $1.id) }
    }

    /// The highest sequences stored in order from the peer (SES-2).
    func received(from pairing: UniqueIdentifier) -> [(key: QueueKey, sequence: UInt64)] {
        table.entries(of: pairing).map { key, _ in (key, committed[key] ?? 0) }.filter { $0.1 > 0 }
            .sorted { $0.0.app < $1.0.app }
    }

    /// The dead letters of one ledger in order.
    func deadLetters(in key: QueueKey) -> [DeadLetter] {
        (ledgers[key]?.machine.deadLetters ?? []).map { record in
            DeadLetter(
                queue: key, direction: .inbound, ordinal: record.ordinal, id: record.id, topic: record.topic,
                attempts: record.attempts, size: record.contentSize, refusal: nil)
        }
    }
}
