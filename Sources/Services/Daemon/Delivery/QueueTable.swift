// The journaled queues of one direction (outbound queues or inbound ledgers): when one is made, moved to a new epoch,
// and removed.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemStore
import TandemWire

/// The journaled queues of one direction: made at their first use or from their rows, moved to new epochs, and removed
/// with their pairings. Confined to its loop.
final class QueueTable<Machine: StoredMachine & ~Copyable> {
    typealias Queue = JournaledQueue<Machine>

    /// The table's calls to its owner.
    struct Owner {
        /// Runs an effect as far as it concerns this device, then calls back; later effects of the queue wait for that.
        let run: (Machine.Effect, QueueKey, @escaping () -> Void) -> Void
        /// Sends the frame of an effect, then calls back; later frames of the queue wait for that.
        let send: (Machine.Effect, QueueKey, DeliveryLink, @escaping () -> Void) -> Void
        /// A queue was read back: it has neither a link nor a handler.
        let wasReadBack: (QueueKey) -> Void
        /// The numbers of a queue's former epoch are over.
        let leftEpoch: (QueueKey) -> Void
    }

    private let environment: DeliveryEnvironment
    // Unchecked, because nothing is called while they are touched; each item uses them.
    @exclusivity(unchecked) private(set) var queues: [QueueKey: Queue] = [:]
    /// Queue keys by pairing and by application: a link or an app that comes or goes visits only its own queues.
    private var keysOfPairings: [UniqueIdentifier: [QueueKey]] = [:]
    private var keysOfApps: [ApplicationIdentifier: Set<QueueKey>] = [:]
    /// The queue that was looked up last: each item asks for its queue several times, and hashing its names costs more
    /// than comparing them.
    @exclusivity(unchecked) private var last: (key: QueueKey, queue: Queue)?
    /// Set before the first queue.
    var owner: Owner?

    init(in environment: DeliveryEnvironment) {
        self.environment = environment
        environment.clock.whenDue { [weak self] isAtOnce in
            guard let self else { return }
            noteClock(in: Array(queues.keys)[...], perTurn: isAtOnce ? .max : Self.notesPerTurn)
        }
    }

    /// Queues that note the clock in one turn of the loop: each commits a row, and a device may have thousands.
    private static var notesPerTurn: Int { 64 }

    private func noteClock(in keys: ArraySlice<QueueKey>, perTurn limit: Int) {
        // On a full disk the reserve is for what makes room.
        guard environment.store.fullDisk == nil else { return }
        let reading = environment.reading
        for key in keys.prefix(limit) { queues[key]?.perform { $0.noteClock(at: reading) } }
        let others = keys.dropFirst(limit)
        guard !others.isEmpty else { return }
        let scheduler = environment.scheduler
        // Set at the end of the turn, the timer is due in the next one, after the events of that.
        scheduler.atEndOfTurn { [weak self] in
            scheduler.schedule(after: .zero) { [weak self] in self?.noteClock(in: others, perTurn: limit) }
        }
    }

    subscript(key: QueueKey) -> Queue? {
        if let last, last.key == key { return last.queue }
        guard let queue = queues[key] else { return nil }
        last = (key, queue)
        return queue
    }

    func entries(of pairing: UniqueIdentifier) -> [(key: QueueKey, value: Queue)] {
        (keysOfPairings[pairing] ?? []).compactMap { key in queues[key].map { (key, $0) } }
    }

    /// All queues of an application, including those of its configuration.
    private func entries(of app: ApplicationIdentifier) -> [(key: QueueKey, value: Queue)] {
        (keysOfApps[app] ?? []).compactMap { key in queues[key].map { (key, $0) } }
    }

    /// The queues of the channels that an application itself uses.
    func appEntries(of app: ApplicationIdentifier) -> [(key: QueueKey, value: Queue)] {
        entries(of: app).filter(\.key.channel.isForApps)
    }

    /// The queues of an application count as another user's.
    func reassign(_ app: ApplicationIdentifier) {
        for (key, queue) in entries(of: app) {
            queue.use(environment.budgets.budgets(of: key, Machine.direction, user: environment.userOf(app)))
        }
    }

    // MARK: making

    /// Makes a queue that was never used.
    func make(_ key: QueueKey, epoch: UInt64) -> Queue { add(key, from: DeliveryRows(), epoch: epoch) }

    /// Makes the queues of the known pairings from their rows.
    func restore(_ rows: DeliveryRows) {
        for key in Machine.keys(in: rows) {
            if let epoch = environment.epoch(of: key.pairing) { _ = add(key, from: rows, epoch: epoch) }
        }
    }

    private func add(_ key: QueueKey, from rows: DeliveryRows, epoch: UInt64) -> Queue {
        let usage = environment.budgets.add(key, Machine.direction, user: environment.userOf(key.app))
        let queue = Queue(key, from: rows, epoch: epoch, counting: usage, of: self, in: environment)
        if queues.updateValue(queue, forKey: key) == nil {
            keysOfPairings[key.pairing, default: []].append(key)
            keysOfApps[key.app, default: []].insert(key)
        }
        environment.clock.watch()
        return queue
    }

    // MARK: pairings

    func startEpoch(of pairing: UniqueIdentifier) {
        for (key, queue) in entries(of: pairing) {
            // At once: a queue that is being read back takes the event later.
            owner?.leftEpoch(key)
            catchUp(queue)
        }
    }

    /// A daemon that ended between the commit of a new epoch and those of its queues starts the epoch in them now.
    func startEpochs() { for queue in queues.values { catchUp(queue) } }

    /// Starts the pairing's epoch in a queue of another one.
    func catchUp(_ queue: Queue) { queue.perform { [unowned self] in startEpoch(&$0) } }

    private func startEpoch(_ machine: inout Machine) -> DeliveryTransition<Machine.Effect> {
        guard let epoch = environment.epoch(of: machine.key.pairing), machine.epoch != epoch else {
            return DeliveryTransition()
        }
        owner?.leftEpoch(machine.key)
        return machine.startEpoch(epoch, at: environment.reading)
    }

    func removePairing(_ pairing: UniqueIdentifier) { end(keysOfPairings.removeValue(forKey: pairing) ?? []) }

    private func end(_ keys: [QueueKey]) {
        for key in keys {
            keysOfApps[key.app]?.remove(key)
            if keysOfApps[key.app]?.isEmpty == true { keysOfApps[key.app] = nil }
            queues.removeValue(forKey: key)?.end()
        }
        // Afterwards, because the end of a queue completes what waits for it.
        last = nil
    }

    /// Removes ledgers of which nothing is left, as after a new epoch (DEL-46). In parts, so that no frame of a peer
    /// waits for thousands of them.
    /// - Returns: those that are removed.
    func removeUnused(of pairing: UniqueIdentifier) -> [QueueKey] where Machine == InboundLedger {
        let keys = Array((keysOfPairings[pairing] ?? []).lazy.filter { self.queues[$0]?.isUnused == true }.prefix(64))
        guard !keys.isEmpty else { return [] }
        let removed = Set(keys)
        keysOfPairings[pairing]?.removeAll { removed.contains($0) }
        end(keys)
        for key in keys { environment.budgets.removeUnusedLedger(key) }
        let headers = keys.map { DeliveryRowKey(.inboundHeader, $0) }
        // If it fails, the next start reads the rows of ledgers that are unused, too.
        environment.store.commit(headers.map { .delete($0.table.space, key: $0.bytes) }, room: .reserve) { _ in }
        return keys
    }

    // MARK: status

    /// Unfinished items and dead letters of a pairing, for each channel.
    func counts(of pairing: UniqueIdentifier) -> [Channel: Int] {
        entries(of: pairing).reduce(into: [:]) { counts, entry in
            let queue = entry.value
            counts[entry.key.channel, default: 0] += queue.machine.count + queue.machine.deadLetterCount
        }
    }

    // MARK: dead letters

    /// The queues that have dead letters, with their numbers.
    var deadLetterCounts: [(key: QueueKey, direction: DeliveryDirection, count: Int)] {
        queues.map { (key: $0, direction: Machine.direction, count: $1.machine.deadLetterCount) }
            .filter { $0.count > 0 }
    }

    var deadLetterCount: Int { queues.values.reduce(0) { $0 + $1.machine.deadLetterCount } }

    /// Acts on a dead letter; `completion` gets the result after the commit.
    func act(
        _ action: DeadLetterAction, on ordinal: UInt64, in key: QueueKey,
        then completion: @escaping (DeadLetterResult) -> Void
    ) {
        guard let queue = self[key] else { return completion(.undone) }
        let reading = environment.reading
        queue.perform(
            { machine in
                let transition =
                    switch action {
                    case .retry: machine.retryDeadLetter(ordinal, at: reading)
                    case .drop: machine.dropDeadLetter(ordinal, at: reading)
                    }
                let result: DeadLetterResult = transition.dropsOutdated ? .outdated : .done
                return (transition.changes.isEmpty ? .undone : result, transition)
            },
            then: { completion((try? $0.get()) ?? .undone) })
    }
}
